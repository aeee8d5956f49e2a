"""The units of a placement problem: which groups must share a device, which come first, what a stage of them takes.

Rules, for the devices of the groups:
- Groups with forward ops are ordered by the edges between forward ops; those of a cycle share a device. Their backward
  ops are carried along. Where both passes must be contiguous, groups of a cycle of the backward pass share a device
  too; splits whose backward pass is not contiguous all the same are passed over, and if no other is found, the
  backward pass is taken to mirror the forward pass (`mirrored`).
- A group with backward but no forward ops is ordered by its edges of the backward pass, turned round, as if it had a
  mirror image in the forward pass; if that makes a cycle, the groups in it share a device.
- A group with neither (of the optimizer alone) joins the group with which it exchanges most bytes and with which it
  may share a device; if there is none, it goes to the allowed device with most memory left, since no micro-batch
  needs it.

Where stages run again before their backward pass, a group counts with what runs again wherever it is; likely loads
count what runs again where all is on one device.

Where links differ, a stage's transfers are taken for those on the best links of its class of devices, which no
placement can beat, or for those on links between the best and the worst. With `sender` they are counted once for all
devices that take an output, with `pair` spread over all channels; what is evaluated counts them as they are.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.errors import InfeasibleError
from engine.graphs.edge_trips import most_of_each, trips_of_edges
from engine.graphs.graph import BACKWARD, CONTROL, FORWARD, OPTIMIZER, ComputationGraph
from engine.graphs.ordering import adjacency, distinct, strong_components
from engine.graphs.phases import phases_of_graph
from engine.placers.pipeline_dp.joining import cycles_joined, idle_joined
from engine.placers.pipeline_dp.units import StageUnits
from engine.problem import PlacementProblem
from engine.problem.inseparable import NO_UNIT, joined_by_cycles, pairs_of_passes
from engine.simulator.executed import executed_part
from engine.simulator.topology import topological_order


class LinkEstimate(Enum):
    """Which links the loads of stages are taken for."""

    BEST = "best"
    MEAN = "mean"


@dataclass(frozen=True, slots=True)
class SplitProblem:
    """A placement problem as units to split."""

    problem: PlacementProblem
    class_of_device: NDArray[np.int32]
    """[devices]"""
    unit_of_group: NDArray[np.int32]
    """[groups] or `NO_UNIT`"""
    units: StageUnits
    """with the loads that no placement can beat"""
    likely: StageUnits | None
    """the same with likely loads; None where they are no different"""
    has_all_placements: bool
    """whether every contiguous placement that fits is a split of `units`, for what concerns the period"""
    passes: tuple[NDArray[np.int64], NDArray[np.int64]]
    """pairs of groups [pairs, 2] between which data of the forward, and of the backward pass flow"""

    def placement(self, device_of_unit: NDArray[np.int32]) -> NDArray[np.int32]:
        """[groups] the device of each, from `device_of_unit` [units]."""
        problem = self.problem
        placement = device_of_unit[self.unit_of_group]
        kept_bytes = np.bincount(problem.grouping.group_of_op, problem.costs.kept_bytes())
        has_unit = self.unit_of_group != NO_UNIT
        left = problem.memory_bytes - np.bincount(placement[has_unit], kept_bytes[has_unit], problem.device_count)
        for group in np.flatnonzero(~has_unit).tolist():
            device = int(np.where(problem.allowed[group], left, -np.inf).argmax())
            placement[group] = device
            left[device] -= kept_bytes[group]
        return placement

    def is_contiguous(self, placement: NDArray[np.int32]) -> bool:
        """Whether neither pass comes back to a device of `placement` [groups] that it has left, where that matters."""
        stream = self.problem.stream
        for pairs in self.passes if stream is not None and stream.contiguous else ():
            between = distinct(placement[pairs].astype(np.int64))
            component = strong_components(between, self.problem.device_count)
            if (component[between[:, 0]] == component[between[:, 1]]).any():
                return False
        return True


def split_problem(problem: PlacementProblem, *, mirrored: bool = False) -> SplitProblem:
    """The units of `problem`. Raises InfeasibleError if groups that must share a device may not.

    With `mirrored` every split of them is contiguous in both passes.
    """
    graph, costs = executed_part(problem.graph, problem.costs)
    phase = phases_of_graph(graph, topological_order(graph))
    group_of_op = problem.grouping.group_of_op
    class_of_device = _classes(problem)
    passes = pairs_of_passes(graph, phase, group_of_op)
    has_forward = np.bincount(group_of_op, phase == FORWARD, problem.group_count) > 0
    before = _before(passes, has_forward & (not mirrored))
    best = _of_groups(problem, graph, costs, phase, class_of_device, LinkEstimate.BEST, before)
    likely = _of_groups(problem, graph, costs, phase, class_of_device, LinkEstimate.MEAN, before)
    shares = _with_optimizer(problem, phase)
    joins_none = bool((shares == np.arange(len(shares))).all())
    both_ways = problem.stream is not None and problem.stream.contiguous
    shares = joined_by_cycles(passes if both_ways else passes[:1], shares)
    in_units = shares != NO_UNIT
    unit_of_group = np.full(problem.group_count, NO_UNIT, dtype=np.int32)
    unit_of_group[in_units] = np.unique(shares[in_units], return_inverse=True)[1]
    units = _of_units(best, unit_of_group)
    for join in (cycles_joined, idle_joined):
        joined = join(units)
        units = units.merged(joined)
        unit_of_group[in_units] = joined[unit_of_group[in_units]]
    if np.isinf(units.time_us).all(axis=0).any():
        raise InfeasibleError("groups that must share a device in a contiguous split may not", where="pipeline_dp")
    likely = _of_units(likely, unit_of_group)
    loads = ("time_us", "send_us", "receive_us", "channel_us")
    same = all(np.array_equal(getattr(units, name), getattr(likely, name)) for name in loads)
    all_fit_one = costs.kept_bytes().sum() <= problem.memory_bytes.min()
    has_backward = np.bincount(group_of_op, phase == BACKWARD, problem.group_count) > 0
    has_all = both_ways and not mirrored and bool((has_forward | ~has_backward).all() and (joins_none or all_fit_one))
    return SplitProblem(problem, class_of_device, unit_of_group, units, None if same else likely, has_all, passes)


def _classes(problem: PlacementProblem) -> NDArray[np.int32]:
    """[devices] the class of each: of one kind and memory, where the same groups may go."""
    columns = np.packbits(problem.allowed, axis=0).T
    numbers: dict[Hashable, int] = {}
    devices = zip(problem.cluster.devices, columns, strict=True)
    looks = [(device.kind, device.usable_bytes, column.tobytes()) for device, column in devices]
    return np.array([numbers.setdefault(look, len(numbers)) for look in looks], dtype=np.int32)


def _before(passes: tuple[NDArray[np.int64], NDArray[np.int64]], carries_along: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[pairs, 2] groups of which the first comes before the second: see the head of this file.

    The backward pass does not order the groups `carries_along` [groups] among themselves.
    """
    forward, backward = passes
    turned = backward[~carries_along[backward].all(axis=1)][:, ::-1]
    return np.concatenate((forward, turned))


def _with_optimizer(problem: PlacementProblem, phase: NDArray[np.uint8]) -> NDArray[np.int32]:
    """[groups] the group whose device each shares because of the optimizer: itself, another, or `NO_UNIT`."""
    graph, group_of_op, groups = problem.graph, problem.grouping.group_of_op, problem.group_count
    has_other = np.bincount(group_of_op, phase != OPTIMIZER, groups) > 0
    shares = np.where(has_other, np.arange(groups), NO_UNIT).astype(np.int32)
    if has_other.all():
        return shares
    sizes = np.zeros(graph.edge_count)
    data = graph.edge_output != CONTROL
    costs = problem.costs
    sizes[data] = costs.output_bytes[costs.output_offset[graph.edge_source[data]] + graph.edge_output[data]]
    ends = group_of_op[np.stack([graph.edge_source, graph.edge_target], axis=1)]
    both_ways = np.concatenate((ends, ends[:, ::-1]))
    largest = np.argsort(-np.concatenate((sizes, sizes)), kind="stable")
    neighbours = adjacency(both_ways[largest, 0], both_ways[largest, 1], groups)
    for group in np.flatnonzero(~has_other).tolist():
        for other in neighbours[group]:
            if has_other[other] and (problem.allowed[group] & problem.allowed[other]).any():
                shares[group] = other
                break
    return shares


def _of_units(groups: StageUnits, unit_of_group: NDArray[np.int32]) -> StageUnits:
    """The units that consist of `groups` by `unit_of_group`, without those of `NO_UNIT`, which move nothing."""
    count = int(unit_of_group.max()) + 1
    merged = groups.merged(np.where(unit_of_group == NO_UNIT, count, unit_of_group).astype(np.int32))
    return replace(
        merged, time_us=np.ascontiguousarray(merged.time_us[:, :count]), kept_bytes=merged.kept_bytes[:count]
    )


def _of_groups(
    problem: PlacementProblem,
    graph: ComputationGraph,
    costs: Costs,
    phase: NDArray[np.uint8],
    class_of_device: NDArray[np.int32],
    links: LinkEstimate,
    before: NDArray[np.int64],
) -> StageUnits:
    """Each group as a unit, those of the optimizer too."""
    group_of_op, groups = problem.grouping.group_of_op, problem.group_count
    _, devices = np.unique(class_of_device, return_index=True)
    is_again = problem.simulator.runs_again(group_of_op if links == LinkEstimate.BEST else np.zeros_like(group_of_op))
    flows = _flows(graph, costs, phase)
    consumer = group_of_op[graph.edge_target[flows.edges]]
    uses = np.unique(np.stack([flows.flow_of_edge, consumer], axis=1), axis=0)
    uses = uses[uses[:, 1] != group_of_op[flows.producer[uses[:, 0]]]]
    counts = np.bincount(uses[:, 0], minlength=len(flows.producer))
    loads = [_transfers(flows, problem.cluster, class_of_device == number, links) for number in range(len(devices))]
    send_us, receive_us, channel_us = (np.array(part) for part in zip(*loads, strict=True))
    return StageUnits(
        before=before.astype(np.int32),
        time_us=np.array([_times(problem, costs, phase, is_again, device) for device in devices.tolist()]),
        kept_bytes=np.bincount(group_of_op, costs.kept_bytes(), groups).astype(np.int64),
        producer=group_of_op[flows.producer].astype(np.int32),
        consumer_offset=np.concatenate(([0], np.cumsum(counts))),
        consumer=uses[:, 1].astype(np.int32),
        send_us=send_us,
        receive_us=receive_us,
        channel_us=channel_us,
        devices=np.bincount(class_of_device),
        memory_bytes=problem.memory_bytes[devices].astype(np.int64),
    )


def _times(
    problem: PlacementProblem, costs: Costs, phase: NDArray[np.uint8], is_again: NDArray[np.bool_], device: int
) -> NDArray[np.float64]:
    """[groups] the time of each group's ops on `device`, rests included; infinite where the group may not go."""
    times = np.nan_to_num(problem.op_time_us[device])
    busy = times + np.where(times > 0, problem.cluster.op_rests_us[device] * costs.rests_of_op(), 0.0)
    busy = np.where(is_again, 2.0 * busy, busy)
    of_group = np.bincount(problem.grouping.group_of_op, np.where(phase == OPTIMIZER, 0.0, busy), problem.group_count)
    return np.where(problem.allowed[:, device], of_group, np.inf)


@dataclass(frozen=True, slots=True)
class _Flows:
    """What a micro-batch moves: an output of an op, or the signals of one, to all that take it."""

    edges: NDArray[np.int64]
    """[edges] those between ops that are not the optimizer's"""
    flow_of_edge: NDArray[np.int64]
    """[edges] for each of these"""
    producer: NDArray[np.int32]
    """[flows] the op that makes it"""
    bytes: NDArray[np.float64]
    """[flows] in all trips"""
    trips: NDArray[np.int64]
    """[flows]"""


def _flows(graph: ComputationGraph, costs: Costs, phase: NDArray[np.uint8]) -> _Flows:
    late = phase == OPTIMIZER
    edges = np.flatnonzero(~late[graph.edge_source] & ~late[graph.edge_target])
    made = np.stack([graph.edge_source[edges], graph.edge_output[edges]], axis=1)
    distinct_made, flow_of_edge = np.unique(made, axis=0, return_inverse=True)
    flow_of_edge = flow_of_edge.reshape(-1)
    producer, output = distinct_made.reshape(-1, 2).T
    trips = trips_of_edges(graph, costs.trips_of_op())[edges]
    trips_of_flow = most_of_each(trips, flow_of_edge, len(producer))
    sizes = np.zeros(len(producer))
    data = output != CONTROL
    sizes[data] = costs.output_bytes[costs.output_offset[producer[data]] + output[data]]
    return _Flows(edges, flow_of_edge, producer.astype(np.int32), sizes * trips_of_flow, trips_of_flow)


def _transfers(
    flows: _Flows, cluster: Cluster, inside: NDArray[np.bool_], links: LinkEstimate
) -> Sequence[NDArray[np.float64]]:
    """Send, receive and channel times [flows] of each flow for the devices `inside` [devices], alike to a stage."""
    nothing = np.zeros(len(flows.producer))
    between = ~np.eye(cluster.device_count, dtype=bool)
    if not between.any():
        return nothing, nothing, nothing
    out, into = between & inside[:, None], between & inside[None, :]
    us_a_byte = 1.0 / cluster.bandwidth_bytes_per_us
    send_us = flows.bytes * _one_of(us_a_byte[out], links)
    receive_us = flows.bytes * _one_of(us_a_byte[into], links)
    each_us = flows.trips * (_one_of(cluster.latency_us[out], links) + cluster.link_rest_us)
    match cluster.contention:
        case Contention.BUS:
            return nothing, nothing, send_us + each_us
        case Contention.PAIR:
            channels = cluster.device_count - 1 if links == LinkEstimate.BEST else 1
            return nothing, nothing, (send_us + each_us) / channels
        case Contention.SENDER:
            return send_us + flows.trips * cluster.link_rest_us, nothing, nothing
        case Contention.HOST:
            is_gpu = not cluster.devices[int(inside.argmax())].is_cpu
            return send_us * is_gpu, receive_us * is_gpu, nothing
        case Contention.NONE:
            return nothing, nothing, nothing


def _one_of(figures: NDArray[np.float64], links: LinkEstimate) -> float:
    """The figure that stands for those of several links."""
    if len(figures) == 0 or figures.min() == figures.max():
        return float(figures.min(initial=np.inf)) if len(figures) else 0.0
    return float(figures.min() if links == LinkEstimate.BEST else figures.mean())
