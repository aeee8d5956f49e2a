"""The group graph while groups are merged: acyclic at the start, and kept acyclic by an order of the groups.

Every group has a position, and every edge leads from a lower to a higher position, which proves that there is no cycle.
So two groups may be merged only where their merged group has a position too. With u before v that is

- u's position, if nothing that v needs comes after u (v moves back to u), or
- v's position, if nothing that needs u comes before v (u moves forward to v).

Each check reads the neighbours of one group, without a search. The rule is sufficient, not necessary: it refuses some
merges that would make no cycle. It never gets stuck: it allows to merge a group with its earliest successor, and with
its latest predecessor.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_LOOKED_AT = 1000
"""neighbours of a group that a check reads; a group with more fails the check, so that hubs cost no quadratic time"""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that start as groups, in topological order. Integers, so that sums do not depend on their order."""

    output_bytes: NDArray[np.int64]
    """[nodes] the cost by which groups are merged"""
    weight: NDArray[np.int64]
    """[nodes] share of the work, in any unit"""
    ops: NDArray[np.int64]
    """[nodes] number of ops"""
    site: NDArray[np.int64]
    """[nodes] the set of devices on which a node may go, as a number: only nodes of one site may be merged"""


class Contraction:
    """The mutable group graph. One of its nodes names a group."""

    def __init__(
        self,
        nodes: Nodes,
        sources: NDArray[np.integer],
        targets: NDArray[np.integer],
        edge_bytes: NDArray[np.int64],
        weight_per_byte: float = 0.0,
    ) -> None:
        """Edges, each once, lead from lower to higher nodes; `edge_bytes` [edges] flow along them.

        A byte's transfer takes as long as work of `weight_per_byte`.
        """
        assert np.all(sources < targets)
        self.count = len(nodes.ops)
        """remaining groups"""
        self.position = list(range(self.count))
        self.output_bytes: list[int] = nodes.output_bytes.tolist()
        self.weight: list[int] = nodes.weight.tolist()
        self.heaviest: list[int] = nodes.weight.tolist()
        """[nodes] the largest weight of a single node in the group"""
        self.ops: list[int] = nodes.ops.tolist()
        self.total_weight = sum(self.weight)
        self.weight_per_byte = weight_per_byte
        self.site: list[int] = nodes.site.tolist()
        self.successors: list[dict[int, int]] = [{} for _ in range(self.count)]
        """[nodes] successor → bytes that flow to it"""
        self.predecessors: list[dict[int, int]] = [{} for _ in range(self.count)]
        for source, target, size in zip(sources.tolist(), targets.tolist(), edge_bytes.tolist(), strict=True):
            self.successors[source][target] = self.predecessors[target][source] = size
        self._absorbed_by = list(range(self.count))
        self._begin: list[int] = []
        """[nodes] when the first node of the group begins, in units of weight, if nothing but its predecessors waits"""
        self._end: list[int] = []
        """[nodes] when its last node ends"""
        for node, weight in enumerate(self.weight):
            self._begin.append(max((self._end[before] for before in self.predecessors[node]), default=0))
            self._end.append(self._begin[node] + weight)

    def group_of(self, node: int) -> int:
        """The group that holds `node`."""
        absorbed_by = self._absorbed_by
        while absorbed_by[node] != node:
            absorbed_by[node] = absorbed_by[absorbed_by[node]]
            node = absorbed_by[node]
        return node

    def groups(self) -> list[int]:
        """The remaining groups, by position."""
        left = [node for node, absorbed_by in enumerate(self._absorbed_by) if node == absorbed_by]
        return sorted(left, key=self.position.__getitem__)

    def numbered(self) -> NDArray[np.int32]:
        """[nodes] the group of each node; groups are numbered by position, so that edges lead to higher numbers."""
        number_of_group = {group: number for number, group in enumerate(self.groups())}
        groups = [number_of_group[self.group_of(node)] for node in range(len(self.position))]
        return np.array(groups, dtype=np.int32)

    def latest_predecessor(self, group: int) -> int | None:
        return max(self.predecessors[group], key=self.position.__getitem__, default=None)

    def earliest_successor(self, group: int) -> int | None:
        return min(self.successors[group], key=self.position.__getitem__, default=None)

    def side_by_side(self, one: int, other: int) -> bool:
        """Whether the two could run at the same time, if each node began as soon as its predecessors had ended."""
        return self._begin[one] < self._end[other] and self._begin[other] < self._end[one]

    def merged_position(self, one: int, other: int) -> int | None:
        """The position of the merged group; None where the order has no place for it, or where the sites differ."""
        if self.site[one] != self.site[other]:
            return None
        before, after = (one, other) if self.position[one] < self.position[other] else (other, one)
        if self._needs_nothing_past(after, self.position[before]):
            return self.position[before]
        return self.position[after] if self._feeds_nothing_ahead_of(before, self.position[after]) else None

    def merge(self, one: int, other: int, position: int) -> int:
        """Merge two groups at their `merged_position` and return the node that names the merged group."""
        if self._degree(one) < self._degree(other):
            one, other = other, one  # the shorter list of neighbours is moved: n log n moves in all
        self._absorbed_by[other] = one
        for ahead, back in ((self.successors, self.predecessors), (self.predecessors, self.successors)):
            ahead[one].pop(other, None)
            ahead[other].pop(one, None)
            for neighbour, size in ahead[other].items():
                del back[neighbour][other]
                ahead[one][neighbour] = back[neighbour][one] = ahead[one].get(neighbour, 0) + size
            ahead[other] = {}
        for sums in (self.output_bytes, self.weight, self.ops):
            sums[one] += sums[other]
        self.heaviest[one] = max(self.heaviest[one], self.heaviest[other])
        self._begin[one] = min(self._begin[one], self._begin[other])
        self._end[one] = max(self._end[one], self._end[other])
        self.position[one] = position
        self.count -= 1
        return one

    def _degree(self, group: int) -> int:
        return len(self.successors[group]) + len(self.predecessors[group])

    def _needs_nothing_past(self, group: int, position: int) -> bool:
        needed = self.predecessors[group]
        return len(needed) <= MOST_LOOKED_AT and all(self.position[other] <= position for other in needed)

    def _feeds_nothing_ahead_of(self, group: int, position: int) -> bool:
        fed = self.successors[group]
        return len(fed) <= MOST_LOOKED_AT and all(self.position[other] >= position for other in fed)
