"""The chain that a step waits for, in closed forms, and its invariants on random graphs."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.clusters.cluster import Contention
from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph
from engine.problem import Budget, PlacementProblem, RunContext
from engine.search.annealing import critical_chain
from engine.search.neighbourhood import make_neighbourhood
from engine.simulator.event_loop import simulate_step
from tests.engine.placers.small_problems import one_group_an_op, small_problem
from tests.engine.simulator.cases import cluster_of, make_costs, make_graph


def chain_of(problem: PlacementProblem, placement: list[int]) -> list[int]:
    """The groups, the last one first."""
    scratch, ops = problem.simulator.new_scratch(), problem.graph.op_count
    simulate_step(problem.simulator.tables, scratch, np.array(placement, dtype=np.int32))
    before, chain = np.zeros(ops, np.int32), np.zeros(ops, np.int32)
    length = critical_chain(problem.simulator.tables, scratch, make_neighbourhood(problem), before, chain)
    return [int(group) for group in chain[:length]]


def problem_of(times_us: list[float], edges: list[tuple[int, int]], bytes_of_op: int = 8) -> PlacementProblem:
    """Ops with these times on two devices whose transfers take 1 µs and the bytes."""
    ops = len(times_us)
    graph: ComputationGraph = make_graph(
        tuple(f"op{index}" for index in range(ops)), [(source, target, 0) for source, target in edges]
    )
    costs: Costs = make_costs(("*",), np.array([times_us]), [[bytes_of_op]] * ops, [(0, 0)] * ops)
    cluster = cluster_of(2, Contention.BUS, latency_us=1)
    allowed: NDArray[np.bool_] = np.ones((ops, 2), dtype=bool)
    return PlacementProblem(graph, costs, one_group_an_op(graph, costs), cluster, allowed, RunContext.of(Budget(100)))


def test_a_chain_of_ops_is_the_chain_wherever_they_are() -> None:
    problem = problem_of([5.0] * 4, [(0, 1), (1, 2), (2, 3)])
    assert chain_of(problem, [0, 0, 0, 0]) == chain_of(problem, [0, 1, 0, 1]) == [3, 2, 1, 0]


def test_the_shorter_of_two_branches_is_not_waited_for() -> None:
    problem = problem_of([1.0, 50.0, 200.0, 1.0], [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert chain_of(problem, [0, 0, 1, 1]) == [3, 2, 0]


def test_an_op_that_was_ready_waits_for_the_one_before_it_on_its_device() -> None:
    problem = problem_of([30.0, 20.0, 10.0], [])
    assert chain_of(problem, [0, 0, 1]) == [1, 0]
    assert chain_of(problem, [1, 0, 1]) == [2, 0]


@given(st.integers(0, 500))
def test_it_ends_with_the_last_op_and_goes_back_in_time(seed: int) -> None:
    problem = small_problem(seed, ops=15, devices=3)
    placement = np.random.default_rng(seed).integers(0, 4, 15, dtype=np.int32)
    timeline = problem.simulator.timeline(placement)
    chain = chain_of(problem, placement.tolist())
    assert timeline.end_us[chain[0]] == timeline.end_us.max()
    starts = timeline.start_us[chain]
    assert (np.diff(starts) <= 0).all()
    assert starts[-1] == 0
