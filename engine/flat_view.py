"""Every op, or every group, of a graph with a place in one flat drawing, as arrays for a browser."""

import numpy as np
from numpy.typing import NDArray

from engine.errors import LimitError
from engine.files.tensor_file import pack_tensors
from engine.graphs.edge_trips import moved_bytes, trips_of_edges
from engine.graphs.graph import CONTROL
from engine.graphs.layered import Indices, Spacing, layered
from engine.prepared import PreparedGraph

MOST_DRAWN = 200_000
"""ops of a graph that is drawn as a whole"""
ROW, LAYER, STRIP_GAP = 1.0, 1.6, 3.0
"""distances from one row of a wide layer to the next, from layer to layer, and between two strips of layers"""
ASPECT = 1.0
"""width by height of the whole"""
SPACING = Spacing(1.0, ROW, LAYER, STRIP_GAP, 0.0, ASPECT, narrowest_row=12, row_share=1.5)
"""1 is the distance between neighbours"""


def require_drawable(ops: int) -> None:
    """Raise LimitError for a graph with too many ops to be drawn one by one."""
    if ops > MOST_DRAWN:
        raise LimitError(
            f"this graph has {ops:,} ops, too many to draw one by one", allowed=f"at most {MOST_DRAWN:,} ops"
        )


def flat_view_to_bytes(prepared: PreparedGraph, of: str) -> bytes:
    """The drawing of `ops` or `groups`, as docs/formats.md describes it. Raises LimitError, as `require_drawable`."""
    require_drawable(prepared.graph.op_count)
    source, target, sizes = _edges_of_groups(prepared) if of == "groups" else edges_of_ops(prepared)
    groups = prepared.grouping.group_of_op.astype(np.int32)
    times = np.nan_to_num(prepared.costs.op_time_in_step_us()).max(axis=0, initial=0.0)
    if of == "groups":
        count = prepared.grouping.group_count
        times = np.bincount(groups, weights=times, minlength=count)
        groups = np.arange(count, dtype=np.int32)
    places = layered(len(groups), source, target, sizes, SPACING)
    arrays: dict[str, NDArray[np.generic]] = {
        "node.x": places.x.astype(np.float32),
        "node.y": places.y.astype(np.float32),
        "node.group": groups,
        "node.time_us": times.astype(np.float32),
        "edge.source": source.astype(np.int32),
        "edge.target": target.astype(np.int32),
        "edge.bytes": sizes.astype(np.float64),
    }
    return pack_tensors(arrays, {"version": 1, "of": of})


def _edges_of_groups(prepared: PreparedGraph) -> tuple[Indices, Indices, NDArray[np.int64]]:
    grouping = prepared.grouping
    return grouping.edge_source.astype(np.int64), grouping.edge_target.astype(np.int64), grouping.edge_bytes


def edges_of_ops(prepared: PreparedGraph) -> tuple[Indices, Indices, NDArray[np.int64]]:
    """Source, target and bytes of each pair of ops with an edge; a pair's outputs add up, control edges have none."""
    graph, costs = prepared.graph, prepared.costs
    if not graph.edge_count:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    is_data = graph.edge_output != CONTROL
    output = costs.output_offset[graph.edge_source] + np.where(is_data, graph.edge_output, 0)
    sizes = np.zeros(graph.edge_count, dtype=np.int64)
    sizes[is_data] = costs.output_bytes[output[is_data]]
    moved = moved_bytes(sizes, trips_of_edges(graph, costs.trips_of_op()))
    keys = graph.edge_source.astype(np.int64) * graph.op_count + graph.edge_target
    pairs, index = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sums, index.reshape(-1), moved)
    return pairs // graph.op_count, pairs % graph.op_count, sums
