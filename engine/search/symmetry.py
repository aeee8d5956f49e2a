"""Finds devices that can be exchanged in any placement without the smallest change in step time or memory."""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL
from engine.problem import PlacementProblem
from engine.simulator.executed import executed_part


def interchangeable_devices(problem: PlacementProblem) -> NDArray[np.int32]:
    """[devices] the class of each device; devices of one class can be exchanged in any placement.

    They have the same kind, memory and links, and the same groups may go there. Simultaneous events on different
    devices are ordered by the devices' names, which shows only where a transfer takes no time. Where one can, each
    device is a class of its own.
    """
    count = problem.device_count
    classes = np.arange(count, dtype=np.int32)
    if _transfers_take_time(problem):
        for device in range(count):
            firsts = np.unique(classes[:device]).tolist()
            classes[device] = next((first for first in firsts if _alike(problem, first, device)), device)
    return np.unique(classes, return_inverse=True)[1].astype(np.int32)


def _alike(problem: PlacementProblem, one: int, other: int) -> bool:
    """Whether the cluster and the pins stay the same if the two devices are exchanged."""
    first, second = problem.cluster.devices[one], problem.cluster.devices[other]
    if (first.kind, first.memory_bytes) != (second.kind, second.memory_bytes):
        return False
    if not np.array_equal(problem.allowed[:, one], problem.allowed[:, other]):
        return False
    return all(_same_links(matrix, one, other) for matrix in _links(problem.cluster))


def _links(cluster: Cluster) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return cluster.bandwidth_bytes_per_us, cluster.latency_us


def _same_links(matrix: NDArray[np.float64], one: int, other: int) -> bool:
    """Whether `matrix` [devices, devices] stays the same if the two are exchanged; its diagonal does not count."""
    third = np.ones(len(matrix), dtype=bool)
    third[[one, other]] = False
    same_rows = np.array_equal(matrix[one, third], matrix[other, third])
    same_columns = np.array_equal(matrix[third, one], matrix[third, other])
    return bool(same_rows and same_columns and matrix[one, other] == matrix[other, one])


def _transfers_take_time(problem: PlacementProblem) -> bool:
    """Whether every transfer ends later than it starts, even after rounding at the end of the longest step."""
    graph, costs = executed_part(problem.graph, problem.costs)
    cluster = problem.cluster
    if graph.edge_count == 0 or cluster.device_count == 1:
        return True
    op_trips = costs.trips_of_op()
    trips = trips_of_edges(graph, op_trips)
    data = graph.edge_output != CONTROL
    sizes = np.zeros(graph.edge_count)
    sizes[data] = costs.output_bytes[costs.output_offset[graph.edge_source[data]] + graph.edge_output[data]]
    between = ~np.eye(cluster.device_count, dtype=bool)
    bandwidth, latency_us = cluster.bandwidth_bytes_per_us[between], cluster.latency_us[between]
    shortest_us = float((latency_us + sizes.min() / bandwidth).min())
    each_us = latency_us.max() + cluster.link_rest_us
    ops_us = np.nan_to_num(problem.op_time_us).max(axis=0) + cluster.op_rests_us.max() * op_trips
    longest_step_us = float(ops_us.sum() + (trips * (sizes / bandwidth.min() + each_us)).sum())
    return shortest_us > 2 * float(np.spacing(longest_step_us))
