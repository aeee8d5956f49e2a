"""What a policy sees where a step executes ops several times: all that takes time takes it once a trip."""

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.placeto.seeing.features import GroupGraph, group_features, group_graph
from engine.placeto.seeing.list_schedule import commit, earliest_start, empty_schedule
from engine.placeto.seeing.reachability import relatives
from engine.placeto.seeing.two_passes import feedback_edges
from engine.placeto.seeing.view_graph import device_view_graph
from engine.problem import PlacementProblem, RunContext
from tests.engine.placers.small_problems import small_cluster, small_problem
from tests.engine.placeto.problems import graph_of, grouped, problem_of

OFTEN = 1024
"""a power of two, so that nothing is rounded otherwise"""


def in_a_loop(problem: PlacementProblem) -> PlacementProblem:
    """The same problem where the step executes everything `OFTEN` times."""
    costs = dataclasses.replace(problem.costs, trips=np.full(problem.graph.op_count, OFTEN))
    grouping = dataclasses.replace(problem.grouping, edge_bytes=problem.grouping.edge_bytes * OFTEN)
    return PlacementProblem(
        problem.graph, costs, grouping, problem.cluster, problem.allowed, RunContext.of(problem.ledger.budget)
    )


def scheduled(graph: GroupGraph, placement: NDArray[np.int32]) -> tuple[list[float], list[float]]:
    """When each group could start, and ends, in the running list schedule: in shares of a group's mean time."""
    view = device_view_graph(
        graph, relatives(graph.edge_source, graph.edge_target, graph.group_count, most_reachable_groups=100)
    )
    schedule = empty_schedule(graph.group_count, graph.device_count)
    starts = []
    for group, device in enumerate(placement.tolist()):
        starts.append(earliest_start(view.whole, schedule, placement, group, device))
        commit(view.whole, schedule, placement, group, device)
    return starts, schedule.finish.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_a_step_that_is_a_loop_looks_like_one_trip(seed: int) -> None:
    once = small_problem(seed, ops=15, devices=3, latency_us=3.0)
    graphs = [group_graph(problem) for problem in (once, in_a_loop(once))]
    assert np.array_equal(group_features(graphs[0]), group_features(graphs[1]))
    assert graphs[1].reference_us == OFTEN * graphs[0].reference_us
    placement = np.random.default_rng(seed).integers(0, 4, 15, dtype=np.int32)
    assert scheduled(graphs[1], placement) == scheduled(graphs[0], placement)


def test_an_edge_counts_as_often_as_something_is_sent_along_it() -> None:
    graph, costs = graph_of([(0, 1), (1, 2), (2, 3), (0, 4)], [10.0] * 5, [8] * 5)
    costs = dataclasses.replace(costs, trips=np.array([1, 40, 40, 1, 0]))
    seen = group_graph(problem_of(graph, costs, small_cluster(2)))
    assert list(zip(seen.edge_source.tolist(), seen.edge_target.tolist(), seen.edge_trips.tolist(), strict=True)) == [
        (0, 1, 1.0),
        (0, 4, 0.0),
        (1, 2, 40.0),
        (2, 3, 1.0),
    ]
    assert seen.moved_bytes.tolist() == [8, 320, 320, 8, 0]
    assert seen.output_bytes.tolist() == [8, 8, 8, 8, 0], "held once, of a branch that is not taken never"
    assert seen.time_us[:, 0] == pytest.approx([15.7, 40 * 15.7, 40 * 15.7, 15.7, 0])


def test_what_is_sent_backwards_in_a_loop_is_sent_once_a_trip() -> None:
    graph, costs = graph_of([(0, 1), (1, 2), (1, 3)], [10.0] * 4, [100, 200, 0, 0])
    costs = dataclasses.replace(costs, trips=np.array([1, 40, 7, 30]))
    source, target, sizes = feedback_edges(grouped(graph, costs, [0, 1, 0, 0], devices=2))
    assert (source.tolist(), target.tolist(), sizes.tolist()) == ([1], [0], [30 * 200])
