"""The benchmark's scores in closed form: ties, missing values, refusals, who is ahead, profiles, few evaluations."""

import math
from typing import Any

import pytest

from engine.problem import Budget
from experiments.benchmark.few_evaluations import after, evaluations_to_near, marks_within, median_to_near
from experiments.benchmark.problems import BenchmarkProblem
from experiments.benchmark.profiles import profile, ratios, share_within
from experiments.benchmark.running import best_within, ended_by_itself, in_seconds
from experiments.benchmark.scores import ahead_of_auto, gaps_of, least_of, mean_of_seeds, quantile, score, strata_of
from tests.experiments.drawn_corpus import listed_graph

PROBLEMS = [
    BenchmarkProblem(listed_graph(f"g{index}", kind="ab"[index % 2]), cluster, "step_time")
    for index in range(5)
    for cluster in ("pair", "equal")
]
BEST = dict.fromkeys(PROBLEMS, 100.0)


def values(*of_problems: float | None) -> dict[BenchmarkProblem, float | None]:
    return dict(zip(PROBLEMS, of_problems, strict=False))


def test_a_mean_is_over_the_answered_problems_and_nine_in_ten_counts_the_others() -> None:
    own = values(100.0, 110.0, 120.0, None, *[100.0] * 6)
    found = score(own, PROBLEMS, BEST, least_of({"own": own}))
    assert (found.problems, found.answered) == (10, 9) and found.nine_in_ten == pytest.approx(0.2)
    assert found.gap is not None and found.gap.mean == pytest.approx(0.3 / 9) and found.gap.low <= found.gap.mean
    two_missing = score(values(None, None, *[100.0] * 8), PROBLEMS, BEST, BEST)
    assert two_missing.nine_in_ten == math.inf
    none = score(values(*[None] * 10), PROBLEMS, BEST, BEST)
    assert none.gap is None and none.answered == none.best == 0


def test_a_refused_problem_and_one_without_a_best_are_none_of_its_problems() -> None:
    own = values(100.0, 150.0)
    assert score(own, PROBLEMS, BEST, BEST).problems == 2
    assert score(own, PROBLEMS, {PROBLEMS[0]: 100.0}, BEST).problems == 1
    assert score(own, PROBLEMS[2:], BEST, BEST).gap is None


def test_ties_count_for_each() -> None:
    first, second = values(100.0, 120.0, None), values(100.0 * (1 + 1e-9), 110.0, 130.0)
    least = least_of({"first": first, "second": second})
    assert least == values(100.0, 110.0, 130.0)
    assert [score(each, PROBLEMS, BEST, least).best for each in (first, second)] == [1, 3]


def test_gaps_are_never_below_none_and_seeds_are_averaged() -> None:
    assert gaps_of(values(99.9999999), BEST) == {PROBLEMS[0]: 0.0}
    assert mean_of_seeds([100.0, 110.0]) == 105.0
    assert mean_of_seeds([100.0, None]) is None and mean_of_seeds([]) is None


def test_a_quantile_is_one_of_the_values() -> None:
    assert [quantile(list(range(1, 11)), share) for share in (0.5, 0.9, 1.0)] == [5, 9, 10]
    assert math.isnan(quantile([], 0.9))


def test_all_strata_of_all_dimensions() -> None:
    found = strata_of(PROBLEMS)
    sizes = {dimension: {name: len(of) for name, of in strata.items()} for dimension, strata in found.items()}
    assert sizes == {
        "all": {"all": 10},
        "kind": {"a": 6, "b": 4},
        "size": {"small": 10},
        "mode": {"inference": 10},
        "cluster": {"pair": 5, "equal": 5},
        "objective": {"step_time": 10},
    }


def test_auto_at_or_ahead_everywhere_has_no_exceptions() -> None:
    auto, other = values(*[100.0] * 10), values(*[100.0] * 8, None, None)
    assert ahead_of_auto({"auto": auto, "other": other}, BEST) == []


def test_exceptions_are_the_strata_where_a_method_is_ahead_in_the_mean() -> None:
    auto, other = values(*[110.0, 100.0] * 5), values(*[105.0, 106.0] * 5)
    found = ahead_of_auto({"auto": auto, "other": other}, BEST)
    assert [(one.dimension, one.stratum, one.method, one.surely) for one in found] == [
        ("cluster", "pair", "other", True)
    ]
    assert found[0].behind.mean == pytest.approx(0.05)


def test_a_method_that_answers_where_auto_does_not_is_ahead_and_one_problem_more_of_auto_says_nothing() -> None:
    answers = {"auto": values(100.0, None, 100.0), "other": values(None, 200.0, 110.0)}
    found = ahead_of_auto(answers, BEST)
    assert {(one.dimension, one.stratum) for one in found} >= {("all", "all"), ("cluster", "equal")}
    assert ("cluster", "pair") not in {(one.dimension, one.stratum) for one in found}
    assert all(one.behind.mean == math.inf for one in found)


def test_a_profile_in_closed_form() -> None:
    first, second = values(100.0, 150.0, None, 200.0), values(200.0, 100.0, 100.0)
    least = least_of({"first": first, "second": second})
    assert ratios(first, least, PROBLEMS) == [1.0, 1.5, math.inf, 1.0]
    points = profile(ratios(first, least, PROBLEMS))
    assert points == [(1.0, 0.5), (1.5, 0.75)]
    assert [share_within(points, factor) for factor in (0.9, 1.0, 1.4, 9.0)] == [0.0, 0.5, 0.5, 0.75]
    assert profile(ratios(second, least, PROBLEMS)) == [(1.0, 2 / 3), (2.0, 1.0)]
    assert profile([]) == []


ROW: dict[str, Any] = {
    "evaluations": 40,
    "seconds": 2.0,
    "found": [[2, 0.1, 130.0], [10, 0.5, 104.0], [31, 1.04, 100.0]],
}


def test_few_evaluations_are_read_off_the_improvements() -> None:
    assert marks_within(50) == [1, 3, 10, 30]
    assert after(ROW, (1, 3, 10, 30, 100)) == [None, 130.0, 104.0, 104.0, 100.0]
    assert evaluations_to_near(ROW, 100.0) == 10 and evaluations_to_near(ROW, 90.0) == math.inf
    rows = {problem: [ROW] for problem in PROBLEMS[:3]}
    best_us = dict(zip(PROBLEMS, (100.0, 99.0, 10.0), strict=False))
    median, share = median_to_near(rows, best_us)
    assert median == 31.0 and share == pytest.approx(2 / 3)


def test_what_comes_late_does_not_count() -> None:
    assert [best_within(ROW, seconds=seconds) for seconds in (0.05, 0.1, 0.9, 1.0)] == [None, 130.0, 104.0, 100.0]


def test_a_run_that_ended_by_itself_stands_for_one_with_seconds() -> None:
    assert ended_by_itself(ROW, Budget(41))
    assert not ended_by_itself(ROW, Budget(40)) and not ended_by_itself(ROW, in_seconds(1.0))
    assert not ended_by_itself(ROW | {"refused": "no"}, Budget(41))
