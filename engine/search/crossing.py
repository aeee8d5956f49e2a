"""The edges of the graph that join groups, to count those that cross from one device to another."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import ComputationGraph


@dataclass(frozen=True, slots=True)
class GroupEdges:
    """The pairs of groups that edges join, each pair once, whatever the direction of its edges."""

    groups: int
    one: NDArray[np.int64]
    """[pairs] a group"""
    other: NDArray[np.int64]
    """[pairs] a group with a greater number"""
    edges: NDArray[np.int64]
    """[pairs] edges of the graph between the two: outputs, control edges and the back edges of loops"""

    @staticmethod
    def of(graph: ComputationGraph, group_of_op: NDArray[np.int32]) -> "GroupEdges":
        """The pairs of `graph`; `group_of_op` [ops]."""
        groups = int(group_of_op.max()) + 1
        source = group_of_op[np.concatenate((graph.edge_source, graph.back_edges[:, 0]))].astype(np.int64)
        target = group_of_op[np.concatenate((graph.edge_target, graph.back_edges[:, 1]))].astype(np.int64)
        between = source != target
        one, other = np.minimum(source, target)[between], np.maximum(source, target)[between]
        pairs, edges = np.unique(one * groups + other, return_counts=True)
        return GroupEdges(groups, pairs // groups, pairs % groups, edges)

    def crossing(self, placement: NDArray[np.int32]) -> int:
        """Edges of the graph between ops on different devices; `placement` [groups]."""
        return int(self.edges[placement[self.one] != placement[self.other]].sum())

    def islands(self, placement: NDArray[np.int32]) -> NDArray[np.int64]:
        """[groups] the number of the island of each: groups of one device that edges join without leaving it."""
        from scipy.sparse import coo_array  # loaded only here: it takes a moment
        from scipy.sparse.csgraph import connected_components

        inside = placement[self.one] == placement[self.other]
        ends = self.one[inside], self.other[inside]
        joined = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(self.groups, self.groups))
        return np.asarray(connected_components(joined, directed=False)[1], dtype=np.int64)

    def outside(
        self, piece: NDArray[np.int64], pieces: int, placement: NDArray[np.int32], devices: int
    ) -> NDArray[np.int64]:
        """[pieces, devices] edges that join each piece with the groups of other pieces on each device.

        `piece` [groups] is the piece of each group.
        """
        here, there = np.append(self.one, self.other), np.append(self.other, self.one)
        edges = np.append(self.edges, self.edges)
        leaves = piece[here] != piece[there]
        place = piece[here[leaves]] * devices + placement[there[leaves]]
        sums = np.bincount(place, edges[leaves], pieces * devices)
        return np.asarray(sums.reshape(pieces, devices), dtype=np.int64)
