"""The numbers of a method that learns, and which of them are emitted."""

import itertools
import json
import math

import pytest

from engine.events import FromPlacer, Update
from engine.problem.learning import MOST_DENSE, Learned, LearningCurve, stride_at
from tests.engine.placers.small_problems import small_problem


def test_an_update_has_the_means_since_the_last_one() -> None:
    curve = LearningCurve()
    for _ in range(MOST_DENSE):
        assert curve.add(Learned(entropy=1.0)) == Learned(entropy=1.0)
    assert curve.add(Learned(entropy=2.0, mean_return=-3.0)) is None
    assert curve.add(Learned(entropy=4.0, return_baseline=math.nan)) == Learned(entropy=3.0, mean_return=-3.0)


def test_a_long_run_has_few_updates_and_a_short_one_all() -> None:
    emitted = [learnings for learnings in range(1, 100_001) if learnings % stride_at(learnings) == 0]
    assert emitted[:MOST_DENSE] == list(range(1, MOST_DENSE + 1))
    assert len(emitted) < 1200
    gaps = [after - before for before, after in itertools.pairwise(emitted)]
    assert max(gap / after for gap, after in zip(gaps, emitted[1:], strict=True) if after > 2 * MOST_DENSE) < 0.01


@pytest.mark.parametrize("before", [3, 250, 777])
def test_a_restored_curve_continues_as_if_never_stopped(before: int) -> None:
    learned = [Learned(entropy=1.0 / n, mean_return=-float(n % 7)) for n in range(1, 1000)]
    whole = LearningCurve()
    expected = [whole.add(each) for each in learned][before:]
    first, second = LearningCurve(), LearningCurve()
    for each in learned[:before]:
        first.add(each)
    second.restore(json.loads(json.dumps(first.state())))
    assert [second.add(each) for each in learned[before:]] == expected


def test_a_called_method_s_updates_are_numbered_by_the_caller_s_evaluations() -> None:
    heard: list[FromPlacer] = []
    problem = small_problem(1, evaluations=100)
    problem = problem.reporting_to(heard.append)
    problem.ledger.charge(10)
    called = problem.sub_problem()
    called.ledger.charge(5)
    called.context.learned(Learned(entropy=0.5))
    [update] = heard
    assert isinstance(update, Update)
    assert (update.episode, update.evaluations, update.entropy, update.mean_return) == (15, 15, 0.5, None)
