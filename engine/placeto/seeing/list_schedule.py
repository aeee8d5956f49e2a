"""A running list schedule of the groups that an episode has decided, compiled.

There are three: of whole groups, of their forward ops, and of their backward ops. The last one is a mirror: it runs
from the end of the step back, so that it takes the groups in the same order as the others, and there the group that is
decided later sends to the earlier one.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled


class ScheduledWork(NamedTuple):
    """What a schedule is made of, in mean times of a group: times, and what each group receives from earlier ones."""

    time: NDArray[np.float64]
    """[groups, devices]"""
    in_offset: NDArray[np.int64]
    """[groups + 1] where the inputs of each group begin"""
    in_source: NDArray[np.int32]
    in_bytes: NDArray[np.float64]
    """of all trips together"""
    in_trips: NDArray[np.float64]
    """how often a step sends"""
    link_time_per_byte: NDArray[np.float64]
    """[devices, devices]"""
    latency: NDArray[np.float64]
    """[devices, devices]"""
    link_rest: float
    mirrored: bool
    """whether the inputs are outputs, in a schedule that runs from the end of the step back"""


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
    work: ScheduledWork, schedule: ListSchedule, placement: NDArray[np.int32], group: int, device: int
) -> float:
    """The time when `group` could start on `device`, with each input sent once its sender's link is free."""
    start: float = schedule.free[device]
    own_bus: float = schedule.bus[device]
    for edge in range(work.in_offset[group], work.in_offset[group + 1]):
        source = work.in_source[edge]
        if not schedule.decided[source]:
            continue
        home = placement[source]
        ready = schedule.finish[source]
        if home != device:
            if work.mirrored:
                ready = max(ready, own_bus) + _sending_time(work, edge, device, home)
                own_bus = ready + work.link_rest * work.in_trips[edge]
            elif schedule.arrival[source, device] >= 0.0:
                ready = schedule.arrival[source, device]
            else:
                ready = max(ready, schedule.bus[home]) + _sending_time(work, edge, home, device)
        start = max(start, ready)
    return start


@compiled
def commit(work: ScheduledWork, schedule: ListSchedule, placement: NDArray[np.int32], group: int, device: int) -> None:
    """Add `group` on `device` to the schedule, with its inputs' transfers, one after the other on each link."""
    start = schedule.free[device]
    for edge in range(work.in_offset[group], work.in_offset[group + 1]):
        source = work.in_source[edge]
        if not schedule.decided[source]:
            continue
        home = placement[source]
        ready = schedule.finish[source]
        if home != device:
            if work.mirrored:
                ready = max(ready, schedule.bus[device]) + _sending_time(work, edge, device, home)
                schedule.bus[device] = ready + work.link_rest * work.in_trips[edge]
            else:
                if schedule.arrival[source, device] < 0.0:
                    sent = max(ready, schedule.bus[home]) + _sending_time(work, edge, home, device)
                    schedule.arrival[source, device] = sent
                    schedule.bus[home] = sent + work.link_rest * work.in_trips[edge]
                ready = schedule.arrival[source, device]
        start = max(start, ready)
    schedule.finish[group] = start + work.time[group, device]
    schedule.free[device] = schedule.finish[group]
    schedule.decided[group] = True


@compiled
def _sending_time(work: ScheduledWork, edge: int, sender: int, receiver: int) -> float:
    trips_time = work.latency[sender, receiver] * work.in_trips[edge]
    return float(trips_time + work.in_bytes[edge] * work.link_time_per_byte[sender, receiver])
