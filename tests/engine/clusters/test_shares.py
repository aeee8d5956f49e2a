"""What ops and transfers reach of a kind's figures: the catalogue's H200 is the one that was measured."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.clusters.cluster import Cluster
from engine.clusters.device_kinds import CATALOGUE, FLOAT_TYPES, FloatType
from engine.clusters.parsing import parse_cluster
from engine.clusters.shares import MEASURED_ON_H200, OTHERS_ON_H200, SHARES
from engine.clusters.stand_ins import ATTENTION, MEASURED_TYPE, measured_type
from engine.costs.costs import Costs, CostSource

MEASURED = Path("docs/results/h200.json")


@pytest.fixture(scope="module")
def measured() -> Cluster:
    return parse_cluster(MEASURED.read_text())


def test_the_shares_are_those_of_the_measurement() -> None:
    efficiency = json.loads(MEASURED.read_text())["kinds"]["this-GPU"]["efficiency"]
    assert efficiency.pop("*") == pytest.approx(OTHERS_ON_H200, abs=5e-4)
    assert efficiency == pytest.approx(dict(MEASURED_ON_H200), abs=5e-4)


def test_every_op_takes_as_long_on_the_catalogues_h200_as_on_the_measured_one(measured: Cluster) -> None:
    types = list(MEASURED_ON_H200)
    for float_type, within in ((FloatType.BFLOAT16, 0.01), (FloatType.TENSORFLOAT32, 0.02)):
        count = len(types)
        costs = Costs(
            kinds=(),
            time_us=np.empty((0, count)),
            output_offset=np.arange(count + 1),
            output_bytes=np.ones(count, dtype=np.int64),
            persistent_bytes=np.zeros(count, dtype=np.int64),
            temporary_bytes=np.zeros(count, dtype=np.int64),
            source=np.full(count, CostSource.ESTIMATED, dtype=np.uint8),
            flops=np.full(count, 10**11),
            moved_bytes=np.full(count, 10**8),
            float_type=np.full(count, FLOAT_TYPES.index(float_type), dtype=np.uint8),
            at_peaks=False,
        ).with_types(types)
        ours = costs.time_on(["H200"])[0]
        theirs = costs.time_on_devices(measured.devices[:1])[0]
        assert ours == pytest.approx(theirs, rel=within), float_type


def test_a_transfer_to_the_host_takes_as_long_as_measured(measured: Cluster) -> None:
    ours = parse_cluster("H200+cpu")
    assert ours.bandwidth_bytes_per_us[0, 1] == pytest.approx(measured.bandwidth_bytes_per_us[0, 1], rel=1e-3)
    launched_us = measured.latency_us[0, 1] + measured.op_rests_us[0]
    assert ours.latency_us[0, 1] == pytest.approx(launched_us, rel=0.01), "with the launch of the op that sends"
    assert ours.link_rest_us == measured.link_rest_us
    assert ours.op_rests_us == pytest.approx(measured.op_rests_us, rel=0.01)


def test_an_op_that_was_not_measured_is_taken_for_one_that_was() -> None:
    assert set(MEASURED_TYPE.values()) <= {*MEASURED_ON_H200, ATTENTION}
    assert not MEASURED_TYPE.keys() & SHARES.keys()
    for op_type, like in (
        ("mm", "MatMul"), ("Gemm", "MatMul"), ("addmm", "MatMul"), ("convolution", "Conv2D"), ("Conv", "Conv2D"),
        ("add_", "AddV2"), ("_softmax", "Softmax"), ("native_layer_norm", "Softmax"), ("MatMul", "MatMul"),
        ("_scaled_dot_product_flash_attention_for_cpu", ATTENTION), ("GroupQueryAttention", ATTENTION),
        ("NobodyKnows", "NobodyKnows"), ("nobody_knows_", "nobody_knows_"),
    ):  # fmt: skip
        assert measured_type(op_type) == like


def test_no_op_type_is_taken_for_two() -> None:
    from engine.clusters import stand_ins

    words = [word for text in stand_ins._STANDS_FOR.values() for word in text.split()]
    assert len(words) == len(set(words))


def test_a_cluster_that_measured_a_type_gives_its_shares_to_ops_like_it(measured: Cluster) -> None:
    kind = measured.devices[0].figures
    assert kind is not None
    assert kind.efficiency_of("mm") == kind.efficiency_by_op_type["MatMul"]
    assert kind.efficiency_of("NobodyKnows") == (kind.efficiency, kind.efficiency)
    assert CATALOGUE["K80"].efficiency_of("mm") == (1, 1)
