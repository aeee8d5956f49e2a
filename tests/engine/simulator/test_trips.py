"""Ops that a step executes several times, or never: closed forms, unrolled loops, what is held."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.clusters.cluster import Cluster, Contention, MemoryModel
from engine.costs.costs import Costs
from engine.errors import CostError, GraphError
from engine.graphs.graph import OPTIMIZER, ComputationGraph
from engine.simulator import Simulator, Timeline, timeline_to_trace
from engine.simulator.bound import lower_bound_us
from tests.engine.simulator.cases import Case, Op, cases, cluster_of, graph_of, make_costs, make_graph

N = 40
WORK = (Contention.SENDER, Contention.HOST)
"""with these a device sends when it has rested"""


def simulated(ops: list[Op], devices: list[int], cluster: Cluster) -> Timeline:
    graph, costs = graph_of(ops)
    return Simulator(graph, costs, cluster).timeline(np.array(devices, dtype=np.int32))


def test_an_op_takes_its_time_and_its_rest_once_a_trip() -> None:
    timeline = simulated([Op("a", time_us=10, trips=N)], [0], cluster_of(1))
    assert timeline.step_time_us == pytest.approx(N * (10 + 5.7))
    assert timeline.busy_us.tolist() == [N * 10]
    assert timeline.rest_us == pytest.approx([N * 5.7])
    assert timeline.idle_share == pytest.approx([0])


def test_an_op_without_time_has_no_rest_however_often_it_runs() -> None:
    assert simulated([Op("a", trips=N)], [0], cluster_of(1)).step_time_us == 0


@pytest.mark.parametrize("contention", list(Contention))
def test_within_a_body_an_output_is_sent_once_a_trip(contention: Contention) -> None:
    ops = [Op("a", time_us=10, outputs=[1000], trips=N), Op("b", ["a"], time_us=1, trips=N)]
    timeline = simulated(ops, [0, 1], cluster_of(2, contention, latency_us=3))
    rest_us = 5.7 if contention in WORK else 0
    received_us = 1000 / 100 if contention == Contention.HOST else 0
    assert timeline.start_us == pytest.approx([0, N * (10 + rest_us + 3 + 1000 / 100 + received_us)])
    assert timeline.transfers.trips.tolist() == [N]
    assert timeline.transfers.bytes.tolist() == [1000], "of one time"


@pytest.mark.parametrize("contention", list(Contention))
def test_into_a_loop_and_out_of_it_something_is_sent_once(contention: Contention) -> None:
    body = Op("body", ["before"], time_us=10, outputs=[500], trips=N)
    ops = [Op("before", time_us=10, outputs=[1000]), body, Op("after", ["body"], time_us=1)]
    timeline = simulated(ops, [0, 1, 0], cluster_of(2, contention, latency_us=3))
    rest_us = 5.7 if contention in WORK else 0
    is_host = contention == Contention.HOST
    arrives_us = 10 + rest_us + 13 + 10 * is_host
    assert timeline.start_us == pytest.approx([0, arrives_us, arrives_us + N * (10 + rest_us) + 8 + 5 * is_host])
    assert timeline.transfers.trips.tolist() == [1, 1]


def test_between_two_loops_something_is_sent_as_often_as_the_shorter_one_runs() -> None:
    ops = [Op("a", time_us=1, outputs=[1000], trips=N), Op("b", ["a"], trips=3)]
    assert simulated(ops, [0, 1], cluster_of(2)).start_us == pytest.approx([0, N + 3 * 10])


@pytest.mark.parametrize("contention", [Contention.BUS, Contention.PAIR])
def test_a_link_rests_once_a_trip(contention: Contention) -> None:
    ops = [
        Op("a", time_us=10, outputs=[1000, 2000], trips=N),
        Op("b", ["a:0"], time_us=1, trips=N),
        Op("c", ["a:1"], time_us=1, trips=N),
    ]
    timeline = simulated(ops, [0, 1, 1], cluster_of(2, contention))
    first_us = N * 10 + N * 10
    assert timeline.start_us == pytest.approx([0, first_us, first_us + N * 25 + N * 20])
    assert timeline.step_time_us == pytest.approx(first_us + N * 25 + N * 20 + N * 25), "the link's rest comes last"


def test_a_transfer_that_serves_several_is_made_as_often_as_one_of_them_needs() -> None:
    ops = [
        Op("a", time_us=10, outputs=[1000], trips=N),
        Op("b", ["a"], trips=N),
        Op("c", ["a"]),
        Op("d", ["a"], trips=0),
    ]
    on_a_bus = simulated(ops, [0, 1, 2, 3], cluster_of(4))
    assert on_a_bus.transfers.trips.tolist() == [N]
    assert on_a_bus.start_us.tolist() == [0, N * 20, N * 20, 0]
    alone = simulated(ops, [0, 1, 2, 3], cluster_of(4, Contention.PAIR))
    assert alone.transfers.trips.tolist() == [N, 1]
    assert alone.start_us.tolist() == [0, N * 20, N * 10 + 10, 0]
    together = simulated(ops, [0, 1, 1, 1], cluster_of(2, Contention.PAIR))
    assert together.transfers.trips.tolist() == [N]


def test_a_link_to_where_nothing_is_sent_does_not_slow_a_bus() -> None:
    ops = [Op("a", time_us=10, outputs=[1000]), Op("b", ["a"]), Op("c", ["a"], trips=0)]
    cluster = cluster_of(3)
    slow = np.array(cluster.bandwidth_bytes_per_us)
    slow[0, 2] = 1
    unequal = dataclasses.replace(cluster, bandwidth_bytes_per_us=slow)
    assert simulated(ops, [0, 1, 2], unequal).start_us.tolist() == [0, 20, 0]


def test_signals_within_a_body_take_the_latency_once_a_trip() -> None:
    ops = [Op("a", time_us=10, outputs=[10**6], trips=N), Op("b", ["^a"], trips=N)]
    assert simulated(ops, [0, 1], cluster_of(2, latency_us=3)).start_us.tolist() == [0, N * 13]


TAKEN = [
    Op("before", time_us=10, outputs=[1000]),
    Op("taken", ["before"], time_us=20, outputs=[1000]),
    Op("merge", ["taken"], time_us=5, outputs=[100]),
]
BRANCH = [
    TAKEN[0],
    TAKEN[1],
    Op("other", ["before"], time_us=900, outputs=[10**8], temporary=10**8, persistent=77, trips=0),
    Op("deeper", ["other"], time_us=900, outputs=[10**8], trips=0),
    Op("merge", ["taken", "deeper"], time_us=5, outputs=[100]),
]


@pytest.mark.parametrize("contention", list(Contention))
@pytest.mark.parametrize("memory_model", list(MemoryModel))
@pytest.mark.parametrize("branch", [(0, 0), (1, 1), (2, 2), (2, 0), (1, 2)])
def test_a_branch_that_is_not_taken_costs_nothing(
    contention: Contention, memory_model: MemoryModel, branch: tuple[int, int]
) -> None:
    cluster = cluster_of(3, contention, memory_model, latency_us=3)
    without = simulated(TAKEN, [0, 1, 0], cluster)
    timeline = simulated(BRANCH, [0, 1, *branch, 0], cluster)
    assert timeline.step_time_us == without.step_time_us
    assert timeline.rest_us.tolist() == without.rest_us.tolist()
    kept = np.zeros(3, dtype=np.int64)
    if memory_model != MemoryModel.OUTPUTS:
        kept[branch[0]] = 77
    assert timeline.peak_bytes.tolist() == (without.peak_bytes + kept).tolist(), "variables stay, and nothing else"


def test_a_branch_needs_a_time_on_its_device_all_the_same() -> None:
    costs = make_costs(("GPU", "CPU"), np.array([[np.nan], [1.0]]), [[4]], [(0, 0)], [0])
    simulator = Simulator(make_graph(("a",), []), costs, cluster_of(1))
    with pytest.raises(
        CostError, match=r"^op a: no time on K80; allowed: a device of kind CPU$|^op a: no time on K80$"
    ):
        simulator.evaluate(np.zeros((1, 1), dtype=np.int32))


def test_an_op_waits_for_itself_also_where_nothing_is_executed() -> None:
    graph = make_graph(("a", "b"), [(0, 1, 0), (1, 0, 0)])
    with pytest.raises(GraphError, match=r"^op a: the op waits for itself; allowed: no cycle$"):
        Simulator(graph, make_costs(("*",), np.ones((1, 2)), [[4], [4]], [(0, 0)] * 2, [0, 1]), cluster_of(1))


def curve(timeline: Timeline, device: int) -> list[tuple[float, int]]:
    memory = timeline.memory[device]
    return list(zip(memory.time_us.tolist(), memory.bytes.tolist(), strict=True))


def test_outputs_and_copies_are_held_once() -> None:
    cluster = cluster_of(2, op_rest_us=0, link_rest_us=0)
    ops = [Op("a", time_us=5, outputs=[100], temporary=7, trips=N), Op("b", ["a"], time_us=5, trips=N)]
    timeline = simulated(ops, [0, 1], cluster)
    assert curve(timeline, 0) == [(0, 107), (N * 5, 100), (N * 6, 0)]
    assert curve(timeline, 1) == [(0, 0), (N * 6, 100), (N * 11, 0)]
    assert timeline.peak_bytes.tolist() == [107, 100]


def test_what_is_never_sent_is_not_held_where_it_would_go() -> None:
    ops = [Op("a", time_us=5, outputs=[100]), Op("b", ["a"], trips=0), Op("c", ["^b"], time_us=5)]
    cluster = cluster_of(2, op_rest_us=0, link_rest_us=0)
    assert curve(simulated(ops, [0, 1, 0], cluster), 1) == [(0, 0)]
    timeline = simulated(ops, [0, 0, 0], cluster)
    assert curve(timeline, 0) == [(0, 100), (5, 0)], "the branch never starts: nothing is kept for it"
    assert timeline.start_us.tolist() == [0, 0, 5], "and nothing waits for it"
    assert timeline.peak_bytes.tolist() == [100, 0]


def test_the_trace_says_how_often_something_is_sent() -> None:
    ops = [Op("a", time_us=10, outputs=[1000], trips=N), Op("b", ["a"], trips=N), Op("c", ["^b"])]
    graph, costs = graph_of(ops)
    cluster = cluster_of(2)
    timeline = Simulator(graph, costs, cluster).timeline(np.array([0, 1, 0], dtype=np.int32))
    trace = timeline_to_trace(timeline, graph, costs, cluster)
    assert isinstance(trace, dict) and isinstance(trace["traceEvents"], list)
    spans = [event for event in trace["traceEvents"] if isinstance(event, dict) and event.get("pid") == 2]
    reported = {event["name"]: event["args"] for event in spans if event["ph"] == "X"}
    sent, signal = reported["a:0"], reported["^b"]
    assert isinstance(sent, dict) and sent["times"] == N and sent["bytes"] == 1000
    assert isinstance(signal, dict) and "times" not in signal


def test_a_billion_trips_are_simulated() -> None:
    ops = [Op("a", time_us=10, outputs=[1000], trips=10**9), Op("b", ["a"], time_us=1, trips=10**9)]
    step_us = simulated(ops, [0, 1], cluster_of(2, Contention.NONE)).step_time_us
    assert step_us == pytest.approx(10**9 * (10 + 10 + 1 + 5.7))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, 13.7]), min_size=1, max_size=6), st.integers(0, 12))
def test_on_one_device_a_loop_takes_as_long_as_its_body_written_so_often(times_us: list[float], trips: int) -> None:
    names = [f"op{index}" for index in range(len(times_us))]
    body = [
        Op(name, names[max(0, index - 1) : index], time_us, [10], trips=trips)
        for index, (name, time_us) in enumerate(zip(names, times_us, strict=True))
    ]
    written = [f"trip{trip}/{name}" for trip in range(trips) for name in names]
    unrolled = [
        Op(name, written[max(0, index - 1) : index], times_us[index % len(times_us)], [10])
        for index, name in enumerate(written)
    ]
    cluster = cluster_of(1)
    looped_us = simulated(body, [0] * len(body), cluster).step_time_us
    unrolled_us = simulated(unrolled, [0] * len(unrolled), cluster).step_time_us if unrolled else 0.0
    assert looped_us == pytest.approx(unrolled_us)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(placements=4))
def test_where_every_op_runs_once_nothing_changes_to_the_bit(case: Case) -> None:
    """Neither by trips of 1, nor by the code for trips, which a bystander that runs twice calls."""
    plain = dataclasses.replace(case.costs, trips=np.empty(0, dtype=np.int64))
    ones = dataclasses.replace(case.costs, trips=np.ones(case.graph.op_count, dtype=np.int64))
    graph, beside = with_bystander(case.graph, plain)
    placements = np.hstack([case.placements, np.zeros((len(case.placements), 1), dtype=np.int32)])
    wanted = Simulator(case.graph, plain, case.cluster).evaluate(case.placements)
    for answer in (
        Simulator(case.graph, ones, case.cluster).evaluate(case.placements),
        Simulator(graph, beside, case.cluster).evaluate(placements),
    ):
        assert np.array_equal(answer.step_time_us, wanted.step_time_us)
        assert np.array_equal(answer.peak_bytes, wanted.peak_bytes)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases(placements=4))
def test_where_every_op_runs_a_thousand_times_a_step_takes_a_thousand_times_as_long(case: Case) -> None:
    """1024 times, so that nothing is rounded otherwise."""
    once = dataclasses.replace(case.costs, trips=np.empty(0, dtype=np.int64))
    often = dataclasses.replace(case.costs, trips=np.full(case.graph.op_count, 1024, dtype=np.int64))
    wanted = Simulator(case.graph, once, case.cluster).evaluate(case.placements)
    answer = Simulator(case.graph, often, case.cluster).evaluate(case.placements)
    assert np.array_equal(answer.step_time_us, 1024 * wanted.step_time_us)
    if case.cluster.memory_model == MemoryModel.FULL:
        assert np.array_equal(answer.peak_bytes, wanted.peak_bytes)
    bounds_us = [lower_bound_us(case.graph, costs, case.cluster) for costs in (once, often)]
    assert bounds_us[1] == pytest.approx(1024 * bounds_us[0])


def with_bystander(graph: ComputationGraph, costs: Costs) -> tuple[ComputationGraph, Costs]:
    """One op more, the last in the file and by name, that runs twice, takes no time and holds nothing."""
    more = make_graph(
        (*graph.op_names, "zz"),
        list(zip(graph.edge_source, graph.edge_target, graph.edge_output, strict=True)),
    )
    phase = np.append(graph.phase, np.uint8(OPTIMIZER)) if len(graph.phase) else graph.phase
    more = dataclasses.replace(more, op_types=(*graph.op_types, ""), phase=phase)
    bounds = costs.output_offset
    outputs = [costs.output_bytes[low:high].tolist() for low, high in pairwise(bounds)]
    held = list(zip(costs.persistent_bytes.tolist(), costs.temporary_bytes.tolist(), strict=True))
    times = np.hstack([costs.time_us, np.zeros((len(costs.kinds), 1))])
    trips, buffers = [1] * graph.op_count + [2], costs.buffer_of_output.tolist()
    contents, launches = costs.contents_bytes.tolist(), costs.launches.tolist()
    launches = [*launches, 1] if launches else []
    return more, make_costs(costs.kinds, times, [*outputs, []], [*held, (0, 0)], trips, buffers, contents, launches)
