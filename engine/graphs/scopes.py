"""Opens a group: its name scopes and ops, one level at a time, with the data that flows between them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import GraphError
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import OpCosts, edges_between
from engine.graphs.ordering import levels

OUTSIDE = -1
"""in place of an item: the op is in none of them"""


@dataclass(frozen=True, slots=True)
class OpenScope:
    """One level of a group: each op of the scope is in one item; items are numbered along the data."""

    prefix: str
    """the scope whose items these are, without those around it that hold nothing else; empty: no scope"""
    names: tuple[str, ...]
    """[items] of an op its name, of a scope its name from the root"""
    is_scope: NDArray[np.bool_]
    """[items] whether it can be opened"""
    item_of_op: NDArray[np.int32]
    """[ops of the graph] or `OUTSIDE`"""
    edge_source: NDArray[np.int32]
    """[edges] each pair once; always edge_source < edge_target"""
    edge_target: NDArray[np.int32]
    edge_bytes: NDArray[np.int64]
    against: NDArray[np.int32]
    """[edges, 2] the edges from later to earlier items: two scopes may need each other's ops"""
    bytes_against: NDArray[np.int64]
    """[edges against the order]"""
    inputs: NDArray[np.int64]
    """[items] bytes from ops outside"""
    outputs: NDArray[np.int64]
    """[items] bytes to ops outside"""

    @property
    def group_count(self) -> int:
        """Number of items."""
        return len(self.names)


def open_scope(
    graph: ComputationGraph, costs: OpCosts, group_of_op: NDArray[np.int32], group: int, prefix: str
) -> OpenScope:
    """The items of `group` right below the name scope `prefix`; an empty one: of the whole group.

    Raises GraphError where the group has no op in that scope.
    """
    ops = np.flatnonzero(group_of_op == group)
    if prefix:
        ops = np.array([op for op in ops.tolist() if graph.op_names[op].startswith(f"{prefix}/")], dtype=np.int64)
    if not len(ops):
        raise GraphError("no such scope in this group", where=prefix or f"group {group}", allowed="a scope that it has")
    paths = [graph.op_names[op].split("/") for op in ops.tolist()]
    depth = _shared_parts(paths)
    members: dict[str, list[int]] = {}
    for op, path in zip(ops.tolist(), paths, strict=True):
        below = len(path) > depth + 1
        members.setdefault("/".join(path[: depth + 1]) + ("/" if below else ""), []).append(op)
    return _with_edges(graph, costs, "/".join(paths[0][:depth]), _in_order(graph, members))


def _shared_parts(paths: list[list[str]]) -> int:
    """The number of first parts that all share, with at least one part left to each."""
    shortest = min(map(len, paths))
    first = paths[0]
    depth = 0
    while depth < shortest - 1 and all(path[depth] == first[depth] for path in paths):
        depth += 1
    return depth


def _in_order(graph: ComputationGraph, members: dict[str, list[int]]) -> dict[str, list[int]]:
    """The items in the order of their ops' mean place along the data, equals by name."""
    place = levels(np.stack([graph.edge_source, graph.edge_target], axis=1), graph.op_count)
    keys = {name: float(place[ops].mean()) for name, ops in members.items()}
    return {name: members[name] for name in sorted(members, key=lambda name: (keys[name], name))}


def _with_edges(graph: ComputationGraph, costs: OpCosts, prefix: str, members: dict[str, list[int]]) -> OpenScope:
    item_of_op = np.full(graph.op_count, OUTSIDE, dtype=np.int32)
    for item, ops in enumerate(members.values()):
        item_of_op[ops] = item
    count = len(members)
    pairs, sizes = edges_between(graph, costs, np.where(item_of_op == OUTSIDE, np.int32(count), item_of_op))
    inside = (pairs < count).all(axis=1)
    forward = inside & (pairs[:, 0] < pairs[:, 1])
    against = inside & (pairs[:, 0] > pairs[:, 1])
    inputs, outputs = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    comes, goes = pairs[:, 0] == count, pairs[:, 1] == count
    inputs[pairs[comes, 1]] = sizes[comes]
    outputs[pairs[goes, 0]] = sizes[goes]
    return OpenScope(
        prefix=prefix,
        names=tuple(
            graph.op_names[ops[0]] if len(ops) == 1 else name.removesuffix("/") for name, ops in members.items()
        ),
        is_scope=np.array([len(ops) > 1 for ops in members.values()]),
        item_of_op=item_of_op,
        edge_source=pairs[forward, 0].astype(np.int32),
        edge_target=pairs[forward, 1].astype(np.int32),
        edge_bytes=sizes[forward],
        against=pairs[against].astype(np.int32),
        bytes_against=sizes[against],
        inputs=inputs,
        outputs=outputs,
    )
