"""Many graphs' episodes step by step, compiled: what a step's choices change, and what the next step's decisions see.

Each graph has `batch` episodes. The rows of a step are its decisions' devices: graph by graph, episode by episode.
"""

from typing import NamedTuple

import numpy as np
from numba.typed import List
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.files.compiled import compiled
from engine.placeto.networks.rows import add_row, subtract_row
from engine.placeto.networks.sampling import HeadArrays, add_relatives, groups_on_devices
from engine.placeto.seeing.device_view import look
from engine.placeto.seeing.episode_state import EpisodeState, begin_episode, begin_pass, decide
from engine.placeto.seeing.view_graph import DeviceViewGraph


class LockstepRows(NamedTuple):
    """What the head needs of each row of a step."""

    views: NDArray[np.float32]
    """[rows, DEVICE_FEATURES]"""
    sums: NDArray[np.float32]
    """[rows, hidden] the sums over groups in the first layer"""
    priors: NDArray[np.float32]
    """[rows] the prior's score; −∞ where the group may not go"""


class GraphEpisodes(NamedTuple):
    """The episodes of one graph. Its arrays are changed in place."""

    orders: NDArray[np.int32]
    """[batch, steps]"""
    actions: NDArray[np.int32]
    """[batch, steps] what was chosen so far"""
    views: NDArray[np.float32]
    """[batch, steps, devices, DEVICE_FEATURES] what was seen so far"""
    on_device: NDArray[np.float32]
    """[batch, devices, hidden] the sum over the groups on each device"""


@compiled
def begin_together(
    graphs: "List[DeviceViewGraph]",
    heads: "List[HeadArrays]",
    episodes: "List[GraphEpisodes]",
    starts: "List[NDArray[np.int32]]",
) -> "List[EpisodeState]":
    """The state of each episode, in the order of the decisions of a step; `starts` are [batch, groups]."""
    states = List()
    for number in range(len(graphs)):
        for episode in range(len(starts[number])):
            state = begin_episode(graphs[number], starts[number][episode])
            states.append(state)
            on_device = episodes[number].on_device[episode]
            on_device[:] = groups_on_devices(heads[number], state.placement, len(on_device))
    return states


@compiled
def step_together(
    graphs: "List[DeviceViewGraph]",
    heads: "List[HeadArrays]",
    episodes: "List[GraphEpisodes]",
    states: "List[EpisodeState]",
    first_row: NDArray[np.int64],
    chosen: NDArray[np.int32],
    step: int,
    begin: int,
    end: int,
    rows: LockstepRows,
) -> None:
    """Take the devices `chosen` at the step before, and fill `rows` for `step`, for the graphs from `begin` to `end`.

    `first_row` [graphs] is where each graph's rows begin.
    """
    for number in range(begin, end):
        graph, head, own = graphs[number], heads[number], episodes[number]
        batch, steps = own.orders.shape
        groups, devices = graph.time.shape
        for episode in range(batch):
            state, on_device = states[number * batch + episode], own.on_device[episode]
            if 0 < step <= steps:
                group, device = own.orders[episode, step - 1], chosen[number * batch + episode]
                here = state.placement[group]
                if here != NO_DEVICE:
                    subtract_row(on_device[here], head.parallel[group])
                add_row(on_device[device], head.parallel[group])
                decide(graph, state, group, device)
                own.actions[episode, step - 1] = device
            if step < steps:
                if step % groups == 0:
                    begin_pass(state)
                group, row = own.orders[episode, step], first_row[number] + episode * devices
                view, sums = own.views[episode, step], rows.sums[row : row + devices]
                look(graph, state, group, (step % groups) / groups, view)
                sums[:] = on_device
                add_relatives(graph, head, state.placement, group, sums)
                rows.views[row : row + devices] = view
                for device in range(devices):
                    add_row(sums[device], head.own[group])
                    prior = graph.prior_scores[group, device]
                    rows.priors[row + device] = prior if graph.allowed[group, device] else -np.inf
