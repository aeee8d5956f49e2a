"""The list schedulers once more, obviously right and slow, for independent transfers and endless memory."""

import numpy as np
from numpy.typing import NDArray

from engine.search.tasks import Tasks

Spans = list[tuple[float, float]]


def inputs_of(tasks: Tasks, task: int) -> list[tuple[int, float]]:
    """(producer, bytes in all the times that they are sent) of all that `task` takes."""
    flows = tasks.input_flow[tasks.input_first[task] : tasks.input_first[task + 1]].tolist()
    return [(int(tasks.flow_producer[flow]), float(tasks.flow_bytes[flow] * tasks.flow_trips[flow])) for flow in flows]


def data_us(tasks: Tasks, task: int, device: int, device_of: dict[int, int], end_us: dict[int, float]) -> float:
    arrivals = [
        end_us[producer] + (0.0 if device_of[producer] == device else sent_bytes)
        for producer, sent_bytes in inputs_of(tasks, task)
    ]
    return max(arrivals, default=0.0)


def slow_ranks(tasks: Tasks) -> list[float]:
    ranks = [0.0] * len(tasks.group)
    for task in reversed(range(len(tasks.group))):
        onward = [
            sent_bytes + ranks[consumer]
            for consumer in range(len(tasks.group))
            for producer, sent_bytes in inputs_of(tasks, consumer)
            if producer == task
        ]
        ranks[task] = float(tasks.time_us[task].mean()) + max(onward, default=0.0)
    return ranks


def slow_heft(tasks: Tasks, order: NDArray[np.int64]) -> tuple[list[int], list[float]]:
    """Tries every end of what is on a device, and the arrival of the data, as a start."""
    devices = range(tasks.time_us.shape[1])
    busy: list[Spans] = [[] for _ in devices]
    device_of: dict[int, int] = {}
    end_us: dict[int, float] = {}
    for task in order.tolist():
        options = []
        for device in devices:
            time_us = float(tasks.time_us[task, device])
            ready_us = data_us(tasks, task, device, device_of, end_us)
            starts = [ready_us, *[end for _, end in busy[device] if end >= ready_us]]
            free = [
                start
                for start in starts
                if all(
                    start + time_us <= begin or start >= end
                    for begin, end in busy[device]
                    if end > start or end > begin
                )
            ]
            options.append((min(free) + time_us, device))
        end_us[task], device_of[task] = min(options)
        time_us = float(tasks.time_us[task, device_of[task]])
        if time_us > 0:
            busy[device_of[task]].append((end_us[task] - time_us, end_us[task]))
    count = range(len(tasks.group))
    return [device_of[task] for task in count], [end_us[task] for task in count]


def slow_etf(tasks: Tasks, priority: NDArray[np.float64]) -> tuple[list[int], list[float]]:
    devices = range(tasks.time_us.shape[1])
    free_us = [0.0] * len(devices)
    device_of: dict[int, int] = {}
    end_us: dict[int, float] = {}
    count = range(len(tasks.group))
    while len(end_us) < len(tasks.group):
        ready = [
            task
            for task in count
            if task not in end_us and all(producer in end_us for producer, _ in inputs_of(tasks, task))
        ]
        _, _, task, device = min(
            (
                max(free_us[device], data_us(tasks, task, device, device_of, end_us))
                + float(tasks.time_us[task, device] - tasks.time_us[task].min()),
                -float(priority[task]),
                task,
                device,
            )
            for task in ready
            for device in devices
        )
        start_us = max(free_us[device], data_us(tasks, task, device, device_of, end_us))
        device_of[task] = device
        end_us[task] = free_us[device] = start_us + float(tasks.time_us[task, device])
    return [device_of[task] for task in count], [end_us[task] for task in count]
