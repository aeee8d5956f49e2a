"""Groupings in which groups that must share a device are one group, for a run whose request keeps ops together."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacementError
from engine.graphs.colocation import DisjointSets
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Classes, Grouping, OpCosts
from engine.graphs.grouping.nesting import SPLIT, Levels, SplitPlacement, devices_of_groups
from engine.graphs.ordering import positions_of_classes, rank_of_ops


def united(
    graph: ComputationGraph, costs: OpCosts, grouping: Grouping, together: Sequence[NDArray[np.integer]]
) -> Grouping:
    """`grouping` with the groups united that hold ops of one of `together`, sets of ops; each group is a union."""
    sets = DisjointSets(grouping.group_count)
    for ops in together:
        first, *others = np.unique(grouping.group_of_op[ops]).tolist()
        for other in others:
            sets.unite(first, other)
    set_of_group = sets.numbered()
    if int(set_of_group.max()) + 1 == grouping.group_count:
        return grouping
    set_of_op = set_of_group[grouping.group_of_op]
    position = positions_of_classes(graph, set_of_op, rank_of_ops(graph)).astype(np.int32)
    return Classes(graph, costs).grouped(position[set_of_op])


@dataclass(frozen=True, slots=True)
class UnitedLevels(Levels):
    """The levels of a graph, for placements of united groups of the finest one, or of the groups where there are none.

    The placements that it splits or makes are told by the graph's own groups.
    """

    united_of_unit: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    """[groups of the finest level] the united group that holds each"""

    @staticmethod
    def over(levels: Levels, united_of_unit: NDArray[np.int32]) -> "UnitedLevels":
        """`levels` with these united groups."""
        return UnitedLevels(
            *(levels.shown, levels.unit_of_op, levels.inside, levels.named_op, levels.edges),
            *(levels.edge_bytes, levels.feedback_edges, levels.counts, united_of_unit),
        )

    def split_placement(self, device_of_unit: NDArray[np.int32]) -> SplitPlacement:
        """A placement of the united groups, by the groups that people see and by their parts."""
        return Levels.split_placement(self, device_of_unit[self.united_of_unit])

    def units(self, placement: SplitPlacement) -> NDArray[np.int32]:
        """[united groups] the inverse. Raises PlacementError also where the parts of one are on several devices."""
        devices = Levels.units(self, placement)
        found = devices_of_groups(self.united_of_unit, int(self.united_of_unit.max()) + 1, devices)
        if (found == SPLIT).any():
            what = "ops that constraints keep together are on several devices"
            raise PlacementError(what, where="start", allowed="one device for them", field="start")
        return found
