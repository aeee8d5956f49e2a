"""Curves of the best step time so far against evaluations, for one run and over the seeds of a method."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TypeAlias

Point: TypeAlias = tuple[int, float]
"""evaluations used, best feasible step time in µs from there on"""

MOST_POINTS = 200
"""most points kept of a curve, more than a figure can show"""


@dataclass(slots=True)
class BestSoFar:
    """A growing curve: it gets every episode and keeps the improvements."""

    improvements: list[Point] = field(default_factory=list)
    evaluations: int = 0
    """used so far"""

    def note(self, evaluations: int, best_step_time_us: float | None) -> None:
        """Note the best feasible step time after `evaluations`; None if there is no feasible placement yet."""
        self.evaluations = max(self.evaluations, evaluations)
        if best_step_time_us is None:
            return
        if not self.improvements or best_step_time_us < self.improvements[-1][1]:
            self.improvements.append((evaluations, best_step_time_us))

    def evaluations_to_reach(self, step_time_us: float) -> int | None:
        """The evaluations after which the best was at most `step_time_us`; None if it never was."""
        return next((evaluations for evaluations, best_us in self.improvements if best_us <= step_time_us), None)

    def points(self) -> list[Point]:
        """At most `MOST_POINTS` + 2 points: the first, some between, the last, and one at the run's present end."""
        every = -(-len(self.improvements) // MOST_POINTS) or 1
        kept = self.improvements[:1] + self.improvements[every:-1:every] + self.improvements[1:][-1:]
        if kept and kept[-1][0] < self.evaluations:
            kept.append((self.evaluations, kept[-1][1]))
        return kept


@dataclass(frozen=True, slots=True)
class Band:
    """Median and range of the best step times of a method's seeds against evaluations. All fields are [points]."""

    evaluations: tuple[int, ...]
    median_us: tuple[float, ...]
    low_us: tuple[float, ...]
    high_us: tuple[float, ...]


def band_of(curves: Sequence[Sequence[Point]]) -> Band:
    """The median and range over `curves`, from where each has a point; a curve that has ended keeps its last value."""
    known = [curve for curve in curves if curve]
    if not known:
        return Band((), (), (), ())
    begin = max(curve[0][0] for curve in known)
    positions = _thinned(sorted({point[0] for curve in known for point in curve if point[0] >= begin}))
    columns = [[_value_at(curve, position) for curve in known] for position in positions]
    return Band(
        tuple(positions),
        tuple(median(values) for values in columns),
        tuple(min(values) for values in columns),
        tuple(max(values) for values in columns),
    )


def _value_at(curve: Sequence[Point], evaluations: int) -> float:
    return curve[bisect_right(curve, evaluations, key=lambda point: point[0]) - 1][1]


def _thinned(positions: list[int]) -> list[int]:
    """At most `MOST_POINTS` + 1 of `positions`, with the first and the last."""
    every = -(-len(positions) // MOST_POINTS)
    kept = positions[::every]
    return kept if kept[-1] == positions[-1] else [*kept, positions[-1]]
