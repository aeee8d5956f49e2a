"""A model's layers in the order in which they run, as the rules of other tools see them: bytes of weights alone.

A layer is a group that holds weights. What holds none goes to the device with which it exchanges most bytes, as it does
where a tool moves modules and their inputs. Where weights may wait on a CPU, they are the layers, and their ops are on
their GPU, or on the first one. GPUs come before CPUs, each in the cluster's order.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import CONTROL, FORWARD
from engine.graphs.ordering import levels
from engine.placers.m_topo import devices_to_fill
from engine.placers.weighted_groups import weighted_graph
from engine.problem import PlacementProblem

STATE = "state"
"""type of the ops of a recording that hold an optimizer's state, which the tools do not count"""
UNPLACED = -1


@dataclass(frozen=True, slots=True)
class WeightedLayers:
    """The layers of a problem, and the devices in the order in which they are filled."""

    groups: NDArray[np.int64]
    """[layers] the group of each"""
    weight_bytes: NDArray[np.int64]
    """[layers] what its weights take"""
    modules: tuple[tuple[int, ...], ...]
    """[layers] bytes of weights of each module in it, a module being a scope right around a weight"""
    devices: NDArray[np.int64]
    """[devices to fill] GPUs; CPUs where there are no GPUs"""
    spare: NDArray[np.int64]
    """[other devices] CPUs behind the GPUs"""

    @staticmethod
    def of(problem: PlacementProblem) -> "WeightedLayers":
        """The layers along the forward pass, equals by number."""
        graph, group_of_op = problem.graph, problem.grouping.group_of_op
        is_weight = graph.waiting_weights
        if not len(is_weight):
            is_weight = np.array([op_type != STATE for op_type in graph.op_types])
        bytes_of_op = np.where(is_weight, problem.costs.persistent_bytes, 0)
        weight_bytes = np.bincount(group_of_op, bytes_of_op, problem.group_count).astype(np.int64)
        groups = np.flatnonzero(weight_bytes)
        groups = groups[np.lexsort((groups, turns_of_groups(problem)[groups]))]
        filled = devices_to_fill(problem)
        modules: list[Counter[str]] = [Counter() for _ in range(problem.group_count)]
        for op in np.flatnonzero(bytes_of_op).tolist():
            modules[group_of_op[op]][graph.op_names[op].rpartition("/")[0]] += int(bytes_of_op[op])
        return WeightedLayers(
            groups,
            weight_bytes[groups],
            tuple(tuple(modules[group].values()) for group in groups.tolist()),
            filled,
            np.setdiff1d(np.arange(problem.device_count), filled),
        )


def turns_of_groups(problem: PlacementProblem) -> NDArray[np.int64]:
    """[groups] when a step comes to each: the level of its first op that takes time, of the forward pass if known."""
    graph = problem.graph
    level = levels(np.stack([graph.edge_source, graph.edge_target], axis=1), graph.op_count)
    works = np.nan_to_num(problem.costs.time_us).max(axis=0, initial=0.0) > 0
    if len(graph.phase):
        works &= graph.phase <= FORWARD
    if len(graph.waiting_weights):
        works |= graph.waiting_weights  # they come right before their ops
    earliest = np.full(problem.group_count, graph.op_count, dtype=np.int64)
    np.minimum.at(earliest, problem.grouping.group_of_op[works], level[works])
    return earliest


def completed(
    problem: PlacementProblem, layers: WeightedLayers, device_of_layer: NDArray[np.int64]
) -> NDArray[np.int32]:
    """[groups] each layer on its device, or on the next where it may be, and the rest beside its data."""
    order = np.concatenate([layers.devices, layers.spare]).tolist()
    place = {device: index for index, device in enumerate(order)}
    found = np.full(problem.group_count, UNPLACED, dtype=np.int64)
    for group, device in zip(layers.groups.tolist(), device_of_layer.tolist(), strict=True):
        onward = [*order[place[device] :], *order[: place[device]]]
        found[group] = next(each for each in onward if problem.allowed[group, each])
    _follow_weights(problem, layers, found)
    weighted = weighted_graph(problem)
    rest = np.flatnonzero(found == UNPLACED)
    for group in rest[np.lexsort((rest, turns_of_groups(problem)[rest]))].tolist():
        load = weighted.load_by_device(group, found, len(order))[order]
        allowed = problem.allowed[group, order]
        found[group] = order[int(np.argmax(np.where(allowed, load, UNPLACED)))]
    return found.astype(np.int32)


def _follow_weights(problem: PlacementProblem, layers: WeightedLayers, found: NDArray[np.int64]) -> None:
    """Put what takes weights that may wait beside them, or on the first device to fill where they wait on another.

    `found`: [groups] devices, changed in place. Of several weights of a group the largest count.
    """
    graph, group_of_op = problem.graph, problem.grouping.group_of_op
    if not len(graph.waiting_weights):
        return
    edges = np.flatnonzero(graph.waiting_weights[graph.edge_source] & (graph.edge_output != CONTROL))
    givers, takers = graph.edge_source[edges], group_of_op[graph.edge_target[edges]]
    for edge in np.argsort(problem.costs.persistent_bytes[givers], kind="stable").tolist():
        group, device = int(takers[edge]), int(found[group_of_op[givers[edge]]])
        if group in layers.groups:
            continue
        runs_on = device if device in layers.devices else int(layers.devices[0])
        if problem.allowed[group, runs_on]:
            found[group] = runs_on
