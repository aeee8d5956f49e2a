"""Draws clusters of real device kinds for a given graph: alike or unlike, with links and memory of wide ranges."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, MemoryModel
from engine.clusters.device_kinds import CATALOGUE
from engine.clusters.parsing import parse_cluster
from engine.errors import CostError
from engine.policies.drawn.shapes import log_uniform
from engine.prepared import PreparedGraph
from engine.problem.making import problem_of

GPU_KINDS = tuple(name for name, kind in CATALOGUE.items() if kind.device_class == "GPU")
DEVICES = (2, 2, 3, 4, 4, 4, 6, 8, 8, 12, 16)
"""each as probable as the others"""
KINDS = (1, 1, 1, 2, 2, 3, 4)
"""how many kinds a cluster has, likewise"""
USUAL_LINKS_SHARE = 0.3
"""of clusters, whose links are those in which their kinds usually stand"""
BANDWIDTH_BYTES_PER_US = (400.0, 400_000.0)
"""of all other links, log-uniform: from 3 Gb/s to NVLink"""
HOSTS_SHARE, MOST_HOSTS, SLOWER_BETWEEN = 0.3, 3, (2.0, 50.0)
"""of these with four or more devices, on several hosts; and how many times slower the links between those are"""
LATENCY_US = (1.0, 60.0)
"""log-uniform"""
CONTENTIONS = (Contention.PAIR, Contention.PAIR, Contention.BUS, Contention.HOST, Contention.SENDER)
"""each as probable as the others"""
LOOSE_SHARE = 0.5
"""of clusters, in which the fastest device alone holds everything"""
ROOM = (1.05, 4.0)
"""of the others: their memory together over the peak of one device that holds everything, log-uniform"""
ROOMY_BYTES = 10**14


def drawn_cluster(prepared: PreparedGraph, rng: np.random.Generator) -> Cluster:
    """A cluster for `prepared`; the same state of `rng` gives the same one.

    Where memory is tight, each device has a share of it as large as that of its kind in the real world, and enough for
    the largest group.
    """
    count = DEVICES[int(rng.integers(len(DEVICES)))]
    known = timed_kinds(prepared)
    wanted = min(count, len(known), KINDS[int(rng.integers(len(KINDS)))])
    kinds = rng.choice(known, wanted, replace=False).tolist()
    more = rng.choice(kinds, count - len(kinds)).tolist()
    usual = parse_cluster("+".join(sorted([*kinds, *more])))
    roomy = tuple(replace(device, memory_bytes=ROOMY_BYTES) for device in usual.devices)
    cluster = replace(usual, devices=roomy, memory_model=MemoryModel.FULL)
    if rng.random() >= USUAL_LINKS_SHARE:
        cluster = replace(
            cluster,
            contention=CONTENTIONS[int(rng.integers(len(CONTENTIONS)))],
            bandwidth_bytes_per_us=_drawn_bandwidth(count, rng),
            latency_us=np.where(np.eye(count, dtype=bool), 0.0, log_uniform(*LATENCY_US, rng)),
        )
    return cluster if rng.random() < LOOSE_SHARE else _tight(cluster, usual, prepared, log_uniform(*ROOM, rng))


def timed_kinds(prepared: PreparedGraph) -> list[str]:
    """The kinds of GPUs on which each op has a time, or may not run; all where ops have their work.

    Raises CostError if there is none.
    """
    times = prepared.costs.time_on(GPU_KINDS)
    somewhere = ~np.isnan(times).all(axis=0)
    known = [kind for kind, row in zip(GPU_KINDS, times, strict=True) if not np.isnan(row[somewhere]).any()]
    if not somewhere.any() or not known:
        raise CostError("no kind of GPU has times of its ops", where=prepared.graph.name, allowed=", ".join(GPU_KINDS))
    return known


def _drawn_bandwidth(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """[devices, devices] in bytes per µs."""
    bandwidth = np.full((count, count), log_uniform(*BANDWIDTH_BYTES_PER_US, rng))
    if count >= 4 and rng.random() < HOSTS_SHARE:
        host = np.sort(rng.integers(0, int(rng.integers(2, MOST_HOSTS + 1)), count))
        bandwidth[host[:, None] != host[None, :]] /= log_uniform(*SLOWER_BETWEEN, rng)
    return bandwidth


def _tight(cluster: Cluster, usual: Cluster, prepared: PreparedGraph, room: float) -> Cluster:
    """`cluster` with `room` times the peak of one device that holds everything, shared as `usual` shares its memory."""
    problem = problem_of(prepared, cluster)
    together = np.zeros((1, problem.group_count), np.int32)
    peak = float(problem.simulator.evaluate(together).peak_bytes.max())
    costs, group_of_op = prepared.costs, prepared.grouping.group_of_op
    largest = np.bincount(group_of_op, weights=costs.persistent_bytes + costs.bytes_of_op()).max()
    share = np.array([device.memory_bytes for device in usual.devices], dtype=np.float64)
    memory = np.maximum(room * peak * share / share.sum(), max(1.0, float(largest)))
    devices = zip(cluster.devices, memory.tolist(), strict=True)
    return replace(cluster, devices=tuple(replace(device, memory_bytes=int(most)) for device, most in devices))
