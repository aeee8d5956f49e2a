"""Draws a placement problem: a network on a cluster of devices of equal or unequal speed, memory and links."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.clusters.hosts import PUBLISHED_REST_US
from engine.policies.drawn.graphs import BYTES_PER_US, drawn_graph
from engine.policies.drawn.shapes import log_uniform
from engine.policies.training_problem import TrainingProblem
from engine.prepared import PreparedGraph
from engine.problem.making import problem_of

LAYERS = (24, 320)
"""log-uniform"""
TRAINING_SHARE = 0.6
"""of problems, that are training steps"""
DEVICES = (2, 2, 3, 4, 4, 4, 6, 8, 8, 12, 16)
"""each as probable as the others"""
UNEQUAL_SHARE, MOST_SLOWNESS = 0.4, 8.0
"""of clusters, with two or three kinds of devices; and how many times slower than the fastest one may be"""
KINDS = ("K80", "V100", "A100")
"""names for the drawn kinds, which have nothing else of the real ones"""
LINK = (0.5, 20.0)
"""bandwidth over the one for which a graph's ratio of computing to transfers is drawn, log-uniform"""
HOSTS_SHARE, MOST_HOSTS, SLOWER_BETWEEN = 0.3, 3, (1.5, 20.0)
"""of clusters with four or more devices, on several hosts; and how many times slower the links between those are"""
LATENCY_SHARE, MOST_LATENCY_US = 0.5, 50.0
RESTS_SHARE, OP_REST_US = 0.7, 5.7
"""of clusters, whose devices rest after an op, and whose links rest as the published ones do"""
PAIR_SHARE = 0.2
"""of clusters, with one channel for each pair of devices"""
TIGHT_SHARE, ROOM = 0.2, (1.1, 2.0)
"""of clusters, whose memory together is so many times what all groups need at once"""
ROOMY_BYTES = 10**14


def drawn_problem(shapes: Sequence[str], rng: np.random.Generator) -> TrainingProblem:
    """A problem on a network of one of `shapes`; the same state of `rng` gives the same problem."""
    shape = shapes[int(rng.integers(len(shapes)))]
    count = DEVICES[int(rng.integers(len(DEVICES)))]
    kinds = min(count, int(rng.integers(2, len(KINDS) + 1))) if rng.random() < UNEQUAL_SHARE else 1
    slowness = [1.0, *(log_uniform(1.0, MOST_SLOWNESS, rng) for _ in range(kinds - 1))]
    slowness_of_kind = dict(zip(KINDS, slowness, strict=False))
    layers, trains = round(log_uniform(*LAYERS, rng)), bool(rng.random() < TRAINING_SHARE)
    prepared = drawn_graph(shape, layers, slowness_of_kind, rng, trains=trains)
    others = rng.integers(0, kinds, count - kinds)
    cluster = _drawn_cluster([KINDS[kind] for kind in sorted([*range(kinds), *others.tolist()])], prepared, rng)
    return TrainingProblem(shape, f"{count} drawn devices", problem_of(prepared, cluster))


def _drawn_cluster(kinds: Sequence[str], prepared: PreparedGraph, rng: np.random.Generator) -> Cluster:
    """A cluster of devices of `kinds`, with memory for the graph."""
    count = len(kinds)
    memory_bytes = _drawn_memory(prepared, count, rng)
    latency_us = float(rng.random() < LATENCY_SHARE) * rng.uniform(0.0, MOST_LATENCY_US)
    rests = bool(rng.random() < RESTS_SHARE)
    return Cluster(
        devices=tuple(Device(f"/device:GPU:{number}", kind, memory_bytes) for number, kind in enumerate(kinds)),
        contention=Contention.PAIR if rng.random() < PAIR_SHARE else Contention.BUS,
        bandwidth_bytes_per_us=_drawn_bandwidth(count, rng),
        latency_us=np.where(np.eye(count, dtype=bool), 0.0, latency_us),
        link_rest_us=PUBLISHED_REST_US if rests else 0.0,
        op_rest_us=OP_REST_US if rests else 0.0,
        memory_model=MemoryModel.FULL,
    )


def _drawn_bandwidth(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """[devices, devices] in bytes per µs."""
    bandwidth = np.full((count, count), BYTES_PER_US * log_uniform(*LINK, rng))
    if count >= 4 and rng.random() < HOSTS_SHARE:
        host = np.sort(rng.integers(0, int(rng.integers(2, MOST_HOSTS + 1)), count))
        bandwidth[host[:, None] != host[None, :]] /= log_uniform(*SLOWER_BETWEEN, rng)
    return bandwidth


def _drawn_memory(prepared: PreparedGraph, count: int, rng: np.random.Generator) -> int:
    """The bytes of each of `count` devices; every group fits on each."""
    if rng.random() >= TIGHT_SHARE:
        return ROOMY_BYTES
    costs, grouping = prepared.costs, prepared.grouping
    needed = np.bincount(grouping.group_of_op, weights=costs.persistent_bytes + costs.bytes_of_op())
    return int(max(needed.sum() * rng.uniform(*ROOM) / count, 2 * needed.max(), 1))
