"""Auto's start from whole loops: valid, each loop on one device, loops apart where that is faster and not else."""

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.levels import nested_groupings
from engine.graphs.loop_order import outermost_loops, with_loop_order
from engine.placers.auto import Auto
from engine.placers.whole_loops import MOST_LOOPS, evaluate_whole_loops
from engine.problem import Budget, PlacementProblem, RunContext
from tests.engine.placers.small_problems import clock_of_evaluations, small_cluster
from tests.engine.simulator.drawn_loops import LoopDrawing
from tests.engine.simulator.recurrent_layers import joined, recurrent_layer
from tests.engine.simulator.unrolled import LoopedGraph


def problem_of(
    graph: ComputationGraph,
    costs: Costs,
    *,
    devices: int = 2,
    evaluations: int = 1000,
    memory_bytes: int = 10**9,
    allowed: NDArray[np.bool_] | None = None,
) -> PlacementProblem:
    """A group an op, on GPUs."""
    graph = with_loop_order(graph)
    grouping = nested_groupings(graph, costs, graph.op_count)[-1]
    if allowed is None:
        allowed = np.ones((grouping.group_count, devices), dtype=bool)
    cluster = small_cluster(devices, memory_bytes=memory_bytes, latency_us=1.0)
    budget = Budget(evaluations)
    return PlacementProblem(graph, costs, grouping, cluster, allowed, RunContext.of(budget))


def layers(*parts: LoopedGraph) -> tuple[ComputationGraph, Costs]:
    return joined(*parts).as_loops()


def directions(count: int = 2) -> tuple[ComputationGraph, Costs]:
    return layers(*(recurrent_layer(f"layer{at}", "start", 30) for at in range(count)))


def stack() -> tuple[ComputationGraph, Costs]:
    return layers(
        recurrent_layer("one", "start", 40),
        recurrent_layer("two", "one/exit", 64),
        recurrent_layer("three", "two/exit", 50),
    )


def one_device_us(problem: PlacementProblem) -> float:
    """The shorter step of all ops on one device."""
    placements = np.repeat(np.arange(problem.device_count, dtype=np.int32)[:, None], problem.group_count, axis=1)
    return float(problem.simulator.evaluate(placements).step_time_us.min())


def loops_apart(problem: PlacementProblem, placement: NDArray[np.int32]) -> list[list[int]]:
    """The devices of each outermost loop."""
    loop_of_op = outermost_loops(problem.graph)
    return [
        np.unique(placement[problem.simulator.group_of_op[loop_of_op == loop]]).tolist()
        for loop in range(loop_of_op.max() + 1)
    ]


def best(problem: PlacementProblem) -> NDArray[np.int32]:
    placement = problem.ledger.best_placement
    assert placement is not None
    return placement


def test_two_directions_of_a_layer_are_split() -> None:
    problem = problem_of(*directions())
    evaluate_whole_loops(problem, lambda: False)
    assert problem.ledger.best_step_time_us is not None
    assert 0.5 <= problem.ledger.best_step_time_us / one_device_us(problem) <= 0.53
    (one,), (other,) = loops_apart(problem, best(problem))
    assert one != other


def test_the_loops_of_a_stack_gain_nothing_and_lose_nothing() -> None:
    problem = problem_of(*stack())
    evaluate_whole_loops(problem, lambda: False)
    together_us = one_device_us(problem)
    assert problem.ledger.best_step_time_us is not None
    assert 0.99 * together_us <= problem.ledger.best_step_time_us <= together_us
    assert all(len(devices) == 1 for devices in loops_apart(problem, best(problem)))


@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize("seed", range(15))
def test_drawn_loops_stay_whole_on_allowed_devices(seed: int, devices: int) -> None:
    """Each placement that is tried is valid; with all devices allowed each outermost loop is on one device."""
    rng = np.random.default_rng(seed)
    graph, costs = LoopDrawing(rng, deepest=2).graph.as_loops()
    problem = problem_of(graph, costs, devices=devices)
    evaluate_whole_loops(problem, lambda: False)
    if problem.ledger.best_step_time_us is not None:
        assert all(len(of_loop) == 1 for of_loop in loops_apart(problem, best(problem)))
        assert problem.ledger.best_step_time_us <= one_device_us(problem) * (1 + 1e-9)
    allowed = rng.random((graph.op_count, devices)) < 0.7
    allowed[~allowed.any(axis=1), -1] = True
    pinned = problem_of(graph, costs, devices=devices, allowed=allowed)
    evaluate_whole_loops(pinned, lambda: False)
    if pinned.ledger.used:
        assert pinned.respects(best(pinned)[None, :]).all()


def test_a_start_that_fits_is_taken_before_a_faster_one_that_does_not() -> None:
    """Each layer's state has 600 bytes, a device 1,000: only apart they fit."""
    graph, costs = directions()
    weights = np.array([600 if name.endswith("/recurrent") else 0 for name in graph.op_names])
    problem = problem_of(graph, dataclasses.replace(costs, persistent_bytes=weights), memory_bytes=1000)
    evaluate_whole_loops(problem, lambda: False)
    assert problem.ledger.best_step_time_us is not None, "feasible"


@pytest.mark.parametrize("evaluations", [1, 3, 4])
def test_no_more_is_evaluated_than_the_budget_has(evaluations: int) -> None:
    problem = problem_of(*directions(), evaluations=evaluations)
    evaluate_whole_loops(problem, lambda: False)
    assert problem.ledger.used == evaluations


def test_of_many_loops_the_heaviest_are_moved() -> None:
    count = MOST_LOOPS + 4
    graph, costs = layers(*(recurrent_layer(f"layer{at}", "start", 3, time_us=1.0 + at) for at in range(count)))
    problem = problem_of(graph, costs)
    evaluate_whole_loops(problem, lambda: False)
    assert problem.ledger.used == 2 * MOST_LOOPS
    light = np.isin([name.partition("/")[0] for name in graph.op_names], [f"layer{at}" for at in range(4)])
    assert len(set(best(problem)[problem.simulator.group_of_op[light]].tolist())) == 1, "they stay where all was"


@pytest.mark.parametrize("parts", [0, 1])
def test_without_two_loops_or_two_devices_nothing_is_evaluated(parts: int) -> None:
    for problem in (problem_of(*directions(parts)), problem_of(*directions(2), devices=1)):
        evaluate_whole_loops(problem, lambda: False)
        assert problem.ledger.used == 0


def test_of_alike_devices_one_is_tried() -> None:
    """The first loop stays or goes to another device; the second has two devices in use and a third."""
    problem = problem_of(*directions(), devices=8)
    evaluate_whole_loops(problem, lambda: False)
    assert problem.ledger.used == 2 + 3
    assert problem.ledger.best_step_time_us is not None
    assert problem.ledger.best_step_time_us <= 0.53 * one_device_us(problem)


def test_a_stop_or_spent_seconds_end_it_between_two_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = problem_of(*directions())
    evaluate_whole_loops(stopped, lambda: stopped.ledger.used > 0)
    assert stopped.ledger.used == 2
    clock_of_evaluations(monkeypatch, evaluations_a_second=1)
    hurried = problem_of(*directions()).with_budget(Budget(1000, 20.0))
    evaluate_whole_loops(hurried, lambda: False)
    assert hurried.ledger.used == 2, "a tenth of the seconds are for starts"


def test_auto_begins_with_them() -> None:
    """With no more evaluations than both starts take: two devices, and two loops on two devices each."""
    problem = problem_of(*directions(), evaluations=6)
    Auto().place(problem, np.random.default_rng(0), lambda: False)
    assert problem.ledger.best_step_time_us is not None
    assert problem.ledger.best_step_time_us <= 0.53 * one_device_us(problem)
