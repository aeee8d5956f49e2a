"""The blocks of a batch: those of a chain by hand, and of random graphs beside the batch's ops."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.errors import LimitError
from engine.explaining.holding import ByteClass
from engine.explaining.stream_blocks import MOST_BLOCKS, require_small_batch, shown_micro_batches, stream_blocks
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER, ComputationGraph
from engine.simulator import Simulator
from engine.simulator.streams.stages import NO_STAGE
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.explaining.sessions import drawn, session_of
from tests.engine.simulator.cases import Op, cluster_of, graph_of


def two_stages() -> tuple[ComputationGraph, Costs]:
    """Forward 10 and 20 µs, backward 40 and 20 µs, an optimizer's op of 5 µs each."""
    ops = [Op("f0", (), 10.0, (8,)), Op("f1", ("f0",), 20.0, (8,)), Op("b1", ("f1",), 40.0, (8,))]
    ops += [Op("b0", ("b1", "f0"), 20.0, (8,)), Op("u0", ("b0",), 5.0), Op("u1", ("b1",), 5.0)]
    graph, costs = graph_of(ops)
    phase = [FORWARD, FORWARD, BACKWARD, BACKWARD, OPTIMIZER, OPTIMIZER]
    return dataclasses.replace(graph, phase=np.array(phase, np.uint8)), costs


def free_links() -> Cluster:
    return cluster_of(2, Contention.NONE, bandwidth_bytes_per_us=1e12, op_rest_us=0.0, link_rest_us=0.0)


def told(stream: Stream) -> dict[str, Any]:
    graph, costs = two_stages()
    simulator = Simulator(graph, costs, free_links(), stream=stream)
    placement, weights = np.array([0, 1, 1, 0, 0, 1], np.int32), np.full(6, ByteClass.WEIGHTS, np.uint8)
    found: dict[str, Any] = stream_blocks(simulator, placement, graph.op_names, weights)
    return found


def test_the_fill_goes_on_while_a_device_does_no_more_than_a_tenth_of_its_work() -> None:
    """Labels are ready at once; the second device begins when the first one has sent."""
    ops = [Op("first", (), 10.0, (8,)), Op("labels", (), 0.5, (8,)), Op("second", ("first", "labels"), 20.0)]
    graph, costs = graph_of(ops)
    simulator = Simulator(graph, costs, free_links(), stream=Stream(3, Pipeline.INFERENCE))
    found = stream_blocks(simulator, np.array([0, 1, 1], np.int32), graph.op_names, np.zeros(3, np.uint8))
    assert found["fill_end_us"] == pytest.approx(10.0)


def test_a_batch_of_two_stages_is_told_block_by_block() -> None:
    found = told(Stream(2, Pipeline.ONE_F_ONE_B))
    rows = {(each["stage"], each["micro"], each["device"]): each for each in found["blocks"]}
    spans = {key: (round(each["start_us"], 3), round(each["end_us"], 3)) for key, each in rows.items()}
    assert spans[0, 0, 0] == (0.0, 10.0)
    assert spans[1, 0, 1] == (10.0, 30.0)
    assert spans[2, 0, 1] == (30.0, 70.0)
    assert spans[1, 1, 1] == (70.0, 90.0)
    assert spans[2, 1, 1] == (90.0, 130.0)
    assert spans[3, 1, 0] == (130.0, 150.0)
    assert {key for key in spans if key[0] == NO_STAGE} == {(NO_STAGE, 1, 0), (NO_STAGE, 1, 1)}
    assert [rows[stage, 0, device]["is_backward"] for stage, device in ((0, 0), (1, 1), (2, 1), (3, 0))] == [
        False,
        False,
        True,
        True,
    ]
    assert found["busiest"] == {"kind": "device", "device": 1, "to": None}
    assert (found["fill_end_us"], found["drain_start_us"]) == pytest.approx((10.0, 130.0))
    assert found["left_out"] == 0 and found["period_us"] == 60.0


def test_of_a_long_batch_the_first_and_the_last_micro_batches_are_told() -> None:
    found = told(Stream(1024, Pipeline.GPIPE))
    assert len([each for each in found["blocks"] if each["stage"] != NO_STAGE]) <= MOST_BLOCKS
    micros = sorted({each["micro"] for each in found["blocks"]})
    assert micros == [*range(500), *range(524, 1024)] and found["left_out"] == 24
    assert shown_micro_batches(10, 400).tolist() == [*range(400)]
    with pytest.raises(LimitError):
        shown_micro_batches(MOST_BLOCKS, 2)


def test_a_batch_too_large_for_a_page_is_refused() -> None:
    require_small_batch(1000, 1024)
    with pytest.raises(LimitError, match="too many to be drawn"):
        require_small_batch(100_000, 1024)


@pytest.mark.parametrize("seed", range(4))
def test_each_block_spans_its_ops_in_the_batch(seed: int) -> None:
    session, rng = session_of(seed), np.random.default_rng(seed)
    placement, stream = drawn(session, rng), Stream(3, Pipeline.INFERENCE)
    found: dict[str, Any] = session.stream_blocks(session.by_group(placement), stream)
    prepared = session.prepared
    simulator = Simulator(prepared.graph, prepared.costs, session.cluster, prepared.grouping.group_of_op, stream)
    batch = simulator.batch(placement)
    assert found["batch_time_us"] == batch.batch_time_us
    assert found["peak_bytes"] == batch.peak_bytes.tolist()
    assert [max(curve["value"]) for curve in found["memory"]["curves"]] == batch.peak_bytes.tolist()
    assert len(found["blocks"]) == 3 * len(batch.stages)
    for block in found["blocks"]:
        ops = batch.stage_of_op == block["stage"]
        assert set(batch.device_of_op[ops]) == {block["device"]}
        assert block["start_us"] == batch.start_us[block["micro"], ops].min()
        assert block["end_us"] == batch.end_us[block["micro"], ops].max()
    assert 0 <= found["fill_end_us"] <= found["drain_start_us"] <= found["batch_time_us"]
