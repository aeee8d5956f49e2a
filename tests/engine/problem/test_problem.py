"""The ledger counts, keeps the best, and refuses what is beyond the budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import SettingsError
from engine.problem import Budget, BudgetSpentError, Ledger
from tests.engine.placers.small_problems import small_problem


@pytest.mark.parametrize("evaluations", [0, -1, 10**9])
def test_a_budget_outside_the_bounds_is_refused(evaluations: int) -> None:
    with pytest.raises(SettingsError) as caught:
        Budget(evaluations)
    assert str(caught.value) == f"evaluations: {evaluations} evaluations; allowed: 1 to 100000000"
    assert caught.value.field == "evaluations"


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_seconds_outside_the_bounds_are_refused(seconds: float) -> None:
    with pytest.raises(SettingsError, match="a number above 0"):
        Budget(1, seconds)


def test_more_than_the_budget_is_refused_before_anything_is_evaluated() -> None:
    problem = small_problem(1, evaluations=3)
    with pytest.raises(BudgetSpentError):
        problem.evaluate(np.zeros((4, problem.group_count), np.int32))
    assert problem.ledger.used == 0 and problem.ledger.best_placement is None


def test_a_group_where_it_may_not_go_is_refused() -> None:
    problem = small_problem(1, pins=True)
    with pytest.raises(AssertionError, match="may not go"):
        problem.evaluate(np.zeros((1, problem.group_count), np.int32))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 50)), min_size=1, max_size=30), st.integers(1, 7))
def test_the_ledger_keeps_the_first_of_the_best(rows: list[tuple[int, int]], batch: int) -> None:
    ledger = Ledger(Budget(1000))
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        ledger.note(
            np.arange(start, start + len(part), dtype=np.int32)[:, None],
            np.array([time for _, time in part], dtype=np.float64),
            np.array([missing for missing, _ in part], dtype=np.int64),
        )
    best = min(range(len(rows)), key=lambda index: (rows[index], index))
    assert ledger.answer().tolist() == [best]
    assert ledger.missing_bytes == rows[best][0]
    assert ledger.best_step_time_us == (rows[best][1] if rows[best][0] == 0 else None)


@pytest.mark.parametrize(
    ("budget", "used", "elapsed_seconds", "share"),
    [
        (Budget(3), 1, 1e9, 1 / 3),
        (Budget(3), 3, 0.0, 1.0),
        (Budget(100, 10.0), 20, 5.0, 0.5),
        (Budget(100, 10.0), 70, 5.0, 0.7),
        (Budget(100, 10.0), 20, 1e9, 1.0),
    ],
)
def test_the_share_that_is_spent_is_of_what_is_nearer_to_its_end(
    budget: Budget, used: int, elapsed_seconds: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Ledger, "elapsed_seconds", elapsed_seconds)
    ledger = Ledger(budget)
    ledger.charge(used)
    assert ledger.share_spent == share


def test_a_restored_ledger_goes_on_as_if_never_stopped() -> None:
    problem = small_problem(2)
    problem.evaluate(np.ones((5, problem.group_count), np.int32))
    other = problem.with_budget(problem.ledger.budget)
    other.ledger.restore(problem.ledger.state())
    assert other.ledger.used == 5
    assert other.ledger.best_step_time_us == problem.ledger.best_step_time_us
    assert np.array_equal(other.ledger.answer(), problem.ledger.answer())
    assert other.ledger.elapsed_seconds >= problem.ledger.state().elapsed_seconds - 1
