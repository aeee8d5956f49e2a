"""The cooling schedule of a search: cycles from hot to cold, each twice as long as the one before.

So a search that is stopped early has finished some cycles, and the last cycle has half of the budget. A longer cycle
begins hotter: it has time to move away from its start, a short one has not.
"""

import math
from dataclasses import dataclass

HOTTEST = 0.05
"""above it a search forgets its start; no cycle begins hotter, unless the setting `hot` itself is higher"""


@dataclass(frozen=True, slots=True)
class CoolingSchedule:
    """The heat at each point of a search. Heats are shares of the best step time; progress goes from 0 to 1."""

    cycles: int
    hot: float
    """heat at which a cycle of length 1 begins; others scale it by the square root of their length"""
    cold: float
    length: float
    """length of all cycles together"""

    def cycle_at(self, progress: float) -> int:
        """The number of the cycle at `progress`, from 0."""
        return next(cycle for cycle in range(self.cycles) if progress < self.end_of(cycle) or cycle == self.cycles - 1)

    def end_of(self, cycle: int) -> float:
        """The progress at which a cycle ends."""
        return math.ldexp(1.0, cycle + 1 - self.cycles)

    def share_at(self, progress: float, cycle: int) -> float:
        """The share of `cycle` that is over at `progress`, from 0 to 1."""
        return min(1.0, max(0.0, (progress - self._begin_of(cycle)) / self._part_of(cycle)))

    def heat_at(self, progress: float, cycle: int) -> float:
        """The heat at `progress` within `cycle`; beyond the cycle's end it stays as cold as there."""
        hot = self.hot * math.sqrt(self._part_of(cycle) * self.length)
        hot = max(self.cold, min(max(HOTTEST, self.hot), hot))
        return hot * math.pow(self.cold / hot, self.share_at(progress, cycle))

    def _begin_of(self, cycle: int) -> float:
        return self.end_of(cycle - 1) if cycle > 0 else 0.0

    def _part_of(self, cycle: int) -> float:
        return self.end_of(cycle) - self._begin_of(cycle)


def cycles_for(evaluations: float, shortest: float) -> int:
    """The largest number of cycles whose first is not shorter than `shortest` evaluations."""
    return 1 + max(0, math.floor(math.log2(max(1.0, evaluations / shortest))))
