"""All placements one after the other, compiled; those that differ in the numbers of alike devices alone come once.

Of devices that are alike, a placement uses the first one first, then the second, and so on, from the first group to the
last: each placement has exactly one such form.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.search.chunk_result import ChunkResult, clear, missing_on_worst, note
from engine.simulator.compiled import compiled, inlined
from engine.simulator.event_loop import simulate_step
from engine.simulator.records import Scratch, Tables

MOST_COUNTED = 10**18


class Odometer(NamedTuple):
    """The placement at hand, and what says which one comes next."""

    placement: NDArray[np.int32]
    """[groups]"""
    used: NDArray[np.int32]
    """[groups + 1, classes] devices of each class that the groups before use"""
    allowed: NDArray[np.bool_]
    """[groups, devices]"""
    class_of_device: NDArray[np.int32]
    """[devices]"""
    rank_of_device: NDArray[np.int32]
    """[devices] its number within its class"""


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
    """Turn `odometer` to `placement`, one of those that it comes by."""
    for group, device in enumerate(placement):
        _put(odometer, group, int(device))


def count_placements(allowed: NDArray[np.bool_], class_of_device: NDArray[np.int32]) -> int:
    """How many placements there are, or `MOST_COUNTED` if there are at least as many."""
    sizes = np.bincount(class_of_device).tolist()
    open_classes = [sorted(set(class_of_device[row].tolist())) for row in allowed]
    ways: dict[tuple[int, ...], int] = {(0,) * len(sizes): 1}
    for classes in open_classes:
        following: dict[tuple[int, ...], int] = {}
        for used, count in ways.items():
            for own in classes:
                if used[own] > 0:
                    following[used] = following.get(used, 0) + count * used[own]
                if used[own] < sizes[own]:
                    more = (*used[:own], used[own] + 1, *used[own + 1 :])
                    following[more] = following.get(more, 0) + count
        ways = following
        if sum(ways.values()) >= MOST_COUNTED:
            return MOST_COUNTED
    return sum(ways.values())


@compiled
def enumerate_placements(
    tables: Tables,
    scratch: Scratch,
    memory_bytes: NDArray[np.int64],
    odometer: Odometer,
    found: ChunkResult,
    evaluations: int,
) -> None:
    """Evaluate the placement at hand and those that follow, `evaluations` in all; the odometer is left at the next."""
    clear(found)
    for _ in range(evaluations):
        step_time_us = simulate_step(tables, scratch, odometer.placement)
        note(found, odometer.placement, step_time_us, missing_on_worst(scratch, memory_bytes))
        _advance(odometer)


@inlined
def _advance(odometer: Odometer) -> None:
    """To the next placement; behind the last one comes the first."""
    for group in range(len(odometer.placement) - 1, -1, -1):
        device = _next_device(odometer, group, odometer.placement[group] + 1)
        if device >= 0:
            _put(odometer, group, device)
            _fill(odometer, group + 1)
            return
    _fill(odometer, 0)


@compiled
def _fill(odometer: Odometer, group: int) -> None:
    """The first device for `group` and each one behind it."""
    for following in range(group, len(odometer.placement)):
        _put(odometer, following, _next_device(odometer, following, 0))


@inlined
def _next_device(odometer: Odometer, group: int, lowest: int) -> int:
    """The first device from `lowest` where `group` may be; -1 if there is none."""
    for device in range(lowest, odometer.allowed.shape[1]):
        used = odometer.used[group, odometer.class_of_device[device]]
        if odometer.allowed[group, device] and odometer.rank_of_device[device] <= used:
            return device
    return -1


@compiled
def _put(odometer: Odometer, group: int, device: int) -> None:
    odometer.placement[group] = device
    odometer.used[group + 1] = odometer.used[group]
    own = odometer.class_of_device[device]
    if odometer.rank_of_device[device] == odometer.used[group, own]:
        odometer.used[group + 1, own] += 1
