"""What the sequence placers see of a group: types of its ops, bytes of its outputs, its neighbours. No times.

Source: Mirhoseini et al. 2017, section 3.2 (type, output shapes, adjacency), and the public code of 2018 (counts of
types, both directions of the adjacency, rows divided by their greatest number plus 1). Deviation: bytes of the outputs
stand for their shapes, of which costs know nothing; they count by their logarithm, lest they drown the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.problem import PlacementProblem

MOST_OUTPUTS = 5
"""the largest outputs of a group, one number each (the public code: 5 outputs of 5 dimensions)"""


@dataclass(frozen=True, slots=True)
class GroupContents:
    """Groups in topological order."""

    contents: NDArray[np.float32]
    """[groups, types + MOST_OUTPUTS] how many ops of each type, then log(1 + kB) of the largest outputs as
    shares of the greatest in the graph"""
    adjacency: NDArray[np.float32]
    """[groups, groups] 1 where an edge goes from row to column"""


def group_contents(problem: PlacementProblem, types: Sequence[str] | None = None) -> GroupContents:
    """The groups of `problem`; the types are in alphabetical order, or those given: other ops then count for none."""
    grouping, graph, costs = problem.grouping, problem.graph, problem.costs
    groups = problem.group_count
    columns = {name: column for column, name in enumerate(sorted(set(graph.op_types)) if types is None else types)}
    column_of_op = np.array([columns.get(name, len(columns)) for name in graph.op_types])
    counts = np.zeros((groups, len(columns) + 1))
    np.add.at(counts, (grouping.group_of_op, column_of_op), 1.0)
    counts = counts[:, :-1]
    op_of_output = np.repeat(np.arange(graph.op_count), np.diff(costs.output_offset))
    adjacency = np.zeros((groups, groups), dtype=np.float32)
    adjacency[grouping.edge_source, grouping.edge_target] = 1.0
    largest = _largest(grouping.group_of_op[op_of_output], costs.output_bytes, groups)
    sizes = np.log1p(largest / 1e3)
    return GroupContents(np.hstack([counts, sizes / (sizes.max() or 1.0)]).astype(np.float32), adjacency)


def _largest(group_of_output: NDArray[np.int32], output_bytes: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """[groups, MOST_OUTPUTS] bytes of the largest outputs of each group, 0 where it has fewer."""
    order = np.lexsort((-output_bytes, group_of_output))
    group = group_of_output[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    kept = rank < MOST_OUTPUTS
    largest = np.zeros((groups, MOST_OUTPUTS))
    largest[group[kept], rank[kept]] = output_bytes[order][kept]
    return largest


def group_embedding(seen: GroupContents, most_groups: int | None = None) -> NDArray[np.float32]:
    """[groups, 2 · groups + types + MOST_OUTPUTS] rows divided by their greatest number plus 1.

    With `most_groups`, as wide as if there were so many: the columns that are missing hold 0.
    """
    missing = 0 if most_groups is None else most_groups - len(seen.adjacency)
    assert missing >= 0, "more groups than the network reads"
    padding = ((0, 0), (0, missing))
    rows = np.hstack([np.pad(seen.adjacency, padding), np.pad(seen.adjacency.T, padding), seen.contents])
    return np.asarray(rows / (rows.max(axis=1, keepdims=True) + 1.0), dtype=np.float32)
