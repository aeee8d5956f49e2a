"""Clusters that are drawn for a graph: a seed draws one, figures are in range, tight memory holds the graph."""

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, Contention
from engine.errors import CostError
from engine.policies.drawn.clusters import (
    BANDWIDTH_BYTES_PER_US,
    CONTENTIONS,
    DEVICES,
    GPU_KINDS,
    ROOM,
    ROOMY_BYTES,
    SLOWER_BETWEEN,
    drawn_cluster,
)
from engine.policies.drawn.graphs import drawn_graph
from engine.prepared import PreparedGraph
from engine.problem.making import problem_of

SEEDS = range(60)


@pytest.fixture(scope="module")
def prepared() -> PreparedGraph:
    slowness = dict(zip(GPU_KINDS, np.linspace(1.0, 5.0, len(GPU_KINDS)).tolist(), strict=True))
    return drawn_graph("branching cells", 60, slowness, np.random.default_rng(1), trains=True)


@pytest.fixture(scope="module")
def clusters(prepared: PreparedGraph) -> list[Cluster]:
    return [drawn_cluster(prepared, np.random.default_rng([5, seed])) for seed in SEEDS]


def is_tight(cluster: Cluster) -> bool:
    return cluster.devices[0].memory_bytes < ROOMY_BYTES


def test_a_seed_draws_one_cluster(prepared: PreparedGraph, clusters: list[Cluster]) -> None:
    again = drawn_cluster(prepared, np.random.default_rng([5, 3]))
    assert again.devices == clusters[3].devices
    assert np.array_equal(again.bandwidth_bytes_per_us, clusters[3].bandwidth_bytes_per_us)


def test_figures_are_in_range_and_differ(clusters: list[Cluster]) -> None:
    least = BANDWIDTH_BYTES_PER_US[0]
    own = []
    for cluster in clusters:
        kinds = {device.kind for device in cluster.devices}
        assert len(cluster.devices) in DEVICES
        assert kinds <= set(GPU_KINDS) and len(kinds) <= 4
        assert cluster.contention in Contention
        apart = ~np.eye(len(cluster.devices), dtype=bool)
        own.append(cluster.bandwidth_bytes_per_us[apart].max())
        assert cluster.bandwidth_bytes_per_us[apart].min() >= least / SLOWER_BETWEEN[1]
    assert max(own) > 100 * min(own)
    assert {cluster.contention for cluster in clusters} >= set(CONTENTIONS)
    assert {len({device.kind for device in cluster.devices}) for cluster in clusters} >= {1, 2, 3}
    assert 0.3 < np.mean([is_tight(cluster) for cluster in clusters]) < 0.7


def test_tight_memory_is_so_many_times_the_peak_of_one_device(prepared: PreparedGraph, clusters: list[Cluster]) -> None:
    tight = [cluster for cluster in clusters if is_tight(cluster)]
    costs = prepared.costs
    held = np.bincount(prepared.grouping.group_of_op, weights=costs.persistent_bytes + costs.bytes_of_op())
    for cluster in tight:
        problem = problem_of(prepared, cluster)
        assert problem.memory_bytes.min() >= int(held.max())
        together = np.zeros((1, problem.group_count), np.int32)
        peak = float(problem.simulator.evaluate(together).peak_bytes.max())
        assert problem.memory_bytes.sum() >= 0.99 * ROOM[0] * peak
    assert len(tight) > 10


def test_a_cluster_has_kinds_alone_on_which_ops_have_times() -> None:
    few = drawn_graph("branching cells", 20, {"K80": 1.0, "V100": 0.3}, np.random.default_rng(1), trains=False)
    for seed in range(20):
        cluster = drawn_cluster(few, np.random.default_rng(seed))
        assert {device.kind for device in cluster.devices} <= {"K80", "V100"}
        assert np.isfinite(problem_of(few, cluster).op_time_us).all()


def test_a_graph_without_times_on_gpus_is_refused() -> None:
    on_cpu = drawn_graph("branching cells", 20, {"CPU": 1.0}, np.random.default_rng(1), trains=False)
    with pytest.raises(CostError, match="no kind of GPU has times"):
        drawn_cluster(on_cpu, np.random.default_rng(0))
