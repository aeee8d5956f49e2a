"""The blocks of a graph as a browser draws them: one opened block at a time with places for what is in it, and once
what the browser adds up over the ops of any block.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Device
from engine.errors import GraphError
from engine.events import Json
from engine.files.tensor_file import pack_tensors
from engine.graphs.blocks import ROOT, BlockTree, beside_their_use, block_tree, mark_of
from engine.graphs.edge_trips import moved_bytes, trips_of_edges
from engine.graphs.graph import CONTROL, FORWARD
from engine.graphs.grouping.grouping import edges_between
from engine.graphs.layered import Layered, Spacing, layered
from engine.graphs.short_names import WITHOUT_WORK
from engine.prepared import PreparedGraph

MOST_CHILDREN_DRAWN = 5_000
"""of an opened block; one with more has no drawing"""
TYPES_SHOWN = 3
ASPECT = 1.0
"""width by height of an opened block in units: a block is wider than high"""
SPACING = Spacing(1.0, 1.0, 1.0, 1.0, 0.0, ASPECT, narrowest_row=5, row_share=1.2)
"""1 is the distance between neighbours, and between rows: the browser knows how large they are"""
LEAST_WEIGHT = 1e-6
"""of an op in the place of its block, beside the one that takes longest"""
AFTERWARDS = 1e-9
"""what an op of the backward pass or the optimizer weighs in the place of its block: a module stands where its forward
pass is, though a step comes back to it"""
OTHERS = -1
"""in place of a child: the op is in another block"""


class BlockView:
    """The blocks of a prepared graph, made once for all that are opened."""

    def __init__(self, prepared: PreparedGraph) -> None:
        graph, costs = prepared.graph, prepared.costs
        self._prepared = prepared
        marks = mark_of(np.array(graph.op_types), costs.bytes_of_op(), costs.persistent_bytes)
        time_us = np.nan_to_num(costs.op_time_in_step_us()).max(axis=0, initial=0.0)
        self._weight = weight = time_us + LEAST_WEIGHT * (time_us.max() or 1.0)
        works = np.array([op_type not in WITHOUT_WORK for op_type in graph.op_types])
        is_data = graph.edge_output != CONTROL
        names = beside_their_use(
            prepared.short_names().of_op, works, graph.edge_source[is_data], graph.edge_target[is_data]
        )
        placing = np.where(graph.phase > FORWARD, weight * AFTERWARDS, weight) if len(graph.phase) else weight
        self.tree = block_tree(names, marks, placing, graph.edge_source, graph.edge_target)
        self._type_names, types = np.unique(np.array(graph.op_types), return_inverse=True)
        self._type_of_op = types.reshape(-1)

    def opened(self, block: int) -> dict[str, Json]:
        """What is right in `block`, as `OpenBlock` in frontend/js/ui/contracts.js describes it.

        Raises GraphError where the graph has no such block.
        """
        tree = self.tree
        if not 0 <= block < tree.block_count:
            raise GraphError("no such block", where=f"block {block}", allowed=f"0 to {tree.block_count - 1}")
        children = tree.children_of(block)
        ops = tree.order[tree.first[block] : tree.end[block]]
        child_of_op = np.full(self._prepared.graph.op_count, OTHERS, dtype=np.int32)
        child_of_op[ops] = np.repeat(np.arange(len(children), dtype=np.int32), self._sizes(children))
        is_drawn = len(children) <= MOST_CHILDREN_DRAWN
        places = self._places(child_of_op, len(children)) if is_drawn else None
        return {
            "block": block,
            "path": self._path(block),
            "is_drawn": is_drawn,
            "strips": len(places.lefts) if places else 0,
            "children": self._rows(block, children, child_of_op[ops], places) if places else [],
        }

    @property
    def op_count(self) -> int:
        """Number of ops of the graph."""
        return self._prepared.graph.op_count

    def ops_to_bytes(self, devices: Sequence[Device] = ()) -> bytes:
        """Arrays over ops and edges, as docs/formats.md describes them: what any block's sums are made of.

        With `devices` the times are those on their kinds, without on the kinds of the catalogue.
        """
        prepared = self._prepared.on(devices) if devices else self._prepared
        times = np.nan_to_num(prepared.costs.op_time_in_step_us())
        arrays: dict[str, NDArray[np.generic]] = {
            "tree.order": self.tree.order,
            "op.group": prepared.grouping.group_of_op.astype(np.int32),
            "op.time_us": times.astype(np.float32),
            **self._edges(),
        }
        return pack_tensors(arrays, {"version": 1, "kinds": list(prepared.costs.kinds)})

    def _edges(self) -> dict[str, NDArray[np.generic]]:
        """Each output and the ops that take it, once each, output by output; then control edges, as no output (−1)."""
        graph, costs = self._prepared.graph, self._prepared.costs
        is_data = graph.edge_output != CONTROL
        output = np.where(is_data, costs.output_offset[graph.edge_source] + graph.edge_output, -1)
        sizes = np.zeros(graph.edge_count, dtype=np.int64)
        sizes[is_data] = costs.output_bytes[output[is_data]]
        moved = moved_bytes(sizes, trips_of_edges(graph, costs.trips_of_op()))
        ordered = np.lexsort((-moved, graph.edge_target, graph.edge_source, output, ~is_data))
        keys = np.stack([output, graph.edge_source, graph.edge_target], axis=1)[ordered]
        is_new = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(ordered)]
        found = ordered[is_new]
        return {
            "edge.source": graph.edge_source[found].astype(np.int32),
            "edge.target": graph.edge_target[found].astype(np.int32),
            "edge.output": output[found].astype(np.int32),
            "edge.bytes": moved[found].astype(np.float64),
        }

    def _sizes(self, items: NDArray[np.int32]) -> NDArray[np.int64]:
        """[items] ops in each."""
        tree = self.tree
        is_block = items < tree.block_count
        sizes = np.ones(len(items), dtype=np.int64)
        sizes[is_block] = (tree.end - tree.first)[items[is_block]]
        return sizes

    def _places(self, child_of_op: NDArray[np.int32], count: int) -> Layered:
        """Layers of the children along the data; edges against their order do not count."""
        prepared = self._prepared
        part_of_op = np.where(child_of_op == OTHERS, np.int32(count), child_of_op)
        pairs, sizes = edges_between(prepared.graph, prepared.costs, part_of_op)
        forward = (pairs[:, 0] < pairs[:, 1]) & (pairs[:, 1] < count)
        source, target = pairs[forward].astype(np.int64).T
        return layered(count, source, target, sizes[forward], SPACING)

    def _rows(
        self, block: int, children: NDArray[np.int32], child_of_op: NDArray[np.int32], places: Layered
    ) -> list[Json]:
        """[children] their rows; `child_of_op` is of the block's ops in the order of the tree."""
        begin = int(self.tree.first[block])
        ops = self.tree.order[begin : self.tree.end[block]]
        costs, count = self._prepared.costs, len(children)
        sizes = self._sizes(children)
        first = begin + np.cumsum(sizes) - sizes
        output_bytes = np.bincount(child_of_op, costs.bytes_of_op()[ops], count)
        persistent_bytes = np.bincount(child_of_op, costs.persistent_bytes[ops], count)
        types = self._types(child_of_op, ops, count)
        strip = np.clip(np.searchsorted(places.lefts, places.x, side="right") - 1, 0, None)
        across = places.x - places.lefts[strip]
        return [
            self._row(item)
            | {
                "first": int(first[child]),
                "ops": int(sizes[child]),
                "types": types[child],
                "output_bytes": int(output_bytes[child]),
                "persistent_bytes": int(persistent_bytes[child]),
                "strip": int(strip[child]),
                "x": round(float(across[child]), 3),
                "y": round(float(places.y[child]), 3),
            }
            for child, item in enumerate(children.tolist())
        ]

    def _row(self, item: int) -> dict[str, Any]:
        tree, graph = self.tree, self._prepared.graph
        if item >= tree.block_count:
            op = item - tree.block_count
            return {"block": None, "op": op, "name": tree.op_names[op], "whole_name": graph.op_names[op], "members": 0}
        members = len(tree.children_of(item)) if tree.is_fold[item] else 0
        return {
            "block": item,
            "op": None,
            "name": tree.names[item],
            "whole_name": "/".join(map(str, self._path(item))),
            "members": members,
        }

    def _types(self, child_of_op: NDArray[np.int32], ops: NDArray[np.int32], count: int) -> list[list[Json]]:
        """[children] [[type, ops], ...] what takes longest first, equals by name."""
        keys, pair, ops_of_pair = np.unique(
            child_of_op.astype(np.int64) * len(self._type_names) + self._type_of_op[ops],
            return_inverse=True,
            return_counts=True,
        )
        weight = np.bincount(pair.reshape(-1), self._weight[ops], len(keys))
        child, kind = np.divmod(keys, len(self._type_names))
        found: list[list[Json]] = [[] for _ in range(count)]
        for index in np.lexsort((kind, -weight, child)).tolist():
            if len(found[child[index]]) < TYPES_SHOWN:
                found[child[index]].append([str(self._type_names[kind[index]]), int(ops_of_pair[index])])
        return found

    def _path(self, block: int) -> list[Json]:
        """The names of the blocks from below the root to `block`, without folds that are no scope."""
        tree: BlockTree = self.tree
        path: list[Json] = []
        while block != ROOT:
            if not path or tree.is_scope[block]:
                path.append(tree.names[block])
            block = int(tree.parent[block])
        return path[::-1]
