"""The shared head's view of each device before a decision, compiled.

The view treats devices alike: renumbering equal devices only renumbers its rows.
"""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.files.compiled import compiled
from engine.placeto.seeing.episode_state import EpisodeState
from engine.placeto.seeing.list_schedule import earliest_start
from engine.placeto.seeing.listed_devices import SCHEDULES
from engine.placeto.seeing.view_graph import DeviceViewGraph

HERE, SLOWNESS, LOAD_DECIDED, LOAD_OPEN, PARENT_TIME, CHILD_TIME, PARALLEL_TIME = range(7)
CUT_IN, CUT_OUT, PARENT_SHARE, CHILD_SHARE, FINISH_LATER, START_LATER, FINISH_LATER_SHARE = range(7, 14)
MEMORY_FILL, DEVICES, PROGRESS, FREE_EARLIER = range(14, 18)
USED, CLASH, FEEDBACK_SHARE, CUT_FEEDBACK, NO_ROOM, WORK_DECIDED = range(18, 24)
FORWARD_LATER, BACKWARD_LATER, BOTH_LATER, BOTH_LATER_SHARE, FIRST_OF_BOTH, BUS_LATER = range(24, 30)
LISTED = 30
"""the first of `SCHEDULES`: see `_look_at_schedules`"""
DEVICE_FEATURES = LISTED + SCHEDULES


@compiled
def look(graph: DeviceViewGraph, state: EpisodeState, group: int, progress: float, view: NDArray[np.float32]) -> None:
    """Fill `view` [devices, DEVICE_FEATURES] for the decision on `group`; `progress` is the share of steps done."""
    placement, load, decided_load = state.placement, state.load, state.decided_load
    whole, fill, phase_load = state.whole, state.fill, state.phase_load
    groups, devices = graph.time.shape
    view[:, :] = 0.0
    here = placement[group]
    _look_at_relatives(graph, placement, group, view)
    _look_at_neighbours(graph, placement, group, view)
    _look_at_feedback_edges(graph, placement, group, view)
    _look_at_both_passes(graph, state, group, view)
    _look_at_schedules(graph, state, group, view)
    per_device = devices / groups
    fastest = np.inf
    for device in range(devices):
        if graph.allowed[group, device]:
            fastest = min(fastest, graph.time[group, device])
    starts = np.empty(devices)
    all_decided = decided_load.sum()
    first_start, first_finish, last_free = np.inf, np.inf, 0.0
    for device in range(devices):
        starts[device] = earliest_start(graph.whole, whole, placement, group, device)
        last_free = max(last_free, whole.free[device])
        if graph.allowed[group, device]:
            first_start = min(first_start, starts[device])
            first_finish = min(first_finish, starts[device] + graph.time[group, device])
    for device in range(devices):
        group_here = graph.time[group, device] if device == here else 0.0
        later = max(0.0, starts[device] + graph.time[group, device] - first_finish)
        row = view[device]
        row[HERE] = 1.0 if device == here else 0.0
        row[SLOWNESS] = min(10.0, np.log((graph.time[group, device] + 1e-9) / (fastest + 1e-9)))
        row[LOAD_DECIDED] = decided_load[device] * per_device
        row[LOAD_OPEN] = (load[device] - decided_load[device] - group_here) * per_device
        row[PARALLEL_TIME] = (load[device] - group_here) * per_device - row[PARENT_TIME] - row[CHILD_TIME]
        row[FINISH_LATER] = np.log1p(later)
        row[START_LATER] = np.log1p(max(0.0, starts[device] - first_start))
        row[FINISH_LATER_SHARE] = later * per_device
        row[MEMORY_FILL] = min(4.0, fill[device] + (0.0 if device == here else graph.memory[group, device]))
        row[DEVICES] = 1.0 / devices
        row[PROGRESS] = progress
        row[FREE_EARLIER] = (last_free - whole.free[device]) * per_device
        row[WORK_DECIDED] = all_decided / groups
        row[USED] = 1.0 if decided_load[device] > 0.0 else 0.0
        row[NO_ROOM] = max(0.0, row[MEMORY_FILL] - 0.8)
        clash = 0.0
        for phase in range(phase_load.shape[1]):
            clash += graph.profile[group, phase] * phase_load[device, phase]
        row[CLASH] = clash * per_device * phase_load.shape[1]


@compiled
def _look_at_relatives(
    graph: DeviceViewGraph, placement: NDArray[np.int32], group: int, view: NDArray[np.float32]
) -> None:
    """Add the time of the group's parents and children on each device, in units of a device's fair share."""
    groups, devices = graph.time.shape
    per_device = devices / groups
    for member in range(graph.parent_offset[group], graph.parent_offset[group + 1]):
        other = graph.parent_index[member]
        if placement[other] == NO_DEVICE:
            continue
        view[placement[other], PARENT_TIME] += graph.time[other, placement[other]] * per_device
    for member in range(graph.child_offset[group], graph.child_offset[group + 1]):
        other = graph.child_index[member]
        if placement[other] == NO_DEVICE:
            continue
        view[placement[other], CHILD_TIME] += graph.time[other, placement[other]] * per_device


@compiled
def _look_at_neighbours(
    graph: DeviceViewGraph, placement: NDArray[np.int32], group: int, view: NDArray[np.float32]
) -> None:
    """Add the transfers needed if the group were on each device, and the share of its neighbours' bytes there."""
    devices = graph.time.shape[1]
    bytes_in, bytes_out = 1e-9, 1e-9
    for edge in range(graph.in_offset[group], graph.in_offset[group + 1]):
        home = placement[graph.in_source[edge]]
        bytes_in += graph.in_bytes[edge]
        if home == NO_DEVICE:
            continue
        view[home, PARENT_SHARE] += graph.in_bytes[edge]
        for device in range(devices):
            view[device, CUT_IN] += graph.in_bytes[edge] * graph.link_time_per_byte[home, device]
    for edge in range(graph.out_offset[group], graph.out_offset[group + 1]):
        home = placement[graph.out_target[edge]]
        bytes_out += graph.out_bytes[edge]
        if home == NO_DEVICE:
            continue
        view[home, CHILD_SHARE] += graph.out_bytes[edge]
        for device in range(devices):
            view[device, CUT_OUT] += graph.out_bytes[edge] * graph.link_time_per_byte[device, home]
    for device in range(devices):
        view[device, PARENT_SHARE] /= bytes_in
        view[device, CHILD_SHARE] /= bytes_out
        view[device, CUT_IN] = np.log1p(view[device, CUT_IN])
        view[device, CUT_OUT] = np.log1p(view[device, CUT_OUT])


@compiled
def _look_at_feedback_edges(
    graph: DeviceViewGraph, placement: NDArray[np.int32], group: int, view: NDArray[np.float32]
) -> None:
    """Add the same for bytes exchanged against the order of the groups."""
    devices = graph.time.shape[1]
    feedback_bytes_of_group = 1e-9
    for edge in range(graph.feedback_offset[group], graph.feedback_offset[group + 1]):
        home = placement[graph.feedback_index[edge]]
        feedback_bytes_of_group += graph.feedback_bytes[edge]
        if home == NO_DEVICE:
            continue
        view[home, FEEDBACK_SHARE] += graph.feedback_bytes[edge]
        for device in range(devices):
            view[device, CUT_FEEDBACK] += graph.feedback_bytes[edge] * graph.link_time_per_byte[device, home]
    for device in range(devices):
        view[device, FEEDBACK_SHARE] /= feedback_bytes_of_group
        view[device, CUT_FEEDBACK] = np.log1p(view[device, CUT_FEEDBACK])


@compiled
def _look_at_both_passes(graph: DeviceViewGraph, state: EpisodeState, group: int, view: NDArray[np.float32]) -> None:
    """Add how much later the group's forward and backward ops end on each device than on the best one for them.

    `FIRST_OF_BOTH` are the devices where both end first, taken together; `BUS_LATER` is how much longer a device's
    outgoing link is busy than the one that is free first.
    """
    devices = graph.time.shape[1]
    ends = np.empty((3, devices))
    first = np.full(3, np.inf)
    first_bus = np.inf
    for device in range(devices):
        forward = earliest_start(graph.forward, state.forward, state.placement, group, device)
        backward = earliest_start(graph.backward, state.backward, state.placement, group, device)
        ends[0, device] = forward + graph.forward.time[group, device]
        ends[1, device] = backward + graph.backward.time[group, device]
        ends[2, device] = ends[0, device] + ends[1, device]
        first_bus = min(first_bus, state.forward.bus[device] + state.backward.bus[device])
        if graph.allowed[group, device]:
            for which in range(3):
                first[which] = min(first[which], ends[which, device])
    per_device = devices / len(graph.time)
    for device in range(devices):
        row = view[device]
        row[FORWARD_LATER] = np.log1p(max(0.0, ends[0, device] - first[0]))
        row[BACKWARD_LATER] = np.log1p(max(0.0, ends[1, device] - first[1]))
        later = max(0.0, ends[2, device] - first[2])
        row[BOTH_LATER] = np.log1p(later)
        row[BOTH_LATER_SHARE] = later * per_device
        row[FIRST_OF_BOTH] = 1.0 if graph.allowed[group, device] and later <= 0.0 else 0.0
        row[BUS_LATER] = (state.forward.bus[device] + state.backward.bus[device] - first_bus) * per_device


@compiled
def _look_at_schedules(graph: DeviceViewGraph, state: EpisodeState, group: int, view: NDArray[np.float32]) -> None:
    """Add, for each list schedule, the share of the groups beside this one in the schedule that went to each device.

    How a schedule numbers equal devices means nothing. So before any of these groups is decided, all unused devices of
    the class where the schedule has them are alike.
    """
    devices = graph.time.shape[1]
    for schedule in range(SCHEDULES):
        listed = graph.listed[schedule, group]
        if listed == NO_DEVICE:
            continue
        beside = state.listed_load[schedule, listed]
        together = beside.sum()
        for device in range(devices):
            unused = state.decided_load[device] == 0.0
            if together > 0.0:
                view[device, LISTED + schedule] = beside[device] / together
            elif unused and graph.device_class[device] == graph.device_class[listed]:
                view[device, LISTED + schedule] = 1.0
