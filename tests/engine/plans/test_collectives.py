"""The times of collectives by closed form, and step by step."""

import itertools

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, Contention
from engine.plans.collectives import Algorithm, Collectives
from tests.engine.plans.slow_plan import slow_ring_us
from tests.engine.simulator.cases import cluster_of

MB = 10**6


def equal(devices: int, contention: Contention = Contention.PAIR) -> Cluster:
    return cluster_of(devices, contention, bandwidth_bytes_per_us=1000.0, latency_us=5.0)


def unequal(seed: int, devices: int, contention: Contention = Contention.PAIR) -> Cluster:
    import dataclasses

    rng = np.random.default_rng(seed)
    return dataclasses.replace(
        equal(devices, contention),
        bandwidth_bytes_per_us=rng.uniform(20, 2000, (devices, devices)),
        latency_us=rng.uniform(0.1, 50, (devices, devices)),
    )


@pytest.mark.parametrize("members", [2, 3, 4, 8, 20])
def test_a_ring_takes_each_byte_twice_less_a_part(members: int) -> None:
    """2 (N − 1) (latency + bytes / (N · bandwidth)); Patarasuk and Yuan 2009, section 3."""
    ring = Collectives(equal(members), Algorithm.RING).all_reduce_us(range(members), MB)
    assert ring == pytest.approx(2 * (members - 1) * (5.0 + MB / members / 1000.0))


@pytest.mark.parametrize(("members", "depth", "children"), [(2, 1, 1), (3, 1, 2), (4, 2, 2), (7, 2, 2), (8, 3, 2)])
def test_a_tree_takes_its_depth_twice(members: int, depth: int, children: int) -> None:
    tree = Collectives(equal(members), Algorithm.TREE).all_reduce_us(range(members), MB)
    assert tree == pytest.approx(2 * (depth * 5.0 + children * MB / 1000.0))


def test_a_tree_is_faster_for_few_bytes_and_a_ring_for_many() -> None:
    fastest = Collectives(equal(16))
    ring, tree = Collectives(equal(16), Algorithm.RING), Collectives(equal(16), Algorithm.TREE)
    members = range(16)
    assert fastest.all_reduce_us(members, 8) == tree.all_reduce_us(members, 8) < ring.all_reduce_us(members, 8)
    assert fastest.all_reduce_us(members, MB) == ring.all_reduce_us(members, MB) < tree.all_reduce_us(members, MB)


def test_one_member_has_the_sum() -> None:
    assert Collectives(equal(3)).all_reduce_us([1], MB) == Collectives(equal(3)).reduce_scatter_us([1], MB) == 0.0


def test_scattering_and_gathering_are_an_all_reduce() -> None:
    ring = Collectives(unequal(1, 5), Algorithm.RING)
    assert 2 * ring.reduce_scatter_us(range(5), MB) == pytest.approx(ring.all_reduce_us(range(5), MB))


@pytest.mark.parametrize("contention", [Contention.PAIR, Contention.HOST])
@pytest.mark.parametrize("devices", [2, 3, 4, 5])
def test_a_ring_of_unequal_links_is_as_slow_as_its_slowest_and_the_best_of_all_orders(
    devices: int, contention: Contention
) -> None:
    for seed in range(20):
        cluster = unequal(seed, devices, contention)
        found = Collectives(cluster, Algorithm.RING)
        order = found.ring_of(range(devices)).members
        assert found.all_reduce_us(range(devices), MB) == pytest.approx(slow_ring_us(cluster, order, MB))
        bandwidths = {
            other: min(cluster.bandwidth_bytes_per_us[np.array(other), np.roll(other, -1)])
            for other in itertools.permutations(range(devices))
        }
        assert bandwidths[order] == max(bandwidths.values())


def test_a_large_ring_crosses_between_two_hosts_twice() -> None:
    import dataclasses

    fast, slow = 1000.0, 10.0
    bandwidth = np.full((20, 20), slow)
    bandwidth[:10, :10] = bandwidth[10:, 10:] = fast
    cluster = dataclasses.replace(equal(20), bandwidth_bytes_per_us=bandwidth)
    mixed = [index // 2 + 10 * (index % 2) for index in range(20)]
    order = Collectives(cluster).ring_of(mixed).members
    assert sum((a < 10) != (b < 10) for a, b in zip(order, np.roll(order, -1), strict=True)) == 2
