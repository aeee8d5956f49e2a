"""Reads the memory of nodes that ONNX Runtime measured (CSV): temporary bytes. Runs in a child; loads no `onnx`.

The session's option `session.collect_node_memory_stats_to_file` makes the file. A row has the node's name, a `_` and a
number made of the node, then four numbers of bytes, each the largest of all runs. The last one is what a node asks for
while it runs, in all its requests together. Source: onnxruntime/core/framework/resource_accountant.cc.
"""

import numpy as np

from engine.costs.measured import StepStats
from engine.errors import GraphError, shortened

HEADER = b"#name,input_sizes,initializers_sizes,total_dynamic_sizes,total_temp_allocations"
FIELD = "run_metadata"
ALLOWED = "a file of session.collect_node_memory_stats_to_file"
MOST_NODES = 1_000_000
MOST_BYTES = 2**50


def is_node_memory(content: bytes) -> bool:
    """Whether the file begins as one of node memory does."""
    return content.startswith(b"#name,")


def stats_of_node_memory(content: bytes) -> StepStats:
    """The temporary bytes in a file, without times. Raises GraphError."""
    header, *lines = content.split(b"\n", MOST_NODES + 1)
    if header.rstrip() != HEADER:
        raise GraphError("its first line names other columns", allowed=HEADER.decode(), field=FIELD)
    if len(lines) > MOST_NODES and lines[MOST_NODES]:
        raise GraphError(f"memory of more than {MOST_NODES} nodes", allowed=f"at most {MOST_NODES}", field=FIELD)
    rows = dict(_row(line.rstrip(b"\r"), number) for number, line in enumerate(lines, 2) if line.strip())
    if not rows:
        raise GraphError("there is no memory of nodes", allowed=ALLOWED, field=FIELD)
    return StepStats(
        names=tuple(rows),
        classes=("",) * len(rows),
        time_us=np.full(len(rows), np.nan),
        temporary_bytes=np.array(list(rows.values()), dtype=np.int64),
        is_kernel=np.zeros(len(rows), dtype=np.bool_),
        output=np.empty((0, 3), dtype=np.int64),
    )


def _row(line: bytes, number: int) -> tuple[str, int]:
    """Name and temporary bytes of a node; a name may have commas."""
    parts = line.rsplit(b",", 4)
    name, _, made = parts[0].rpartition(b"_")
    sizes = parts[1:]
    if len(sizes) != 4 or not made.isdigit() or not all(size.isdigit() and len(size) < 20 for size in sizes):
        what = f"{shortened(line.decode('utf-8', 'replace'))} is no node with its bytes"
        raise GraphError(
            what, where=f"line {number}", allowed="a name with _ and a number, and four integers", field=FIELD
        )
    temporary = int(sizes[-1])
    if temporary > MOST_BYTES:
        what = f"its temporary memory has {temporary} bytes"
        where = shortened(name.decode("utf-8", "replace"))
        raise GraphError(what, where=where, allowed=f"0 to {MOST_BYTES}", field=FIELD)
    return name.decode("utf-8", "replace"), temporary
