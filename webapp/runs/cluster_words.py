"""Clusters in a few words."""

from itertools import groupby

from engine import api


def cluster_words(cluster: api.Json) -> str:
    """The kinds of the devices, such as `2 × K80 + CPU`. `cluster`: cluster JSON of docs/formats.md."""
    assert isinstance(cluster, dict) and isinstance(cluster["devices"], list)
    kinds = [str(device["kind"]) for device in cluster["devices"] if isinstance(device, dict)]
    counts = [(kind, len(list(alike))) for kind, alike in groupby(kinds)]
    return " + ".join(f"{count} × {kind}" if count > 1 else kind for kind, count in counts)
