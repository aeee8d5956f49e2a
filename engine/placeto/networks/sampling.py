"""Episodes of the shared head, decided one group after the other by compiled code."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.files.compiled import compiled
from engine.placeto.networks.rows import add_row, subtract_row
from engine.placeto.seeing.device_view import DEVICE_FEATURES, look
from engine.placeto.seeing.episode_state import begin_episode, begin_pass, decide
from engine.placeto.seeing.view_graph import DeviceViewGraph


class HeadArrays(NamedTuple):
    """The head's weights and the groups' embeddings after its first layer, for compiled code; all float32."""

    own: NDArray[np.float32]
    """[groups, hidden] for the group to be decided, bias included"""
    parallel: NDArray[np.float32]
    """[groups, hidden] for a parallel group on the device"""
    parent_more: NDArray[np.float32]
    """[groups, hidden] added for a parent, which is counted as parallel first"""
    child_more: NDArray[np.float32]
    """[groups, hidden] the same for a child"""
    view_weight: NDArray[np.float32]
    """[DEVICE_FEATURES, hidden]"""
    second_weight: NDArray[np.float32]
    """[hidden, hidden]"""
    second_bias: NDArray[np.float32]
    """[hidden]"""
    together_weight: NDArray[np.float32]
    """[hidden, hidden] from the mean over all devices"""
    score_weight: NDArray[np.float32]
    """[hidden]"""
    view_score: NDArray[np.float32]
    """[DEVICE_FEATURES]"""


@compiled
def sample_episodes(
    graph: DeviceViewGraph,
    head: HeadArrays,
    starts: NDArray[np.int32],
    orders: NDArray[np.int32],
    uniforms: NDArray[np.float64],
    greedy: NDArray[np.bool_],
    explore: float,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """(actions [batch, steps], views [batch, steps, devices, DEVICE_FEATURES]) from `starts` [batch, groups].

    `orders` [batch, steps] is the traversal; `uniforms` [batch, steps] in [0, 1) draw the devices; `greedy` [batch,
    steps] takes the most probable device instead. All actions are NO_DEVICE if a score is not finite.
    """
    batch, steps = orders.shape
    groups, devices = graph.time.shape
    actions = np.empty((batch, steps), dtype=np.int32)
    views = np.empty((batch, steps, devices, DEVICE_FEATURES), dtype=np.float32)
    scores = np.empty(devices, dtype=np.float32)
    for episode in range(batch):
        state = begin_episode(graph, starts[episode])
        on_device = groups_on_devices(head, state.placement, devices)
        for step in range(steps):
            if step % groups == 0:
                begin_pass(state)
            group = orders[episode, step]
            view = views[episode, step]
            look(graph, state, group, (step % groups) / groups, view)
            _score(graph, head, state.placement, on_device, group, view, scores)
            allowed, uniform = graph.allowed[group], uniforms[episode, step]
            device = choose_device(allowed, scores, uniform, greedy[episode, step], explore)
            if device == NO_DEVICE:
                actions[:] = NO_DEVICE
                return actions, views
            if state.placement[group] != NO_DEVICE:
                subtract_row(on_device[state.placement[group]], head.parallel[group])
            add_row(on_device[device], head.parallel[group])
            decide(graph, state, group, device)
            actions[episode, step] = device
    return actions, views


@compiled
def replay_episodes(
    graph: DeviceViewGraph, starts: NDArray[np.int32], orders: NDArray[np.int32], actions: NDArray[np.int32]
) -> NDArray[np.float32]:
    """The views [batch, steps, devices, DEVICE_FEATURES] that `sample_episodes` would give with these `actions`."""
    batch, steps = orders.shape
    groups, devices = graph.time.shape
    views = np.empty((batch, steps, devices, DEVICE_FEATURES), dtype=np.float32)
    for episode in range(batch):
        state = begin_episode(graph, starts[episode])
        for step in range(steps):
            if step % groups == 0:
                begin_pass(state)
            group = orders[episode, step]
            look(graph, state, group, (step % groups) / groups, views[episode, step])
            decide(graph, state, group, actions[episode, step])
    return views


@compiled
def groups_on_devices(head: HeadArrays, placement: NDArray[np.int32], devices: int) -> NDArray[np.float32]:
    """[devices, hidden] the sum of `head.parallel` over the groups on each device."""
    sums = np.zeros((devices, head.parallel.shape[1]), dtype=np.float32)
    for group in range(len(placement)):
        if placement[group] != NO_DEVICE:
            add_row(sums[placement[group]], head.parallel[group])
    return sums


@compiled
def _score(
    graph: DeviceViewGraph,
    head: HeadArrays,
    placement: NDArray[np.int32],
    on_device: NDArray[np.float32],
    group: int,
    view: NDArray[np.float32],
    scores: NDArray[np.float32],
) -> None:
    """Fill `scores` [devices] with the prior's and the head's scores from each device's view and the groups on it."""
    first = on_device.copy()
    add_relatives(graph, head, placement, group, first)
    devices, hidden = first.shape
    mean = np.zeros(hidden, dtype=np.float32)
    for device in range(devices):
        row = first[device]
        add_row(row, head.own[group])
        score = graph.prior_scores[group, device]
        for feature in range(DEVICE_FEATURES):
            value = view[device, feature]
            if value != 0.0:  # half of them are 0
                score += value * head.view_score[feature]
                for unit in range(hidden):
                    row[unit] += value * head.view_weight[feature, unit]
        scores[device] = score
        for unit in range(hidden):
            row[unit] = max(row[unit], np.float32(0.0))
            mean[unit] += row[unit]
    shared = head.second_bias.copy()
    _add_product(shared, mean / np.float32(devices), head.together_weight)
    for device in range(devices):
        second = shared.copy()
        _add_product(second, first[device], head.second_weight)
        for unit in range(hidden):
            scores[device] += max(second[unit], np.float32(0.0)) * head.score_weight[unit]


@compiled
def _add_product(sums: NDArray[np.float32], values: NDArray[np.float32], weight: NDArray[np.float32]) -> None:
    """Add the row `values` [hidden] times `weight` [hidden, hidden] to `sums` [hidden]; many values are 0."""
    for source in range(len(values)):
        if values[source] != 0.0:
            for unit in range(len(sums)):
                sums[unit] += values[source] * weight[source, unit]


@compiled
def add_relatives(
    graph: DeviceViewGraph,
    head: HeadArrays,
    placement: NDArray[np.int32],
    group: int,
    first: NDArray[np.float32],
) -> None:
    """Correct `first` [devices, hidden], which counts all groups as parallel, for the group and its relatives."""
    if placement[group] != NO_DEVICE:
        subtract_row(first[placement[group]], head.parallel[group])
    for member in range(graph.parent_offset[group], graph.parent_offset[group + 1]):
        other = graph.parent_index[member]
        if placement[other] != NO_DEVICE:
            add_row(first[placement[other]], head.parent_more[other])
    for member in range(graph.child_offset[group], graph.child_offset[group + 1]):
        other = graph.child_index[member]
        if placement[other] != NO_DEVICE:
            add_row(first[placement[other]], head.child_more[other])


@compiled
def choose_device(
    allowed: NDArray[np.bool_], scores: NDArray[np.float32], uniform: float, greedy: bool, explore: float
) -> int:
    """A device drawn by the softmax of `scores` over the allowed ones, mixed with a uniform choice; or the best one.

    NO_DEVICE if a score of an allowed device is not finite.
    """
    for device in range(len(scores)):
        if allowed[device] and not np.isfinite(scores[device]):
            return NO_DEVICE
    return _most_probable(allowed, scores) if greedy else _drawn(allowed, scores, uniform, explore)


@compiled
def _drawn(allowed: NDArray[np.bool_], scores: NDArray[np.float32], uniform: float, explore: float) -> int:
    best, count = -1, 0
    for device in range(len(scores)):
        if allowed[device]:
            count += 1
            if best < 0 or scores[device] > scores[best]:
                best = device
    total = 0.0
    for device in range(len(scores)):
        if allowed[device]:
            total += np.exp(scores[device] - scores[best])
    left = uniform
    chosen = best
    for device in range(len(scores)):
        if allowed[device]:
            chosen = device
            left -= (1.0 - explore) * np.exp(scores[device] - scores[best]) / total + explore / count
            if left < 0.0:
                break
    return chosen


@compiled
def _most_probable(allowed: NDArray[np.bool_], scores: NDArray[np.float32]) -> int:
    """The most probable allowed device, where devices of equal score, such as empty equal ones, count as one choice.

    Their probabilities are added up, and the first stands for all.
    """
    best, greatest = -1, -np.inf
    for device in range(len(scores)):
        if allowed[device]:
            together = scores[device] + np.log((allowed & (scores == scores[device])).sum())
            if together > greatest:
                best, greatest = device, together
    return best


@compiled
def members_on_devices(
    graph: DeviceViewGraph, starts: NDArray[np.int32], orders: NDArray[np.int32], actions: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The parents and children on each device at each decision, as bags of table rows.

    (index [members]: a parent as its group, a child as groups + its group; offset [batch · steps · devices + 1]).
    """
    batch, steps = orders.shape
    groups, devices = graph.time.shape
    total = 0
    for episode in range(batch):
        for step in range(steps):
            group = orders[episode, step]
            total += graph.parent_offset[group + 1] - graph.parent_offset[group]
            total += graph.child_offset[group + 1] - graph.child_offset[group]
    index = np.empty(total, dtype=np.int64)
    offset = np.empty(batch * steps * devices + 1, dtype=np.int64)
    filled, bag = 0, 0
    for episode in range(batch):
        placement = starts[episode].copy()
        for step in range(steps):
            group = orders[episode, step]
            for device in range(devices):
                offset[bag] = filled
                bag += 1
                for member in range(graph.parent_offset[group], graph.parent_offset[group + 1]):
                    other = graph.parent_index[member]
                    if placement[other] == device:
                        index[filled] = other
                        filled += 1
                for member in range(graph.child_offset[group], graph.child_offset[group + 1]):
                    other = graph.child_index[member]
                    if placement[other] == device:
                        index[filled] = groups + other
                        filled += 1
            placement[group] = actions[episode, step]
    offset[bag] = filled
    return index[:filled], offset  # groups that are nowhere are in no bag
