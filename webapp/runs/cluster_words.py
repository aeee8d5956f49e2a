"""Clusters and their links in a few words."""

from itertools import groupby

from engine import api

CONTENTION_WORDS = {
    "bus": "one bus out of each device",
    "pair": "one channel for each ordered pair of devices",
    "none": "no transfer waits for another",
    "sender": "a device sends or computes, depth first",
    "host": "through host memory: a GPU sends, receives or computes",
}
BYTES_PER_US_IN_A_GB_PER_S = 1000.0


def cluster_words(cluster: api.Json) -> str:
    """The kinds of the devices, such as `2 × K80 + CPU`, and when they were measured, if they were.

    `cluster`: cluster JSON of docs/formats.md.
    """
    assert isinstance(cluster, dict) and isinstance(cluster["devices"], list)
    kinds = [str(device["kind"]) for device in cluster["devices"] if isinstance(device, dict)]
    counts = [(kind, len(list(alike))) for kind, alike in groupby(kinds)]
    words = " + ".join(f"{count} × {kind}" if count > 1 else kind for kind, count in counts)
    calibration = cluster.get("calibration")
    return f"{words} (measured {calibration['date']})" if isinstance(calibration, dict) else words


def links_words(cluster: api.Json) -> str:
    """How the devices are linked: `one bus out of each device, 7.6 GB/s, latency 0 µs, rest 25 µs after a transfer`.

    `cluster`: cluster JSON of docs/formats.md; a default that is not written out is left out here too.
    """
    links = cluster.get("links") if isinstance(cluster, dict) else None
    if not isinstance(links, dict):
        return ""
    words = [CONTENTION_WORDS[str(links["contention"])]] if "contention" in links else []
    bandwidth, latency, rest = (links.get(key) for key in ("bandwidth_bytes_per_us", "latency_us", "rest_us"))
    if isinstance(bandwidth, int | float):
        words.append(f"{_rounded(bandwidth / BYTES_PER_US_IN_A_GB_PER_S)} GB/s")
    if isinstance(latency, int | float):
        words.append(f"latency {_rounded(latency)} µs")
    if isinstance(rest, int | float) and links.get("contention") != "none":
        is_work = links.get("contention") == "sender"
        words.append(
            f"{_rounded(rest)} µs of work for each transfer"
            if is_work
            else f"rest {_rounded(rest)} µs after a transfer"
        )
    if isinstance(links.get("pairs"), list) and links["pairs"]:
        words.append("some pairs of their own speed")
    return ", ".join(words)


def _rounded(number: float) -> str:
    """Four digits say enough of what was measured."""
    return f"{float(f'{number:.4g}'):g}"
