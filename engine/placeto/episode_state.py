"""What changes while an episode decides one group after the other: compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.placeto.list_schedule import ListSchedule, clear_schedule, commit, empty_schedule
from engine.placeto.view_graph import DeviceViewGraph
from engine.simulator.compiled import compiled


class EpisodeState(NamedTuple):
    """Where an episode is. Changed in place."""

    placement: NDArray[np.int32]
    """[groups] or NO_DEVICE"""
    load: NDArray[np.float64]
    """[devices] time of the groups that are there, decided or not"""
    fill: NDArray[np.float64]
    """[devices] share of its memory that they fill"""
    decided_load: NDArray[np.float64]
    """[devices] time of the groups decided in this pass"""
    phase_load: NDArray[np.float64]
    """[devices, phases] the same by phase of the step"""
    schedule: ListSchedule


@compiled
def begin_episode(graph: DeviceViewGraph, start: NDArray[np.int32]) -> EpisodeState:
    """Nothing is decided; the groups are where `start` [groups] has them."""
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
        empty_schedule(groups, devices),
    )


@compiled
def begin_pass(state: EpisodeState) -> None:
    """Nothing is decided, all groups stay where they are."""
    state.decided_load[:] = 0.0
    state.phase_load[:, :] = 0.0
    clear_schedule(state.schedule)


@compiled
def decide(graph: DeviceViewGraph, state: EpisodeState, group: int, device: int) -> None:
    """Put `group` on `device`."""
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
    commit(graph, state.schedule, state.placement, group, device)
