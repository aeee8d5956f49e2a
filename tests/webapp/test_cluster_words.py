"""Clusters and links in words: as a person wrote them, and measured figures without digits that say nothing."""

from engine import api
from webapp.runs.cluster_words import links_words


def test_links_are_reported_as_they_were_written() -> None:
    links: dict[str, api.Json] = {"contention": "pair", "bandwidth_bytes_per_us": 7600, "latency_us": 0, "rest_us": 25}
    expected = "one channel for each ordered pair of devices, 7.6 GB/s, latency 0 µs, rest 25 µs after a transfer"
    assert links_words({"links": links}) == expected


def test_measured_links_have_four_digits() -> None:
    links: dict[str, api.Json] = {
        "contention": "sender",
        "bandwidth_bytes_per_us": 1157.93,
        "latency_us": 439.727,
        "rest_us": 86.7712,
    }
    expected = "1.158 GB/s, latency 439.7 µs, 86.77 µs of work for each transfer"
    assert links_words({"links": links}) == f"a device sends or computes, depth first, {expected}"
