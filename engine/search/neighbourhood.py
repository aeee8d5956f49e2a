"""The parts of a problem that a search's moves need: groups at every level, where they can go, and their neighbours.

A level is a grouping of the problem's own groups, called units here; the finest possible one is the units themselves.
The groups of all levels are numbered in one row, the coarsest level first.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import coarser_group_of_each
from engine.problem import PlacementProblem
from engine.search.apart_table import ApartTable, make_apart_table
from engine.search.symmetry import interchangeable_classes, interchangeable_devices
from engine.simulator.tables import first_of_each


class Neighbourhood(NamedTuple):
    """The groups of all levels, those that can move, their units and neighbours, and the ops' inputs. Read-only."""

    movable: NDArray[np.int32]
    """groups that may be on more than one device, level by level"""
    first_movable: NDArray[np.int64]
    """[levels + 1] the movable groups of a level are those from here to the next level's"""
    first_group: NDArray[np.int64]
    """[levels + 1] likewise all its groups"""
    group_of_unit: NDArray[np.int32]
    """[levels, units]"""
    first_member: NDArray[np.int64]
    """[groups + 1] the units of a group are those from here to the next group's"""
    members: NDArray[np.int32]
    """[levels · units] units, group by group"""
    allowed: NDArray[np.bool_]
    """[units, devices]"""
    first_neighbour: NDArray[np.int64]
    """[groups + 1] the neighbours of a group are those from here to the next group's"""
    neighbours: NDArray[np.int32]
    """groups of the same level that an edge joins to the group, in either direction"""
    first_input: NDArray[np.int64]
    """[ops + 1] the inputs of an op, numbered as in the simulator's tables, are those from here to the next op's"""
    inputs: NDArray[np.int64]
    """[edges] entries of the simulator's tables"""
    memory_bytes: NDArray[np.int64]
    """[devices]"""
    class_of_device: NDArray[np.int32]
    """[devices] devices of one class are interchangeable"""
    kind_of_class: NDArray[np.int32]
    """[classes] classes of one kind, such as hosts, are interchangeable as a whole"""
    apart: ApartTable
    """units that must not share a device"""

    @property
    def levels(self) -> int:
        return len(self.group_of_unit)


def make_neighbourhood(problem: PlacementProblem, levels: Sequence[Grouping] = ()) -> Neighbourhood:
    """The neighbourhood of `problem` at `levels`, the coarsest first; without any, at its own level.

    Groups that an edge joins are neighbours, feedback edges included.
    """
    tables = problem.simulator.tables
    consumers = tables.entries.consumer.astype(np.int64)
    units = problem.group_count
    groupings = levels or [problem.grouping]
    counts = np.array([grouping.group_count for grouping in groupings])
    first_group = np.concatenate(([0], np.cumsum(counts)))
    inside = [coarser_group_of_each(grouping, problem.grouping) for grouping in groupings]
    group_of_unit = np.stack(inside) + first_group[:-1, None]
    owner = group_of_unit.ravel()
    mobile = np.flatnonzero(_may_move(problem.allowed, group_of_unit, int(first_group[-1])))
    class_of_device = interchangeable_devices(problem)
    joined = [_neighbours(problem, grouping) + first for grouping, first in zip(groupings, first_group, strict=False)]
    pairs = np.concatenate(joined)
    return Neighbourhood(
        movable=mobile.astype(np.int32),
        first_movable=np.searchsorted(mobile, first_group),
        first_group=first_group,
        group_of_unit=group_of_unit.astype(np.int32),
        first_member=first_of_each(owner, int(first_group[-1])),
        members=(np.argsort(owner, kind="stable") % units).astype(np.int32),
        allowed=np.ascontiguousarray(problem.allowed),
        first_neighbour=first_of_each(pairs[:, 0], int(first_group[-1])),
        neighbours=pairs[:, 1].astype(np.int32),
        first_input=first_of_each(consumers, len(tables.placed_ops)),
        inputs=np.argsort(consumers, kind="stable"),
        memory_bytes=problem.memory_bytes,
        class_of_device=class_of_device,
        kind_of_class=interchangeable_classes(problem, class_of_device),
        apart=make_apart_table(problem),
    )


def _may_move(allowed: NDArray[np.bool_], group_of_unit: NDArray[np.integer], groups: int) -> NDArray[np.bool_]:
    """[groups] whether any of the group's units may be on more than one device."""
    moves = allowed.sum(axis=1) > 1
    found = np.zeros(groups, dtype=bool)
    for of_unit in group_of_unit:
        found[of_unit[moves]] = True
    return found


def _neighbours(problem: PlacementProblem, grouping: Grouping) -> NDArray[np.int64]:
    """[pairs, 2] groups that an edge joins, each pair in both directions, sorted."""
    group_of_op, groups = grouping.group_of_op, grouping.group_count
    source = group_of_op[problem.graph.edge_source].astype(np.int64)
    target = group_of_op[problem.graph.edge_target].astype(np.int64)
    apart = source != target
    both = np.concatenate((source[apart] * groups + target[apart], target[apart] * groups + source[apart]))
    return np.stack(np.divmod(np.unique(both), groups), axis=1)
