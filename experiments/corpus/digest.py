"""A digest of a group graph up to scale: equal where structure and the shares of all costs are equal, after rounding.

A variant of an architecture that differs by its batch or its image alone often has the same work in the same places.
Names and the numbers of groups do not count.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from engine.prepared import PreparedGraph

PARTS = 1_000
"""to which the share of a group in a cost of the whole graph is rounded"""
ROUNDS = 8
"""in which the surroundings of a group reach its label: groups further apart are told by those between them"""
DIGITS = 16


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
    time_us = np.nan_to_num(costs.op_time_in_step_us()).sum(axis=0)
    flops = costs.flops.astype(np.float64) if len(costs.flops) else np.zeros_like(time_us)
    of_ops = (time_us, flops, costs.persistent_bytes, costs.bytes_of_op())
    count = prepared.grouping.group_count
    sums = [np.bincount(group_of_op, weights=each.astype(np.float64), minlength=count) for each in of_ops]
    return np.stack([_parts(each) for each in sums], axis=1)


def _parts(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Shares of the sum in whole parts of `PARTS`; a half of the last digit never decides between equal graphs."""
    total = values.sum()
    shares = values / total if total else values
    return np.asarray(np.rint(np.round(shares * PARTS, 6)), dtype=np.int64)


def _digest(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:DIGITS]
