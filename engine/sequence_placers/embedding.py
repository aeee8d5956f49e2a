"""What the sequence placers see of a group: types of its ops, bytes of its outputs, its neighbours. No times.

Source: Mirhoseini et al. 2017, section 3.2 (type, output shapes, adjacency), and the public code of 2018 (counts of
types, both directions of the adjacency, rows divided by their greatest number plus 1). Deviation: bytes of the outputs
stand for their shapes, of which costs know nothing; they count by their logarithm, lest they drown the rest.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.problem import PlacementProblem

MOST_OUTPUTS = 5
"""the largest outputs of a group, one number each (the public code: 5 outputs of 5 dimensions)"""
MOST_NEIGHBOURS = 10
"""neighbours that the grouper sees of a group, two numbers each (the public code: 20 numbers)"""


@dataclass(frozen=True, slots=True)
class GroupContents:
    """Groups in topological order."""

    contents: NDArray[np.float32]
    """[groups, types + MOST_OUTPUTS] how many ops of each type, then log₂ of 1 + kB of the largest outputs"""
    adjacency: NDArray[np.float32]
    """[groups, groups] 1 where an edge goes from row to column"""


def group_contents(problem: PlacementProblem) -> GroupContents:
    """The groups of `problem`; the types are in alphabetical order."""
    grouping, graph, costs = problem.grouping, problem.graph, problem.costs
    groups = problem.group_count
    types, type_of_op = np.unique(np.array(graph.op_types), return_inverse=True)
    counts = np.zeros((groups, len(types)))
    np.add.at(counts, (grouping.group_of_op, type_of_op.reshape(-1)), 1.0)
    op_of_output = np.repeat(np.arange(graph.op_count), np.diff(costs.output_offset))
    adjacency = np.zeros((groups, groups), dtype=np.float32)
    adjacency[grouping.edge_source, grouping.edge_target] = 1.0
    largest = _largest(grouping.group_of_op[op_of_output], costs.output_bytes, groups)
    return GroupContents(np.hstack([counts, np.log2(1.0 + largest / 1e3)]).astype(np.float32), adjacency)


def _largest(group_of_output: NDArray[np.int32], output_bytes: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """[groups, MOST_OUTPUTS] bytes of the largest outputs of each group, 0 where it has fewer."""
    order = np.lexsort((-output_bytes, group_of_output))
    group = group_of_output[order]
    rank = np.arange(len(order)) - np.searchsorted(group, group)
    kept = rank < MOST_OUTPUTS
    largest = np.zeros((groups, MOST_OUTPUTS))
    largest[group[kept], rank[kept]] = output_bytes[order][kept]
    return largest


def group_embedding(seen: GroupContents) -> NDArray[np.float32]:
    """[groups, 2 · groups + types + MOST_OUTPUTS] rows divided by their greatest number plus 1."""
    rows = np.hstack([seen.adjacency, seen.adjacency.T, seen.contents])
    return np.asarray(rows / (rows.max(axis=1, keepdims=True) + 1.0), dtype=np.float32)


def grouper_features(seen: GroupContents) -> NDArray[np.float32]:
    """[groups, types + MOST_OUTPUTS + 1 + 2 · MOST_NEIGHBOURS] what the grouper sees of each group.

    Its contents as above; where it stands in the order; of its first neighbours, consumers before producers, how far
    they stand from it, and 1 or -1 for the direction.
    """
    groups = len(seen.contents)
    neighbours = np.zeros((groups, MOST_NEIGHBOURS, 2))
    for group in range(groups):
        consumers, producers = np.flatnonzero(seen.adjacency[group]), np.flatnonzero(seen.adjacency[:, group])
        found = np.concatenate([consumers, producers])[:MOST_NEIGHBOURS]
        neighbours[group, : len(found), 0] = (found - group) / groups
        neighbours[group, : len(found), 1] = np.where(np.arange(len(found)) < len(consumers), 1.0, -1.0)
    contents = seen.contents / (seen.contents.max(axis=1, keepdims=True) + 1.0)
    position = np.arange(groups)[:, None] / groups
    return np.hstack([contents, position, neighbours.reshape(groups, -1)]).astype(np.float32)
