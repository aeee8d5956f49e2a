"""The times in which a device idles, each with what the device waits for."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.files.compiled import compiled
from engine.simulator.timeline import NOT_WAITED, Timeline


class IdleCause(IntEnum):
    """What an idle device waits for."""

    INPUT = 0
    """another device computes what the next op needs"""
    LINK = 1
    """what the next op needs is on a link, or waits for one"""
    ORDER = 2
    """an op that the next one needs could run, but stands in the queue of another device"""
    END = 3
    """nothing: the device has no further op in this step"""


@dataclass(frozen=True, slots=True)
class Idle:
    """The idle times of all devices, device by device, in order of time."""

    device: NDArray[np.int32]
    """[idle times]"""
    start_us: NDArray[np.float64]
    """[idle times]"""
    end_us: NDArray[np.float64]
    """[idle times]"""
    before_op: NDArray[np.int64]
    """[idle times] the op that ends it, or `NOT_WAITED`"""
    waits_us: NDArray[np.float64]
    """[idle times, causes] the parts of the time by cause"""
    activity: NDArray[np.int64]
    """[idle times] what most of the time is spent on: an op, or ops + index of a transfer; or `NOT_WAITED`"""

    @property
    def cause(self) -> NDArray[np.uint8]:
        """[idle times] the cause of the largest part."""
        return np.asarray(self.waits_us.argmax(axis=1), dtype=np.uint8)


def idle_of(timeline: Timeline) -> Idle:
    """The idle times of `timeline`.

    A device idles when its queue is empty. The walk back from the next op's last input says what happened meanwhile:
    which part of the time an op ran elsewhere, bytes were on a link, or an op stood in a queue.
    """
    devices = len(timeline.busy_us)
    occupied, all_start_us = timeline.occupied_device, np.concatenate((timeline.start_us, timeline.transfers.start_us))
    free_us = timeline.free_us
    order = np.lexsort((free_us, all_start_us, occupied))
    order = order[(free_us > all_start_us)[order] & (occupied[order] != NO_DEVICE)]
    device, end_us = occupied[order], free_us[order]
    first = np.searchsorted(device, np.arange(devices))
    until = np.searchsorted(device, np.arange(devices), side="right")
    begins = np.insert(end_us, first, 0.0)
    ends = np.insert(all_start_us[order], until, timeline.step_time_us)
    ops = len(timeline.last_input)
    first_op = order.astype(np.int64)
    sends = order >= ops  # what is sent right after an idle time was made then by an op that takes no time
    first_op[sends] = timeline.transfers.op[order[sends] - ops]
    before = np.insert(first_op, until, NOT_WAITED)
    of_device = np.insert(device, first, np.arange(devices, dtype=np.int32))
    some = ends - begins > timeline.step_time_us * 1e-12
    waits_us = np.zeros((int(some.sum()), len(IdleCause)))
    activity = np.full(len(waits_us), NOT_WAITED, dtype=np.int64)
    _walk(
        all_start_us,
        np.concatenate((timeline.end_us, timeline.transfers.end_us)),
        timeline.last_input,
        timeline.transfers.op,
        (begins[some], ends[some], before[some]),
        waits_us,
        activity,
    )
    return Idle(of_device[some], begins[some], ends[some], before[some], waits_us, activity)


@compiled
def _walk(
    start_us: NDArray[np.float64],
    end_us: NDArray[np.float64],
    last_input: NDArray[np.int64],
    producer: NDArray[np.int32],
    times: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]],
    waits_us: NDArray[np.float64],
    activity: NDArray[np.int64],
) -> None:
    """Write `waits_us` and `activity`. Within one idle time it goes back from input to input and stops at its start."""
    begins, ends, before = times
    for index in range(len(begins)):
        begin_us, now_us, longest_us = begins[index], ends[index], 0.0
        if before[index] == NOT_WAITED:
            waits_us[index, 3] = now_us - begin_us
            continue
        current = last_input[before[index]]
        while now_us > begin_us and current != NOT_WAITED:
            is_transfer = current >= len(last_input)
            cause = 1 if is_transfer else 0
            since_us = min(now_us, max(begin_us, start_us[current]))
            part_us = now_us - since_us
            waits_us[index, cause] += part_us
            if part_us > longest_us:
                longest_us, activity[index] = part_us, current
            following = np.int64(producer[current - len(last_input)]) if is_transfer else last_input[current]
            ready_us = 0.0 if following == NOT_WAITED else end_us[following]
            queued_us = since_us - min(since_us, max(begin_us, ready_us))
            waits_us[index, 1 if is_transfer else 2] += queued_us
            if queued_us > longest_us:
                longest_us, activity[index] = queued_us, current
            now_us, current = since_us - queued_us, following
