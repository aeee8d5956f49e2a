"""DOPPLER's files of graphs as they are published, in the plain names of a workload.

A file is text: the number of nodes with the inputs among them, the numbers of the inputs, where the edges start, where
they end, then a line for each node that is no input: FLOPs and bytes of its output, and in some files its kind. The
edges number these nodes from 0. The published simulator divides both by one figure, so an output takes as long to send
as an op with as many FLOPs; inputs are on every device. A file says neither memory nor devices.
Source: Yao et al., DOPPLER: dual-policy learning for device assignment in asynchronous dataflow graphs, ICLR 2026, with
the graphs, the simulator and the numbers of devices of its code.
"""

import math
import re
from pathlib import Path
from typing import Any

from engine.clusters.cluster import MOST_MEMORY_BYTES
from engine.errors import GraphError

A_US = 1e10
"""FLOPs, and bytes, a µs"""
DEVICES, MORE_DEVICES = 4, 8
FOR_MORE = "8gpu_"
"""how the name of a file for `MORE_DEVICES` begins"""
HEAD_LINES = 4
COSTS = re.compile(r"\s*(\d+)\s*,\s*(\d+)\s*(,\s*\w+\s*)?")


def is_doppler(text: str) -> bool:
    """Whether a text may be such a file: its first line is a number alone."""
    return re.match(r"\s*\d+\s*\n", text) is not None


def workload_of_text(path: Path, text: str) -> dict[str, Any]:
    """The workload of the file at `path` as an object with plain names. Raises GraphError for a file that is none."""
    lines = text.strip().splitlines()
    if len(lines) <= HEAD_LINES:
        raise GraphError(f"has {len(lines)} lines", where=path.name, allowed="4 lines of the graph, then one a node")
    (count,), inputs, sources, targets = (_numbers(path, number, lines[number]) for number in range(HEAD_LINES))
    nodes = [_node(path, number, line) for number, line in enumerate(lines[HEAD_LINES:])]
    if len(nodes) != count - len(inputs):
        what = f"{count} nodes, {len(inputs)} of them inputs, have {len(nodes)} lines of costs"
        raise GraphError(what, where=path.name, allowed=f"{count - len(inputs)} lines")
    if len(sources) != len(targets):
        raise GraphError(f"{len(sources)} edges start, and {len(targets)} end", where=path.name)
    unknown = [node for node in (*sources, *targets) if node >= len(nodes)]
    if unknown:
        raise GraphError(f"an edge has node {unknown[0]}", where=path.name, allowed=f"0 to {len(nodes) - 1}")
    sent = [node.pop("sent") for node in nodes]
    return {
        "accelerators": MORE_DEVICES if path.name.startswith(FOR_MORE) else DEVICES,
        "cpus": 0,
        "memory_bytes": MOST_MEMORY_BYTES,
        "nodes": nodes,
        "edges": [
            {"source": source, "target": target, "cost": sent[source] / A_US}
            for source, target in zip(sources, targets, strict=True)
        ],
    }


def _numbers(path: Path, number: int, line: str) -> list[int]:
    parts = [part.strip() for part in line.split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts) or (number == 0 and len(parts) != 1):
        raise GraphError(f"line {number + 1} has other than numbers", where=path.name, allowed="numbers with commas")
    return [int(part) for part in parts]


def _node(path: Path, number: int, line: str) -> dict[str, Any]:
    """A node, with what it sends under "sent"."""
    found = COSTS.fullmatch(line)
    if found is None:
        where = f"{path.name}, line {HEAD_LINES + number + 1}"
        raise GraphError(f"{line[:40]!r} is no cost of a node", where=where, allowed="FLOPs,bytes or FLOPs,bytes,kind")
    return {
        "id": number,
        "cpu": math.nan,
        "accelerator": int(found[1]) / A_US,
        "sent": int(found[2]),
        "bytes": 0,
        "backward": False,
        "colocation": None,
    }
