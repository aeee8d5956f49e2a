"""A running list schedule of the groups that an episode has decided, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.placeto.view_graph import DeviceViewGraph


class ListSchedule(NamedTuple):
    """A running list schedule of the groups decided in this pass, in the order of decision. Changed in place."""

    finish: NDArray[np.float64]
    """[groups]"""
    decided: NDArray[np.bool_]
    """[groups]"""
    free: NDArray[np.float64]
    """[devices] when the device becomes free"""
    bus: NDArray[np.float64]
    """[devices] when the device's outgoing link becomes free"""
    arrival: NDArray[np.float64]
    """[groups, devices] when the group's output arrives, or -1 before it is sent"""


@compiled
def empty_schedule(groups: int, devices: int) -> ListSchedule:
    """A schedule without groups."""
    return ListSchedule(
        np.zeros(groups),
        np.zeros(groups, dtype=np.bool_),
        np.zeros(devices),
        np.zeros(devices),
        np.full((groups, devices), -1.0),
    )


@compiled
def clear_schedule(schedule: ListSchedule) -> None:
    """Remove all groups from the schedule."""
    schedule.decided[:] = False
    schedule.free[:] = 0.0
    schedule.bus[:] = 0.0
    schedule.arrival[:, :] = -1.0


@compiled
def earliest_start(
    graph: DeviceViewGraph, schedule: ListSchedule, placement: NDArray[np.int32], group: int, device: int
) -> float:
    """The time when `group` could start on `device`, with each input sent once its producer's link is free."""
    start: float = schedule.free[device]
    for edge in range(graph.in_offset[group], graph.in_offset[group + 1]):
        source = graph.in_source[edge]
        if not schedule.decided[source]:
            continue
        home = placement[source]
        ready = schedule.finish[source]
        if home != device:
            if schedule.arrival[source, device] >= 0.0:
                ready = schedule.arrival[source, device]
            else:
                ready = max(ready, schedule.bus[home]) + graph.latency[home, device] * graph.in_trips[edge]
                ready += graph.in_bytes[edge] * graph.link_time_per_byte[home, device]
        start = max(start, ready)
    return start


@compiled
def commit(
    graph: DeviceViewGraph, schedule: ListSchedule, placement: NDArray[np.int32], group: int, device: int
) -> None:
    """Add `group` on `device` to the schedule, with its inputs' transfers, one after the other on each link."""
    start = schedule.free[device]
    for edge in range(graph.in_offset[group], graph.in_offset[group + 1]):
        source = graph.in_source[edge]
        if not schedule.decided[source]:
            continue
        home = placement[source]
        ready = schedule.finish[source]
        if home != device:
            if schedule.arrival[source, device] < 0.0:
                sent = max(ready, schedule.bus[home]) + graph.latency[home, device] * graph.in_trips[edge]
                sent += graph.in_bytes[edge] * graph.link_time_per_byte[home, device]
                schedule.arrival[source, device] = sent
                schedule.bus[home] = sent + graph.link_rest * graph.in_trips[edge]
            ready = schedule.arrival[source, device]
        start = max(start, ready)
    schedule.finish[group] = start + graph.time[group, device]
    schedule.free[device] = schedule.finish[group]
    schedule.decided[group] = True
