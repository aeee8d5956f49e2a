"""Parses clusters as users write them: a shorthand (`shorthand.py`), or JSON (`cluster_json.py`)."""

import json

from engine.clusters.cluster import Cluster
from engine.clusters.cluster_json import cluster_of_json, cluster_to_json
from engine.clusters.shorthand import EXAMPLES, parse_shorthand, shorthand_of
from engine.errors import ClusterError
from engine.files.json_text import read_json

MOST_CHARACTERS = 1_000_000
"""64 devices with a line for each pair of devices need a third of this; larger clusters are a shorthand"""
MOST_VALUES = 100_000


def parse_cluster(text: str) -> Cluster:
    """The cluster that `text` describes: a shorthand with the usual links of its kinds, or JSON.

    A shorthand is a sum of `COUNTxKIND` or `KIND`, in any case; GPUs and CPUs are numbered from 0 in their order in the
    text. Raises ClusterError.
    """
    if len(text) > MOST_CHARACTERS:
        raise ClusterError(
            f"{len(text)} characters", where="cluster", allowed=f"at most {MOST_CHARACTERS}", field="cluster"
        )
    stripped = text.strip()
    if not stripped:
        raise ClusterError("no devices", where="cluster", allowed=EXAMPLES, field="cluster")
    if stripped[0] in '{["':
        encoded = stripped.encode("utf-8", "replace")
        return cluster_of_json(read_json(encoded, most_values=MOST_VALUES, error=ClusterError, field="cluster"))
    return parse_shorthand(stripped).cluster


def cluster_text(cluster: Cluster) -> str:
    """The text of a form for `cluster`: its shorthand, or JSON where none describes it. `parse_cluster` reads it."""
    shorthand = shorthand_of(cluster)
    return json.dumps(cluster_to_json(cluster)) if shorthand is None else shorthand.text
