"""The links of shorthands: those of the machines in which the kinds usually stand."""

import json

import numpy as np
import pytest

from engine.clusters.cluster import Cluster
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.device_kinds import CATALOGUE
from engine.clusters.parsing import parse_cluster
from engine.events import Json


def link(cluster: Cluster, source: int, target: int) -> tuple[float, float]:
    """Bandwidth in GB/s and latency in µs."""
    return cluster.bandwidth_bytes_per_us[source, target] / 1000, cluster.latency_us[source, target]


@pytest.mark.parametrize("text", ["K80", "2xK80", "4xK80+cpu", "8xK80", "64xK80", "3xGPU", "2xcpu", "2xK80+2xGPU+cpu"])
def test_the_papers_machine_has_the_published_links_to_the_bit(text: str) -> None:
    cluster = parse_cluster(text)
    assert np.all(cluster.bandwidth_bytes_per_us == 7600.0)
    assert np.all(cluster.latency_us == 0.0)
    assert (cluster.link_rest_us, cluster.op_rest_us) == (25.0, 5.7)


@pytest.mark.parametrize(
    ("kind", "gigabytes_a_second"),
    [
        ("P100", 18.32), ("V100", 23.95), ("A100", 250.5), ("H100", 375.75), ("H200", 375.75), ("B200", 751.5),
        ("MI300X", 64), ("T4", 13.391), ("L4", 26.782), ("L40S", 26.782), ("A10G", 26.782), ("A40", 26.782),
        ("RTX3090", 18.7474), ("RTX4090", 18.7474), ("RTX5090", 37.4941),
    ],
)  # fmt: skip
def test_two_of_a_kind_have_the_link_of_their_machine(kind: str, gigabytes_a_second: float) -> None:
    cluster = parse_cluster(f"2x{kind}")
    assert link(cluster, 0, 1)[0] == pytest.approx(gigabytes_a_second)
    assert (cluster.link_rest_us, cluster.op_rest_us) == (0, 5.5)


def test_a_k80_among_the_gpus_keeps_the_rests_of_the_published_simulator() -> None:
    assert parse_cluster("2xK80+2xV100").link_rest_us == 25
    assert parse_cluster("2xV100+cpu").link_rest_us == 0, "the CPU has no links of its own"
    assert parse_cluster("2xcpu").link_rest_us == 25
    assert parse_cluster("V100+cpu").op_rests_us.tolist() == [5.5, 5.7]


def test_every_kind_stands_in_a_machine_whose_links_get_slower_outwards() -> None:
    for kind in CATALOGUE.values():
        host = kind.host
        assert host.peer.bandwidth_bytes_per_us >= host.board.through_host().bandwidth_bytes_per_us
        assert (host.network is None) == (host.devices is None)
        if host.network is not None:
            assert host.network.bandwidth_bytes_per_us < host.board.bandwidth_bytes_per_us
            assert host.network.latency_us >= max(host.board.latency_us, host.peer.latency_us)


def test_a_cpu_is_reached_over_the_board() -> None:
    cluster = parse_cluster("2xA100+cpu")
    assert link(cluster, 0, 1) == (250.5, 9.6)
    assert link(cluster, 0, 2) == link(cluster, 2, 0) == (26.782, 9.6)


def test_devices_that_do_not_fit_one_machine_are_joined_by_the_network() -> None:
    cluster = parse_cluster("10xA100+cpu")
    assert link(cluster, 0, 7) == link(cluster, 8, 9) == (250.5, 9.6)
    assert link(cluster, 7, 8) == link(cluster, 9, 0) == (25, 35.5)
    assert link(cluster, 10, 8) == (25, 35.5), "the CPU is in the first machine"
    assert link(parse_cluster("2xM2"), 0, 1) == (1.25, 35.5)


def test_kinds_that_differ_share_a_machine_and_the_slower_board() -> None:
    assert link(parse_cluster("RTX3090+RTX5090"), 0, 1) == pytest.approx((18.7474, 20.5)), "through the host's memory"
    assert link(parse_cluster("2xK80+2xV100"), 1, 2) == (7.6, 20.5)
    assert link(parse_cluster("2xK80+2xV100"), 2, 3) == (23.95, 9.6)


def test_json_without_links_has_those_of_the_shorthand_and_json_with_links_its_own() -> None:
    devices = [{"name": f"/device:GPU:{index}", "kind": "A100"} for index in range(2)]
    bare = parse_cluster(json.dumps({"devices": devices}))
    assert cluster_to_json(bare) == cluster_to_json(parse_cluster("2xA100"))
    slower = parse_cluster(json.dumps({"devices": devices, "links": {"bandwidth_bytes_per_us": 7600}}))
    assert link(slower, 0, 1) == (7.6, 9.6)


def test_a_stored_cluster_keeps_its_links_whatever_the_catalogue_says_now() -> None:
    links: dict[str, Json] = {
        "contention": "bus",
        "bandwidth_bytes_per_us": 7600.0,
        "latency_us": 0.0,
        "rest_us": 25.0,
        "pairs": [],
    }
    stored: dict[str, Json] = {
        "devices": [
            {"name": f"/device:GPU:{index}", "kind": "V100", "memory_bytes": 16 * 1024**3} for index in range(2)
        ],
        "links": links,
        "op_rest_us": 5.7,
        "memory_model": "full",
    }
    assert cluster_to_json(parse_cluster(json.dumps(stored))) == stored
    whole = cluster_to_json(parse_cluster("2xV100"))
    assert whole.keys() == stored.keys()
    assert whole["links"] == {**links, "bandwidth_bytes_per_us": 23950.0, "latency_us": 9.6, "rest_us": 0.0}
