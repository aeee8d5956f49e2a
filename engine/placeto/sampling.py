"""Episodes of the shared head, decided one group after the other by compiled code."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.placeto.device_view import (
    DEVICE_FEATURES,
    DeviceViewGraph,
    commit,
    device_loads,
    empty_schedule,
    look,
)
from engine.simulator.compiled import compiled


class HeadArrays(NamedTuple):
    """The head's weights and the groups' embeddings behind its first layer, for compiled code; all float32."""

    own: NDArray[np.float32]
    """[groups, hidden] of the group to be decided, bias included"""
    parallel: NDArray[np.float32]
    """[groups, hidden] of a group on the device, were it parallel"""
    parent_more: NDArray[np.float32]
    """[groups, hidden] what it counts more as a parent than as a parallel group"""
    child_more: NDArray[np.float32]
    """[groups, hidden]"""
    view_weight: NDArray[np.float32]
    """[DEVICE_FEATURES, hidden]"""
    second_weight: NDArray[np.float32]
    """[hidden, hidden]"""
    second_bias: NDArray[np.float32]
    """[hidden]"""
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

    `orders` [batch, steps] is the traversal, `uniforms` [batch, steps] in [0, 1) choose, `greedy` [batch] takes the
    most probable device instead.
    """
    batch, steps = orders.shape
    groups, devices = graph.time.shape
    actions = np.empty((batch, steps), dtype=np.int32)
    views = np.empty((batch, steps, devices, DEVICE_FEATURES), dtype=np.float32)
    scores = np.empty(devices, dtype=np.float32)
    for episode in range(batch):
        placement = starts[episode].copy()
        load, fill = device_loads(graph, placement)
        on_device = _on_device(head, placement, devices)
        schedule = empty_schedule(groups, devices)
        decided_load = np.zeros(devices)
        for step in range(steps):
            if step % groups == 0:
                schedule = empty_schedule(groups, devices)
                decided_load[:] = 0.0
            group = orders[episode, step]
            view = views[episode, step]
            look(graph, schedule, placement, load, decided_load, fill, group, (step % groups) / groups, view)
            _score(graph, head, placement, on_device, group, view, scores)
            device = _choose(graph.allowed[group], scores, uniforms[episode, step], greedy[episode], explore)
            _move(graph, head, placement, load, fill, on_device, group, device)
            decided_load[device] += graph.time[group, device]
            commit(graph, schedule, placement, group, device)
            actions[episode, step] = device
    return actions, views


@compiled
def _on_device(head: HeadArrays, placement: NDArray[np.int32], devices: int) -> NDArray[np.float32]:
    """[devices, hidden] the sum of `head.parallel` over the groups on each device."""
    sums = np.zeros((devices, head.parallel.shape[1]), dtype=np.float32)
    for group in range(len(placement)):
        sums[placement[group]] += head.parallel[group]
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
    """Fill `scores` [devices]: the head on what each device holds of the group's parents, children, parallel groups."""
    first = on_device.copy()
    _add_relatives(graph, head, placement, group, first)
    hidden = first.shape[1]
    second = np.empty(hidden, dtype=np.float32)
    for device in range(len(first)):
        row = first[device]
        for unit in range(hidden):
            row[unit] += head.own[group, unit]
        score = np.float32(0.0)
        for feature in range(DEVICE_FEATURES):
            value = view[device, feature]
            score += value * head.view_score[feature]
            for unit in range(hidden):
                row[unit] += value * head.view_weight[feature, unit]
        second[:] = head.second_bias
        for source in range(hidden):
            if row[source] > 0.0:
                for unit in range(hidden):
                    second[unit] += row[source] * head.second_weight[source, unit]
        for unit in range(hidden):
            score += max(second[unit], np.float32(0.0)) * head.score_weight[unit]
        scores[device] = score


@compiled
def _add_relatives(
    graph: DeviceViewGraph,
    head: HeadArrays,
    placement: NDArray[np.int32],
    group: int,
    first: NDArray[np.float32],
) -> None:
    """To `first` [devices, hidden], where all groups count as parallel: the group itself less, its relatives more."""
    hidden = first.shape[1]
    here = placement[group]
    for unit in range(hidden):
        first[here, unit] -= head.parallel[group, unit]
    for member in range(graph.parent_offset[group], graph.parent_offset[group + 1]):
        other = graph.parent_index[member]
        for unit in range(hidden):
            first[placement[other], unit] += head.parent_more[other, unit]
    for member in range(graph.child_offset[group], graph.child_offset[group + 1]):
        other = graph.child_index[member]
        for unit in range(hidden):
            first[placement[other], unit] += head.child_more[other, unit]


@compiled
def _choose(
    allowed: NDArray[np.bool_], scores: NDArray[np.float32], uniform: float, greedy: bool, explore: float
) -> int:
    """A device by the softmax of `scores` over the allowed ones, mixed with uniform; or the one scored highest."""
    best, count = -1, 0
    for device in range(len(scores)):
        if allowed[device]:
            count += 1
            if best < 0 or scores[device] > scores[best]:
                best = device
    if greedy:
        return best
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
def _move(
    graph: DeviceViewGraph,
    head: HeadArrays,
    placement: NDArray[np.int32],
    load: NDArray[np.float64],
    fill: NDArray[np.float64],
    on_device: NDArray[np.float32],
    group: int,
    device: int,
) -> None:
    """Move `group` to `device` and mend the sums."""
    here = placement[group]
    if device == here:
        return
    load[here] -= graph.time[group, here]
    load[device] += graph.time[group, device]
    fill[here] -= graph.memory[group, here]
    fill[device] += graph.memory[group, device]
    on_device[here] -= head.parallel[group]
    on_device[device] += head.parallel[group]
    placement[group] = device


@compiled
def members_on_devices(
    graph: DeviceViewGraph, starts: NDArray[np.int32], orders: NDArray[np.int32], actions: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which of the group's parents and children are on which device, decision by decision, as bags of table rows.

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
    return index, offset
