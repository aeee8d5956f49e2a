"""The numbers of a method that learns, from which its updates are made."""

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

from engine.events import Json

MOST_DENSE = 200
"""beyond this many updates every second one is emitted, beyond twice as many every fourth, and so on"""


@dataclass(frozen=True, slots=True)
class Learned:
    """What a method says of one learning, as in `engine.events.Update`; None where it has no such number."""

    mean_return: float | None = None
    return_baseline: float | None = None
    memory_penalty: float | None = None
    entropy: float | None = None
    gradient_norm: float | None = None
    learning_rate: float | None = None


FIELDS = tuple(field.name for field in dataclasses.fields(Learned))


class LearningCurve:
    """Sums learnings up and decides which of them ends an update.

    It counts learnings and reads no clock, so that a run that continues from a saved state emits the same events as
    one that never stopped. A run of n learnings has about 200 + 100 · log2(n / 200) updates.
    """

    def __init__(self) -> None:
        self._learnings = 0
        self._sums: dict[str, float] = {}
        self._counts: dict[str, int] = {}

    def add(self, learned: Learned) -> Learned | None:
        """Add one learning; returns the means since the last update if this one ends an update."""
        for name in FIELDS:
            value = getattr(learned, name)
            if value is not None and math.isfinite(value):
                self._sums[name] = self._sums.get(name, 0.0) + float(value)
                self._counts[name] = self._counts.get(name, 0) + 1
        self._learnings += 1
        if self._learnings % stride_at(self._learnings):
            return None
        means = Learned(**{name: total / self._counts[name] for name, total in self._sums.items()})
        self._sums, self._counts = {}, {}
        return means

    def state(self) -> dict[str, Json]:
        """Everything that later updates depend on."""
        return {"learnings": self._learnings, "sums": {**self._sums}, "counts": {**self._counts}}

    def restore(self, state: Mapping[str, Json]) -> None:
        """Continue from what `state` returned."""
        learnings, sums, counts = state["learnings"], state["sums"], state["counts"]
        assert isinstance(learnings, int) and isinstance(sums, dict) and isinstance(counts, dict)
        self._learnings = learnings
        self._sums = {name: float(value) for name, value in sums.items() if isinstance(value, int | float)}
        self._counts = {name: value for name, value in counts.items() if isinstance(value, int)}


def stride_at(learnings: int) -> int:
    """The number of learnings that one update sums up, after `learnings` of them: a power of two."""
    return int(1 << ((learnings - 1) // MOST_DENSE).bit_length())
