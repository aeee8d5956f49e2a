"""Divisions of devices into replicas: all of them, each once, up to the exchange of devices that are alike."""

import itertools

import numpy as np
import pytest

from engine.clusters.parsing import parse_cluster
from engine.plans.partitions import classes_of_devices, devices_of, divisions, families_of_classes
from engine.plans.shares import shares_of
from tests.engine.plans.drawn_plans import all_divisions


@pytest.mark.parametrize("sizes", [(1,), (3,), (4,), (1, 1), (2, 1), (2, 2), (1, 1, 2)])
def test_each_division_is_there_once(sizes: tuple[int, ...]) -> None:
    class_of = [index for index, size in enumerate(sizes) for _ in range(size)]
    expected = {
        tuple(
            sorted(tuple(sum(class_of[device] == each for device in own) for each in range(len(sizes))) for own in one)
        )
        for one in all_divisions(sum(sizes))
    }
    found = divisions(sizes)
    assert len(found) == len(set(found)) and {tuple(sorted(each)) for each in found} == expected


def test_many_devices_are_divided_regularly() -> None:
    found = divisions((8, 4))
    assert ((2, 1),) * 4 in found and ((0, 1),) * 4 + ((1, 0),) * 8 in found and ((8, 0),) in found
    assert len(found) < 100 and len(divisions((64,))) <= 7
    for division in found:
        assert np.all(np.sum(division, axis=0) <= (8, 4))


def test_equal_hosts_are_divided_alike() -> None:
    """Sixteen hosts of four cards, of two kinds: hundreds of divisions, not millions."""
    cluster = parse_cluster("32xRTX4090+32xRTX3090")
    classes = classes_of_devices(cluster)
    families = families_of_classes(cluster, classes)
    assert len(classes) == 16 and len(set(families)) == 2
    found = divisions(tuple(map(len, classes)), families)
    whole_hosts = tuple(sorted(tuple(4 * (index == own) for index in range(16)) for own in range(16)))
    assert whole_hosts in found and ((4, *[0] * 15),) in found and len(found) < 1000
    for division in found:
        widths = [{shape[index] for shape in division if shape[index]} for index in range(16)]
        assert all(len(of_class) <= 1 for of_class in widths)


def test_devices_are_given_to_one_replica_each() -> None:
    cluster = parse_cluster("2xRTX4090+3xRTX3090")
    classes = classes_of_devices(cluster)
    assert classes == [[0, 1], [2, 3, 4]]
    assert devices_of(((1, 0), (1, 2)), classes) == [(0,), (1, 2, 3)]


@pytest.mark.parametrize("seed", range(40))
def test_shares_are_the_best_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    replicas, micro_batches = int(rng.integers(1, 4)), int(rng.integers(4, 9))
    first, further = rng.uniform(1, 30, replicas), rng.uniform(1, 10, replicas)

    def longest(shares: tuple[int, ...]) -> float:
        return float(max(first + further * (np.array(shares) - 1)))

    possible = [
        shares
        for shares in itertools.product(range(1, micro_batches + 1), repeat=replicas)
        if sum(shares) == micro_batches
    ]
    found = tuple(shares_of(first.tolist(), further.tolist(), micro_batches))
    assert found in possible and longest(found) == pytest.approx(min(map(longest, possible)))
