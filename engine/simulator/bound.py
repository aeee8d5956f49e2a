"""A lower bound of the step time of every placement, for any graph and cluster.

It is the largest of three bounds, each valid by itself:

- The longest path. An op ends no earlier than its inputs allow; for each edge the two ops are on one device, which
  rests in between, or the output is transferred. All devices and links are tried, and the best counts.
- The work, see work_bound.py: of all ops, and of those in the middle of the step.
- Memory. A connected part of the graph that fits no device must be cut at one of its edges, and the bytes of that edge
  must be transferred.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import (
    LARGEST_BANDWIDTH_BYTES_PER_US,
    Cluster,
    Contention,
    Device,
    MemoryModel,
)
from engine.costs.costs import THERE_ALWAYS, Costs
from engine.errors import CostError, shortened
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.simulator.executed import executed_part
from engine.simulator.passed_buffers import least_on_the_way, roots
from engine.simulator.path_bounds import Paths, connected_parts, earliest_ends, least_tails, least_when_cut
from engine.simulator.topology import consumers_by_producer, topological_order
from engine.simulator.work_bound import work_bound_us

MOST_DEVICES_ON_PATHS = 6
"""with more devices, those of one kind are treated as equal, with the best of their links"""
ROUNDING = 1e-9
"""relative; adding in another order than the simulator changes a sum by less"""


@dataclass(frozen=True, slots=True)
class LowerBounds:
    """Step times that no placement which fits memory beats. Each is valid by itself; the largest is the lower bound."""

    path_us: float
    """the longest path of ops"""
    work_us: float
    """the work, shared evenly"""
    memory_us: float
    """the longest path through an edge that memory forces a placement to cut; 0 if it forces none"""

    @property
    def largest_us(self) -> float:
        return max(self.path_us, self.work_us, self.memory_us)


def lower_bound_us(graph: ComputationGraph, costs: Costs, cluster: Cluster) -> float:
    """A step time in µs that no placement of `graph` on `cluster` that fits its memory can beat.

    Raises as `lower_bounds` does.
    """
    return lower_bounds(graph, costs, cluster).largest_us


def lower_bounds(graph: ComputationGraph, costs: Costs, cluster: Cluster) -> LowerBounds:
    """The step times that no placement of `graph` on `cluster` that fits its memory can beat, by their reasons.

    Raises CostError for an op that has no time on any of the devices, GraphError for a cycle.
    """
    graph, costs = executed_part(graph, costs)
    occupied_us, devices = occupations_us(graph, costs, cluster)
    paths = _paths(graph, costs, cluster)
    ends, tails = earliest_ends(paths), least_tails(paths)
    can_run = np.isfinite(paths.time_us)
    before_us = np.where(can_run, ends, np.inf) - np.where(can_run, paths.time_us, 0)
    after_us = np.where(can_run, np.maximum(tails - paths.rest_us, 0), np.inf)
    longest_us = float((ends + tails).min(axis=1).max())
    work_us = work_bound_us(occupied_us, devices, before_us.min(axis=1), after_us.min(axis=1))
    cut_us = _cut_bound_us(graph, costs, cluster, paths, ends, tails)
    path_us, work_us, memory_us = (bound_us * (1 - ROUNDING) for bound_us in (longest_us, work_us, cut_us))
    return LowerBounds(path_us, work_us, memory_us)


def occupations_us(
    graph: ComputationGraph, costs: Costs, cluster: Cluster
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """[kinds, ops] how long each op and its rests occupy a device of each kind, infinite where it cannot run; and
    [kinds] the number of devices, in the order of `one_of_each_kind`.

    Raises CostError for an op that has no time on any of the devices.
    """
    times = costs.time_on_devices(cluster.one_of_each_kind)
    nowhere = np.flatnonzero(np.isnan(times).all(axis=0))
    if len(nowhere):
        kinds = ", ".join(device.kind for device in cluster.one_of_each_kind)
        raise CostError(f"no time on {kinds}", where=f"op {shortened(graph.op_names[nowhere[0]])}")
    rests_us = np.where(times > 0, _rests_us(cluster, cluster.one_of_each_kind) * costs.rests_of_op(), 0.0)
    devices = np.array([sum(each.kind == one.kind for each in cluster.devices) for one in cluster.one_of_each_kind])
    return np.where(np.isnan(times), np.inf, times + rests_us), devices


def _paths(graph: ComputationGraph, costs: Costs, cluster: Cluster) -> Paths:
    """The paths on the cluster's devices, or on up to two of each kind with the best links where there are many."""
    edges, first = consumers_by_producer(graph)
    output = graph.edge_output[edges]
    sizes = np.zeros(graph.edge_count, dtype=np.int64)
    data = output != CONTROL
    sizes[data] = costs.output_bytes[costs.output_offset[graph.edge_source[edges][data]] + output[data]]
    trips, rests = costs.trips_of_op(), costs.rests_of_op()[:, np.newaxis]
    devices, bandwidth, latency = _devices_on_paths(cluster)
    if cluster.contention == Contention.HOST:  # what one CPU gives another is in their memory already
        is_cpu = np.array([device.is_cpu for device in devices])
        bandwidth[np.outer(is_cpu, is_cpu)] = LARGEST_BANDWIDTH_BYTES_PER_US
    times = costs.time_on_devices(devices).T
    return Paths(
        order=topological_order(graph),
        entry_first=first,
        consumer=graph.edge_target[edges],
        bytes=sizes,
        trips=trips_of_edges(graph, trips)[edges].astype(np.float64),
        time_us=np.ascontiguousarray(np.where(np.isnan(times), np.inf, times)),
        rest_us=np.ascontiguousarray(np.where(times > 0, _rests_us(cluster, devices).T * rests, 0.0)),
        bandwidth_bytes_per_us=bandwidth,
        latency_us=latency,
    )


def _rests_us(cluster: Cluster, devices: Sequence[Device]) -> NDArray[np.float64]:
    """[devices, 1] the rest of each after an op of non-zero time."""
    return np.array([[cluster.op_rest_us_on(device.kind)] for device in devices])


def _devices_on_paths(cluster: Cluster) -> tuple[Sequence[Device], NDArray[np.float64], NDArray[np.float64]]:
    """The devices, and bandwidths and latencies [devices, devices]."""
    kind_of = [device.kind for device in cluster.devices]
    if cluster.device_count <= MOST_DEVICES_ON_PATHS:
        return cluster.devices, cluster.bandwidth_bytes_per_us.copy(), cluster.latency_us.copy()
    devices = [device for device in cluster.one_of_each_kind for _ in range(min(2, kind_of.count(device.kind)))]
    kinds = [device.kind for device in devices]
    bandwidth, latency = np.ones((len(kinds), len(kinds))), np.zeros((len(kinds), len(kinds)))
    apart = ~np.eye(cluster.device_count, dtype=bool)
    for row, column in zip(*np.nonzero(~np.eye(len(kinds), dtype=bool)), strict=True):
        links = np.outer([kind == kinds[row] for kind in kind_of], [kind == kinds[column] for kind in kind_of]) & apart
        bandwidth[row, column] = cluster.bandwidth_bytes_per_us[links].max()
        latency[row, column] = cluster.latency_us[links].min()
    return devices, bandwidth, latency


def _cut_bound_us(
    graph: ComputationGraph,
    costs: Costs,
    cluster: Cluster,
    paths: Paths,
    ends: NDArray[np.float64],
    tails: NDArray[np.float64],
) -> float:
    """The least step time of a placement that cuts every connected part which fits no device; 0 if all fit."""
    part = connected_parts(graph.edge_source, graph.edge_target, graph.op_count)
    least_us = least_when_cut(paths, ends, tails, part)
    largest = int(cluster.usable_bytes.max())
    forced = (bytes_on_one_device(graph, costs, cluster, part) > largest) & np.isfinite(least_us)
    return float(least_us.max(where=forced, initial=0.0))


def bytes_on_one_device(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, part: NDArray[np.int64]
) -> NDArray[np.int64]:
    """[ops, at the first op of each part; else 0] the least bytes that a part needs if it is all on one device."""
    ops = graph.op_count
    most, persistent = np.zeros(ops, dtype=np.int64), np.zeros(ops, dtype=np.int64)
    if cluster.memory_model == MemoryModel.OUTPUTS:
        np.maximum.at(most, part, costs.bytes_of_op())
        return most
    np.add.at(persistent, part, costs.kept_bytes())
    if cluster.memory_model == MemoryModel.PERSISTENT:
        return persistent
    needed = costs.new_bytes_of_op() + costs.temporary_bytes
    data = graph.edge_output != CONTROL
    source, target = graph.edge_source[data], graph.edge_target[data]
    output = costs.output_offset[source] + graph.edge_output[data]
    held = _Buffers(costs, part)
    held_bytes = np.where(part[source] == part[target], held.bytes_in_part[output], held.least_bytes[output])
    taken, place = np.unique(np.stack((target, held.maker[output])), axis=1, return_inverse=True)
    most_of_taken = np.zeros(taken.shape[1], dtype=np.int64)
    np.maximum.at(most_of_taken, place.ravel(), held_bytes)
    np.add.at(needed, taken[0], most_of_taken)
    lasting = np.all(costs.time_on_devices(cluster.devices) != 0, axis=0)
    np.maximum.at(most, part[lasting], needed[lasting])
    return persistent + most


class _Buffers:
    """The buffers behind outputs, and what they hold at least where each part is all on one device."""

    def __init__(self, costs: Costs, part: NDArray[np.int64]) -> None:
        """`part` [ops]."""
        buffers, outputs = costs.buffers(), np.arange(len(costs.output_bytes))
        part_of_output = np.repeat(part, np.diff(costs.output_offset))
        passed = np.where(buffers >= 0, buffers, outputs)
        self.maker = roots(passed)
        """[all outputs] the output that made each one's buffer, if all ops are on one device"""
        self.least_bytes = least_on_the_way(np.where(np.isin(buffers, THERE_ALWAYS), 0, costs.output_bytes), passed)
        """[all outputs] the least bytes that an op of another part needs for it: a copy, or the buffer behind it"""
        first = roots(np.where(part_of_output[passed] == part_of_output, passed, outputs))
        from_outside = np.where(buffers >= 0, self.least_bytes[passed], costs.new_bytes())
        self.bytes_in_part = from_outside[first]
        """[all outputs] the least bytes that an op of the same part needs for it"""
