"""Parses clusters as users write them: a shorthand such as `2xK80+cpu`, or JSON (`cluster_json.py`)."""

import re

from engine.clusters.cluster import MOST_DEVICES, Cluster, Contention, Device, MemoryModel
from engine.clusters.cluster_json import cluster_of_json
from engine.clusters.device_kinds import canonical_kind, class_of_kind, default_memory_bytes
from engine.clusters.usual_links import LINK_REST_US, common_op_rest_us, usual_links, usual_op_rests_us
from engine.errors import ClusterError, shortened
from engine.files.json_text import read_json

MOST_CHARACTERS = 1_000_000
"""64 devices with a line for each pair of devices need a third of this; larger clusters are a shorthand"""
MOST_VALUES = 100_000
EXAMPLES = "a shorthand such as 2xK80 or 4xV100+cpu, or cluster JSON"

_TERM = re.compile(r"(?:([0-9]+)\s*[xX]\s*)?([A-Za-z][A-Za-z0-9-]*)")


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
    return _cluster_of_kinds([kind for term in stripped.split("+") for kind in _kinds_of_term(term)])


def _kinds_of_term(term: str) -> list[str]:
    match = _TERM.fullmatch(term.strip())
    if match is None:
        where = shortened(term.strip()) or "+"
        raise ClusterError("this is not a number of devices", where=where, allowed=EXAMPLES, field="cluster")
    count_text, kind = match.group(1) or "1", canonical_kind(match.group(2))
    count = int(count_text) if len(count_text) <= len(str(MOST_DEVICES)) else MOST_DEVICES + 1
    if not 1 <= count <= MOST_DEVICES:
        raise ClusterError(
            f"{shortened(count_text, 20)} devices", where=kind, allowed=f"1 to {MOST_DEVICES} devices", field="cluster"
        )
    return [kind] * count


def _cluster_of_kinds(kinds: list[str]) -> Cluster:
    """Devices of `kinds` with default names, memory, links and rests."""
    if len(kinds) > MOST_DEVICES:
        raise ClusterError(
            f"{len(kinds)} devices", where="cluster", allowed=f"1 to {MOST_DEVICES} devices", field="cluster"
        )
    devices = []
    numbers = {"GPU": 0, "CPU": 0}
    for kind in kinds:
        device_class = class_of_kind(kind)
        name = f"/device:{device_class}:{numbers[device_class]}"
        numbers[device_class] += 1
        devices.append(Device(name, kind, default_memory_bytes(kind)))
    bandwidths, latencies_us = usual_links(devices)
    op_rest_us, op_rest_of_kind = common_op_rest_us(usual_op_rests_us(devices))
    return Cluster(
        devices=tuple(devices),
        contention=Contention.BUS,
        bandwidth_bytes_per_us=bandwidths,
        latency_us=latencies_us,
        link_rest_us=LINK_REST_US,
        op_rest_us=op_rest_us,
        op_rest_of_kind=op_rest_of_kind,
        memory_model=MemoryModel.FULL,
    )
