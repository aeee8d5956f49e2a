"""When two graphs are near-duplicates: equal up to scale, or nearly so.

The digest of a group graph is equal where structure and the shares of all costs are, after rounding; names and the
numbers of groups do not count. A variant that differs by its width, its batch or its image has other shares by a
little: then ops that are joined alike, and shares of time and of data that differ by little, make it a near-duplicate.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.prepared import PreparedGraph

PARTS = 1_000
"""to which the share of a group in a cost of the whole graph is rounded"""
ROUNDS = 8
"""in which the surroundings of a group reach its label: groups further apart are told by those between them"""
DIGITS = 16
NEAR = 0.05
"""of the whole time, and of all bytes: what lies elsewhere in the other of two near-duplicates"""


@dataclass(frozen=True, slots=True)
class OpShares:
    """How the ops of a graph are joined, and their shares of its costs."""

    structure: str
    """digest of types, edges and phases, without names"""
    time: NDArray[np.float64]
    """[ops] of the step's time"""
    output: NDArray[np.float64]
    """[ops] of the bytes of all outputs"""

    @staticmethod
    def of(prepared: PreparedGraph) -> "OpShares":
        """Those of a prepared graph."""
        graph, costs = prepared.graph, prepared.costs
        digest = hashlib.sha256("|".join(graph.op_types).encode())
        for array in (graph.edge_source, graph.edge_target, graph.edge_output, graph.phase):
            digest.update(array.tobytes())
        time_us, output = _time_us(prepared), np.asarray(costs.bytes_of_op(), dtype=np.float64)
        return OpShares(digest.hexdigest()[:DIGITS], _shares(time_us), _shares(output))

    def is_near(self, other: "OpShares") -> bool:
        """Whether ops are joined alike, and at most `NEAR` of the time and of the bytes lies elsewhere."""
        if self.structure != other.structure:
            return False
        pairs = ((self.time, other.time), (self.output, other.output))
        return all(float(np.abs(one - another).sum()) / 2 <= NEAR for one, another in pairs)


def group_graph_digest(prepared: PreparedGraph) -> str:
    """Equal for graphs whose groups are joined alike and have the same shares of time, weights and data.

    Source of the labels by rounds: B. Weisfeiler and A. Leman, 1968.
    """
    grouping = prepared.grouping
    labels = [_digest("group", *row) for row in _shares_of_groups(prepared).tolist()]
    sizes = _parts(grouping.edge_bytes).tolist()
    edges = list(zip(grouping.edge_source.tolist(), grouping.edge_target.tolist(), map(str, sizes), strict=True))
    edges += [(source, target, "feedback") for source, target in grouping.feedback_edges.tolist()]
    for _ in range(ROUNDS):
        around: list[list[str]] = [[] for _ in labels]
        for source, target, size in edges:
            around[target].append(f"from {size} {labels[source]}")
            around[source].append(f"to {size} {labels[target]}")
        labels = [_digest(label, *sorted(near)) for label, near in zip(labels, around, strict=True)]
    return _digest(*sorted(labels))


def _shares_of_groups(prepared: PreparedGraph) -> NDArray[np.int64]:
    """[groups, 4] parts of the step's time, of its arithmetic, of the bytes that are kept, and of those of outputs."""
    costs, group_of_op = prepared.costs, prepared.grouping.group_of_op
    time_us = _time_us(prepared)
    flops = costs.flops.astype(np.float64) if len(costs.flops) else np.zeros_like(time_us)
    of_ops = (time_us, flops, costs.persistent_bytes, costs.bytes_of_op())
    count = prepared.grouping.group_count
    sums = [np.bincount(group_of_op, weights=each.astype(np.float64), minlength=count) for each in of_ops]
    return np.stack([_parts(each) for each in sums], axis=1)


def _parts(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Shares of the sum in whole parts of `PARTS`; a half of the last digit never decides between equal graphs."""
    return np.asarray(np.rint(np.round(_shares(values) * PARTS, 6)), dtype=np.int64)


def _shares(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.float64]:
    total = values.sum()
    return np.asarray(values / total if total else values, dtype=np.float64)


def _time_us(prepared: PreparedGraph) -> NDArray[np.float64]:
    """[ops] the time in a step, summed over the kinds that have one."""
    return np.asarray(np.nan_to_num(prepared.costs.op_time_in_step_us()).sum(axis=0))


def _digest(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:DIGITS]
