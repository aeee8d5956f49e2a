"""The end of a batch: each device updates its weights as soon as their gradients are added up.

An op of the optimizer waits for what the optimizer is given, and for its inputs from other ops of the optimizer; what
comes from another device takes the link's latency and its bytes / bandwidth. A device begins with its optimizer when it
has run all else, and takes its ops in the order in which they can run. So it ends when the last of them could run, and
all behind it have.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph
from engine.graphs.ordering import levels
from engine.plans.gradients import Given
from engine.simulator.tables import flow_bytes, late_ops


@dataclass(frozen=True, slots=True)
class OptimizerOps:
    """The ops of the optimizer, and the edges between them, by the depth of their consumers."""

    given: Given
    ops: NDArray[np.int64]
    """[optimizer ops]"""
    edges_by_depth: tuple[NDArray[np.int64], ...]
    """edges between them, those to the shallowest consumers first"""
    state_ops: NDArray[np.int64]
    """ops that hold bytes for the optimizer alone"""


def optimizer_ops(graph: ComputationGraph, costs: Costs, given: Given) -> OptimizerOps:
    """What the end of a batch runs of `graph`."""
    is_late = late_ops(graph, costs)
    inside = np.flatnonzero(is_late[graph.edge_source] & is_late[graph.edge_target])
    ends = np.stack((graph.edge_source[inside], graph.edge_target[inside]), axis=1)
    depth = levels(ends, graph.op_count)[graph.edge_target[inside]] if len(inside) else np.empty(0, np.int64)
    by_depth = tuple(inside[depth == each] for each in np.unique(depth))
    for_others = np.zeros(graph.op_count, bool)
    for_others[graph.edge_source[~is_late[graph.edge_target]]] = True
    takes = np.zeros(graph.op_count, bool)
    takes[graph.edge_source[is_late[graph.edge_target]]] = True
    state = takes & ~for_others & ~is_late & (costs.persistent_bytes > 0)
    return OptimizerOps(given, np.flatnonzero(is_late), by_depth, np.flatnonzero(state))


def updated_us(
    late: OptimizerOps,
    graph: ComputationGraph,
    costs: Costs,
    cluster: Cluster,
    device_of_op: NDArray[np.int32],
    ready_us: NDArray[np.float64],
    free_us: NDArray[np.float64],
    parts: int = 1,
) -> NDArray[np.float64]:
    """[devices] when each device has updated its weights, `free_us` where it has none.

    `ready_us` [given]: when what the optimizer is given can be taken; `free_us` [devices]: when a device has run all
    else. `parts`: in how many parts the replicas share the work.
    """
    release_us = _releases(late, graph, costs, cluster, device_of_op, ready_us)[late.ops]
    device = device_of_op[late.ops]
    times_us = costs.time_on_devices(cluster.devices)[device, late.ops]
    rests_us = cluster.op_rests_us[device] * costs.rests_of_op()[late.ops] * (times_us > 0)
    work_us = times_us / parts + rests_us
    ends_us = free_us.copy()
    for each in np.unique(device).tolist():
        own = np.flatnonzero(device == each)
        own = own[np.argsort(release_us[own], kind="stable")]
        left_us = np.cumsum(work_us[own][::-1])[::-1]
        ends_us[each] = (np.maximum(release_us[own], free_us[each]) + left_us).max()
    return ends_us


def _releases(
    late: OptimizerOps,
    graph: ComputationGraph,
    costs: Costs,
    cluster: Cluster,
    device_of_op: NDArray[np.int32],
    ready_us: NDArray[np.float64],
) -> NDArray[np.float64]:
    """[ops] when each op of the optimizer has all that comes from other devices, or from the replicas."""
    release_us = np.zeros(graph.op_count)
    edges = np.flatnonzero(late.given.given_of_edge >= 0)
    arrival_us = ready_us[late.given.given_of_edge[edges]] + _moves_us(graph, costs, cluster, device_of_op, edges)
    np.maximum.at(release_us, graph.edge_target[edges], arrival_us)
    for edges in late.edges_by_depth:
        arrival_us = release_us[graph.edge_source[edges]] + _moves_us(graph, costs, cluster, device_of_op, edges)
        np.maximum.at(release_us, graph.edge_target[edges], arrival_us)
    return release_us


def _moves_us(
    graph: ComputationGraph,
    costs: Costs,
    cluster: Cluster,
    device_of_op: NDArray[np.int32],
    edges: NDArray[np.int64],
) -> NDArray[np.float64]:
    """[edges] the time on a link; 0 between ops of one device."""
    source, output = graph.edge_source[edges], graph.edge_output[edges]
    of_source, of_target = device_of_op[source], device_of_op[graph.edge_target[edges]]
    sizes = flow_bytes(costs, source.astype(np.int64), output.astype(np.int64))
    moves_us = cluster.latency_us[of_source, of_target] + sizes / cluster.bandwidth_bytes_per_us[of_source, of_target]
    return np.where(of_source == of_target, 0.0, moves_us)
