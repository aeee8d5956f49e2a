"""The core of HEFT, compiled: takes tasks in order and puts each where it finishes first, gaps included.

Source: Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing,
IEEE Transactions on Parallel and Distributed Systems 13 (2002), section 4.1. Transfers that wait for each other take
gaps of their bus or channel in the same way: Sinnen, Sousa: Communication contention in task scheduling, IEEE
Transactions on Parallel and Distributed Systems 16 (2005).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import BUS_CODE, NO_DEVICE, NONE_CODE, SENDER_CODE
from engine.files.compiled import compiled, inlined
from engine.search.tasks import (
    IsLate,
    LateError,
    Tasks,
    find_candidates,
    free_again_us,
    never_late,
    occupy,
    transfer_time,
)

TASKS_AT_A_TIME = 256
"""tasks placed between two looks at the clock"""
FIRST_ROOM = 64
"""initial room of a row, in spans"""


class Timelines(NamedTuple):
    """The occupied spans of time, one row a device or channel. A row's spans are sorted and do not overlap."""

    start_us: NDArray[np.float64]
    """[rows, room]"""
    end_us: NDArray[np.float64]
    """[rows, room]"""
    spans: NDArray[np.int64]
    """[rows] number of spans"""


@compiled
def empty_timelines(rows: int) -> Timelines:
    """Timelines without spans."""
    return Timelines(np.empty((rows, FIRST_ROOM)), np.empty((rows, FIRST_ROOM)), np.zeros(rows, np.int64))


@compiled
def gap(timelines: Timelines, row: int, ready_us: float, time_us: float) -> float:
    """The start in µs, from `ready_us` on, of the row's earliest gap of `time_us`."""
    low, high = 0, timelines.spans[row]
    while low < high:  # the first span that ends after `ready_us`
        middle = (low + high) // 2
        if timelines.end_us[row, middle] > ready_us:
            high = middle
        else:
            low = middle + 1
    start_us = ready_us
    for span in range(low, timelines.spans[row]):
        if start_us + time_us <= timelines.start_us[row, span]:
            break
        start_us = max(start_us, timelines.end_us[row, span])
    return start_us


@compiled
def book(timelines: Timelines, row: int, start_us: float, end_us: float) -> Timelines:
    """The timelines with one more span, in twice the room if they are full; a span of no time is left out."""
    if end_us <= start_us:
        return timelines
    rows, room = timelines.start_us.shape
    place = timelines.spans[row]
    if place == room:
        wider = Timelines(np.empty((rows, 2 * room)), np.empty((rows, 2 * room)), timelines.spans)
        for other in range(rows):  # the assignment of a slice takes seconds to compile
            for span in range(timelines.spans[other]):
                wider.start_us[other, span] = timelines.start_us[other, span]
                wider.end_us[other, span] = timelines.end_us[other, span]
        timelines = wider
    timelines.spans[row] += 1
    while place > 0 and timelines.start_us[row, place - 1] > start_us:
        timelines.start_us[row, place] = timelines.start_us[row, place - 1]
        timelines.end_us[row, place] = timelines.end_us[row, place - 1]
        place -= 1
    timelines.start_us[row, place], timelines.end_us[row, place] = start_us, end_us
    return timelines


class EarliestFinishSchedule(NamedTuple):
    """The tasks placed so far, and the flows sent."""

    group_device: NDArray[np.int32]
    """[groups] or `NO_DEVICE`"""
    device: NDArray[np.int32]
    """[tasks] or `NO_DEVICE`"""
    end_us: NDArray[np.float64]
    """[tasks] 0 before a task is placed"""
    left_bytes: NDArray[np.float64]
    """[devices] free memory"""
    arrival_us: NDArray[np.float64]
    """[flows, devices] when a flow that has been sent arrives; NaN before"""
    sent_us: NDArray[np.float64]
    """[flows] when it was last sent; NaN before"""


def schedule_earliest_finish(
    tasks: Tasks, order: NDArray[np.int64], capacity_bytes: NDArray[np.float64], is_late: IsLate = never_late
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Place the tasks in `order`; returns the device of each group [groups] and each task's end in µs [tasks].

    `order` [tasks] is topological. Only devices with room, out of `capacity_bytes` [devices], are considered. Among
    equal finishes the lowest device wins. Raises LateError once `is_late`, which it asks now and then.
    """
    schedule, busy, channels = _begin(tasks, capacity_bytes)
    for first in range(0, len(order), TASKS_AT_A_TIME):
        if is_late():
            raise LateError
        busy, channels = _advance(tasks, schedule, busy, channels, order[first : first + TASKS_AT_A_TIME])
    return schedule.group_device, schedule.end_us


@compiled
def _begin(tasks: Tasks, capacity_bytes: NDArray[np.float64]) -> tuple[EarliestFinishSchedule, Timelines, Timelines]:
    """A schedule without tasks, and the timelines of devices and of channels."""
    count, devices = tasks.time_us.shape
    flows = len(tasks.flow_bytes)
    schedule = EarliestFinishSchedule(
        np.full(len(tasks.memory_bytes), NO_DEVICE, np.int32),
        np.full(count, NO_DEVICE, np.int32),
        np.zeros(count),
        capacity_bytes.copy(),
        np.full((flows, devices), np.nan),
        np.full(flows, np.nan),
    )
    return schedule, empty_timelines(devices), empty_timelines(devices * devices)


@compiled
def _advance(
    tasks: Tasks,
    schedule: EarliestFinishSchedule,
    busy: Timelines,
    channels: Timelines,
    order: NDArray[np.int64],
) -> tuple[Timelines, Timelines]:
    """Place the tasks of `order`; returns the timelines of devices and of channels with them."""
    devices = len(schedule.left_bytes)
    candidates = np.zeros(devices, np.bool_)
    for task in order:
        find_candidates(tasks, schedule.group_device, schedule.left_bytes, task, candidates)
        best_us, best = np.inf, NO_DEVICE
        for device in range(devices):
            if candidates[device]:
                ready_us = _data_us(tasks, schedule, channels, task, device)
                time_us = tasks.time_us[task, device]
                finish_us = gap(busy, device, ready_us, time_us) + time_us
                if finish_us < best_us:
                    best_us, best = finish_us, device
        flows_taken = tasks.input_flow[tasks.input_first[task] : tasks.input_first[task + 1]]
        for index in np.argsort(schedule.end_us[tasks.flow_producer[flows_taken]], kind="mergesort"):
            channels = _send(tasks, schedule, channels, flows_taken[index], best)
        time_us = tasks.time_us[task, best]
        start_us = gap(busy, best, _data_us(tasks, schedule, channels, task, best), time_us)
        busy = book(busy, best, start_us, start_us + time_us)
        occupy(tasks, schedule.group_device, schedule.left_bytes, task, best)
        schedule.device[task], schedule.end_us[task] = best, start_us + time_us
    return busy, channels


@compiled
def _data_us(tasks: Tasks, schedule: EarliestFinishSchedule, channels: Timelines, task: int, device: int) -> float:
    """The time in µs when all inputs of the task can be on the device."""
    latest_us = 0.0
    for place in range(tasks.input_first[task], tasks.input_first[task + 1]):
        flow = tasks.input_flow[place]
        producer = tasks.flow_producer[flow]
        if schedule.device[producer] == device:
            arrival_us = schedule.end_us[producer]
        elif not np.isnan(schedule.arrival_us[flow, device]):
            arrival_us = schedule.arrival_us[flow, device]
        else:
            arrival_us = _sending(tasks, schedule, channels, flow, device)[1]
        latest_us = max(latest_us, arrival_us)
    return latest_us


@compiled
def _sending(
    tasks: Tasks, schedule: EarliestFinishSchedule, channels: Timelines, flow: int, device: int
) -> tuple[float, float]:
    """Start and arrival in µs of the flow if it is sent to the device now; on a bus one transfer serves all devices."""
    producer = tasks.flow_producer[flow]
    source, links = schedule.device[producer], tasks.links
    transfer_us = transfer_time(tasks, flow, source, device)
    start_us = schedule.end_us[producer]
    if links.contention == BUS_CODE and not np.isnan(schedule.sent_us[flow]):
        start_us = schedule.sent_us[flow]
    elif links.contention != NONE_CODE:
        kept_us = free_again_us(tasks, flow, source, device, 0.0, transfer_us)
        start_us = gap(channels, _row(tasks, source, device), start_us, kept_us)
    return float(start_us), float(start_us + transfer_us)


@compiled
def _send(tasks: Tasks, schedule: EarliestFinishSchedule, channels: Timelines, flow: int, device: int) -> Timelines:
    """Send the flow to the device if it must be; returns the channels' timelines with the new transfer."""
    source = schedule.device[tasks.flow_producer[flow]]
    if source == device or not np.isnan(schedule.arrival_us[flow, device]):
        return channels
    start_us, arrival_us = _sending(tasks, schedule, channels, flow, device)
    kind = tasks.links.contention
    taken = kind == NONE_CODE or (kind == BUS_CODE and not np.isnan(schedule.sent_us[flow]))
    schedule.sent_us[flow], schedule.arrival_us[flow, device] = start_us, arrival_us
    if taken:
        return channels
    until_us = free_again_us(tasks, flow, source, device, start_us, arrival_us)
    return book(channels, _row(tasks, source, device), start_us, until_us)


@inlined
def _row(tasks: Tasks, source: int, device: int) -> int:
    """The row of the source, of which one transfer goes out after the other, or that of the pair's channel."""
    one_for_source = tasks.links.contention == BUS_CODE or tasks.links.contention == SENDER_CODE
    return int(source if one_for_source else source * len(tasks.links.latency_us) + device)
