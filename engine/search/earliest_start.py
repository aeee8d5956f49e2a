"""The core of m-ETF and m-SCT, compiled: takes the pair of task and device with the earliest start, again and again.

Sources: Hwang, Chow, Anger, Lee: Scheduling precedence graphs in systems with interprocessor communication times, SIAM
Journal on Computing 18 (1989); Hanen, Munier: An approximation algorithm for scheduling dependent tasks on m processors
with small communication delays (1995); Jeon et al.: Baechi, SoCC 2020, section 3.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import BUS_CODE, NO_DEVICE, NONE_CODE, PAIR_CODE
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
SIZE = 1
"""index of the heap's size in `count`"""


@compiled
def push(heap: NDArray[np.int64], count: NDArray[np.int64], number: int) -> None:
    """Put `number` into the heap, which has room."""
    place = count[SIZE]
    count[SIZE] += 1
    while place > 0 and heap[(place - 1) // 2] > number:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = number


@compiled
def pop(heap: NDArray[np.int64], count: NDArray[np.int64]) -> int:
    """Remove and return the smallest number of the heap, which is not empty."""
    smallest = heap[0]
    count[SIZE] -= 1
    size, number, place = count[SIZE], heap[count[SIZE]], 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= number:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = number
    return int(smallest)


NO_TASK = -1


class EarliestStartSchedule(NamedTuple):
    """The tasks placed so far, and the flows sent."""

    group_device: NDArray[np.int32]
    """[groups] or `NO_DEVICE`"""
    device: NDArray[np.int32]
    """[tasks] or `NO_DEVICE`"""
    end_us: NDArray[np.float64]
    """[tasks] 0 before a task is placed"""
    left_bytes: NDArray[np.float64]
    """[devices] free memory"""
    free_us: NDArray[np.float64]
    """[devices] when the last task there ends"""
    last: NDArray[np.int64]
    """[devices] the last task there, or `NO_TASK`"""
    arrival_us: NDArray[np.float64]
    """[flows, devices] when a flow that has been sent arrives; NaN before"""
    sent_us: NDArray[np.float64]
    """[flows] when it was last sent; NaN before"""
    channel_free_us: NDArray[np.float64]
    """[devices, devices] when the rest of a channel, or in the first column of a bus, ends"""


class Ready(NamedTuple):
    """Tasks whose inputs are all placed, for compiled code."""

    waiting: NDArray[np.int64]
    """[tasks] the first `counts[0]` are ready, in no particular order: each round checks them all"""
    anywhere: NDArray[np.int64]
    """[tasks] the first `counts[1]` are ready and could start on any device as soon as one is free, as a heap of their
    places in the order of priority: each round checks only the first"""
    counts: NDArray[np.int64]
    """[2]"""
    pending: NDArray[np.int64]
    """[tasks] inputs that are not placed yet"""
    candidates: NDArray[np.bool_]
    """[devices] candidates of the current task"""
    data_us: NDArray[np.float64]
    """[devices] when the current task's inputs can be there"""


def schedule_earliest_start(
    tasks: Tasks,
    priority: NDArray[np.float64],
    favourite: NDArray[np.int64],
    capacity_bytes: NDArray[np.float64],
    is_late: IsLate = never_late,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Place all tasks; returns the device of each group [groups] and each task's end in µs [tasks].

    Raises LateError once `is_late`, which it asks now and then.

    The next pair is the one with the earliest start; a device slower than the task's fastest counts as if it started
    later by the difference (0 on equal devices). Ties go to the higher `priority` [tasks], then to the lower task, then
    to the lower device. Only devices with room, out of `capacity_bytes` [devices], are considered.

    `favourite` [tasks] is each task's favourite child, or `NO_TASK`. A device waits for the favourite child of its last
    task once that is ready and can start nowhere earlier; until then it takes only tasks that could start on any
    device.
    """
    order = np.argsort(-priority, kind="stable")
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order))
    schedule, ready = _begin(tasks, capacity_bytes)
    while ready.counts.any():
        if is_late():
            raise LateError
        _advance(tasks, schedule, ready, order, place_of, favourite, TASKS_AT_A_TIME)
    return schedule.group_device, schedule.end_us


@compiled
def _begin(tasks: Tasks, capacity_bytes: NDArray[np.float64]) -> tuple[EarliestStartSchedule, Ready]:
    """A schedule without tasks, and the tasks without inputs."""
    count, devices = tasks.time_us.shape
    schedule = _empty_schedule(tasks, capacity_bytes)
    ready = Ready(
        np.empty(count, np.int64),
        np.empty(count, np.int64),
        np.zeros(2, np.int64),
        tasks.input_first[1:] - tasks.input_first[:-1],
        np.zeros(devices, np.bool_),
        np.zeros(devices),
    )
    for task in range(count):
        if ready.pending[task] == 0:
            _wait(ready, task)
    return schedule, ready


@compiled
def _advance(
    tasks: Tasks,
    schedule: EarliestStartSchedule,
    ready: Ready,
    order: NDArray[np.int64],
    place_of: NDArray[np.int64],
    favourite: NDArray[np.int64],
    most: int,
) -> None:
    """Place the next `most` tasks, or all; `order` [tasks] is by priority, `place_of` [tasks] its inverse."""
    awaited = np.full(len(schedule.free_us), NO_TASK)
    for _ in range(most):
        if ready.counts[0] + ready.counts[1] == 0:
            break
        for device in range(len(awaited)):
            awaited[device] = _awaited(tasks, schedule, ready, favourite, device)
        task, device = _next(tasks, schedule, ready, awaited, order, place_of)
        _place(tasks, schedule, task, device)
        _release(tasks, ready, task)


@inlined
def _wait(ready: Ready, task: int) -> None:
    ready.waiting[ready.counts[0]] = task
    ready.counts[0] += 1


@inlined
def _next(
    tasks: Tasks,
    schedule: EarliestStartSchedule,
    ready: Ready,
    awaited: NDArray[np.int64],
    order: NDArray[np.int64],
    place_of: NDArray[np.int64],
) -> tuple[int, int]:
    """Take the next task from the ready ones; returns it and its device."""
    free_us = schedule.free_us.min()
    while ready.counts[1] > 0:  # a task that can no longer start anywhere goes back to the waiting ones
        first = order[ready.anywhere[0]]
        _best_start(tasks, schedule, ready, awaited, first)
        if _anywhere(tasks, ready, first, free_us):
            break
        pop(ready.anywhere, ready.counts)
        _wait(ready, first)
    best_us, best_place, best_device, place = np.inf, NO_TASK, NO_DEVICE, 0
    while place < ready.counts[0]:
        task = ready.waiting[place]
        start_us, device = _best_start(tasks, schedule, ready, awaited, task)
        if _anywhere(tasks, ready, task, free_us):
            push(ready.anywhere, ready.counts, place_of[task])
            ready.counts[0] -= 1
            ready.waiting[place] = ready.waiting[ready.counts[0]]
            if best_place == ready.counts[0]:
                best_place = place
            continue
        earlier = start_us < best_us
        if earlier or (start_us == best_us and place_of[task] < place_of[ready.waiting[best_place]]):
            best_us, best_place, best_device = start_us, place, device
        place += 1
    if ready.counts[1] > 0:
        task = order[ready.anywhere[0]]
        start_us, device = _best_start(tasks, schedule, ready, awaited, task)
        if start_us < best_us or (start_us == best_us and place_of[task] < place_of[ready.waiting[best_place]]):
            pop(ready.anywhere, ready.counts)
            return int(task), int(device)
    task = ready.waiting[best_place]
    ready.counts[0] -= 1
    ready.waiting[best_place] = ready.waiting[ready.counts[0]]
    return int(task), int(best_device)


@inlined
def _anywhere(tasks: Tasks, ready: Ready, task: int, free_us: float) -> bool:
    """Whether the task, last seen by `_best_start`, is equally fast on all devices, has room on each and can have its
    inputs there by `free_us`, when the first device is free: then no task can start earlier."""
    time_us = tasks.time_us[task, 0]
    for device in range(len(ready.candidates)):
        if not ready.candidates[device] or tasks.time_us[task, device] != time_us or ready.data_us[device] > free_us:
            return False
    return True


@inlined
def _release(tasks: Tasks, ready: Ready, task: int) -> None:
    """Note that the task is placed: tasks that waited only for it become ready."""
    for flow in range(tasks.flow_first[task], tasks.flow_first[task + 1]):
        for place in range(tasks.consumer_first[flow], tasks.consumer_first[flow + 1]):
            consumer = tasks.consumer[place]
            ready.pending[consumer] -= 1
            if ready.pending[consumer] == 0:
                _wait(ready, consumer)


@inlined
def _empty_schedule(tasks: Tasks, capacity_bytes: NDArray[np.float64]) -> EarliestStartSchedule:
    count, devices = tasks.time_us.shape
    flows = len(tasks.flow_bytes)
    return EarliestStartSchedule(
        np.full(len(tasks.memory_bytes), NO_DEVICE, np.int32),
        np.full(count, NO_DEVICE, np.int32),
        np.zeros(count),
        capacity_bytes.copy(),
        np.zeros(devices),
        np.full(devices, NO_TASK),
        np.full((flows, devices), np.nan),
        np.full(flows, np.nan),
        np.zeros((devices, devices)),
    )


@inlined
def _best_start(
    tasks: Tasks, schedule: EarliestStartSchedule, ready: Ready, awaited: NDArray[np.int64], task: int
) -> tuple[float, int]:
    """The task's earliest start in µs, with the extra time of a slower device added, and the device."""
    devices = len(awaited)
    find_candidates(tasks, schedule.group_device, schedule.left_bytes, task, ready.candidates)
    anywhere_us, fastest_us = 0.0, np.inf
    for device in range(devices):
        if tasks.time_us[task, device] < np.inf:
            fastest_us = min(fastest_us, tasks.time_us[task, device])
            ready.data_us[device] = _data_us(tasks, schedule, task, device)
            anywhere_us = max(anywhere_us, ready.data_us[device])
    best_us, best = np.inf, NO_DEVICE
    for device in range(devices):
        if ready.candidates[device]:
            waits = awaited[device] != NO_TASK and awaited[device] != task
            data_us = anywhere_us if waits else ready.data_us[device]
            start_us = max(schedule.free_us[device], data_us) + (tasks.time_us[task, device] - fastest_us)
            if start_us < best_us:
                best_us, best = start_us, device
    return best_us, best


@inlined
def _data_us(tasks: Tasks, schedule: EarliestStartSchedule, task: int, device: int) -> float:
    """The time in µs when all inputs of the task can be on the device."""
    latest_us = 0.0
    for place in range(tasks.input_first[task], tasks.input_first[task + 1]):
        latest_us = max(latest_us, _arrival_us(tasks, schedule, tasks.input_flow[place], device))
    return latest_us


@inlined
def _arrival_us(tasks: Tasks, schedule: EarliestStartSchedule, flow: int, device: int) -> float:
    """The time in µs when the flow is on the device: it is made there, has been sent there, or would be sent next."""
    producer = tasks.flow_producer[flow]
    source = schedule.device[producer]
    if source == device:
        return float(schedule.end_us[producer])
    if not np.isnan(schedule.arrival_us[flow, device]):
        return float(schedule.arrival_us[flow, device])
    start_us = _send_start_us(tasks, schedule, flow, source, device)
    transfer_us = transfer_time(tasks, flow, source, device)
    return float(start_us + transfer_us)


@inlined
def _send_start_us(tasks: Tasks, schedule: EarliestStartSchedule, flow: int, source: int, device: int) -> float:
    """The time in µs when the flow's transfer starts; on a bus one transfer serves all devices."""
    end_us = schedule.end_us[tasks.flow_producer[flow]]
    if tasks.links.contention == NONE_CODE:
        return float(end_us)
    if tasks.links.contention == BUS_CODE and not np.isnan(schedule.sent_us[flow]):
        return float(schedule.sent_us[flow])
    return float(max(end_us, schedule.channel_free_us[source, _column(tasks, device)]))


@inlined
def _column(tasks: Tasks, device: int) -> int:
    """The column of the pair's channel, or the first where a source sends one transfer after the other."""
    return device if tasks.links.contention == PAIR_CODE else 0


@inlined
def _place(tasks: Tasks, schedule: EarliestStartSchedule, task: int, device: int) -> None:
    """Put the task on the device and send its inputs there, in the order in which they were made."""
    start_us = schedule.free_us[device]
    flows = tasks.input_flow[tasks.input_first[task] : tasks.input_first[task + 1]]
    for index in np.argsort(schedule.end_us[tasks.flow_producer[flows]], kind="mergesort"):
        flow = flows[index]
        arrival_us = _arrival_us(tasks, schedule, flow, device)
        start_us = max(start_us, arrival_us)
        source = schedule.device[tasks.flow_producer[flow]]
        if source != device and np.isnan(schedule.arrival_us[flow, device]):
            schedule.sent_us[flow] = _send_start_us(tasks, schedule, flow, source, device)
            schedule.arrival_us[flow, device] = arrival_us
            column = _column(tasks, device)
            rested_us = free_again_us(tasks, flow, source, device, schedule.sent_us[flow], arrival_us)
            schedule.channel_free_us[source, column] = max(schedule.channel_free_us[source, column], rested_us)
    occupy(tasks, schedule.group_device, schedule.left_bytes, task, device)
    schedule.device[task] = device
    schedule.end_us[task] = schedule.free_us[device] = start_us + tasks.time_us[task, device]
    schedule.last[device] = task


@inlined
def _awaited(
    tasks: Tasks, schedule: EarliestStartSchedule, ready: Ready, favourite: NDArray[np.int64], device: int
) -> int:
    """The task for which the device waits, or `NO_TASK`."""
    if schedule.last[device] == NO_TASK:
        return NO_TASK
    child = favourite[schedule.last[device]]
    if child == NO_TASK or schedule.device[child] != NO_DEVICE or ready.pending[child] > 0:
        return NO_TASK
    find_candidates(tasks, schedule.group_device, schedule.left_bytes, child, ready.candidates)
    earliest_us, here_us = np.inf, np.inf
    for other in range(len(ready.candidates)):
        if ready.candidates[other]:
            start_us = max(schedule.free_us[other], _data_us(tasks, schedule, child, other))
            earliest_us = min(earliest_us, start_us)
            if other == device:
                here_us = start_us
    return int(child) if here_us == earliest_us and here_us < np.inf else NO_TASK
