"""Joins units that some best split has on one device, so that fewer ideals are left.

A unit that takes no time anywhere, may go wherever its neighbour may, and takes no memory that matters, joins its only
neighbour after it (or before it) if its other data are free: that neighbour's stage may hold it, and what then passes
between stages is no more. StageUnits of a cycle share a device anyway.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from engine.graphs.ordering import strong_components
from engine.placers.pipeline_dp.units import StageUnits


def cycles_joined(units: StageUnits) -> NDArray[np.int32]:
    """[units] the number of each in `StageUnits.merged`, with which no cycle is left."""
    return strong_components(units.before, units.unit_count)


def idle_joined(units: StageUnits) -> NDArray[np.int32]:
    """[units] the number of each in `StageUnits.merged`, with which idle units have joined a neighbour."""
    return _Joining(units).joined()


class _Joining:
    """The neighbours of each unit while units join."""

    def __init__(self, units: StageUnits) -> None:
        count = units.unit_count
        self._after = _neighbours(units.before, count)
        self._before = _neighbours(units.before[:, ::-1], count)
        self._may_go = np.isfinite(units.time_us).T
        memory_matters = int(units.kept_bytes.sum()) > int(units.memory_bytes.min())
        self._idle = (np.where(self._may_go.T, units.time_us, 0.0) == 0.0).all(axis=0)
        self._idle &= (units.kept_bytes == 0) | (not memory_matters)
        self._touching: list[set[int]] = [set() for _ in range(count)]
        """[units] the outputs that each makes or uses, those that cost nothing apart"""
        self._producer = units.producer.tolist()
        self._consumers: list[set[int]] = []
        for output, free in enumerate(units.is_free().tolist()):
            consumers = units.consumer[units.consumer_offset[output] : units.consumer_offset[output + 1]].tolist()
            self._consumers.append(set(consumers))
            for unit in () if free else (*consumers, self._producer[output]):
                self._touching[unit].add(output)
        self._into = list(range(count))

    def joined(self) -> NDArray[np.int32]:
        waiting = np.flatnonzero(self._idle).tolist()
        while waiting:
            unit = waiting.pop()
            if self._into[unit] != unit:
                continue
            for neighbours in (self._after[unit], self._before[unit]):
                other = next(iter(neighbours)) if len(neighbours) == 1 else None
                if other is not None and self._may_join(unit, other):
                    beside = self._after[unit] | self._before[unit]
                    self._join(unit, other)
                    waiting.extend(near for near in sorted(beside) if self._idle[near])
                    break
        roots = [self._root(unit) for unit in range(len(self._into))]
        return np.unique(roots, return_inverse=True)[1].astype(np.int32)

    def _may_join(self, unit: int, other: int) -> bool:
        return bool((self._may_go[unit] | ~self._may_go[other]).all()) and all(
            self._producer[output] == other or (self._producer[output] == unit and self._consumers[output] == {other})
            for output in self._touching[unit]
        )

    def _join(self, unit: int, other: int) -> None:
        """`unit` becomes part of `other`."""
        self._into[unit] = other
        for mine, back in ((self._after, self._before), (self._before, self._after)):
            for near in mine[unit]:
                back[near].discard(unit)
                if near != other:
                    mine[other].add(near)
                    back[near].add(other)
        for output in self._touching[unit]:
            consumers = self._consumers[output]
            if unit in consumers:
                consumers.discard(unit)
                consumers.add(other)
            if self._producer[output] == unit:
                self._producer[output] = other
            consumers.discard(self._producer[output])
            if consumers:
                self._touching[other].add(output)
            else:
                self._touching[other].discard(output)

    def _root(self, unit: int) -> int:
        while self._into[unit] != unit:
            unit = self._into[unit]
        return unit


def _neighbours(pairs: NDArray[np.integer], count: int) -> list[set[int]]:
    found: dict[int, set[int]] = defaultdict(set)
    for first, second in pairs.tolist():
        found[first].add(second)
    return [found[unit] for unit in range(count)]
