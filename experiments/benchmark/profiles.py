"""Performance profiles: the share of problems that a method solves within a factor of the best method.

Source: Dolan and Moré: Benchmarking optimization software with performance profiles, Mathematical Programming 91, 2002.
Deviation: a method's problems are those that it was run on and did not refuse; a problem without a value has an
infinite ratio.
"""

import math
from collections.abc import Iterable, Mapping

from experiments.benchmark.problems import BenchmarkProblem
from experiments.benchmark.scores import MethodValues

Points = list[tuple[float, float]]
"""(factor, share of problems within it), at each step"""


def ratios(
    values: MethodValues, least: Mapping[BenchmarkProblem, float], problems: Iterable[BenchmarkProblem]
) -> list[float]:
    """The method's value over the least of any method, for each of its problems; infinite where it is missing."""
    chosen = [problem for problem in problems if problem in values and problem in least]
    return [_ratio(values[problem], least[problem]) for problem in chosen]


def _ratio(value_us: float | None, least_us: float) -> float:
    if value_us is None:
        return math.inf
    return value_us / least_us if least_us > 0 else 1.0


def profile(of_problems: Iterable[float]) -> Points:
    """The steps of the profile: at each finite ratio the share of problems with at most that ratio."""
    every = sorted(of_problems)
    steps: dict[float, float] = {}
    for number, ratio in enumerate(every, 1):
        if math.isfinite(ratio):
            steps[ratio] = number / len(every)
    return list(steps.items())


def share_within(points: Points, factor: float) -> float:
    """The profile's height at `factor`."""
    return max((share for ratio, share in points if ratio <= factor), default=0.0)
