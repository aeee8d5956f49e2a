"""One more device: its name, its links, its price, and where it cannot be added."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.cluster import with_prices, with_reserve
from engine.clusters.one_more import with_one_more
from engine.clusters.parsing import parse_cluster
from engine.errors import ClusterError


@pytest.mark.parametrize(
    ("before", "kind", "after"),
    [
        ("RTX4090", "rtx4090", "2xRTX4090"),
        ("4xRTX4090", "RTX4090", "5xRTX4090"),
        ("2xRTX4090", "RTX3090", "2xRTX4090+RTX3090"),
        ("2xA100:80GiB", "A100", "3xA100:80GiB"),
        ("A100", "cpu", "A100+cpu"),
    ],
)
def test_a_device_at_the_end_has_the_usual_links(before: str, kind: str, after: str) -> None:
    found, expected = with_one_more(parse_cluster(before), kind), parse_cluster(after)
    apart = ~np.eye(expected.device_count, dtype=bool)
    assert found.devices == expected.devices
    assert np.array_equal(found.bandwidth_bytes_per_us[apart], expected.bandwidth_bytes_per_us[apart])
    assert np.array_equal(found.latency_us[apart], expected.latency_us[apart])
    assert found.op_rests_us.tolist() == expected.op_rests_us.tolist()


def test_it_has_the_price_and_the_reserve_of_its_kind() -> None:
    cluster = with_prices(with_reserve(parse_cluster("A100+V100"), 5), {"A100": 2.0})
    found = with_one_more(cluster, "A100")
    assert found.devices[-1] == dataclasses.replace(cluster.devices[0], name="/device:GPU:2")


def test_links_of_ones_own_are_those_of_the_last_of_its_kind() -> None:
    cluster = parse_cluster("2xA100+cpu")
    bandwidths = np.array([[1.0, 20, 3], [40, 1, 6], [7, 8, 1]])
    cluster = dataclasses.replace(cluster, bandwidth_bytes_per_us=bandwidths)
    found = with_one_more(cluster, "A100")
    apart = ~np.eye(4, dtype=bool)
    expected = np.array([[1.0, 20, 3, 20], [40, 1, 6, 20], [7, 8, 1, 8], [40, 40, 6, 1]])
    assert found.bandwidth_bytes_per_us[apart].tolist() == expected[apart].tolist()
    with pytest.raises(ClusterError, match="V100: the cluster has links of its own; allowed: a kind of its devices"):
        with_one_more(cluster, "V100")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ClusterError):
        with_one_more(parse_cluster("A100"), "Z9")
