"""The inputs of a policy: arrays of the group graph, and features that do not depend on the graph's scale."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.graphs.edge_trips import trips_of_edges
from engine.placeto.seeing.listed_devices import listed_devices
from engine.placeto.seeing.two_passes import are_backward, feedback_edges, forward_bytes
from engine.problem import PlacementProblem
from engine.problem.trivial import prior_scores
from engine.search.symmetry import alike_devices
from engine.settings.learners import PUBLISHED
from engine.simulator.executed import executed_part
from engine.simulator.topology import consumers_by_producer, topological_order

PHASES = 16
"""parts of a step, each with the same work"""


def phases_of_groups(problem: PlacementProblem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([groups, PHASES] the profile, [groups] the slack): see `GroupGraph`.

    Each op gets the time at which it could start if all ops ran on their fastest devices and nothing was sent. A phase
    is an equal share of the work in the order of these times. Ops that could start together are in one phase, however
    the graph numbers them.
    """
    graph, _ = executed_part(problem.graph, problem.costs)
    group_of_op, groups = problem.grouping.group_of_op, problem.group_count
    times_us = problem.op_time_us
    rests_us = np.where(times_us > 0, problem.cluster.op_rests_us[:, None] * problem.costs.rests_of_op(), 0.0)
    time_us = np.nan_to_num(np.nanmin(times_us + rests_us, axis=0))
    order = topological_order(graph)
    edges, first = consumers_by_producer(graph)
    begin, after = _op_ways(order, first, graph.edge_target[edges], time_us)
    longest = float((begin + after).max()) or 1.0
    slack = np.full(groups, np.inf)
    np.minimum.at(slack, group_of_op, (longest - begin - after) / longest)
    begins, of_begin = np.unique(begin, return_inverse=True)
    work = np.bincount(of_begin, weights=time_us, minlength=len(begins))
    end = np.cumsum(work)
    phase = np.minimum((end - work / 2) / (float(end[-1]) or 1.0) * PHASES, PHASES - 1).astype(np.int64)
    profile = np.zeros((groups, PHASES))
    np.add.at(profile, (group_of_op, phase[of_begin]), time_us)
    return profile / profile.sum(axis=1, keepdims=True).clip(1e-9), slack


@compiled
def _op_ways(
    order: NDArray[np.int32], first: NDArray[np.int64], consumer: NDArray[np.int32], time_us: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([ops] the longest path to the start of each op, [ops] the longest path from its start to the end)."""
    begin, after = np.zeros(len(order)), time_us.copy()
    for op in order:
        for place in range(first[op], first[op + 1]):
            begin[consumer[place]] = max(begin[consumer[place]], begin[op] + time_us[op])
    for op in order[::-1]:
        for place in range(first[op], first[op + 1]):
            after[op] = max(after[op], time_us[op] + after[consumer[place]])
    return begin, after


USUAL = np.array(
    [
        (0.6, 0.4),  # logarithm of its time on its fastest device, in mean times of a group
        (0.1, 0.1),  # the same time as a share of all, times √groups
        (0.5, 0.5),  # logarithm of the ratio of its slowest device's time to it
        (2.4, 1.0),  # logarithm of its outputs' transfer time
        (0.0, 0.25),  # logarithm of its persistent bytes as a share of a device's memory, times the groups
        (1.5, 0.6),  # logarithm of the edges that end there
        (1.4, 0.7),  # logarithm of the edges that begin there
        (0.0, 0.5),  # whether it may go to one device only
        (0.5, 0.3),  # the longest path to it, without transfers, as a share of the longest of all
        (0.9, 0.15),  # the longest path through it, without transfers
        (0.55, 0.3),  # the longest path to it, with transfers
        (0.9, 0.15),  # the longest path through it, with transfers
        (0.5, 0.15),  # the middle of its work in the step
        (0.25, 0.15),  # the spread of its work over the step
        (0.6, 0.15),  # share of its work in its fullest phase
        (0.0, 0.15),  # slack
        (1.0, 1.0),  # logarithm of the transfer time of bytes it exchanges against the order of the groups
        (1.4, 1.0),  # logarithm of the transfer time of bytes it receives
        (1.2, 1.0),  # logarithm of the transfer time of bytes it sends
        (0.5, 0.3),  # share of its work in the backward pass
    ]
)
"""[GROUP_FEATURES, 2] mean and deviation of each feature over training graphs of all families, roughly.

The deviations of persistent bytes and of slack are set wider: they are small here, and far larger on other graphs.

Features are standardised: (x − mean) / deviation. Raw, most deviations are a tenth to a half: a network that began with
raw features hardly saw them, and after five minutes one training in five still treated all groups alike.
"""
GROUP_FEATURES = len(USUAL)


@dataclass(frozen=True, slots=True)
class GroupGraph:
    """The groups of a problem as numbers. Times are in µs; `allowed` and `time_us` are [groups, devices]."""

    allowed: NDArray[np.bool_]
    time_us: NDArray[np.float64]
    """the sum of the times of its ops, all trips; on a device where it may not go, its slowest allowed time"""
    backward_us: NDArray[np.float64]
    """[groups, devices] the part of `time_us` in the backward pass: see `two_passes.are_backward`"""
    output_bytes: NDArray[np.float64]
    """[groups] of all its ops, held once"""
    moved_bytes: NDArray[np.float64]
    """[groups] the same, once a trip: the bytes that a step would send"""
    persistent_bytes: NDArray[np.float64]
    """[groups]"""
    edge_source: NDArray[np.int32]
    """[edges]"""
    edge_target: NDArray[np.int32]
    """[edges] always above its source"""
    edge_bytes: NDArray[np.float64]
    """[edges] sent in a step"""
    edge_forward_bytes: NDArray[np.float64]
    """[edges] the part of them that forward ops send to forward ops"""
    edge_trips: NDArray[np.float64]
    """[edges] how often a step sends along it"""
    feedback_source: NDArray[np.int32]
    """[feedback edges] sender of bytes against the groups' order; each pair of groups once"""
    feedback_target: NDArray[np.int32]
    feedback_bytes: NDArray[np.float64]
    """[feedback edges]"""
    profile: NDArray[np.float64]
    """[groups, PHASES] share of the group's time in each phase of a step without waiting"""
    listed: NDArray[np.int32]
    """[SCHEDULES, groups] the device of each group in each list schedule, or NO_DEVICE: see `listed_devices`"""
    device_class: NDArray[np.int32]
    """[devices] the number of its class; devices of one class are alike: see `symmetry.alike_devices`"""
    slack: NDArray[np.float64]
    """[groups] least slack of an op of the group, as a share of the longest path through the ops"""
    us_per_byte: NDArray[np.float64]
    """[devices, devices] of the link from row to column; 0 from a device to itself"""
    latency_us: NDArray[np.float64]
    """[devices, devices]; 0 from a device to itself"""
    link_rest_us: float
    memory_bytes: NDArray[np.float64]
    """[devices]"""
    reference_us: float
    """unit of step times: the step time with all groups on the fastest single device, without transfers"""
    prior_scores: NDArray[np.float32]
    """[groups, devices] added to the scores that a network gives the devices; 0 unless the prior is shared"""

    @property
    def group_count(self) -> int:
        return len(self.allowed)

    @property
    def device_count(self) -> int:
        return int(self.allowed.shape[1])

    @property
    def mean_group_us(self) -> float:
        """The reference divided by the number of groups."""
        return self.reference_us / self.group_count

    @property
    def mean_us_per_byte(self) -> float:
        """The mean over the links between different devices; 0 with one device."""
        devices = self.device_count
        return float(self.us_per_byte.sum() / (devices * (devices - 1))) if devices > 1 else 0.0


def group_graph(problem: PlacementProblem, prior: str = PUBLISHED) -> GroupGraph:
    """The group graph of `problem` with its costs on the problem's devices, for networks with the setting `prior`."""
    grouping, costs, cluster = problem.grouping, problem.costs, problem.cluster
    groups = problem.group_count
    op_time_us = problem.op_time_us
    op_trips = costs.trips_of_op()
    rests_us = np.where(np.nan_to_num(op_time_us) > 0, cluster.op_rests_us[:, None] * costs.rests_of_op(), 0.0)

    def by_group(per_op: NDArray[np.number]) -> NDArray[np.float64]:
        return np.bincount(grouping.group_of_op, weights=per_op, minlength=groups).astype(np.float64)

    def times_where(counted: NDArray[np.bool_]) -> NDArray[np.float64]:
        occupied_us = np.where(counted, np.nan_to_num(op_time_us) + rests_us, 0.0)
        by_device = np.stack([by_group(times) for times in occupied_us], axis=1)
        slowest = np.where(allowed, by_device, -np.inf).max(axis=1)
        return np.where(allowed, by_device, slowest[:, None])

    allowed, backward = problem.allowed, are_backward(problem)
    time_us = times_where(np.ones(len(backward), dtype=np.bool_))
    own = np.eye(problem.device_count, dtype=bool)
    bandwidth = np.where(own, 1.0, cluster.bandwidth_bytes_per_us)
    feedback_source, feedback_target, feedback_bytes = feedback_edges(problem)
    profile, slack = phases_of_groups(problem)
    return GroupGraph(
        allowed=allowed,
        time_us=time_us,
        backward_us=times_where(backward),
        output_bytes=by_group(executed_part(problem.graph, costs)[1].bytes_of_op()),
        moved_bytes=by_group(costs.bytes_of_op() * op_trips.astype(np.float64)),
        persistent_bytes=by_group(costs.persistent_bytes),
        edge_source=grouping.edge_source,
        edge_target=grouping.edge_target,
        edge_bytes=grouping.edge_bytes.astype(np.float64),
        edge_forward_bytes=forward_bytes(problem, backward),
        edge_trips=_edge_trips(problem),
        feedback_source=feedback_source,
        feedback_target=feedback_target,
        feedback_bytes=feedback_bytes,
        profile=profile,
        listed=listed_devices(problem),
        device_class=alike_devices(problem),
        slack=slack,
        us_per_byte=np.where(own, 0.0, 1.0 / bandwidth),
        latency_us=np.where(own, 0.0, cluster.latency_us),
        link_rest_us=cluster.link_rest_us,
        memory_bytes=problem.memory_bytes.astype(np.float64),
        reference_us=float(time_us.sum(axis=0).min()) or 1.0,
        prior_scores=prior_scores(problem, prior).astype(np.float32),
    )


def _edge_trips(problem: PlacementProblem) -> NDArray[np.float64]:
    """[group edges] the most trips of an op edge that the group edge stands for."""
    graph, grouping, groups = problem.graph, problem.grouping, np.int64(problem.group_count)
    trips = trips_of_edges(graph, problem.costs.trips_of_op())
    pair = grouping.group_of_op[graph.edge_source] * groups + grouping.group_of_op[graph.edge_target]
    wanted = grouping.edge_source * groups + grouping.edge_target
    order = np.argsort(wanted)
    place = np.searchsorted(wanted[order], pair)
    there = np.isin(pair, wanted)
    most = np.zeros(len(wanted))
    np.maximum.at(most, order[place[there]], trips[there])
    return most


def group_features(graph: GroupGraph) -> NDArray[np.float32]:
    """[groups, GROUP_FEATURES] the features of `USUAL`, in its units; they do not depend on the devices' numbering.

    Their mean is about 0 and their deviation about 1.
    """
    groups, scale = graph.group_count, graph.mean_group_us
    fastest = np.where(graph.allowed, graph.time_us, np.inf).min(axis=1)
    slowest = graph.time_us.max(axis=1)
    transfer = graph.moved_bytes * graph.mean_us_per_byte
    in_degree = np.bincount(graph.edge_target, minlength=groups)
    out_degree = np.bincount(graph.edge_source, minlength=groups)
    columns = [
        np.log1p(fastest / scale),
        fastest / graph.reference_us * np.sqrt(groups),
        np.log((slowest / scale + 1e-9) / (fastest / scale + 1e-9)).clip(0, 10),
        np.log1p(transfer / scale),
        np.log1p(graph.persistent_bytes * groups / graph.memory_bytes.mean().clip(1)),
        np.log1p(in_degree),
        np.log1p(out_degree),
        (graph.allowed.sum(axis=1) == 1).astype(np.float64),
    ]
    for edge_us in (np.zeros(len(graph.edge_source)), graph.edge_bytes * graph.mean_us_per_byte):
        before, after = longest_ways(graph, fastest, edge_us)
        critical = float((before + after).max()) or 1.0
        columns += [before / critical, (before + after) / critical]
    middle = (np.arange(PHASES) + 0.5) / PHASES
    mean = graph.profile @ middle
    spread = np.sqrt(np.maximum(graph.profile @ middle**2 - mean**2, 0.0))
    feedback = np.bincount(graph.feedback_source, weights=graph.feedback_bytes, minlength=groups)
    feedback += np.bincount(graph.feedback_target, weights=graph.feedback_bytes, minlength=groups)
    into = np.bincount(graph.edge_target, weights=graph.edge_bytes, minlength=groups)
    out = np.bincount(graph.edge_source, weights=graph.edge_bytes, minlength=groups)
    columns += [mean, spread, graph.profile.max(axis=1), np.minimum(graph.slack, 1.0)]
    columns += [np.log1p(sent * graph.mean_us_per_byte / scale) for sent in (feedback, into, out)]
    columns += [(graph.backward_us / graph.time_us.clip(1e-9)).mean(axis=1)]
    in_units: NDArray[np.float64] = (np.stack(columns, axis=1) - USUAL[:, 0]) / USUAL[:, 1]
    return in_units.astype(np.float32)


def longest_ways(
    graph: GroupGraph, time_us: NDArray[np.float64], edge_us: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([groups] the longest path to the start of each group, [groups] the longest path from its start to the end)."""
    before = np.zeros(graph.group_count)
    after = time_us.copy()
    order = np.argsort(graph.edge_target, kind="stable")
    for source, target, way in zip(
        graph.edge_source[order].tolist(), graph.edge_target[order].tolist(), edge_us[order].tolist(), strict=True
    ):
        before[target] = max(before[target], before[source] + time_us[source] + way)
    order = np.argsort(-graph.edge_source.astype(np.int64), kind="stable")
    for source, target, way in zip(
        graph.edge_source[order].tolist(), graph.edge_target[order].tolist(), edge_us[order].tolist(), strict=True
    ):
        after[source] = max(after[source], time_us[source] + way + after[target])
    return before, after


def fastest_device_placement(graph: GroupGraph) -> NDArray[np.int32]:
    """[groups] all groups on the device with the least total time, or on their fastest if they may not go there."""
    device = int(np.argmin(graph.time_us.sum(axis=0)))
    own = np.argmin(np.where(graph.allowed, graph.time_us, np.inf), axis=1)
    return np.where(graph.allowed[:, device], device, own).astype(np.int32)
