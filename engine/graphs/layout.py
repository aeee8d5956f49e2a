"""Place each group in the drawing: layers in the order of the data, folded into strips, the same result every time.

Layers are longest paths; the order within a layer is by barycentres, swept down and up; the coordinates bring every
group as near to its neighbours as the order and the space between the groups allow. There are no dummy nodes for long
edges: they cost too much where edges span half of the layers, as in a training graph.

A deep graph would be a thread. Its layers are cut into strips side by side, so that the whole is about as wide as it is
high. The first strip leads down, the next one up: the end of one stands beside the beginning of the next, and the
backward half of a training step lies beside its forward half.

Source: K. Sugiyama, S. Tagawa, M. Toda, Methods for visual understanding of hierarchical system structures, IEEE
Trans. SMC 11(2), 1981.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.graphs.colocation import DisjointSets
from engine.graphs.ordering import levels

NODE_SIZE = 48
"""a group in pixels, of the same width and height"""
COLUMN, ROW, LAYER = 96.0, 64.0, 80.0
"""pixels from centre to centre: of neighbours in a row, of two rows of one layer, of two layers"""
MARGIN = 40.0
STRIP_GAP = 56.0
"""pixels between two strips, beside the margins of their groups"""
ASPECT = 1.2
"""width by height that folding aims at"""
LEAST_LAYERS = 8
"""of a strip: fewer are no thread"""
NARROWEST_ROW = 6
"""a layer with more groups than this, and than the square root of all groups, is broken into several rows"""
ORDER_SWEEPS, PLACE_SWEEPS = 8, 6
GROUPS_FOR_ALL_SWEEPS = 10_000
"""a larger graph, which no screen shows whole, gets half of the sweeps"""


class Net(Protocol):
    """An acyclic graph to lay out, such as a `Grouping`. Its nodes are called groups here."""

    @property
    def group_count(self) -> int:
        """Number of nodes, which are numbered in a topological order."""

    @property
    def edge_source(self) -> NDArray[np.int32]:
        """[edges] always less than `edge_target`"""

    @property
    def edge_target(self) -> NDArray[np.int32]:
        """[edges]"""

    @property
    def edge_bytes(self) -> NDArray[np.int64]:
        """[edges]"""


Neighbours: TypeAlias = list[list[tuple[int, float]]]
"""[groups] (group at the other end, weight) of each edge"""


@dataclass(frozen=True, slots=True)
class Strip:
    """A part of the layers, one below the other."""

    left: float
    right: float
    leads_up: bool
    """whether its first layer is its lowest"""


@dataclass(frozen=True, slots=True)
class Layout:
    """The centre of each group in pixels, from the top left corner, and the size of the whole. Arrays are read-only."""

    x: NDArray[np.float64]
    """[groups] from the left"""
    y: NDArray[np.float64]
    """[groups] from the top"""
    width: float
    height: float
    strips: tuple[Strip, ...]
    """from the left, in the order of the data"""

    def __post_init__(self) -> None:
        self.x.setflags(write=False)
        self.y.setflags(write=False)


def layout(net: Net) -> Layout:
    """Lay out a graph. Feedback edges of a `Grouping` do not affect the layout."""
    drawing = _Drawing(net)
    sweeps = 1 if net.group_count <= GROUPS_FOR_ALL_SWEEPS else 2
    drawing.order(ORDER_SWEEPS // sweeps)
    return drawing.coordinates(PLACE_SWEEPS // sweeps)


class _Drawing:
    """The mutable state of one layout."""

    def __init__(self, net: Net) -> None:
        count = net.group_count
        above, below = _neighbours(net)
        layer = _layers(net, above, below)
        self._above, self._below = _shares(above), _shares(below)
        self._both = _shares([one + other for one, other in zip(above, below, strict=True)])
        component = _components(net)
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
        """Break wide layers into rows, fold the rows into strips, move the groups towards their neighbours."""
        rows = self._rows(max(NARROWEST_ROW, int(len(self._x) ** 0.5)))
        parts = _fold(rows)
        strip_of = [0] * len(self._x)
        for strip, part in enumerate(parts):
            for row in part:
                for group in row.groups:
                    strip_of[group] = strip
        above, below, both = (_within(of, strip_of) for of in (self._above, self._below, self._both))
        for sweep in range(sweeps):
            neighbours = both if sweep >= sweeps - 2 else above if sweep % 2 == 0 else below
            for row in rows if sweep % 2 == 0 else reversed(rows):
                wishes = [self._barycentre(group, neighbours[group]) for group in row.groups]
                for group, place in zip(row.groups, _apart(wishes, COLUMN), strict=True):
                    self._x[group] = place
        return self._beside_each_other(parts)

    def _beside_each_other(self, parts: "list[list[_Row]]") -> Layout:
        """The strips from left to right, every other one upside down."""
        x, y = np.empty(len(self._x)), np.empty(len(self._x))
        height = max(_height(part) for part in parts)
        left, strips = MARGIN, []
        for number, part in enumerate(parts):
            groups = [group for row in part for group in row.groups]
            least = min(self._x[group] for group in groups)
            width = max(self._x[group] for group in groups) - least
            leads_up = number % 2 == 1
            for row in part:
                down = row.y - part[0].y
                y[row.groups] = height - down if leads_up else down
            x[groups] = left + NODE_SIZE / 2 - least + np.array([self._x[group] for group in groups])
            strips.append(Strip(round(left, 1), round(left + width + NODE_SIZE, 1), leads_up))
            left += width + NODE_SIZE + STRIP_GAP
        return Layout(
            np.round(x, 1),
            np.round(y + MARGIN + NODE_SIZE / 2, 1),
            round(left - STRIP_GAP + MARGIN, 1),
            round(height + NODE_SIZE + 2 * MARGIN, 1),
            tuple(strips),
        )

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

    def _rows(self, most: int) -> "list[_Row]":
        """The rows of all layers, one below the other."""
        rows: list[_Row] = []
        y = 0.0
        for layer, groups in enumerate(self._layers):
            parts = [groups[start : start + most] for start in range(0, len(groups), most)]
            if len(parts) > 1:
                for part in parts:
                    self._spread_one(part)
            rows += [_Row(y + ROW * index, layer, part) for index, part in enumerate(parts)]
            y += ROW * (len(parts) - 1) + LAYER
        return rows


@dataclass(frozen=True, slots=True)
class _Row:
    """Groups beside each other."""

    y: float
    layer: int
    groups: list[int]
    """from left to right"""


def _fold(rows: list[_Row]) -> list[list[_Row]]:
    """Cut the rows between layers into parts of about equal height; their number brings the whole close to `ASPECT`."""
    most = max(1, (rows[-1].layer + 1) // LEAST_LAYERS)
    best, least = [rows], _distortion([rows])
    count = 2
    while count <= most:
        parts = _cut(rows, count)
        distortion = _distortion(parts)
        if distortion < least:
            best, least = parts, distortion
        count = max(count + 1, count * 5 // 4)  # of many counts some, so that the time stays linear
    return best


def _cut(rows: list[_Row], count: int) -> list[list[_Row]]:
    height = (_height(rows) + LAYER) / count
    parts: list[list[_Row]] = [[]]
    for row in rows:
        if parts[-1] and row.layer != parts[-1][-1].layer and row.y - rows[0].y + LAYER / 2 > height * len(parts):
            parts.append([])
        parts[-1].append(row)
    return parts


def _distortion(parts: list[list[_Row]]) -> float:
    """How far the whole is from `ASPECT`, if its rows are as wide as their groups need."""
    width = sum(max(len(row.groups) for row in part) * COLUMN for part in parts) + STRIP_GAP * (len(parts) - 1)
    return abs(log2(width / (max(_height(part) for part in parts) + LAYER) / ASPECT))


def _height(part: list[_Row]) -> float:
    return part[-1].y - part[0].y


def _within(neighbours: Neighbours, strip_of: list[int]) -> Neighbours:
    """The neighbours in the same strip alone, with shares that sum to 1 again."""
    return _shares(
        [
            [(other, share) for other, share in of if strip_of[other] == strip_of[group]]
            for group, of in enumerate(neighbours)
        ]
    )


def _neighbours(net: Net) -> tuple[Neighbours, Neighbours]:
    """The groups above and below each group, with weights that grow with the edge's bytes."""
    above: Neighbours = [[] for _ in range(net.group_count)]
    below: Neighbours = [[] for _ in range(net.group_count)]
    edges = zip(net.edge_source.tolist(), net.edge_target.tolist(), net.edge_bytes.tolist(), strict=True)
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


def _layers(net: Net, above: Neighbours, below: Neighbours) -> list[int]:
    """[groups] the layer of each group: longest path, but a group that outputs more than it takes stands further down.

    So a variable is right above the op that reads it, even if it takes a constant from the top. The weights in `above`
    and `below` are those of the edges.
    """
    pairs = np.stack([net.edge_source, net.edge_target], axis=1)
    layer = [int(level) for level in levels(pairs, net.group_count)]
    for group in reversed(range(net.group_count)):  # the groups' numbers are a topological order
        if sum([weight for _, weight in below[group]]) > sum([weight for _, weight in above[group]]):
            layer[group] = min(layer[other] for other, _ in below[group]) - 1
    used = {number: place for place, number in enumerate(sorted(set(layer)))}
    return [used[number] for number in layer]


def _components(net: Net) -> list[int]:
    """[groups] the connected component of each group, named by its first group."""
    sets = DisjointSets(net.group_count)
    for source, target in zip(net.edge_source.tolist(), net.edge_target.tolist(), strict=True):
        sets.unite(source, target)
    return [sets.find(group) for group in range(net.group_count)]


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
