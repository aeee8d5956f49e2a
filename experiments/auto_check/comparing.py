"""Auto beside another method on one graph: differences paired by seed, their interval, and tests of being behind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from statistics import fmean

from experiments.auto_check.measuring import Reached
from experiments.keeping.statistics import MeanInterval, exceeds, holm, paired_mean

TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Auto against another method on one case."""

    name: str
    """the case's"""
    method: str
    seeds: int
    """of the other method"""
    differences: tuple[float, ...]
    """for each pair, auto's step time less the other's, over the other's mean: above 0 auto is behind; infinite where
    auto alone finds nothing feasible"""

    @property
    def is_finite(self) -> bool:
        """Whether auto finds a feasible placement with every seed."""
        return all(map(isfinite, self.differences))

    @property
    def interval(self) -> MeanInterval:
        """The mean difference with its paired interval."""
        return paired_mean(self.differences) if self.is_finite else MeanInterval(inf, inf, inf)

    @property
    def behind(self) -> bool:
        """Whether the mean is above the tolerance."""
        return fmean(self.differences) > TOLERANCE

    def probability(self, limit: float) -> float:
        """The probability of such differences if auto is truly behind by at most `limit`."""
        return exceeds(self.differences, limit) if self.is_finite else 0.0


@dataclass(frozen=True, slots=True)
class GraphsBehind:
    """On how many graphs auto is behind a method, with Holm's correction over the method's graphs."""

    comparisons: tuple[PairedComparison, ...]
    behind: tuple[PairedComparison, ...]
    """behind by more than the tolerance in the mean"""
    slower: tuple[PairedComparison, ...]
    """those of `behind` whose interval excludes 0"""
    surely: tuple[PairedComparison, ...]
    """those of `behind` whose interval excludes the tolerance too"""

    @property
    def worst(self) -> PairedComparison:
        """The graph with the largest mean difference."""
        return max(self.comparisons, key=lambda one: one.interval.mean)


def compared(found: Mapping[str, Sequence[Reached]]) -> list[PairedComparison]:
    """Auto against each other method on each case, by the results of all methods on it.

    A method with one seed is paired with each of auto's if `found` has no more of it; others seed by seed. A method is
    left out where one of its seeds finds nothing feasible.
    """
    comparisons = []
    for name, reached in found.items():
        times = {method: _times(reached, method) for method in dict.fromkeys(one.method for one in reached)}
        autos = times.pop("auto")
        for method, others in times.items():
            known = [time_us for time_us in others.values() if time_us is not None]
            if len(known) == len(others):
                differences = tuple(_differences(autos, dict(zip(others, known, strict=True))))
                comparisons.append(PairedComparison(name, method, len(known), differences))
    return comparisons


def _times(reached: Iterable[Reached], method: str) -> dict[int, float | None]:
    return {one.seed: one.step_time_us for one in reached if one.method == method}


def _differences(autos: Mapping[int, float | None], others: Mapping[int, float]) -> Iterable[float]:
    mean_us = fmean(others.values())
    for seed, auto_us in autos.items():
        other_us = next(iter(others.values())) if len(others) == 1 else others.get(seed)
        if other_us is not None:
            yield inf if auto_us is None else (auto_us - other_us) / mean_us


def verdict(comparisons: Iterable[PairedComparison]) -> GraphsBehind:
    """The verdict on one method, by its comparisons on all graphs."""
    every = tuple(comparisons)
    behind = tuple(one for one in every if one.behind)

    def sure(limit: float) -> tuple[PairedComparison, ...]:
        rejected = holm([one.probability(limit) for one in every])
        return tuple(one for one, is_above in zip(every, rejected, strict=True) if is_above and one in behind)

    return GraphsBehind(every, behind, sure(0.0), sure(TOLERANCE))
