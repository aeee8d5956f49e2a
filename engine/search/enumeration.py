"""Enumerates all placements, compiled; placements that differ only by exchanging interchangeable devices come once.

Among interchangeable devices a placement uses the first one first, then the second, and so on, from the first group to
the last: each placement has exactly one such form.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined
from engine.search.apart_table import ApartTable, keeps_apart
from engine.search.chunk_result import ChunkResult, clear, missing_on_worst, note
from engine.simulator.event_loop import simulate_step
from engine.simulator.records import Scratch, Tables

MOST_COUNTED = 10**18


class Odometer(NamedTuple):
    """The current placement, and the data from which the next one follows."""

    placement: NDArray[np.int32]
    """[groups]"""
    used: NDArray[np.int32]
    """[groups + 1, classes] number of devices of each class that the groups before use"""
    allowed: NDArray[np.bool_]
    """[groups, devices]"""
    class_of_device: NDArray[np.int32]
    """[devices]"""
    rank_of_device: NDArray[np.int32]
    """[devices] number within the device's class"""


def first_placement(allowed: NDArray[np.bool_], class_of_device: NDArray[np.int32]) -> Odometer:
    """The odometer at the first of all placements."""
    groups, devices = allowed.shape
    rank = [int(np.sum(class_of_device[:device] == class_of_device[device])) for device in range(devices)]
    odometer = Odometer(
        placement=np.zeros(groups, np.int32),
        used=np.zeros((groups + 1, int(class_of_device.max()) + 1), np.int32),
        allowed=np.ascontiguousarray(allowed),
        class_of_device=class_of_device,
        rank_of_device=np.array(rank, dtype=np.int32),
    )
    _fill(odometer, 0)
    return odometer


def at_placement(odometer: Odometer, placement: NDArray[np.int32]) -> None:
    """Set `odometer` to `placement`, which must be one that it enumerates."""
    for group, device in enumerate(placement):
        _put(odometer, group, int(device))


def count_placements(allowed: NDArray[np.bool_], class_of_device: NDArray[np.int32], most: int = MOST_COUNTED) -> int:
    """The number of placements, or `most` if there are more.

    Exchanging devices makes at most the product of the classes' factorials out of one placement. Where that already
    leaves too many, nothing is counted: the counts by used devices grow exponentially with the classes.
    """
    sizes = np.bincount(class_of_device).tolist()
    exchanges = sum(math.lgamma(size + 1) for size in sizes)
    if float(np.log(allowed.sum(axis=1)).sum()) - exchanges > math.log(most) + 1:
        return most
    open_classes = [sorted(set(class_of_device[row].tolist())) for row in allowed]
    ways: dict[tuple[int, ...], int] = {(0,) * len(sizes): 1}
    for classes in open_classes:
        following: dict[tuple[int, ...], int] = {}
        for used, count in ways.items():
            for device_class in classes:
                if used[device_class] > 0:
                    following[used] = following.get(used, 0) + count * used[device_class]
                if used[device_class] < sizes[device_class]:
                    more = (*used[:device_class], used[device_class] + 1, *used[device_class + 1 :])
                    following[more] = following.get(more, 0) + count
        ways = following
        if sum(ways.values()) >= most:
            return most
    return sum(ways.values())


@compiled
def enumerate_placements(
    tables: Tables,
    scratch: Scratch,
    memory_bytes: NDArray[np.int64],
    odometer: Odometer,
    found: ChunkResult,
    evaluations: int,
    apart: ApartTable,
) -> None:
    """Evaluate `evaluations` placements from the current one on; leaves the odometer behind the last of them.

    Placements that do not keep `apart` what must be are left out; there must be others.
    """
    clear(found)
    for _ in range(evaluations):
        while not keeps_apart(apart, odometer.placement):
            _advance(odometer)
        step_time_us = simulate_step(tables, scratch, odometer.placement)
        note(found, odometer.placement, step_time_us, missing_on_worst(scratch, memory_bytes))
        _advance(odometer)


@compiled
def count_apart(odometer: Odometer, apart: ApartTable, placements: int) -> int:
    """How many of so many placements, from the current one on, keep apart what must be."""
    kept = 0
    for _ in range(placements):
        kept += keeps_apart(apart, odometer.placement)
        _advance(odometer)
    return kept


@inlined
def _advance(odometer: Odometer) -> None:
    """Set the odometer to the next placement; after the last one comes the first."""
    for group in range(len(odometer.placement) - 1, -1, -1):
        device = _next_device(odometer, group, odometer.placement[group] + 1)
        if device >= 0:
            _put(odometer, group, device)
            _fill(odometer, group + 1)
            return
    _fill(odometer, 0)


@compiled
def _fill(odometer: Odometer, group: int) -> None:
    """Put `group` and each group after it on its first possible device."""
    for following in range(group, len(odometer.placement)):
        _put(odometer, following, _next_device(odometer, following, 0))


@inlined
def _next_device(odometer: Odometer, group: int, lowest: int) -> int:
    """The first device from `lowest` on where `group` may be, or -1."""
    for device in range(lowest, odometer.allowed.shape[1]):
        used = odometer.used[group, odometer.class_of_device[device]]
        if odometer.allowed[group, device] and odometer.rank_of_device[device] <= used:
            return device
    return -1


@compiled
def _put(odometer: Odometer, group: int, device: int) -> None:
    odometer.placement[group] = device
    odometer.used[group + 1] = odometer.used[group]
    device_class = odometer.class_of_device[device]
    if odometer.rank_of_device[device] == odometer.used[group, device_class]:
        odometer.used[group + 1, device_class] += 1
