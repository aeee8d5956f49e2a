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


def interchangeable_classes(problem: PlacementProblem, class_of_device: NDArray[np.int32]) -> NDArray[np.int32]:
    """[classes] the kind of each class of devices, such as those of one host; `class_of_device` [devices] as above.

    Classes of one kind can be exchanged whole: while nothing uses them, their devices are all alike.
    """
    members = [np.flatnonzero(class_of_device == number) for number in range(int(class_of_device.max()) + 1)]
    kinds = np.arange(len(members), dtype=np.int32)
    for number, devices in enumerate(members):
        firsts = [first for first in np.unique(kinds[:number]).tolist() if len(members[first]) == len(devices) > 1]
        kinds[number] = next((first for first in firsts if _alike_whole(problem, members, first, number)), number)
    return np.unique(kinds, return_inverse=True)[1].astype(np.int32)


def _alike_whole(problem: PlacementProblem, members: list[NDArray[np.int64]], one: int, other: int) -> bool:
    """Whether cluster and pins stay the same if two classes of several devices are exchanged."""
    first = np.array([devices[0] for devices in members])
    here, there = members[one], members[other]
    if not _same_device(problem, int(here[0]), int(there[0])):
        return False
    inside = [matrix[here[0], here[1]] == matrix[there[0], there[1]] for matrix in _links(problem.cluster)]
    return all(inside) and all(
        _same_links(matrix[np.ix_(first, first)], one, other) for matrix in _links(problem.cluster)
    )


def _alike(problem: PlacementProblem, one: int, other: int) -> bool:
    """Whether the cluster and the pins stay the same if the two devices are exchanged."""
    return _same_device(problem, one, other) and all(
        _same_links(matrix, one, other) for matrix in _links(problem.cluster)
    )


def _same_device(problem: PlacementProblem, one: int, other: int) -> bool:
    """Whether two devices have the same kind and memory, and the same groups may go there."""
    first, second = problem.cluster.devices[one], problem.cluster.devices[other]
    same = (first.kind, first.memory_bytes) == (second.kind, second.memory_bytes)
    return same and np.array_equal(problem.allowed[:, one], problem.allowed[:, other])


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
