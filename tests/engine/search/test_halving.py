"""Successive halving: which starts walk, how much they may spend, and that the best start is left."""

import numpy as np
import pytest

from engine.problem import Budget, PlacementProblem
from engine.search.halving import MOST_STARTS, SHARE, Halving, Start, best_distinct
from engine.search.local_search import LocalSearchSettings
from tests.engine.placers.small_problems import small_problem


def starts_of(problem: PlacementProblem, count: int) -> list[Start]:
    rng = np.random.default_rng(0)
    placements = rng.integers(0, problem.device_count, (count, problem.group_count)).astype(np.int32)
    times_us = problem.evaluate(placements).step_time_us
    return [Start(placement, float(time_us), 0) for placement, time_us in zip(placements, times_us, strict=True)]


def halving_of(problem: PlacementProblem, starts: list[Start]) -> Halving:
    rng = np.random.default_rng(0)
    return Halving(problem, starts, LocalSearchSettings(), rng, lambda: False)


def test_equal_starts_count_once_and_one_that_misses_more_memory_not_at_all() -> None:
    one, other = np.array([0, 1], np.int32), np.array([1, 1], np.int32)
    starts = [Start(other, 7.0, 0), Start(one, 5.0, 0), Start(one.copy(), 5.0, 0), Start(np.flip(one), 1.0, 9)]
    assert [start.step_time_us for start in best_distinct(starts, 4)] == [5.0, 7.0]
    assert [start.step_time_us for start in best_distinct(starts, 1)] == [5.0]


def test_all_walks_spend_their_share_and_the_ledger_has_the_best() -> None:
    problem = small_problem(3, ops=30, evaluations=6000)
    starts = starts_of(problem, 8)
    used = problem.ledger.used
    halving_of(problem, starts).run()
    spent = problem.ledger.used - used
    assert SHARE * (6000 - used) - 2 * MOST_STARTS < spent <= SHARE * (6000 - used)
    assert problem.ledger.best_step_time_us is not None
    assert problem.ledger.best_step_time_us < min(start.step_time_us for start in starts)


@pytest.mark.parametrize("evaluations", [10, 60])
def test_where_each_start_would_get_too_little_nothing_is_spent(evaluations: int) -> None:
    problem = small_problem(3, ops=30, evaluations=evaluations)
    starts = starts_of(problem, 4)
    halving_of(problem, starts).run()
    assert problem.ledger.used == 4


def test_slow_walks_end_with_their_share_of_the_seconds() -> None:
    clock = [0.0]
    budget = Budget(1_000_000, seconds=10.0)
    problem = small_problem(3, ops=30).with_budget(budget, clock=lambda: clock[0])
    starts = starts_of(problem, 4)
    halving = halving_of(problem, starts)
    clock[0] = 2.9
    halving.run()
    some = problem.ledger.used
    assert some > 4
    late = small_problem(3, ops=30).with_budget(budget, clock=lambda: clock[0])
    halving = halving_of(late, starts_of(late, 4))
    clock[0] += 3.0
    halving.run()
    assert late.ledger.used == 4
