"""What a replica's backward pass gives to its optimizer, and in which buckets replicas add it up.

A gradient is an output of an op of the backward pass that ops of the optimizer take. Gradients that lie on the same
devices in all replicas, one device a replica and route, are added up in buckets, in the order in which the last device
has them. What one device alone has is not added up. A bucket is full at `BUCKET_BYTES`, as DistributedDataParallel has
it (Li et al., VLDB 2020, section 3.2.3).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import Costs
from engine.graphs.graph import BACKWARD, ComputationGraph
from engine.simulator.tables import flow_bytes, late_ops

BUCKET_BYTES = 25 * 2**20


@dataclass(frozen=True, slots=True)
class Given:
    """The outputs that ops of other phases give to the optimizer, each once."""

    op: NDArray[np.int32]
    """[given] the op that makes each"""
    output: NDArray[np.int32]
    """[given] its output, or `CONTROL`"""
    bytes: NDArray[np.int64]
    """[given]"""
    is_gradient: NDArray[np.bool_]
    """[given] whether replicas add it up"""
    given_of_edge: NDArray[np.int64]
    """[edges] the index of what the edge gives, or -1"""


def given_to_optimizer(graph: ComputationGraph, costs: Costs) -> Given:
    """What the optimizer of `graph` is given; nothing where the graph says no phases."""
    is_late = late_ops(graph, costs)
    crosses = is_late[graph.edge_target] & ~is_late[graph.edge_source]
    edges = np.flatnonzero(crosses & (costs.trips_of_op()[graph.edge_source] > 0))
    pairs = np.stack((graph.edge_source[edges], graph.edge_output[edges]), axis=1).reshape(-1, 2)
    (op, output), index = _distinct(pairs)
    given_of_edge = np.full(graph.edge_count, -1, np.int64)
    given_of_edge[edges] = index
    sizes = flow_bytes(costs, op.astype(np.int64), output.astype(np.int64))
    is_gradient = (sizes > 0) & (graph.phase[op] == BACKWARD)
    return Given(op, output, sizes, is_gradient, given_of_edge)


def _distinct(pairs: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The distinct rows of `pairs` [n, 2] as columns [2, m], and the row of each."""
    rows, index = np.unique(pairs, axis=0, return_inverse=True)
    return np.asarray(rows.T, np.int32), np.asarray(index.ravel(), np.int64)


@dataclass(frozen=True, slots=True)
class Bucket:
    """Gradients that are added up together."""

    gradients: NDArray[np.int64]
    """indices of what is given to the optimizer"""
    members: tuple[int, ...]
    """the devices that have them, replica by replica"""
    total_bytes: int
    ready_us: float
    """when the last device has the last of them"""


def buckets_of(given: Given, devices: NDArray[np.int32], ready_us: NDArray[np.float64]) -> list[Bucket]:
    """The buckets of `given` in the order in which they are ready; `devices` and `ready_us` are [routes, given]."""
    gradients = np.flatnonzero(given.is_gradient)
    last_us = ready_us[:, gradients].max(axis=0)
    in_order = gradients[np.argsort(last_us, kind="stable")]
    of_members: dict[tuple[int, ...], list[int]] = {}
    for gradient in in_order.tolist():
        members = tuple(dict.fromkeys(devices[:, gradient].tolist()))
        if len(members) > 1:
            of_members.setdefault(members, []).append(gradient)
    buckets = [
        _bucket(given, members, part, ready_us)
        for members, all_of_them in of_members.items()
        for part in _parts(all_of_them, given.bytes)
    ]
    return sorted(buckets, key=lambda bucket: bucket.ready_us)


def _parts(gradients: Sequence[int], sizes: NDArray[np.int64]) -> list[list[int]]:
    """`gradients` in parts that are full with the one that brings them to `BUCKET_BYTES`."""
    parts: list[list[int]] = [[]]
    held = 0
    for gradient in gradients:
        if held >= BUCKET_BYTES:
            parts.append([])
            held = 0
        parts[-1].append(gradient)
        held += int(sizes[gradient])
    return parts


def _bucket(given: Given, members: tuple[int, ...], part: list[int], ready_us: NDArray[np.float64]) -> Bucket:
    gradients = np.array(part)
    return Bucket(gradients, members, int(given.bytes[gradients].sum()), float(ready_us[:, gradients].max()))
