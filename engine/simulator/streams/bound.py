"""A lower bound of the period of every placement, for any graph, cluster and stream.

It is the largest of three bounds, each valid by itself. Ops of the optimizer, which run once a batch, do not count.

- The work, shared among unequal devices as if ops could be cut anywhere: see work_bound.py.
- Units, the ops that share a device in every placement, are not cut. The longest one takes its time on its best device.
  Of the k · devices + 1 longest, some device has k + 1, which take no less than the k + 1 shortest of them. Each
  counts with its time on its best device.
- Memory. Units joined by data that fit no device together must be cut at one of these data, which are then sent.

Source: the second bound is that of Dell'Amico and Martello, "Optimal scheduling of tasks on identical parallel
processors", ORSA Journal on Computing 7 (1995), section 2, with each task at its best device.
"""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.graphs.colocation import colocation_classes
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL, OPTIMIZER, ComputationGraph
from engine.graphs.phases import phases_of_graph
from engine.simulator.bound import ROUNDING, occupations_us
from engine.simulator.executed import executed_part
from engine.simulator.path_bounds import connected_parts
from engine.simulator.streams.stream import Stream
from engine.simulator.topology import topological_order
from engine.simulator.work_bound import shared_work_us


def period_bound_us(graph: ComputationGraph, costs: Costs, cluster: Cluster, _stream: Stream) -> float:
    """A period in µs that no placement of `graph` on `cluster` that fits its memory can beat.

    The bound is the same for every stream: contiguous stages only make periods longer. Raises CostError for an op that
    has no time on any of the devices, GraphError for a cycle.
    """
    graph, costs = executed_part(graph, costs)
    is_counted = phases_of_graph(graph, topological_order(graph)) != OPTIMIZER
    occupied_us, devices = occupations_us(graph, costs, cluster)
    unit = colocation_classes(graph)
    work_us = shared_work_us(occupied_us[:, is_counted], devices)
    units_us = _units_us(occupied_us, unit, is_counted, cluster.device_count)
    cut_us = _cut_us(graph, costs, cluster, unit, is_counted)
    return max(work_us, units_us, cut_us) * (1 - ROUNDING)


def _units_us(
    occupied_us: NDArray[np.float64], unit: NDArray[np.int32], is_counted: NDArray[np.bool_], devices: int
) -> float:
    """The bound of units that are not cut; `occupied_us` [kinds, ops], `unit` and `is_counted` [ops]."""
    of_unit = np.zeros((len(occupied_us), int(unit.max()) + 1))
    for kind, of_kind in enumerate(occupied_us):
        np.add.at(of_unit[kind], unit, np.where(is_counted | np.isinf(of_kind), of_kind, 0.0))
    at_best = of_unit.min(axis=0)
    longest = -np.sort(-np.where(np.isfinite(at_best), at_best, 0.0))
    rounds = np.arange((len(longest) - 1) // devices + 1)
    total = np.concatenate((np.zeros(1), np.cumsum(longest)))
    beyond = rounds * devices + 1
    return float((total[beyond] - total[beyond - rounds - 1]).max())


def _cut_us(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, unit: NDArray[np.int32], is_counted: NDArray[np.bool_]
) -> float:
    """The load of the cheapest cut of a part of the graph that fits no device, the largest of all such parts; else 0.

    A part is units with counted data between them; the variables of all their ops must fit. `unit`, `is_counted` [ops].
    """
    source, target = unit[graph.edge_source], unit[graph.edge_target]
    joins = is_counted[graph.edge_source] & is_counted[graph.edge_target] & (source != target)
    units = int(unit.max()) + 1
    part = connected_parts(source[joins], target[joins], units)
    held, cheapest_us = np.zeros(units, dtype=np.int64), np.full(units, np.inf)
    np.add.at(held, part[unit], costs.kept_bytes())
    np.minimum.at(cheapest_us, part[source[joins]], _least_loads_us(graph, costs, cluster)[joins])
    is_forced = (held > int(cluster.usable_bytes.max())) & np.isfinite(cheapest_us)
    return float(cheapest_us.max(where=is_forced, initial=0.0))


def _least_loads_us(graph: ComputationGraph, costs: Costs, cluster: Cluster) -> NDArray[np.float64]:
    """[edges] the least that sending what an edge carries adds to the load of a device or link."""
    apart = ~np.eye(cluster.device_count, dtype=bool)
    if cluster.contention == Contention.NONE or not apart.any():
        return np.zeros(graph.edge_count)
    sent_bytes, data = np.zeros(graph.edge_count), graph.edge_output != CONTROL
    sent_bytes[data] = costs.output_bytes[costs.output_offset[graph.edge_source[data]] + graph.edge_output[data]]
    fixed_us, bandwidth = np.zeros(int(apart.sum())), cluster.bandwidth_bytes_per_us[apart]
    if cluster.contention != Contention.HOST:
        fixed_us += cluster.link_rest_us
    if cluster.contention in (Contention.BUS, Contention.PAIR):
        fixed_us += cluster.latency_us[apart]
    once_us = np.full(graph.edge_count, np.inf)
    for link_us, link_bandwidth in set(zip(fixed_us.tolist(), bandwidth.tolist(), strict=True)):
        once_us = np.minimum(once_us, link_us + sent_bytes / link_bandwidth)
    if cluster.contention == Contention.HOST and sum(device.is_cpu for device in cluster.devices) > 1:
        once_us[:] = 0.0  # between CPUs, which are not charged
    return np.asarray(trips_of_edges(graph, costs.trips_of_op()) * once_us)
