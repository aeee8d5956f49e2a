"""Kinds that a cluster describes itself, and rests of a kind's own."""

import json

import numpy as np
import pytest

from engine.clusters.cluster import Cluster
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.device_kinds import FLOAT_TYPES, KINDS, FloatType
from engine.clusters.naming import name_of_cluster
from engine.clusters.parsing import parse_cluster
from engine.errors import ClusterError
from engine.events import Json
from engine.simulator import Simulator
from engine.simulator.bound import lower_bound_us
from tests.engine.costs.known_work import FLOPS, MOVED, estimated
from tests.engine.simulator.cases import Op, graph_of
from tests.engine.simulator.slow_twin import SlowTwin

WAFER: dict[str, Json] = {
    "class": "GPU",
    "peak_gflops": {"float32": 100_000.0, "float16": 400_000.0},
    "memory_bandwidth_bytes_per_us": 2_000_000.0,
    "memory_bytes": 50_000_000_000,
    "efficiency": 0.5,
    "op_rest_us": 3.0,
}
DEVICES: list[Json] = [
    {"name": "/device:GPU:0", "kind": "Wafer-2"},
    {"name": "/device:GPU:1", "kind": "wafer-2", "memory_bytes": 7},
    {"name": "/device:GPU:2", "kind": "K80"},
]


def cluster_with(kind: Json = WAFER, **more: Json) -> Cluster:
    return parse_cluster(json.dumps({"devices": DEVICES, "kinds": {"Wafer-2": kind}, **more}))


def test_a_described_kind_has_its_figures() -> None:
    cluster = cluster_with()
    first, second, third = cluster.devices
    assert (first.kind, second.kind, third.kind) == ("Wafer-2", "Wafer-2", "K80")
    assert (first.memory_bytes, second.memory_bytes) == (50 * 10**9, 7)
    assert not first.is_cpu
    assert first.figures is not None
    assert first.figures.peak_of(FloatType.FLOAT16) == 400_000
    assert first.figures.peak_of(FloatType.BFLOAT16) == 100_000
    assert cluster.op_rests_us.tolist() == [3, 3, 5.7]
    assert np.all(cluster.bandwidth_bytes_per_us == 7600), "the links of no particular model"


def test_some_op_types_may_have_an_efficiency_of_their_own() -> None:
    cluster = cluster_with({**WAFER, "efficiency": {"*": 0.5, "Mean": 0.1, "Relu": {"peak": 4, "bandwidth": 2}}})
    figures = cluster.devices[0].figures
    assert figures is not None
    assert (figures.efficiency, dict(figures.efficiency_by_op_type)) == (0.5, {"Mean": (0.1, 0.1), "Relu": (4, 2)})
    written = cluster_to_json(cluster)
    assert cluster_to_json(parse_cluster(json.dumps(written))) == written
    same, plain = estimated().with_types(["MatMul", "Mean", "Relu"]), estimated()
    of_all, of_types = (costs.time_on_devices(cluster_with().devices) for costs in (plain, same))
    assert np.array_equal(of_all, of_types), "types change nothing on a kind with one efficiency"
    times = same.time_on_devices(cluster.devices)
    assert times[0] == pytest.approx(of_all[0] * np.array([1, 5, 0.25])) and np.array_equal(times[2], of_all[2])
    assert np.array_equal(same.for_devices(cluster.devices).time_on_devices(cluster.devices), times)


def test_an_op_type_may_reach_different_shares_of_peak_and_bandwidth() -> None:
    cluster = cluster_with({**WAFER, "efficiency": {"*": 0.5, "MatMul": {"peak": 0.25, "bandwidth": 2}}})
    times = estimated().with_types(["MatMul", "Mean", "Relu"]).time_on_devices(cluster.devices)
    assert times[0, 0] == pytest.approx(FLOPS[0] / 1e8 / 0.25 + MOVED[0] / 2e6 / 2)
    assert np.array_equal(times[0, 1:], estimated().time_on_devices(cluster_with().devices)[0, 1:])


def test_only_class_peak_bandwidth_and_memory_are_required() -> None:
    brief = {key: WAFER[key] for key in ("class", "memory_bandwidth_bytes_per_us", "memory_bytes")}
    figures = cluster_with({**brief, "peak_gflops": 5.0}).devices[0].figures
    assert figures is not None
    assert [figures.peak_of(each) for each in FLOAT_TYPES] == [5] * len(FLOAT_TYPES)
    assert (figures.efficiency, figures.op_rest_us) == (1, 5.7)


def test_the_time_of_an_op_is_its_work_by_the_kinds_figures() -> None:
    times = estimated().time_on_devices(cluster_with().devices)[0]
    expected = [
        (FLOPS[0] / 1e8 + MOVED[0] / 2e6) / 0.5,
        3 * FLOPS[1] / 4e8 / 0.5,
        MOVED[2] / 2e6 / 0.5,
    ]
    assert times.tolist() == pytest.approx(expected)


def test_a_cpu_of_ones_own_is_a_cpu_with_its_own_times() -> None:
    kind: Json = {**WAFER, "class": "CPU"}
    cluster = parse_cluster(json.dumps({"devices": [{"name": "/CPU:0", "kind": "Mine"}], "kinds": {"Mine": kind}}))
    assert cluster.devices[0].is_cpu
    costs = estimated()
    assert "CPU" in costs.kinds, "a kind whose name is that of its class"
    assert (
        costs.time_on_devices(cluster.devices)[0].tolist() == costs.time_on_devices(cluster_with().devices)[0].tolist()
    )


def test_a_cluster_with_kinds_of_its_own_is_written_and_read_whole() -> None:
    written = cluster_to_json(cluster_with(op_rest_us={"K80": 1.5}))
    assert written["kinds"] == {"Wafer-2": WAFER}
    assert written["op_rest_us"] == {"K80": 1.5, "Wafer-2": 3}
    assert cluster_to_json(parse_cluster(json.dumps(written))) == written
    assert name_of_cluster(cluster_with()) == "2xWafer-2+K80 (own kinds)"


def test_one_rest_in_the_cluster_counts_for_all_kinds() -> None:
    cluster = cluster_with(op_rest_us=2)
    assert cluster.op_rests_us.tolist() == [2, 2, 2]
    assert cluster_to_json(cluster)["op_rest_us"] == 2


def test_each_device_rests_as_its_kind_does() -> None:
    cluster = cluster_with()
    graph, costs = graph_of([Op(name, time_us=10) for name in "abcd"])
    placement = np.array([0, 0, 2, 2], dtype=np.int32)
    timeline = Simulator(graph, costs, cluster).timeline(placement)
    assert timeline.start_us.tolist() == [0, 13, 0, 15.7]
    assert timeline.step_time_us == pytest.approx(2 * 15.7)
    assert SlowTwin(graph, costs, cluster).simulate(placement).now == timeline.step_time_us
    assert timeline.rest_us.tolist() == [6, 0, 11.4]
    assert lower_bound_us(graph, costs, cluster) <= 2 * 15.7


KNOWN_FIELDS = "class, peak_gflops, memory_bandwidth_bytes_per_us, memory_bytes, efficiency, op_rest_us"
NAMED = "letters, digits and -, at most 40, a letter first; no name of a known kind; each once, in any case"
PEAK = "a number from 0.001 to 1e+12"
MISTAKES: list[tuple[Json, str]] = [
    ([], "kinds: an empty list; allowed: an object with at most 256 kinds"),
    ({"k80": WAFER}, f"kinds.k80: this is no name for a kind; allowed: {NAMED}"),
    ({"a b": WAFER}, f"kinds.a b: this is no name for a kind; allowed: {NAMED}"),
    ({"Wafer-2": WAFER, "WAFER-2": WAFER}, f"kinds.WAFER-2: this is no name for a kind; allowed: {NAMED}"),
    (
        {"Wafer-2": WAFER, "Other": WAFER},
        "kinds.Other: no device is of this kind; allowed: kinds of the cluster's devices",
    ),
    ({"Wafer-2": 3}, f"kinds.Wafer-2: 3; allowed: an object with {KNOWN_FIELDS}"),
    ({"Wafer-2": {**WAFER, "tflops": 1}}, f"kinds.Wafer-2: the key tflops is not known; allowed: {KNOWN_FIELDS}"),
    ({"Wafer-2": {**WAFER, "class": "TPU"}}, "kinds.Wafer-2.class: TPU; allowed: GPU, CPU"),
    ({"Wafer-2": {**WAFER, "peak_gflops": 0}}, f"kinds.Wafer-2.peak_gflops: 0; allowed: {PEAK}"),
    ({"Wafer-2": {**WAFER, "peak_gflops": None}}, f"kinds.Wafer-2.peak_gflops: nothing; allowed: {PEAK}"),
    (
        {"Wafer-2": {**WAFER, "peak_gflops": {"float16": 1}}},
        f"kinds.Wafer-2.peak_gflops.float32: nothing; allowed: {PEAK}",
    ),
    (
        {"Wafer-2": {**WAFER, "peak_gflops": {"float32": 1, "int4": 1}}},
        f"kinds.Wafer-2.peak_gflops: the key int4 is not known; allowed: {', '.join(FLOAT_TYPES)}",
    ),
    ({"Wafer-2": {**WAFER, "efficiency": 1.5}}, "kinds.Wafer-2.efficiency: 1.5; allowed: a number from 1e-06 to 1"),
    (
        {"Wafer-2": {**WAFER, "efficiency": {"*": 2}}},
        "kinds.Wafer-2.efficiency.*: 2; allowed: a number from 1e-06 to 1",
    ),
    (
        {"Wafer-2": {**WAFER, "efficiency": {"Mean": 0}}},
        "kinds.Wafer-2.efficiency.Mean: 0; allowed: a number from 1e-06 to 100",
    ),
    (
        {"Wafer-2": {**WAFER, "efficiency": {"Mean": {"peak": 1}}}},
        "kinds.Wafer-2.efficiency.Mean.bandwidth: nothing; allowed: a number from 1e-06 to 100",
    ),
    (
        {"Wafer-2": {**WAFER, "efficiency": {"Mean": {"peak": 1, "bandwidth": 101}}}},
        "kinds.Wafer-2.efficiency.Mean.bandwidth: 101; allowed: a number from 1e-06 to 100",
    ),
    (
        {"Wafer-2": {**WAFER, "efficiency": {"Mean": {"both": 1}}}},
        "kinds.Wafer-2.efficiency.Mean: the key both is not known; allowed: peak, bandwidth",
    ),
    (
        {"Wafer-2": {**WAFER, "efficiency": {"a b": 1}}},
        "kinds.Wafer-2.efficiency: the key a b is no op type; allowed: *, or types such as MatMul",
    ),
    (
        {"Wafer-2": {**WAFER, "efficiency": {f"Op{index}": 1 for index in range(501)}}},
        "kinds.Wafer-2.efficiency: 501 op types; allowed: an object with at most 500 op types",
    ),
    ({"Wafer-2": {**WAFER, "memory_bytes": 1.5}}, "kinds.Wafer-2.memory_bytes: 1.5; allowed: an integer"),
    ({"Wafer-2": {**WAFER, "op_rest_us": -1}}, "kinds.Wafer-2.op_rest_us: -1; allowed: a number from 0 to 1e+12"),
]


@pytest.mark.parametrize(("kinds", "message"), MISTAKES, ids=[message[:60] for _, message in MISTAKES])
def test_mistakes(kinds: Json, message: str) -> None:
    with pytest.raises(ClusterError) as caught:
        parse_cluster(json.dumps({"devices": DEVICES, "kinds": kinds}))
    assert str(caught.value) == message
    assert caught.value.field == "cluster"


def test_a_device_of_a_kind_that_is_not_described_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ClusterError) as caught:
        parse_cluster(json.dumps({"devices": DEVICES}))
    assert str(caught.value) == f"Wafer-2: this device kind is not known; allowed: {', '.join(KINDS)}"


def test_a_rest_of_a_kind_that_is_not_there_is_refused() -> None:
    with pytest.raises(ClusterError) as caught:
        cluster_with(op_rest_us={"V100": 1})
    assert str(caught.value) == "cluster.op_rest_us: the key V100 is not known; allowed: K80, Wafer-2"
