"""Place each group in the drawing: layers from top to bottom, edges downwards, the same result every time.

Layers are longest paths; the order within a layer is by barycentres, swept down and up; the coordinates bring every
group as near to its neighbours as the order and the space between the groups allow. There are no dummy nodes for long
edges: they cost too much where edges span half of the layers, as in a training graph.

Source: K. Sugiyama, S. Tagawa, M. Toda, Methods for visual understanding of hierarchical system structures, IEEE
Trans. SMC 11(2), 1981.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.graphs.colocation import DisjointSets
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.ordering import levels

NODE_WIDTH, NODE_HEIGHT = 120, 36
"""size of a group in pixels"""
COLUMN, ROW, LAYER = 144.0, 60.0, 96.0
"""pixels from centre to centre: of neighbours in a row, of two rows of one layer, of two layers"""
MARGIN = 40.0
NARROWEST_ROW = 12
"""a layer with more groups than this, and than 1.5 times the square root of all groups, is broken into several rows"""
ORDER_SWEEPS, PLACE_SWEEPS = 8, 6
GROUPS_FOR_ALL_SWEEPS = 10_000
"""a larger graph, which no screen shows whole, gets half of the sweeps"""


Neighbours: TypeAlias = list[list[tuple[int, float]]]
"""[groups] (group at the other end, weight) of each edge"""


@dataclass(frozen=True, slots=True)
class Layout:
    """The centre of each group in pixels, from the top left corner, and the size of the whole. Arrays are read-only."""

    x: NDArray[np.float64]
    """[groups] from the left"""
    y: NDArray[np.float64]
    """[groups] from the top"""
    width: float
    height: float

    def __post_init__(self) -> None:
        self.x.setflags(write=False)
        self.y.setflags(write=False)


def layout(grouping: Grouping) -> Layout:
    """Lay out the group graph; feedback edges, which run upwards, have no influence."""
    drawing = _Drawing(grouping)
    sweeps = 1 if grouping.group_count <= GROUPS_FOR_ALL_SWEEPS else 2
    drawing.order(ORDER_SWEEPS // sweeps)
    return drawing.coordinates(PLACE_SWEEPS // sweeps)


class _Drawing:
    """The mutable state of one layout."""

    def __init__(self, grouping: Grouping) -> None:
        count = grouping.group_count
        above, below = _neighbours(grouping)
        layer = _layers(grouping, above, below)
        self._above, self._below = _shares(above), _shares(below)
        self._both = _shares([one + other for one, other in zip(above, below, strict=True)])
        component = _components(grouping)
        self._layers: list[list[int]] = [[] for _ in range(max(layer) + 1)]
        for group in sorted(range(count), key=lambda group: (component[group], group)):
            self._layers[layer[group]].append(group)
        self._x = [0.0] * count
        self._spread()

    def order(self, sweeps: int) -> None:
        """Order each layer by the barycentres of the layers above, then of those below; keep the best order seen."""
        best, shortest = [list(groups) for groups in self._layers], self._length()
        for sweep in range(sweeps):
            downwards = sweep % 2 == 0
            neighbours = self._above if downwards else self._below
            for groups in self._layers if downwards else reversed(self._layers):
                groups.sort(key=lambda group, of=neighbours: self._barycentre(group, of[group]))  # type: ignore[misc]
                self._spread_one(groups)
            length = self._length()
            if length < shortest:
                best, shortest = [list(groups) for groups in self._layers], length
        self._layers = best
        self._spread()

    def coordinates(self, sweeps: int) -> Layout:
        """Break wide layers into rows, then move the groups towards their neighbours, row by row."""
        count = len(self._x)
        rows = self._rows(max(NARROWEST_ROW, int(1.5 * count**0.5)))
        for sweep in range(sweeps):
            last = sweep >= sweeps - 2
            neighbours = self._both if last else self._above if sweep % 2 == 0 else self._below
            for _, groups in rows if sweep % 2 == 0 else reversed(rows):
                wishes = [self._barycentre(group, neighbours[group]) for group in groups]
                for group, place in zip(groups, _apart(wishes, COLUMN), strict=True):
                    self._x[group] = place
        x = np.round(np.array(self._x) - min(self._x) + MARGIN + NODE_WIDTH / 2, 1)
        y = np.empty(count)
        for row_y, groups in rows:
            y[groups] = row_y
        width = float(x.max()) + NODE_WIDTH / 2 + MARGIN
        height = float(y.max()) + NODE_HEIGHT / 2 + MARGIN
        return Layout(x, y, round(width, 1), height)

    def _barycentre(self, group: int, neighbours: Sequence[tuple[int, float]]) -> float:
        """The mean x of `neighbours` weighted by their shares; without neighbours the group's own x."""
        if not neighbours:
            return self._x[group]
        x = self._x
        return sum([x[other] * share for other, share in neighbours])

    def _length(self) -> float:
        """The sum of the groups' horizontal distances from the barycentres of their neighbours."""
        x = self._x
        return sum(abs(x[group] - self._barycentre(group, both)) for group, both in enumerate(self._both))

    def _spread(self) -> None:
        for groups in self._layers:
            self._spread_one(groups)

    def _spread_one(self, groups: list[int]) -> None:
        """Give the groups of a layer even places around x = 0."""
        leftmost = -(len(groups) - 1) * COLUMN / 2
        for place, group in enumerate(groups):
            self._x[group] = leftmost + place * COLUMN

    def _rows(self, most: int) -> list[tuple[float, list[int]]]:
        """(y, groups from left to right) of each row, from the top."""
        rows: list[tuple[float, list[int]]] = []
        y = MARGIN + NODE_HEIGHT / 2
        for groups in self._layers:
            parts = [groups[start : start + most] for start in range(0, len(groups), most)]
            if len(parts) > 1:
                for part in parts:
                    self._spread_one(part)
            rows += [(y + ROW * index, part) for index, part in enumerate(parts)]
            y += ROW * (len(parts) - 1) + LAYER
        return rows


def _neighbours(grouping: Grouping) -> tuple[Neighbours, Neighbours]:
    """The groups above and below each group, with weights that grow with the edge's bytes."""
    above: Neighbours = [[] for _ in range(grouping.group_count)]
    below: Neighbours = [[] for _ in range(grouping.group_count)]
    edges = zip(grouping.edge_source.tolist(), grouping.edge_target.tolist(), grouping.edge_bytes.tolist(), strict=True)
    for source, target, size in edges:
        weight = 1.0 + log2(1 + size)
        below[source].append((target, weight))
        above[target].append((source, weight))
    return above, below


def _shares(weighted: Neighbours) -> Neighbours:
    """The same neighbours with weights that sum to 1 for each group."""
    sums = [sum([weight for _, weight in neighbours]) for neighbours in weighted]
    return [
        [(other, weight / total) for other, weight in neighbours]
        for neighbours, total in zip(weighted, sums, strict=True)
    ]


def _layers(grouping: Grouping, above: Neighbours, below: Neighbours) -> list[int]:
    """[groups] the layer of each group: longest path, but a group that outputs more than it takes stands further down.

    So a variable is right above the op that reads it, even if it takes a constant from the top. The weights in `above`
    and `below` are those of the edges.
    """
    pairs = np.stack([grouping.edge_source, grouping.edge_target], axis=1)
    layer = [int(level) for level in levels(pairs, grouping.group_count)]
    for group in reversed(range(grouping.group_count)):  # the groups' numbers are a topological order
        if sum([weight for _, weight in below[group]]) > sum([weight for _, weight in above[group]]):
            layer[group] = min(layer[other] for other, _ in below[group]) - 1
    used = {number: place for place, number in enumerate(sorted(set(layer)))}
    return [used[number] for number in layer]


def _components(grouping: Grouping) -> list[int]:
    """[groups] the connected component of each group, named by its first group."""
    sets = DisjointSets(grouping.group_count)
    for source, target in zip(grouping.edge_source.tolist(), grouping.edge_target.tolist(), strict=True):
        sets.unite(source, target)
    return [sets.find(group) for group in range(grouping.group_count)]


def _apart(wishes: Sequence[float], space: float) -> list[float]:
    """The places nearest to `wishes` (least squares) that keep their order and at least `space` between neighbours.

    Pools adjacent violators: places too close together form a block around the mean of their wishes.
    """
    blocks: list[tuple[float, int]] = []
    """(sum of its members' wishes for the block's first place, number of members)"""
    for index, wish in enumerate(wishes):
        total, count = wish - index * space, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            earlier_total, earlier_count = blocks.pop()
            total, count = total + earlier_total, count + earlier_count
        blocks.append((total, count))
    firsts = [total / count for total, count in blocks for _ in range(count)]
    return [first + index * space for index, first in enumerate(firsts)]
