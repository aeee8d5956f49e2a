"""The levels of a graph as arrays, and placements told by the groups of one of them.

People see the groups of one level. A search may split such a group: put its parts on several devices, or the parts of
these parts. A `SplitPlacement` says so level by level, so its length follows
the splits, not the ops.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacementError
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import coarser_group_of_each

SPLIT = -1
"""in place of a device: the ops of the group are on several"""


@dataclass(frozen=True, slots=True)
class SplitPlacement:
    """A placement by groups, and by the parts of groups that are split."""

    device_of_group: list[int]
    """[groups] `SPLIT` for a group on several devices"""
    parts: list[list[int]] = field(default_factory=list)
    """[finer levels, those that are needed] the devices of the parts of what is `SPLIT` a level before: the groups of
    the next finer level inside it, in the order of their numbers, again `SPLIT` where one is on several devices"""

    @staticmethod
    def from_json(device_of_group: Json, parts: Json = None) -> "SplitPlacement":
        """The placement that an event or a report has in these two fields; without `parts` no group is split."""
        assert isinstance(device_of_group, list) and isinstance(parts, list | None)
        return SplitPlacement(_integers(device_of_group), [_integers(part) for part in parts or []])


def _integers(values: Json) -> list[int]:
    assert isinstance(values, list)
    return [value for value in values if isinstance(value, int)]


def _empty(shape: tuple[int, ...]) -> NDArray[np.int32]:
    array = np.empty(shape, dtype=np.int32)
    array.setflags(write=False)
    return array


@dataclass(frozen=True, slots=True)
class Levels:
    """Groupings of one graph that nest, the coarsest first, as arrays; none where the number of groups is fixed."""

    shown: int = 0
    """the level whose groups people see"""
    unit_of_op: NDArray[np.int32] = field(default_factory=lambda: _empty((0,)))
    """[ops] the group of the finest level that holds each"""
    inside: NDArray[np.int32] = field(default_factory=lambda: _empty((0,)))
    """[groups of all levels but the coarsest] the group of the next coarser level that holds each"""
    named_op: NDArray[np.int32] = field(default_factory=lambda: _empty((0,)))
    """[groups of all levels] the op after which each is named"""
    edges: NDArray[np.int32] = field(default_factory=lambda: _empty((0, 2)))
    """[edges of all levels, 2] (source, target)"""
    edge_bytes: NDArray[np.int64] = field(default_factory=lambda: _empty((0,)).astype(np.int64))
    """[edges of all levels]"""
    feedback_edges: NDArray[np.int32] = field(default_factory=lambda: _empty((0, 2)))
    """[feedback edges of all levels, 2]"""
    counts: NDArray[np.int32] = field(default_factory=lambda: _empty((0, 3)))
    """[levels, 3] the groups, edges and feedback edges of each"""

    @staticmethod
    def of(graph: ComputationGraph, nested: Sequence[Grouping], shown: Grouping) -> "Levels":
        """The levels `nested`, one of which is `shown`."""
        op_of_name = {name: op for op, name in enumerate(graph.op_names)}
        inside = [coarser_group_of_each(coarse, fine) for coarse, fine in pairwise(nested)]
        counts = [[len(each.names), len(each.edge_bytes), len(each.feedback_edges)] for each in nested]
        return Levels(
            next(level for level, grouping in enumerate(nested) if grouping is shown),
            nested[-1].group_of_op,
            np.concatenate([*inside, _empty((0,))]),
            np.array([op_of_name[name] for grouping in nested for name in grouping.names], dtype=np.int32),
            np.concatenate([np.stack((grouping.edge_source, grouping.edge_target), axis=1) for grouping in nested]),
            np.concatenate([grouping.edge_bytes for grouping in nested]),
            np.concatenate([grouping.feedback_edges.reshape(-1, 2) for grouping in nested]),
            np.array(counts, dtype=np.int32),
        )

    def __bool__(self) -> bool:
        """Whether there are levels."""
        return len(self.counts) > 0

    @property
    def group_counts(self) -> list[int]:
        """[levels] the number of groups of each."""
        return [int(groups) for groups in self.counts[:, 0]]

    def groupings(self, graph: ComputationGraph) -> tuple[Grouping, ...]:
        """The groupings of `graph`, the coarsest first."""
        if not self:
            return ()
        beyond = np.cumsum(self.counts, axis=0)
        of_ops = [self.unit_of_op]
        for level in range(len(self.counts) - 1, 0, -1):
            of_ops.append(self._inside(level)[of_ops[-1]])
        made = []
        for level, group_of_op in enumerate(reversed(of_ops)):
            groups, edges, feedback = map(slice, beyond[level] - self.counts[level], beyond[level])
            names = tuple(graph.op_names[op] for op in self.named_op[groups].tolist())
            source, target = self.edges[edges].T
            made.append(
                Grouping(names, group_of_op, source, target, self.edge_bytes[edges], self.feedback_edges[feedback])
            )
        return tuple(made)

    def split_placement(self, device_of_unit: NDArray[np.int32]) -> SplitPlacement:
        """A placement of the finest level's groups [units], by the groups that people see and by their parts.

        Without levels these are the same groups.
        """
        devices = [device_of_unit]
        for level in range(len(self.counts) - 1, self.shown, -1):
            devices.append(devices_of_groups(self._inside(level), int(self.counts[level - 1, 0]), devices[-1]))
        coarser = devices.pop()
        split = SplitPlacement(coarser.tolist())
        for level, finer in enumerate(reversed(devices), self.shown + 1):
            of_split = coarser[self._inside(level)] == SPLIT
            if not of_split.any():
                break
            split.parts.append(finer[of_split].tolist())
            coarser = finer
        return split

    def units(self, placement: SplitPlacement) -> NDArray[np.int32]:
        """[units] the inverse of `split_placement`. Raises PlacementError for other numbers of groups or parts."""
        given = [placement.device_of_group, *placement.parts]
        devices = _devices(given.pop(0), self.group_counts[self.shown] if self else None)
        for level in range(self.shown + 1, len(self.counts)):
            finer = devices[self._inside(level)]
            is_split = finer == SPLIT
            if is_split.any():
                finer[is_split] = _devices(given.pop(0) if given else [], int(is_split.sum()))
            devices = finer
        if given:
            _devices(given[0], 0)
        return devices

    def _inside(self, level: int) -> NDArray[np.int32]:
        """[groups of `level`] the group of the next coarser level that holds each."""
        first = int(self.counts[1:level, 0].sum())
        return self.inside[first : first + int(self.counts[level, 0])]


def _devices(devices: Sequence[int], count: int | None) -> NDArray[np.int32]:
    if count is not None and len(devices) != count:
        what, allowed = f"{len(devices)} devices", f"{count}, one for each group or part"
        raise PlacementError(what, where="placement", allowed=allowed, field="placement")
    return np.array(devices, dtype=np.int32)


def devices_of_groups(group_of_each: NDArray[np.int32], groups: int, devices: NDArray[np.int32]) -> NDArray[np.int32]:
    """[groups] the device of what is in each group; `SPLIT` where that is on several devices or `SPLIT` itself."""
    least = np.full(groups, np.iinfo(np.int32).max, dtype=np.int32)
    most = np.full(groups, SPLIT, dtype=np.int32)
    np.minimum.at(least, group_of_each, devices)
    np.maximum.at(most, group_of_each, devices)
    return np.where(least == most, least, np.int32(SPLIT))
