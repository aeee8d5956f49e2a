"""What few evaluations give: the best after 1, 3, 10, 30, 100 of them, and how many lead near the best known.

All of it is read off the improvements of runs at equal evaluations.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.benchmark.problems import BenchmarkProblem
from experiments.benchmark.running import best_within
from experiments.benchmark.scores import quantile

MARKS = (1, 3, 10, 30, 100)
NEAR = 0.05
"""relative to the best known"""


def marks_within(evaluations: int) -> list[int]:
    """The marks that a run of so many evaluations passes."""
    return [mark for mark in MARKS if mark <= evaluations]


def after(row: Mapping[str, Any], marks: Sequence[int]) -> list[float | None]:
    """The best in µs of a run after each of so many evaluations; None before the first that fits."""
    return [best_within(dict(row), evaluations=mark) for mark in marks]


def evaluations_to_near(row: Mapping[str, Any], best_us: float, near: float = NEAR) -> float:
    """The evaluations until a run was within `near` of the best known; infinite if it never was."""
    limit_us = best_us * (1 + near)
    return next((float(number) for number, _, time_us in row["found"] if time_us <= limit_us), math.inf)


def median_to_near(
    rows: Mapping[BenchmarkProblem, Sequence[Mapping[str, Any]]], best_us: Mapping[BenchmarkProblem, float]
) -> tuple[float, float]:
    """The median over the problems, infinite where most never came near; and the share of the problems that did.

    A problem counts by the median of its seeds.
    """
    numbers = [
        quantile([evaluations_to_near(row, best_us[problem]) for row in of_seeds], 0.5)
        for problem, of_seeds in rows.items()
        if problem in best_us
    ]
    if not numbers:
        return math.nan, math.nan
    return quantile(numbers, 0.5), sum(map(math.isfinite, numbers)) / len(numbers)
