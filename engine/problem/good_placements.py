"""Keeps the best placements of a run that really differ, so that they can be compared under other costs."""

import bisect
import math

import numpy as np
from numpy.typing import NDArray

MOST_KEPT = 10
ALIKE_SHARE = 0.05
"""two placements that put fewer than this share of the groups on other devices count as one"""
MOST_OF_A_BATCH = 30
"""placements of a batch that are looked at, the best ones: most of the others are worse and much alike"""


class GoodPlacements:
    """The best feasible placements so far, at most `MOST_KEPT`, of which no two are alike; the first one is the best.

    Placements are alike if they differ in few groups, the exchange of interchangeable devices left aside. Of alike ones
    it keeps the best, of equally good ones the first.
    """

    judges_otherwise = False
    """whether it compares placements by another figure than the one that the ledger makes small"""

    def __init__(self, class_of_device: NDArray[np.int32]) -> None:
        """`class_of_device` [devices]: devices of one class are interchangeable."""
        self._class_of_device = class_of_device
        self._kept: list[tuple[float, NDArray[np.int32]]] = []
        """(step time in µs, [groups]), the best first"""

    def placements(self) -> NDArray[np.int32]:
        """[kept, groups] the best first; there must be one."""
        return np.stack([placement for _, placement in self._kept])

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, placements: NDArray[np.int32], step_time_us: NDArray[np.float64]) -> None:
        """Keep those of `placements` [batch, groups] that are good: feasible ones with their step times [batch]."""
        better = np.flatnonzero(step_time_us < self._limit_us())
        for index in better[np.argsort(step_time_us[better], kind="stable")][:MOST_OF_A_BATCH]:
            self._add(placements[index], float(step_time_us[index]))

    def settle(self, placement: NDArray[np.int32], step_time_us: float) -> None:
        """Keep `placement` [groups] in place of the best one, if that takes `step_time_us` too."""
        if self._kept and self._kept[0][0] == step_time_us:
            self._kept[0] = (step_time_us, placement.astype(np.int32, copy=True))

    def _limit_us(self) -> float:
        """The step time that a placement must beat to be kept."""
        return self._kept[-1][0] if len(self._kept) == MOST_KEPT else math.inf

    def _add(self, placement: NDArray[np.int32], step_time_us: float) -> None:
        if step_time_us >= self._limit_us():
            return
        place = bisect.bisect_right(self._kept, step_time_us, key=lambda kept: kept[0])
        if any(self._are_alike(placement, better) for _, better in self._kept[:place]):
            return
        worse = [kept for kept in self._kept[place:] if not self._are_alike(placement, kept[1])]
        self._kept[place:] = [(step_time_us, placement.astype(np.int32, copy=True)), *worse]
        del self._kept[MOST_KEPT:]

    def _are_alike(self, one: NDArray[np.int32], other: NDArray[np.int32]) -> bool:
        least = max(1.0, ALIKE_SHARE * len(one))
        if np.count_nonzero(one != other) < least:
            return True
        return len(one) - most_in_common(one, other, self._class_of_device) < least

    def state(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The placements [kept, groups] and their step times in µs [kept], for a checkpoint."""
        placements = self.placements() if self._kept else np.empty((0, 0), dtype=np.int32)
        return placements, np.array([step_time_us for step_time_us, _ in self._kept])

    def restore(self, placements: NDArray[np.int32], step_time_us: NDArray[np.float64]) -> None:
        """Continue from a `state`."""
        self._kept = list(zip(step_time_us.tolist(), placements.astype(np.int32), strict=True))


def most_in_common(one: NDArray[np.int32], other: NDArray[np.int32], class_of_device: NDArray[np.int32]) -> int:
    """The groups that two placements [groups] put on the same device, once the devices of `other` are renamed.

    Each device may take the name of one of its class. The largest overlaps are matched first: exact where one placement
    is the other with devices exchanged, else at most the best possible.
    """
    devices = len(class_of_device)
    shared = np.bincount(one.astype(np.int64) * devices + other, minlength=devices**2).reshape(devices, devices)
    shared = np.where(class_of_device[:, None] == class_of_device[None, :], shared, 0)
    total = 0
    for _ in range(devices):
        largest = int(shared.argmax())
        row, column = divmod(largest, devices)
        if shared[row, column] == 0:
            break
        total += int(shared[row, column])
        shared[row], shared[:, column] = 0, 0
    return total


def with_first(first: NDArray[np.int32], placements: NDArray[np.int32]) -> NDArray[np.int32]:
    """The `placements` [candidates, units], with one of them, `first` [units], before the others."""
    return np.concatenate([first[None, :], placements[(placements != first).any(axis=1)]])
