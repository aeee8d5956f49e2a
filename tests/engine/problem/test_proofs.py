"""What a method has proven: the ledger keeps the best bound, and a run ends where the best placement reaches it."""

import numpy as np

from engine.problem import Budget, Ledger, PlacementProblem
from engine.problem.ledger import Parent
from tests.engine.placers.small_problems import leveled_problem, small_problem


def with_best(problem: PlacementProblem, step_time_us: float) -> Ledger:
    """A ledger of the problem with a best placement of that time."""
    ledger = problem.ledger
    placement = np.zeros((1, problem.group_count), np.int32)
    ledger.note(placement, np.array([step_time_us]), np.zeros(1, np.int64))
    return ledger


def test_the_largest_bound_counts() -> None:
    ledger = with_best(small_problem(1), 100.0)
    known = []
    for bound_us in (50.0, 90.0, 70.0, 100.0 * (1 - 1e-12)):
        known.append((ledger.lower_bound_us, ledger.is_proven))
        ledger.prove(bound_us)
    assert known == [(None, False), (50.0, False), (90.0, False), (90.0, False)]
    assert ledger.is_proven


def test_without_a_placement_that_fits_nothing_is_optimal() -> None:
    ledger = Ledger(Budget(10))
    ledger.note(np.zeros((1, 3), np.int32), np.array([5.0]), np.array([1]))
    ledger.prove(100.0)
    assert not ledger.is_proven


def test_a_run_whose_best_is_proven_is_over() -> None:
    problem = small_problem(1)
    with_best(problem, 100.0)
    assert not problem.context.is_over(lambda: False)
    problem.ledger.prove(100.0)
    assert problem.context.is_over(lambda: False)


def test_a_part_proves_for_the_whole_where_it_has_the_same_placements() -> None:
    problem = leveled_problem(1)
    problem.sub_problem().ledger.prove(5.0)
    first_us = problem.ledger.lower_bound_us
    problem.sub_problem(problem.coarser[0]).ledger.prove(7.0)
    assert first_us == problem.ledger.lower_bound_us == 5.0, "coarser groups have fewer placements"
    assert not Parent(problem.ledger, devices=np.zeros(1, np.int32)).has_the_same_placements


def test_a_part_may_have_fewer_evaluations() -> None:
    problem = small_problem(1, evaluations=50)
    assert problem.sub_problem(most_evaluations=7).ledger.remaining == 7
    assert problem.sub_problem(most_evaluations=70).ledger.remaining == 50
