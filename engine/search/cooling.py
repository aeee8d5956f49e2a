"""How hot a search is at each moment of its budget: cycles from hot to cold, each twice as long as the one before.

So an early stop has something finished, and the last cycle has half of the budget. The longer a cycle, the hotter it
begins: a long one can afford to leave the place where it starts, a short one cannot.
"""

import math
from dataclasses import dataclass

HOTTEST = 0.05
"""above it a search forgets where it is; longer cycles do not begin hotter, unless all are asked to"""


@dataclass(frozen=True, slots=True)
class CoolingSchedule:
    """Heats are shares of the best step time; progress goes from 0 to 1."""

    cycles: int
    hot: float
    """where a cycle of length 1 begins; others by the square root of their length"""
    cold: float
    length: float
    """of all cycles together"""

    def cycle_at(self, progress: float) -> int:
        """The number of the cycle, from 0."""
        return next(cycle for cycle in range(self.cycles) if progress < self.end_of(cycle) or cycle == self.cycles - 1)

    def end_of(self, cycle: int) -> float:
        """The progress at which a cycle ends."""
        return math.ldexp(1.0, cycle + 1 - self.cycles)

    def heat_at(self, progress: float, cycle: int) -> float:
        """Within `cycle`; what lies behind its end is as cold as its end."""
        begin = self.end_of(cycle - 1) if cycle > 0 else 0.0
        part = self.end_of(cycle) - begin
        share = min(1.0, max(0.0, (progress - begin) / part))
        hot = max(self.cold, min(max(HOTTEST, self.hot), self.hot * math.sqrt(part * self.length)))
        return hot * math.pow(self.cold / hot, share)


def cycles_for(evaluations: float, shortest: float) -> int:
    """As many as there can be, if the first one must not be shorter than `shortest` evaluations."""
    return 1 + max(0, math.floor(math.log2(max(1.0, evaluations / shortest))))
