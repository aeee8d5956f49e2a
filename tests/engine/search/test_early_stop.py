"""Evaluations that stop where they are sure to be rejected: the walk is the same as if each went on to its end."""

from typing import NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.graphs.grouping.grouping import group_ops
from engine.problem import Budget, PlacementProblem, RunContext
from engine.search.annealer import Annealer
from tests.engine.placers.small_problems import small_problem
from tests.engine.simulator.cases import Case, cases

CHUNKS = (1, 40, 7, 100)


class Walked(NamedTuple):
    """What a search, and everything after it, depends on; and the sums of the chunks' step times."""

    placements: list[list[int]]
    bests: list[tuple[list[int], float, int, int, int]]
    random_state: int
    sums_us: list[float]


def walk(problem: PlacementProblem, seed: int, share: float, *, stops: bool) -> Walked:
    """Walk in chunks from a random placement, at a heat of `share` of its step time that falls to a tenth."""
    rng = np.random.default_rng(seed)
    start = np.array([rng.choice(np.flatnonzero(allowed)) for allowed in problem.allowed], np.int32)
    step_time_us = float(problem.simulator.evaluate(start[None]).step_time_us[0])
    annealer = Annealer(problem, rng)
    if not stops:
        annealer.never_stop()
    annealer.go_to(start, step_time_us)
    heat_us = max(share * step_time_us, 1e-6)
    walked = Walked([], [], 0, [])
    for count in CHUNKS:
        best = annealer.evaluate(count, heat_us, heat_us / 10)
        walked.placements.append(annealer.placement.tolist())
        walked.bests.append((best.placement.tolist(), best.step_time_us, best.missing_bytes, best.at, best.evaluations))
        walked.sums_us.append(best.sum_us)
    return walked._replace(random_state=int(annealer._walk.trial.random[0]))


def assert_same_walk(problem: PlacementProblem, seed: int, share: float) -> bool:
    """Returns whether any evaluation stopped."""
    stopping, whole = (walk(problem, seed, share, stops=stops) for stops in (True, False))
    assert stopping[:-1] == whole[:-1]
    assert all(one <= other for one, other in zip(stopping.sums_us, whole.sums_us, strict=True))
    return stopping.sums_us != whole.sums_us


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(most_devices=6, placements=0), st.integers(0, 99), st.sampled_from([1e-6, 0.001, 0.01, 0.1, 1.0]))
def test_the_walk_is_the_same_in_all_models_and_with_too_little_memory(case: Case, seed: int, share: float) -> None:
    grouping = group_ops(case.graph, case.costs, None)
    allowed = np.ones((grouping.group_count, case.cluster.device_count), dtype=bool)
    problem = PlacementProblem(case.graph, case.costs, grouping, case.cluster, allowed, RunContext.of(Budget(1)))
    assert_same_walk(problem, seed, share)


def test_on_larger_problems_too_where_most_walks_stop_somewhere() -> None:
    """With 30 MB a device, memory is missing in most of them, at first or until the end."""
    stopped = [
        assert_same_walk(small_problem(seed, ops=60, devices=3, memory_bytes=memory_bytes), seed, 0.01)
        for seed in range(4)
        for memory_bytes in (10**9, 40_000_000, 30_000_000)
    ]
    assert sum(stopped) >= 10


def test_a_walk_that_goes_on_from_its_state_stops_as_before() -> None:
    problem = small_problem(3, ops=40, devices=3)
    sums_us = []
    for never in (False, True):
        first = Annealer(problem, np.random.default_rng(0))
        if never:
            first.never_stop()
        first.go_to(np.zeros(40, np.int32), 10_000.0)
        first.evaluate(100, 10.0, 10.0)
        second = Annealer(problem, np.random.default_rng(1))
        second.restore(first.state({}))
        sums_us.append(first.evaluate(100, 10.0, 10.0).sum_us)
        assert second.evaluate(100, 10.0, 10.0).sum_us == sums_us[-1]
    assert sums_us[0] < sums_us[1]
