"""Weights that wait on another device: closed forms, the slow twin on drawn graphs, tied weights, refusals."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.child.parent import Limits, no_progress
from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.costs.layers import HeldParameters
from engine.errors import SettingsError
from engine.formats.offloading.apart import WeightsApart, with_weights_apart
from engine.formats.reading import prepare
from engine.graphs.graph import PHASES, ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.reading_options import ReadingOptions
from engine.simulator import Simulator, Timeline
from tests.engine.simulator import slow_memory
from tests.engine.simulator.cases import Case, Op, cases, cluster_of, graph_of
from tests.engine.simulator.slow_twin import SlowTwin

ACTIVATION = 40
BANDWIDTH, LATENCY_US = 100.0, 3.0


def chain(sizes: list[int], times: list[float]) -> WeightsApart:
    """Ops one after the other: op i holds `sizes[i]` bytes of weights, runs for `times[i]` µs, gives `ACTIVATION`."""
    ops = [
        Op(f"op{i}", [f"op{i - 1}"] * (i > 0), time_us, [ACTIVATION], persistent=size)
        for i, (size, time_us) in enumerate(zip(sizes, times, strict=True))
    ]
    graph, costs = graph_of(ops)
    return with_weights_apart(graph, costs, HeldParameters(costs.persistent_bytes, np.zeros(len(ops), dtype=np.int64)))


def links(devices: int, link_rest_us: float = 0.0) -> Cluster:
    return cluster_of(
        devices, bandwidth_bytes_per_us=BANDWIDTH, latency_us=LATENCY_US, link_rest_us=link_rest_us, op_rest_us=0
    )


def step(apart: WeightsApart, cluster: Cluster, ops: list[int], weights: list[int]) -> Timeline:
    """The step with each op, and the weights of each, on these devices."""
    device_of = {f"op{i}": device for i, device in enumerate(ops)}
    device_of |= {f"op{i}/weights": device for i, device in enumerate(weights)}
    device_of |= {f"op{i}/arrived": device for i, device in enumerate(ops)}
    placement = np.array([device_of[name] for name in apart.graph.op_names], dtype=np.int32)
    return Simulator(apart.graph, apart.costs, cluster).timeline(placement)


CHAINS = st.lists(st.tuples(st.integers(1, 5000), st.sampled_from([1.0, 7.5, 200.0])), min_size=1, max_size=8)


@given(CHAINS)
def test_a_chain_waits_for_each_layers_weights_and_holds_those_of_one(layers: list[tuple[int, float]]) -> None:
    """Each layer's copy begins when the layer before has ended, and the CPU has heard of it over the link."""
    sizes, times = [size for size, _ in layers], [time_us for _, time_us in layers]
    count = len(layers)
    timeline = step(chain(sizes, times), links(2), [0] * count, [1] * count)
    copies_us = sum(sizes) / BANDWIDTH + count * LATENCY_US
    assert timeline.step_time_us == pytest.approx(copies_us + (count - 1) * LATENCY_US + sum(times))
    held = [size + ACTIVATION * (1 + (i > 0)) for i, size in enumerate(sizes)]
    assert timeline.peak_bytes.tolist() == [max(held), sum(sizes)]


@given(CHAINS, st.data())
def test_on_two_gpus_each_waits_for_its_own_weights(layers: list[tuple[int, float]], data: st.DataObject) -> None:
    """A copy begins when the layer's input has crossed to its GPU, and the CPU has heard of it."""
    sizes, times = [size for size, _ in layers], [time_us for _, time_us in layers]
    count = len(layers)
    ops = data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count))
    waits = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    cluster = dataclasses.replace(links(3), contention=links(3).contention.PAIR)
    timeline = step(chain(sizes, times), cluster, ops, [2 if each else ops[i] for i, each in enumerate(waits)])
    now = 0.0
    for i, (size, time_us) in enumerate(layers):
        crosses = i > 0 and ops[i] != ops[i - 1]
        crossing_us = crosses * (LATENCY_US + ACTIVATION / BANDWIDTH)
        copy_us = waits[i] * ((i > 0) * LATENCY_US + LATENCY_US + size / BANDWIDTH)
        now += crossing_us + copy_us + time_us
    assert timeline.step_time_us == pytest.approx(now)
    assert timeline.peak_bytes[2] == sum(size for size, each in zip(sizes, waits, strict=True) if each)


@given(CHAINS)
def test_beside_their_ops_weights_cost_nothing(layers: list[tuple[int, float]]) -> None:
    sizes, times = [size for size, _ in layers], [time_us for _, time_us in layers]
    apart = chain(sizes, times)
    timeline = step(apart, links(2), [0] * len(layers), [0] * len(layers))
    assert timeline.step_time_us == pytest.approx(sum(times))
    assert timeline.peak_bytes.tolist() == [sum(sizes) + ACTIVATION * (1 + (len(layers) > 1)), 0]
    held = apart.held.variables[apart.graph.waiting_weights]
    assert held.tolist() == sizes and apart.held.variables.sum() == sum(sizes), "parameters move with the weights"


@st.composite
def drawn_apart(draw: st.DrawFn) -> Case:
    """A drawn case of which some ops that hold bytes hold parameters, read so that these may wait elsewhere."""
    case = draw(cases(most_ops=20, most_devices=4, placements=1))
    count = case.graph.op_count
    size = draw(st.lists(st.sampled_from([0, 100, 76000]), min_size=count, max_size=count))
    costs = dataclasses.replace(case.costs, persistent_bytes=np.array([*size[:-1], 500], dtype=np.int64))
    graph = dataclasses.replace(case.graph, phase=np.empty(0, dtype=np.uint8))
    held = HeldParameters(costs.persistent_bytes, np.zeros(count, dtype=np.int64))
    try:
        apart = with_weights_apart(graph, costs, held, draw(st.sampled_from(["", "torch"])))
    except SettingsError:
        apart = WeightsApart(graph, costs, held)
    devices = st.integers(0, len(case.cluster.devices) - 1)
    rows = draw(st.lists(st.lists(devices, min_size=apart.graph.op_count, max_size=apart.graph.op_count), min_size=1))
    return Case(apart.graph, apart.costs, case.cluster, _runnable(apart, case.cluster, np.array(rows, dtype=np.int32)))


def _runnable(apart: WeightsApart, cluster: Cluster, placements: NDArray[np.int32]) -> NDArray[np.int32]:
    """The placements with ops that have no time on their device on one where they have."""
    can = ~np.isnan(apart.costs.time_on_devices(cluster.devices))
    some = can.argmax(axis=0)
    return np.where(can[placements, np.arange(apart.graph.op_count)], placements, some).astype(np.int32)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn_apart())
def test_drawn_graphs_take_as_long_as_in_the_slow_twin(case: Case) -> None:
    twin = SlowTwin(case.graph, case.costs, case.cluster)
    answer = Simulator(case.graph, case.costs, case.cluster).evaluate(case.placements)
    for index, placement in enumerate(case.placements):
        slow = twin.simulate(placement)
        assert answer.step_time_us[index] == slow.now
        assert answer.peak_bytes[index].tolist() == slow_memory.peaks(slow)


def read(tmp_path: Path, text: str, options: ReadingOptions) -> tuple[ComputationGraph, Costs]:
    file = tmp_path / "graph.json"
    file.write_text(text)
    found = prepare(file, ".json", no_progress, Limits(), options=options)
    return found.graph, found.costs


TWO = (
    '{"nodes": [{"id": "a", "time_us": {"GPU": 5}, "output_bytes": [8], "persistent_bytes": 64, "parameters": 16},'
    ' {"id": "b", "time_us": {"GPU": 5}, "output_bytes": [8]}], "edges": [{"source": "a", "target": "b"}]}'
)


@pytest.mark.slow
def test_weights_may_wait_on_a_kind_that_the_file_does_not_name(tmp_path: Path) -> None:
    graph, costs = read(tmp_path, TWO, ReadingOptions(offload=True))
    assert graph.op_names == ("a", "b", "a/weights")
    assert graph.waiting_weights.tolist() == [False, False, True]
    assert np.isnan(costs.time_on(["CPU"])[0, :2]).all() and costs.time_on(["CPU"])[0, 2] == 0
    assert costs.persistent_bytes.tolist() == [0, 0, 64]


@given(CHAINS, st.integers(1, 4))
def test_no_group_holds_weights_and_their_ops(layers: list[tuple[int, float]], groups: int) -> None:
    apart = chain([size for size, _ in layers], [time_us for _, time_us in layers])
    grouping = group_ops(apart.graph, apart.costs, groups)
    for group in range(grouping.group_count):
        assert len(set(apart.graph.waiting_weights[grouping.group_of_op == group].tolist())) == 1


def test_a_module_that_takes_weights_of_another_has_them_copied_again() -> None:
    """The embedding's weights are there while it runs, and again while the head runs; not between."""
    size = 1000
    ops = [
        Op("embed/weight", [], 0, [size], persistent=size),
        Op("ids", [], 0, [0]),
        Op("embed/lookup", ["embed/weight", "ids"], 10, [ACTIVATION]),
        Op("body/work", ["embed/lookup"], 500, [ACTIVATION]),
        Op("head/mm", ["body/work", "embed/weight"], 10, [ACTIVATION]),
    ]
    graph, costs = graph_of(ops)
    costs = dataclasses.replace(costs, buffer_of_output=np.array([-2, -1, -1, -1, -1]))
    held = HeldParameters(costs.persistent_bytes, np.zeros(len(ops), dtype=np.int64))
    apart = with_weights_apart(graph, costs, held, "torch")
    assert apart.graph.op_names[5:] == ("head/weight", "embed/arrived", "head/arrived")
    waits = apart.graph.waiting_weights.astype(np.int32)
    timeline = Simulator(apart.graph, apart.costs, links(2)).timeline(waits)
    copies = [
        (apart.graph.op_names[op], start_us)
        for op, start_us, sent in zip(
            timeline.transfers.op.tolist(),
            timeline.transfers.start_us.tolist(),
            timeline.transfers.bytes.tolist(),
            strict=True,
        )
        if sent == size
    ]
    first_ends = 2 * LATENCY_US + size / BANDWIDTH
    assert copies == [("embed/weight", LATENCY_US), ("head/weight", pytest.approx(first_ends + 10 + 500 + LATENCY_US))]
    assert timeline.peak_bytes.tolist() == [size + 2 * ACTIVATION, size]
    once = Simulator(apart.graph, apart.costs, links(2)).timeline(np.zeros(8, dtype=np.int32))
    assert once.peak_bytes[0] == size + 2 * ACTIVATION, "on one device they are there once"


@pytest.mark.parametrize("phase", ["backward", "optimizer"])
def test_a_training_step_is_refused(phase: str) -> None:
    graph, costs = graph_of([Op("a", persistent=8), Op("u", ["a"])])
    graph = dataclasses.replace(graph, phase=np.array([0, PHASES.index(phase)], dtype=np.uint8))
    with pytest.raises(SettingsError, match=f"u is an op of the phase {phase}; allowed: a graph of inference"):
        with_weights_apart(graph, costs, HeldParameters(np.array([2, 0]), np.array([0, 0])))


@pytest.mark.slow
def test_a_graph_that_says_no_parameters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no op holds parameters; allowed: ops with parameters"):
        read(tmp_path, TWO.replace(', "parameters": 16', ""), ReadingOptions(offload=True))


@pytest.mark.parametrize(
    ("name", "words"),
    [("a.onnx", "ONNX model: nothing that runs it keeps weights"), ("a.pb", "GraphDef: nothing that runs it keeps")],
)
def test_formats_whose_runtimes_let_no_weights_wait_are_refused(tmp_path: Path, name: str, words: str) -> None:
    file = tmp_path / name
    file.write_bytes(b"anything")
    with pytest.raises(SettingsError, match=words):
        prepare(file, file.suffix, no_progress, Limits(), options=ReadingOptions(offload=True))


def test_other_options_of_a_recording_are_still_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="so it takes no batch size; allowed: no such options"):
        read(tmp_path, TWO, ReadingOptions(offload=True, batch_size=3))


def test_an_op_named_as_the_label_of_its_consumers_is_freed() -> None:
    graph, costs = graph_of([Op("w", [], 0, [8], persistent=8), Op("a", ["w"], 1), Op("b", ["a"], 1)])
    costs = dataclasses.replace(costs, buffer_of_output=np.array([-2, -1, -1]))
    graph = dataclasses.replace(graph, colocation=((), ("w",), ("w",)))
    apart = with_weights_apart(graph, costs, HeldParameters(np.array([2, 0, 0]), np.zeros(3, dtype=np.int64)))
    grouping = group_ops(apart.graph, apart.costs, None)
    assert grouping.group_of_op[1] == grouping.group_of_op[2] != grouping.group_of_op[0]
