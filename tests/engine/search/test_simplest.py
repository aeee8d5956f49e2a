"""The simplest placement: as simple as the given one or simpler, within the tolerance, mostly the simplest of all."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.problem import Budget, PlacementProblem, RunContext
from engine.search.crossing import GroupEdges
from engine.search.simplest import LEAST_OF_LARGE, Simplest, devices_used, most_evaluations, simplest_of
from tests.engine.placers.small_problems import leveled_problem, one_group_an_op, small_cluster, small_graph
from tests.engine.placers.small_problems import small_problem as drawn_problem

GROUPS = 7
Key = tuple[int, int]
"""devices used, crossing edges"""


def crossing_twin(problem: PlacementProblem, placement: NDArray[np.int32]) -> int:
    """Crossing edges, counted one by one."""
    device_of_op = placement[problem.simulator.group_of_op]
    edges = [*zip(problem.graph.edge_source, problem.graph.edge_target, strict=True), *problem.graph.back_edges]
    return sum(bool(device_of_op[source] != device_of_op[target]) for source, target in edges)


def key_of(problem: PlacementProblem, placement: NDArray[np.int32]) -> Key:
    return len(set(placement.tolist())), crossing_twin(problem, placement)


def brute_force(problem: PlacementProblem, tolerance: float) -> tuple[NDArray[np.int32], float, Key]:
    """The fastest placement, its step time, and the simplest key within `tolerance` of it, over all placements."""
    shape = range(problem.device_count), problem.group_count
    every = np.array([*product(shape[0], repeat=shape[1])], dtype=np.int32)
    every = every[problem.respects(every)]
    evaluations = problem.simulator.evaluate(every)
    times_us = np.where(problem.feasible(evaluations), evaluations.step_time_us, np.inf)
    best = int(times_us.argmin())
    near = every[times_us <= times_us[best] * (1 + tolerance)]
    return every[best], float(times_us[best]), min(key_of(problem, placement) for placement in near)


def check(problem: PlacementProblem, given: NDArray[np.int32], limit_us: float, found: Simplest) -> Key:
    """What every answer must be; returns its key."""
    evaluation = problem.simulator.evaluate(found.placement[None, :])
    assert problem.feasible(evaluation).all() and problem.respects(found.placement[None, :]).all()
    assert found.step_time_us == evaluation.step_time_us[0] <= limit_us
    key = key_of(problem, found.placement)
    assert (found.devices_used, found.crossing_edges) == key <= key_of(problem, given)
    assert found.evaluations <= most_evaluations(problem)
    return key


@pytest.mark.parametrize(("tolerance", "least_share"), [(0.0, 0.9), (0.01, 0.8), (0.2, 0.8)])
def test_it_is_mostly_the_simplest_of_all_placements_and_never_worse_than_the_start(
    tolerance: float, least_share: float
) -> None:
    seeds, equal, simpler = range(60), 0, 0
    for seed in seeds:
        problem = drawn_problem(seed, ops=GROUPS, cpu=seed % 2 == 0, pins=seed % 3 == 0)
        fastest, step_time_us, optimum = brute_force(problem, tolerance)
        found = simplest_of(problem, fastest, tolerance)
        key = check(problem, fastest, step_time_us * (1 + tolerance), found)
        assert key >= optimum
        equal += key == optimum
        simpler += key < key_of(problem, fastest)
    assert equal >= least_share * len(seeds)
    assert simpler >= 5 or tolerance == 0


@pytest.mark.parametrize("seed", range(4))
def test_from_any_start_on_many_devices_and_levels(seed: int) -> None:
    problem = leveled_problem(seed, ops=60, devices=4)
    given = np.random.default_rng(seed).integers(0, 4, problem.group_count).astype(np.int32)
    limit_us = float(problem.simulator.evaluate(given[None, :]).step_time_us[0]) * 1.01
    found = simplest_of(problem, given)
    key = check(problem, given, limit_us, found)
    assert key[1] < key_of(problem, given)[1] / 2, "a random placement has many edges to spare"


def test_one_device_is_the_answer_where_it_is_as_fast() -> None:
    problem = drawn_problem(3, cpu=False)
    alone = np.zeros(GROUPS, dtype=np.int32)
    alone_us = float(problem.simulator.evaluate(alone[None, :]).step_time_us[0])
    slow = next(
        placement
        for placement in np.array([*product((0, 1), repeat=GROUPS)], dtype=np.int32)
        if problem.simulator.evaluate(placement[None, :]).step_time_us[0] > alone_us and 0 < placement.sum() < GROUPS
    )
    found = simplest_of(problem, slow)
    assert (found.devices_used, found.crossing_edges) == (1, 0)
    assert len(set(found.placement.tolist())) == 1


def test_memory_is_kept_where_one_device_has_too_little() -> None:
    graph, costs = small_graph(np.random.default_rng(5), GROUPS)
    ample = drawn_problem(5, cpu=False)
    peak = int(ample.simulator.evaluate(np.zeros((1, GROUPS), dtype=np.int32)).peak_bytes[0, 0])
    cluster = small_cluster(2, memory_bytes=peak - 1)
    allowed = np.ones((GROUPS, 2), dtype=bool)
    problem = PlacementProblem(
        graph, costs, one_group_an_op(graph, costs), cluster, allowed, RunContext.of(Budget(100))
    )
    fastest, step_time_us, _ = brute_force(problem, 1.0)
    found = simplest_of(problem, fastest, 1.0)
    check(problem, fastest, 2 * step_time_us, found)
    assert found.devices_used == 2


def test_the_same_problem_gives_the_same_placement_and_charges_nothing() -> None:
    problem, again = leveled_problem(1, ops=60, devices=3), leveled_problem(1, ops=60, devices=3)
    given = np.random.default_rng(1).integers(0, 3, problem.group_count).astype(np.int32)
    found = simplest_of(problem, given, 0.05)
    assert np.array_equal(found.placement, simplest_of(again, given, 0.05).placement)
    assert problem.ledger.used == 0 and problem.ledger.best_placement is None


def test_a_limit_in_seconds_ends_it() -> None:
    problem = leveled_problem(2, ops=60, devices=3)
    timed = problem.with_budget(Budget(400, seconds=10.0), clock=iter(range(10_000)).__next__)
    given = np.random.default_rng(2).integers(0, 3, problem.group_count).astype(np.int32)
    assert simplest_of(timed, given, 0.05).evaluations < simplest_of(problem, given, 0.05).evaluations


def test_it_takes_less_than_a_tenth_of_the_evaluations_or_so_few_that_nobody_notices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = leveled_problem(0, ops=60)
    assert most_evaluations(problem) == 500
    monkeypatch.setattr("engine.search.simplest.QUICK_WORK", 0)
    for evaluations, most in ((1000, 80), (2000, 160), (50_000, 4000), (10**6, 5000)):
        assert most_evaluations(problem.with_budget(Budget(evaluations))) == most < evaluations / 10
    monkeypatch.setattr("engine.search.simplest.MOST_WORK", 0)
    assert most_evaluations(problem) == LEAST_OF_LARGE


def test_crossing_edges_are_counted_once_each_with_parallel_and_back_edges() -> None:
    for seed in range(5):
        problem = leveled_problem(seed, ops=40, devices=3)
        placement = np.random.default_rng(seed).integers(0, 3, problem.group_count).astype(np.int32)
        edges = GroupEdges.of(problem.graph, problem.simulator.group_of_op)
        assert edges.crossing(placement) == crossing_twin(problem, placement)
        assert devices_used(placement) == len(set(placement.tolist()))
