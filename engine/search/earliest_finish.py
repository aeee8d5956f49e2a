"""Tasks in an order, each where it finishes first, also in gaps between earlier ones, compiled: the core of HEFT.

Source: Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing,
IEEE Transactions on Parallel and Distributed Systems 13 (2002), section 4.1. Transfers that wait for each other take
gaps of their bus or channel in the same way: Sinnen, Sousa: Communication contention in task scheduling, IEEE
Transactions on Parallel and Distributed Systems 16 (2005).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import BUS_CODE, NO_DEVICE, NONE_CODE
from engine.search.tasks import Tasks, find_candidates, occupy, rest_time, transfer_time
from engine.simulator.compiled import compiled, inlined

FIRST_ROOM = 64
"""spans that a row has room for at first"""


class Timelines(NamedTuple):
    """What is taken, one row a device or channel, for compiled code. Spans of a row are in order and apart."""

    start_us: NDArray[np.float64]
    """[rows, room]"""
    end_us: NDArray[np.float64]
    """[rows, room]"""
    spans: NDArray[np.int64]
    """[rows] spans in a row"""


@compiled
def empty_timelines(rows: int) -> Timelines:
    """Nothing is taken."""
    return Timelines(np.empty((rows, FIRST_ROOM)), np.empty((rows, FIRST_ROOM)), np.zeros(rows, np.int64))


@compiled
def gap(timelines: Timelines, row: int, ready_us: float, time_us: float) -> float:
    """The earliest start, from `ready_us` on, of a gap of `time_us` in the row."""
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
    """The timelines with one more span, in twice the room if they are full; what takes no time is not written down."""
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
    """What has been placed so far, for compiled code."""

    group_device: NDArray[np.int32]
    """[groups] or `NO_DEVICE`"""
    device: NDArray[np.int32]
    """[tasks] or `NO_DEVICE`"""
    end_us: NDArray[np.float64]
    """[tasks] that are placed"""
    left_bytes: NDArray[np.float64]
    """[devices]"""
    arrival_us: NDArray[np.float64]
    """[flows, devices] when a flow that has been sent arrives; NaN before"""
    sent_us: NDArray[np.float64]
    """[flows] when it was last sent; NaN before"""


@compiled
def schedule_earliest_finish(
    tasks: Tasks, order: NDArray[np.int64], capacity_bytes: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Returns [groups] device and [tasks] end in µs.

    `order` [tasks] is topological. Only devices with room are looked at, `capacity_bytes` [devices]. Of equals the
    lower device.
    """
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
    candidates = np.zeros(devices, np.bool_)
    busy = empty_timelines(devices)
    channels = empty_timelines(devices * devices)
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
    return schedule.group_device, schedule.end_us


@compiled
def _data_us(tasks: Tasks, schedule: EarliestFinishSchedule, channels: Timelines, task: int, device: int) -> float:
    """When all that the task takes can be on the device."""
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
    """Start and arrival of the flow if it is sent to the device now: on a bus one transfer serves all devices."""
    producer = tasks.flow_producer[flow]
    source, links = schedule.device[producer], tasks.links
    transfer_us = transfer_time(tasks, flow, source, device)
    start_us = schedule.end_us[producer]
    if links.contention == BUS_CODE and not np.isnan(schedule.sent_us[flow]):
        start_us = schedule.sent_us[flow]
    elif links.contention != NONE_CODE:
        start_us = gap(channels, _row(tasks, source, device), start_us, transfer_us + rest_time(tasks, flow))
    return float(start_us), float(start_us + transfer_us)


@compiled
def _send(tasks: Tasks, schedule: EarliestFinishSchedule, channels: Timelines, flow: int, device: int) -> Timelines:
    """The flow is sent to the device if it must be, and its bus or channel is taken; the timelines of those."""
    source = schedule.device[tasks.flow_producer[flow]]
    if source == device or not np.isnan(schedule.arrival_us[flow, device]):
        return channels
    start_us, arrival_us = _sending(tasks, schedule, channels, flow, device)
    kind = tasks.links.contention
    taken = kind == NONE_CODE or (kind == BUS_CODE and not np.isnan(schedule.sent_us[flow]))
    schedule.sent_us[flow], schedule.arrival_us[flow, device] = start_us, arrival_us
    if taken:
        return channels
    return book(channels, _row(tasks, source, device), start_us, arrival_us + rest_time(tasks, flow))


@inlined
def _row(tasks: Tasks, source: int, device: int) -> int:
    """The bus of the source, or the channel of the pair."""
    return int(source if tasks.links.contention == BUS_CODE else source * len(tasks.links.latency_us) + device)
