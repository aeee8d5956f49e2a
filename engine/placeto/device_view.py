"""What the shared head sees of each device before a decision, kept up to date while an episode goes on: compiled.

The view treats devices alike: renumbering equal devices renumbers its rows and changes nothing else.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.placeto.features import GroupGraph
from engine.placeto.reachability import Relatives, neighbour_lists
from engine.simulator.compiled import compiled

HERE, SLOWNESS, LOAD_DECIDED, LOAD_OPEN, PARENT_TIME, CHILD_TIME, PARALLEL_TIME = range(7)
CUT_IN, CUT_OUT, PARENT_SHARE, CHILD_SHARE, FINISH_LATER, START_LATER, FINISH_LATER_SHARE = range(7, 14)
MEMORY_FILL, DEVICES, PROGRESS, FREE_EARLIER = range(14, 18)
DEVICE_FEATURES = 18


class DeviceViewGraph(NamedTuple):
    """The group graph as compiled code reads it. Times are shares of the mean time of a group."""

    allowed: NDArray[np.bool_]
    """[groups, devices]"""
    time: NDArray[np.float64]
    """[groups, devices]"""
    memory: NDArray[np.float64]
    """[groups, devices] persistent and output bytes of the group as a share of the device's memory"""
    link_time_per_byte: NDArray[np.float64]
    """[devices, devices]"""
    latency: NDArray[np.float64]
    """[devices, devices]"""
    link_rest: float
    parent_offset: NDArray[np.int64]
    parent_index: NDArray[np.int32]
    child_offset: NDArray[np.int64]
    child_index: NDArray[np.int32]
    in_offset: NDArray[np.int64]
    in_source: NDArray[np.int32]
    in_bytes: NDArray[np.float64]
    out_offset: NDArray[np.int64]
    out_target: NDArray[np.int32]
    out_bytes: NDArray[np.float64]


def device_view_graph(graph: GroupGraph, related: Relatives) -> DeviceViewGraph:
    """`graph` with the sets `related` for compiled code."""
    groups, scale = graph.group_count, graph.mean_group_us
    by_target = np.lexsort((graph.edge_source, graph.edge_target))
    by_source = np.lexsort((graph.edge_target, graph.edge_source))
    in_offset, in_source = neighbour_lists(graph.edge_target, graph.edge_source, groups)
    out_offset, out_target = neighbour_lists(graph.edge_source, graph.edge_target, groups)
    kept = graph.persistent_bytes + graph.output_bytes
    return DeviceViewGraph(
        allowed=graph.allowed,
        time=graph.time_us / scale,
        memory=kept[:, None] / graph.memory_bytes.clip(1)[None, :],
        link_time_per_byte=graph.us_per_byte / scale,
        latency=graph.latency_us / scale,
        link_rest=graph.link_rest_us / scale,
        parent_offset=related.parent_offset,
        parent_index=related.parent_index,
        child_offset=related.child_offset,
        child_index=related.child_index,
        in_offset=in_offset,
        in_source=in_source,
        in_bytes=graph.edge_bytes[by_target],
        out_offset=out_offset,
        out_target=out_target,
        out_bytes=graph.edge_bytes[by_source],
    )


class ListSchedule(NamedTuple):
    """A running list schedule of the groups decided in this pass, in the order of decision. Changed in place."""

    finish: NDArray[np.float64]
    """[groups]"""
    decided: NDArray[np.bool_]
    """[groups]"""
    free: NDArray[np.float64]
    """[devices] when the device is free"""
    bus: NDArray[np.float64]
    """[devices] when the device's outgoing link is free"""
    arrival: NDArray[np.float64]
    """[groups, devices] when the group's output is there, or -1 while it has not been sent"""


@compiled
def empty_schedule(groups: int, devices: int) -> ListSchedule:
    return ListSchedule(
        np.zeros(groups),
        np.zeros(groups, dtype=np.bool_),
        np.zeros(devices),
        np.zeros(devices),
        np.full((groups, devices), -1.0),
    )


@compiled
def earliest_start(
    graph: DeviceViewGraph, schedule: ListSchedule, placement: NDArray[np.int32], group: int, device: int
) -> float:
    """When `group` could start on `device`, each input sent over its producer's link once that is free."""
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
                ready = max(ready, schedule.bus[home]) + graph.latency[home, device]
                ready += graph.in_bytes[edge] * graph.link_time_per_byte[home, device]
        start = max(start, ready)
    return start


@compiled
def commit(
    graph: DeviceViewGraph, schedule: ListSchedule, placement: NDArray[np.int32], group: int, device: int
) -> None:
    """Put `group` on `device` in the schedule, its inputs' transfers included, one after the other on each link."""
    start = schedule.free[device]
    for edge in range(graph.in_offset[group], graph.in_offset[group + 1]):
        source = graph.in_source[edge]
        if not schedule.decided[source]:
            continue
        home = placement[source]
        ready = schedule.finish[source]
        if home != device:
            if schedule.arrival[source, device] < 0.0:
                sent = max(ready, schedule.bus[home]) + graph.latency[home, device]
                sent += graph.in_bytes[edge] * graph.link_time_per_byte[home, device]
                schedule.arrival[source, device] = sent
                schedule.bus[home] = sent + graph.link_rest
            ready = schedule.arrival[source, device]
        start = max(start, ready)
    schedule.finish[group] = start + graph.time[group, device]
    schedule.free[device] = schedule.finish[group]
    schedule.decided[group] = True


@compiled
def device_loads(
    graph: DeviceViewGraph, placement: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([devices] time of the groups on each device, [devices] share of its memory that they fill)."""
    groups, devices = graph.time.shape
    load, fill = np.zeros(devices), np.zeros(devices)
    for group in range(groups):
        load[placement[group]] += graph.time[group, placement[group]]
        fill[placement[group]] += graph.memory[group, placement[group]]
    return load, fill


@compiled
def look(
    graph: DeviceViewGraph,
    schedule: ListSchedule,
    placement: NDArray[np.int32],
    load: NDArray[np.float64],
    decided_load: NDArray[np.float64],
    fill: NDArray[np.float64],
    group: int,
    progress: float,
    view: NDArray[np.float32],
) -> None:
    """Fill `view` [devices, DEVICE_FEATURES] for the decision on `group`.

    `load` and `fill` are of all groups, `group` on its present device included; `decided_load` of those decided.
    """
    groups, devices = graph.time.shape
    view[:, :] = 0.0
    here = placement[group]
    _look_at_relatives(graph, placement, group, view)
    _look_at_neighbours(graph, placement, group, view)
    per_device = devices / groups
    fastest = np.inf
    for device in range(devices):
        if graph.allowed[group, device]:
            fastest = min(fastest, graph.time[group, device])
    starts = np.empty(devices)
    first_start, first_finish, last_free = np.inf, np.inf, 0.0
    for device in range(devices):
        starts[device] = earliest_start(graph, schedule, placement, group, device)
        last_free = max(last_free, schedule.free[device])
        if graph.allowed[group, device]:
            first_start = min(first_start, starts[device])
            first_finish = min(first_finish, starts[device] + graph.time[group, device])
    for device in range(devices):
        own = graph.time[group, device] if device == here else 0.0
        later = max(0.0, starts[device] + graph.time[group, device] - first_finish)
        row = view[device]
        row[HERE] = 1.0 if device == here else 0.0
        row[SLOWNESS] = min(10.0, np.log((graph.time[group, device] + 1e-9) / (fastest + 1e-9)))
        row[LOAD_DECIDED] = decided_load[device] * per_device
        row[LOAD_OPEN] = (load[device] - decided_load[device] - own) * per_device
        row[PARALLEL_TIME] = (load[device] - own) * per_device - row[PARENT_TIME] - row[CHILD_TIME]
        row[FINISH_LATER] = np.log1p(later)
        row[START_LATER] = np.log1p(max(0.0, starts[device] - first_start))
        row[FINISH_LATER_SHARE] = later * per_device
        row[MEMORY_FILL] = min(4.0, fill[device] + (0.0 if device == here else graph.memory[group, device]))
        row[DEVICES] = 1.0 / devices
        row[PROGRESS] = progress
        row[FREE_EARLIER] = (last_free - schedule.free[device]) * per_device


@compiled
def _look_at_relatives(
    graph: DeviceViewGraph, placement: NDArray[np.int32], group: int, view: NDArray[np.float32]
) -> None:
    """Time of parents and children on each device, in devices' fair shares."""
    groups, devices = graph.time.shape
    per_device = devices / groups
    for member in range(graph.parent_offset[group], graph.parent_offset[group + 1]):
        other = graph.parent_index[member]
        view[placement[other], PARENT_TIME] += graph.time[other, placement[other]] * per_device
    for member in range(graph.child_offset[group], graph.child_offset[group + 1]):
        other = graph.child_index[member]
        view[placement[other], CHILD_TIME] += graph.time[other, placement[other]] * per_device


@compiled
def _look_at_neighbours(
    graph: DeviceViewGraph, placement: NDArray[np.int32], group: int, view: NDArray[np.float32]
) -> None:
    """What would be sent if the group were on each device, and the share of its neighbours' bytes already there."""
    devices = graph.time.shape[1]
    bytes_in, bytes_out = 1e-9, 1e-9
    for edge in range(graph.in_offset[group], graph.in_offset[group + 1]):
        home = placement[graph.in_source[edge]]
        bytes_in += graph.in_bytes[edge]
        view[home, PARENT_SHARE] += graph.in_bytes[edge]
        for device in range(devices):
            view[device, CUT_IN] += graph.in_bytes[edge] * graph.link_time_per_byte[home, device]
    for edge in range(graph.out_offset[group], graph.out_offset[group + 1]):
        home = placement[graph.out_target[edge]]
        bytes_out += graph.out_bytes[edge]
        view[home, CHILD_SHARE] += graph.out_bytes[edge]
        for device in range(devices):
            view[device, CUT_OUT] += graph.out_bytes[edge] * graph.link_time_per_byte[device, home]
    for device in range(devices):
        view[device, PARENT_SHARE] /= bytes_in
        view[device, CHILD_SHARE] /= bytes_out
        view[device, CUT_IN] = np.log1p(view[device, CUT_IN])
        view[device, CUT_OUT] = np.log1p(view[device, CUT_OUT])
