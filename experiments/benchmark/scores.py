"""From rows to scores: gaps to the best known, their means over strata with intervals, and who is ahead.

A method's value on a problem is the mean over its seeds; it is missing where one of them found no placement that fits,
or none in time. Problems that a method refuses are not among its problems. A mean is over the problems with a value;
in `nine_in_ten` a missing one counts as infinite.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

from experiments.benchmark.problems import BenchmarkProblem
from experiments.benchmark.running import WITH
from experiments.keeping.statistics import MeanInterval, mean_over

DIMENSIONS = ("kind", "size", "mode", "cluster", "objective")
ALL = "all"
EQUAL = 1e-6
"""relative difference up to which two values count as equal"""
LEVEL = 1e-3
"""points of the gap up to which auto counts as at another method"""
MethodValues: TypeAlias = Mapping[BenchmarkProblem, float | None]
"""the problems of a method that it did not refuse → its step time or period in µs, None where it is missing"""


@dataclass(frozen=True, slots=True)
class StratumScore:
    """How a method does on the problems of a stratum."""

    problems: int
    answered: int
    gap: MeanInterval | None
    """to the best known, over the answered problems; None where there are none"""
    nine_in_ten: float
    """the gap that nine in ten of all its problems do not exceed; infinite where more than one in ten is missing"""
    best: int
    """problems on which no other method is ahead; equal ones count for each"""


@dataclass(frozen=True, slots=True)
class AheadOfAuto:
    """A stratum in which a method is ahead of auto in the mean."""

    dimension: str
    stratum: str
    method: str
    behind: MeanInterval
    """auto's gap less the method's, over the problems that both answer; infinite where auto misses one"""

    @property
    def surely(self) -> bool:
        """Whether the interval excludes what counts as level."""
        return self.behind.low > LEVEL

    @property
    def is_level(self) -> bool:
        """Whether the mean is so small that auto counts as at the method."""
        return self.behind.mean <= LEVEL


def mean_of_seeds(found: Sequence[float | None]) -> float | None:
    """The value of a problem by its seeds."""
    known = [each for each in found if each is not None]
    return fmean(known) if known and len(known) == len(found) else None


def gap_to(value_us: float, best_us: float) -> float:
    """The share by which a value is behind the best known one."""
    return max(0.0, value_us / best_us - 1.0) if best_us > 0 else 0.0


def gaps_of(values: MethodValues, best_us: Mapping[BenchmarkProblem, float]) -> dict[BenchmarkProblem, float | None]:
    """The gaps of a method on the problems whose best is known."""
    return {
        problem: None if value_us is None else gap_to(value_us, best_us[problem])
        for problem, value_us in values.items()
        if problem in best_us
    }


def strata_of(problems: Iterable[BenchmarkProblem]) -> dict[str, dict[str, list[BenchmarkProblem]]]:
    """Dimension → stratum → its problems; the first dimension is `ALL`."""
    found: dict[str, dict[str, list[BenchmarkProblem]]] = {ALL: {ALL: []}, **{name: {} for name in DIMENSIONS}}
    for problem in problems:
        found[ALL][ALL].append(problem)
        for dimension, stratum in problem.strata().items():
            found[dimension].setdefault(stratum, []).append(problem)
    return found


def least_of(values: Mapping[str, MethodValues]) -> dict[BenchmarkProblem, float]:
    """The best value of any method on each problem."""
    least: dict[BenchmarkProblem, float] = {}
    for of_method in values.values():
        for problem, value_us in of_method.items():
            if value_us is not None:
                least[problem] = min(value_us, least.get(problem, math.inf))
    return least


def score(
    values: MethodValues,
    problems: Iterable[BenchmarkProblem],
    best_us: Mapping[BenchmarkProblem, float],
    least: Mapping[BenchmarkProblem, float],
) -> StratumScore:
    """The score of a method on some problems; `least` are the best values of all methods."""
    own = {problem: values[problem] for problem in problems if problem in values and problem in best_us}
    gaps = gaps_of(own, best_us)
    known = by_graph(gaps)
    return StratumScore(
        problems=len(own),
        answered=sum(map(len, known)),
        gap=mean_over(known) if known else None,
        nine_in_ten=quantile([math.inf if gap is None else gap for gap in gaps.values()], 0.9),
        best=sum(
            value_us is not None and value_us <= least[problem] * (1 + EQUAL) for problem, value_us in own.items()
        ),
    )


def by_graph(values: Mapping[BenchmarkProblem, float | None]) -> list[list[float]]:
    """The values that are not missing, those of a graph together, as `mean_over` takes them."""
    found: dict[str, list[float]] = {}
    for problem, value in values.items():
        if value is not None:
            found.setdefault(problem.graph.name, []).append(value)
    return list(found.values())


def quantile(values: Sequence[float], share: float) -> float:
    """The least value that `share` of the values do not exceed; NaN for no values."""
    if not values:
        return math.nan
    return sorted(values)[max(0, math.ceil(share * len(values) - 1e-9) - 1)]


def ahead_of_auto(
    values: Mapping[str, MethodValues], best_us: Mapping[BenchmarkProblem, float], auto: str = "auto"
) -> list[AheadOfAuto]:
    """The strata in which a method is ahead of auto in the mean; empty where auto is at or ahead of every method.

    Auto with a policy is not among the others. The strata are those of problems that auto was run on. Where both find
    nothing, and where the method alone finds nothing, the problem says nothing about the mean.
    """
    found = []
    gaps = {method: gaps_of(of_method, best_us) for method, of_method in values.items()}
    others = sorted(method for method in gaps if method.partition(WITH)[0] != auto)
    for dimension, strata in strata_of(gaps.get(auto, {})).items():
        for stratum, problems in strata.items():
            for method in others if problems else ():
                behind = auto_behind(gaps[auto], gaps[method], problems)
                if behind is not None and behind.mean > EQUAL:
                    found.append(AheadOfAuto(dimension, stratum, method, behind))
    return found


def auto_behind(
    auto: Mapping[BenchmarkProblem, float | None],
    other: Mapping[BenchmarkProblem, float | None],
    problems: Iterable[BenchmarkProblem],
) -> MeanInterval | None:
    """The mean of auto's gap less the other's over the problems that the other answers; None where there are none."""
    differences: dict[BenchmarkProblem, float | None] = {}
    for problem in problems:
        gap, others = auto[problem], other.get(problem)
        if others is not None:
            differences[problem] = math.inf if gap is None else gap - others
    units = by_graph(differences)
    if not units:
        return None
    if any(math.isinf(value) for unit in units for value in unit):
        return MeanInterval(math.inf, math.inf, math.inf)
    return mean_over(units)
