"""The state of an episode, which changes as it decides one group after the other; compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.files.compiled import compiled
from engine.placeto.seeing.list_schedule import ListSchedule, clear_schedule, commit, empty_schedule
from engine.placeto.seeing.view_graph import DeviceViewGraph


class EpisodeState(NamedTuple):
    """The state of an episode. Changed in place."""

    placement: NDArray[np.int32]
    """[groups] or NO_DEVICE"""
    load: NDArray[np.float64]
    """[devices] time of the groups on the device, decided or not"""
    fill: NDArray[np.float64]
    """[devices] share of the device's memory that these groups fill"""
    decided_load: NDArray[np.float64]
    """[devices] time of the groups decided in this pass"""
    phase_load: NDArray[np.float64]
    """[devices, phases] the decided load by phase of the step"""
    listed_load: NDArray[np.float64]
    """[SCHEDULES, devices of a schedule, devices] the decided load of the groups that the schedule puts together"""
    whole: ListSchedule
    forward: ListSchedule
    backward: ListSchedule


@compiled
def begin_episode(graph: DeviceViewGraph, start: NDArray[np.int32]) -> EpisodeState:
    """A state with the groups on their devices in `start` [groups] and none decided."""
    groups, devices = graph.time.shape
    load, fill = np.zeros(devices), np.zeros(devices)
    for group in range(groups):
        if start[group] != NO_DEVICE:
            load[start[group]] += graph.time[group, start[group]]
            fill[start[group]] += graph.memory[group, start[group]]
    return EpisodeState(
        start.copy(),
        load,
        fill,
        np.zeros(devices),
        np.zeros((devices, graph.profile.shape[1])),
        np.zeros((len(graph.listed), devices, devices)),
        empty_schedule(groups, devices),
        empty_schedule(groups, devices),
        empty_schedule(groups, devices),
    )


@compiled
def begin_pass(state: EpisodeState) -> None:
    """Begin a new pass: no group is decided, and all stay where they are."""
    state.decided_load[:] = 0.0
    state.phase_load[:, :] = 0.0
    state.listed_load[:, :, :] = 0.0
    clear_schedule(state.whole)
    clear_schedule(state.forward)
    clear_schedule(state.backward)


@compiled
def decide(graph: DeviceViewGraph, state: EpisodeState, group: int, device: int) -> None:
    """Decide that `group` goes on `device`, and update the state."""
    here, time = state.placement[group], graph.time[group, device]
    if here != NO_DEVICE:
        state.load[here] -= graph.time[group, here]
        state.fill[here] -= graph.memory[group, here]
    state.load[device] += time
    state.fill[device] += graph.memory[group, device]
    state.placement[group] = device
    state.decided_load[device] += time
    for phase in range(state.phase_load.shape[1]):
        state.phase_load[device, phase] += time * graph.profile[group, phase]
    for schedule in range(len(graph.listed)):
        if graph.listed[schedule, group] != NO_DEVICE:
            state.listed_load[schedule, graph.listed[schedule, group], device] += time
    commit(graph.whole, state.whole, state.placement, group, device)
    commit(graph.forward, state.forward, state.placement, group, device)
    commit(graph.backward, state.backward, state.placement, group, device)
