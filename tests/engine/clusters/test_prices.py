"""Prices of devices: a person's own, in the cluster's JSON or by kind."""

import json

import pytest

from engine.clusters.cluster import price_per_hour, with_prices
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import cluster_text, parse_cluster
from engine.errors import ClusterError


def test_no_device_has_a_price_by_itself() -> None:
    cluster = parse_cluster("2xA100+cpu")
    assert [device.price_per_hour for device in cluster.devices] == [None] * 3
    assert price_per_hour(cluster.devices) is None
    assert "price_per_hour" not in json.dumps(cluster_to_json(cluster))


def test_prices_are_of_a_kind_and_written_and_read_back() -> None:
    cluster = with_prices(parse_cluster("2xA100+cpu"), {"A100": 1.5})
    assert [device.price_per_hour for device in cluster.devices] == [1.5, 1.5, None]
    assert price_per_hour(cluster.devices) is None and price_per_hour(cluster.devices[:2]) == 3.0
    again = parse_cluster(cluster_text(cluster))
    assert again.devices == cluster.devices and cluster_to_json(again) == cluster_to_json(cluster)
    dearer = with_prices(cluster, {"A100": 2.0, "CPU": 0.0})
    assert price_per_hour(dearer.devices) == 4.0


@pytest.mark.parametrize(
    ("price", "words"),
    [
        ("-1", "devices[0].price_per_hour: -1; allowed: a number from 0 to 1e+09"),
        ("1e10", "devices[0].price_per_hour: 10000000000.0; allowed: a number from 0 to 1e+09"),
        ("true", "devices[0].price_per_hour: true; allowed: a number"),
        ('"free"', "devices[0].price_per_hour: 'free'; allowed: a number"),
        ("null", "devices[0].price_per_hour: nothing; allowed: a number"),
    ],
)
def test_a_wrong_price_is_refused_in_one_line(price: str, words: str) -> None:
    device = f'{{"name": "/device:GPU:0", "kind": "A100", "price_per_hour": {price}}}'
    with pytest.raises(ClusterError) as error:
        parse_cluster(f'{{"devices": [{device}]}}')
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_kind_that_is_not_there_and_no_number_are_refused() -> None:
    with pytest.raises(ClusterError, match="price: the cluster has no V100; allowed: A100"):
        with_prices(parse_cluster("A100"), {"V100": 1.0})
    for price in (-0.5, float("nan"), float("inf")):
        with pytest.raises(ClusterError, match="price_per_hour of /device:GPU:0"):
            with_prices(parse_cluster("A100"), {"A100": price})
