"""Finds devices that can be exchanged in any placement without the smallest change in step time or memory."""

from collections.abc import Hashable, Sequence

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
    if not _transfers_take_time(problem):
        return np.arange(problem.device_count, dtype=np.int32)
    return alike_devices(problem)


def alike_devices(problem: PlacementProblem) -> NDArray[np.int32]:
    """[devices] the class of each device; those of one class have the same kind, memory, links and allowed groups."""
    return _alike(_looks_of_devices(problem), _links(problem.cluster))


def interchangeable_classes(problem: PlacementProblem, class_of_device: NDArray[np.int32]) -> NDArray[np.int32]:
    """[classes] the kind of each class of devices, such as those of one host; `class_of_device` [devices] as above.

    Classes of one kind can be exchanged whole: while nothing uses them, their devices are all alike. A class of one
    device is a kind of its own.
    """
    links = _links(problem.cluster)
    members = [np.flatnonzero(class_of_device == number) for number in range(int(class_of_device.max()) + 1)]
    first = np.array([devices[0] for devices in members])
    looks = _looks_of_devices(problem)[first].tolist()
    keys: list[Hashable] = []
    for number, devices in enumerate(members):
        inside = tuple(float(matrix[devices[0], devices[-1]]) for matrix in links)
        keys.append((looks[number], len(devices), inside) if len(devices) > 1 else number)
    return _alike(_numbered(keys), [matrix[np.ix_(first, first)] for matrix in links])


def _alike(looks: NDArray[np.int64], links: Sequence[NDArray[np.float64]]) -> NDArray[np.int32]:
    """[things] the class of each: those of one class look the same and can be exchanged without changing `links`.

    `looks` [things] has equal numbers for equal looks; each of `links` is [things, things].
    """
    classes = np.arange(len(looks))
    for thing in range(len(looks)):
        is_first = classes[:thing] == np.arange(thing)
        firsts = np.flatnonzero(is_first & (looks[:thing] == looks[thing]))
        for matrix in links:
            firsts = firsts[_have_the_links_of(thing, firsts, matrix)]
        classes[thing] = firsts[0] if len(firsts) else thing
    return np.unique(classes, return_inverse=True)[1].astype(np.int32)


def _have_the_links_of(thing: int, others: NDArray[np.int64], matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """[others] whether `matrix` [things, things] stays the same if `thing` and one of `others` are exchanged.

    The diagonal does not count.
    """
    third = np.ones((len(others), len(matrix)), dtype=bool)
    third[:, thing] = False
    third[np.arange(len(others)), others] = False
    rows = (matrix[others] == matrix[thing]) | ~third
    columns = (matrix[:, others] == matrix[:, [thing]]).T | ~third
    between = matrix[others, thing] == matrix[thing, others]
    return np.asarray(rows.all(axis=1) & columns.all(axis=1) & between)


def _looks_of_devices(problem: PlacementProblem) -> NDArray[np.int64]:
    """[devices] equal numbers for devices of the same kind and memory, where the same groups may go."""
    columns = np.packbits(problem.allowed, axis=0).T
    devices = zip(problem.cluster.devices, columns, strict=True)
    return _numbered([(device.kind, device.usable_bytes, allowed.tobytes()) for device, allowed in devices])


def _numbered(keys: Sequence[Hashable]) -> NDArray[np.int64]:
    """[keys] equal numbers for equal keys."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def _links(cluster: Cluster) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return cluster.bandwidth_bytes_per_us, cluster.latency_us


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
    ops_us = np.nan_to_num(problem.op_time_us).max(axis=0) + cluster.op_rests_us.max() * costs.rests_of_op()
    longest_step_us = float(ops_us.sum() + (trips * (sizes / bandwidth.min() + each_us)).sum())
    return shortest_us > 2 * float(np.spacing(longest_step_us))
