"""Layers of an acyclic graph, folded into strips: the one layout of all drawings, in a time linear in nodes and edges.

Layers are longest paths; the order within a layer is by barycentres, swept down and up; the coordinates bring every
node as near to its neighbours as the order and the space between the nodes allow. There are no dummy nodes for long
edges: they cost too much where edges span half of the layers, as in a training graph.

A deep graph would be a thread. Its layers are cut into strips side by side, so that the whole has about the shape that
is asked for. The first strip leads down, the next one up: the end of one stands beside the beginning of the next, and
the backward half of a training step lies beside its forward half.

Source: K. Sugiyama, S. Tagawa, M. Toda, Methods for visual understanding of hierarchical system structures, IEEE
Trans. SMC 11(2), 1981.
"""

from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined

LEAST_LAYERS = 8
"""of a strip: fewer are no thread"""
ORDER_SWEEPS, PLACE_SWEEPS = 8, 6
NODES_FOR_ALL_SWEEPS = 10_000
"""a larger graph, which no screen shows whole, gets half of the sweeps"""

Indices = NDArray[np.int64]
Places = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spacing:
    """The distances of a drawing, in its unit, from centre to centre."""

    column: float
    """of neighbours in a row"""
    row: float
    """of two rows of one layer"""
    layer: float
    """of two layers"""
    gap: float
    """between the nodes of two strips"""
    node: float
    """of the left and the right side of a node, as far as `gap` is beside it"""
    aspect: float
    """width by height that folding aims at"""
    narrowest_row: int
    """a layer with more nodes than this, and than `row_share` times the square root of all, is broken into rows"""
    row_share: float


@dataclass(frozen=True, slots=True)
class Layered:
    """The centre of each node, from the leftmost and the topmost one. No two nodes share a place."""

    x: Places
    """[nodes]"""
    y: Places
    """[nodes]"""
    lefts: Places
    """[strips] x of the leftmost node of each; the strips are in the order of the data, every other one leads up"""
    rights: Places
    """[strips]"""


@dataclass(frozen=True, slots=True)
class Side:
    """The edges on one side of the nodes, or on both. Those of node i are first[i] to first[i + 1]."""

    first: Indices
    other: Indices
    """[edges] the node at the other end"""
    share: Places
    """[edges] of the edge in the weights of its node's edges on this side; they add up to 1"""
    weight: Places
    """[nodes] sum of the weights"""

    def within(self, part: Indices) -> "Side":
        """The edges between nodes of the same part alone."""
        node = np.repeat(np.arange(len(part)), np.diff(self.first))
        kept = part[node] == part[self.other]
        return _side(len(part), node[kept], self.other[kept], self.share[kept])

    @property
    def arrays(self) -> tuple[Indices, Indices, Places]:
        """As compiled code takes them."""
        return self.first, self.other, self.share


def layered(count: int, source: Indices, target: Indices, sizes: NDArray[np.int64], spacing: Spacing) -> Layered:
    """Lay out `count` nodes with edges that form no cycle, each pair once, of so many bytes. The same every time."""
    weights = 1.0 + np.log2(1.0 + sizes)
    above, below = _side(count, target, source, weights), _side(count, source, target, weights)
    both = _side(count, np.append(target, source), np.append(source, target), np.append(weights, weights))
    used, layer = np.unique(_layers(above, below), return_inverse=True)
    layer = layer.reshape(-1).astype(np.int64)
    member = np.lexsort((_components(count, source, target), layer)).astype(np.int64)
    layer_first = np.searchsorted(layer[member], np.arange(len(used) + 1))
    sweeps = 1 if count <= NODES_FOR_ALL_SWEEPS else 2
    x = np.zeros(count)
    _order(ORDER_SWEEPS // sweeps, layer_first, member, x, *above.arrays, *below.arrays, *both.arrays)
    row_first, row_layer, row_y = _rows(layer_first, spacing, count)
    strip_of_row = _fold(row_first, row_layer, row_y, spacing)
    strip = np.empty(count, np.int64)
    strip[member] = np.repeat(strip_of_row, np.diff(row_first))
    above, below, both = above.within(strip), below.within(strip), both.within(strip)
    _pull(PLACE_SWEEPS // sweeps, row_first, member, x, *above.arrays, *below.arrays, *both.arrays)
    y = np.empty(count)
    y[member] = np.repeat(row_y, np.diff(row_first))
    return _beside_each_other(x * spacing.column, y, strip, spacing)


def _side(count: int, node: Indices, other: Indices, weights: Places) -> Side:
    order = np.argsort(node, kind="stable")
    sums = np.bincount(node, weights=weights, minlength=count).astype(np.float64)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(node, minlength=count))]).astype(np.int64)
    return Side(first, other[order].astype(np.int64), (weights / sums[node])[order], sums)


def _layers(above: Side, below: Side) -> Indices:
    """[nodes] longest path to each node; one that gives more than it takes stands right above those that it feeds.

    So a variable is right above the op that reads it, even if it takes a constant from the top.
    """
    return _longest_paths(above.first, above.weight, below.first, below.other, below.weight)


@compiled
def _longest_paths(
    above_first: Indices, above_weight: Places, first: Indices, below: Indices, weight: Places
) -> Indices:
    count = len(first) - 1
    layer = np.zeros(count, np.int64)
    waits = np.empty(count, np.int64)
    order = np.empty(count, np.int64)
    ready = 0
    for node in range(count):
        waits[node] = above_first[node + 1] - above_first[node]
        if waits[node] == 0:
            order[ready] = node
            ready += 1
    for place in range(count):
        node = order[place]
        for edge in range(first[node], first[node + 1]):
            other = below[edge]
            layer[other] = max(layer[other], layer[node] + 1)
            waits[other] -= 1
            if waits[other] == 0:
                order[ready] = other
                ready += 1
    for place in range(count - 1, -1, -1):
        node = order[place]
        if weight[node] > above_weight[node]:
            highest = layer[below[first[node]]]
            for edge in range(first[node], first[node + 1]):
                highest = min(highest, layer[below[edge]])
            layer[node] = highest - 1
    return layer


@compiled
def _components(count: int, source: Indices, target: Indices) -> Indices:
    """[nodes] the connected component of each, named by its first node."""
    leader = np.arange(count)
    for edge in range(len(source)):
        one, other = source[edge], target[edge]
        while leader[one] != one:
            leader[one] = leader[leader[one]]
            one = leader[one]
        while leader[other] != other:
            leader[other] = leader[leader[other]]
            other = leader[other]
        leader[max(one, other)] = min(one, other)
    for node in range(count):
        leader[node] = leader[leader[node]]  # a leader is before all others, so its own is known already
    return leader


@inlined
def _barycentre(node: int, x: Places, first: Indices, other: Indices, share: Places) -> np.float64:
    """The mean x of the neighbours; without any the node's own."""
    if first[node] == first[node + 1]:
        return np.float64(x[node])
    mean = np.float64(0.0)
    for edge in range(first[node], first[node + 1]):
        mean += x[other[edge]] * share[edge]
    return mean


@inlined
def _spread(start: int, end: int, member: Indices, x: Places) -> None:
    """Even places around 0."""
    for place in range(start, end):
        x[member[place]] = place - start - (end - start - 1) / 2


@inlined
def _length(x: Places, first: Indices, other: Indices, share: Places) -> np.float64:
    """The sum of the nodes' distances from the barycentres of their neighbours."""
    total = np.float64(0.0)
    for node in range(len(x)):
        total += abs(x[node] - _barycentre(node, x, first, other, share))
    return total


@compiled
def _order(
    sweeps: int,
    layer_first: Indices,
    member: Indices,
    x: Places,
    above_first: Indices,
    above: Indices,
    above_share: Places,
    below_first: Indices,
    below: Indices,
    below_share: Places,
    both_first: Indices,
    both: Indices,
    both_share: Places,
) -> None:
    """Order `member` in each layer by the means of the layers above, then of those below; keep the best order seen."""
    layers = len(layer_first) - 1
    for layer in range(layers):
        _spread(layer_first[layer], layer_first[layer + 1], member, x)
    best, shortest = member.copy(), _length(x, both_first, both, both_share)
    for sweep in range(sweeps):
        downwards = sweep % 2 == 0
        for step in range(layers):
            layer = step if downwards else layers - 1 - step
            start, end = layer_first[layer], layer_first[layer + 1]
            if end - start < 2:
                continue
            wish = np.empty(end - start)
            for place in range(start, end):
                if downwards:
                    wish[place - start] = _barycentre(member[place], x, above_first, above, above_share)
                else:
                    wish[place - start] = _barycentre(member[place], x, below_first, below, below_share)
            member[start:end] = member[start:end][np.argsort(wish, kind="mergesort")]
            _spread(start, end, member, x)
        length = _length(x, both_first, both, both_share)
        if length < shortest:
            best[:] = member
            shortest = length
    member[:] = best


@compiled
def _pull(
    sweeps: int,
    row_first: Indices,
    member: Indices,
    x: Places,
    above_first: Indices,
    above: Indices,
    above_share: Places,
    below_first: Indices,
    below: Indices,
    below_share: Places,
    both_first: Indices,
    both: Indices,
    both_share: Places,
) -> None:
    """Move the nodes of each row towards their neighbours above, below, and at last both."""
    rows = len(row_first) - 1
    longest = 0
    for row in range(rows):
        _spread(row_first[row], row_first[row + 1], member, x)
        longest = max(longest, row_first[row + 1] - row_first[row])
    wish, total, size = np.empty(longest), np.empty(longest), np.empty(longest, np.int64)
    for sweep in range(sweeps):
        downwards = sweep % 2 == 0
        for step in range(rows):
            row = step if downwards else rows - 1 - step
            start, end = row_first[row], row_first[row + 1]
            for place in range(start, end):
                node = member[place]
                if sweep >= sweeps - 2:
                    wish[place - start] = _barycentre(node, x, both_first, both, both_share)
                elif downwards:
                    wish[place - start] = _barycentre(node, x, above_first, above, above_share)
                else:
                    wish[place - start] = _barycentre(node, x, below_first, below, below_share)
            _apart(wish[: end - start], total, size)
            for place in range(start, end):
                x[member[place]] = wish[place - start]


@inlined
def _apart(wish: Places, total: Places, size: Indices) -> None:
    """Change wishes to the nearest places (least squares) in their order, at least 1 apart.

    Pools adjacent violators: places too close together form a block around the mean of their wishes. `total` and `size`
    are room for as many blocks.
    """
    blocks = 0
    for place in range(len(wish)):
        total[blocks], size[blocks] = wish[place] - place, 1
        while blocks and total[blocks - 1] * size[blocks] >= total[blocks] * size[blocks - 1]:
            total[blocks - 1] += total[blocks]
            size[blocks - 1] += size[blocks]
            blocks -= 1
        blocks += 1
    place = 0
    for block in range(blocks):
        for _ in range(size[block]):
            wish[place] = total[block] / size[block] + place
            place += 1


def _rows(layer_first: Indices, spacing: Spacing, count: int) -> tuple[Indices, Indices, Places]:
    """Where each row begins, with the end of the last; the layer of each, and its y in a single strip."""
    most = max(spacing.narrowest_row, int(spacing.row_share * count**0.5))
    sizes = np.diff(layer_first)
    parts = -(-sizes // most)
    layer = np.repeat(np.arange(len(sizes)), parts)
    within = np.arange(len(layer)) - np.repeat(np.cumsum(parts) - parts, parts)
    heights = (parts - 1) * spacing.row + spacing.layer
    y = np.repeat(np.cumsum(heights) - heights, parts) + within * spacing.row
    return np.append(layer_first[layer] + within * most, layer_first[-1]), layer, y


def _fold(row_first: Indices, row_layer: Indices, row_y: Places, spacing: Spacing) -> Indices:
    """[rows] the strip of each: cut between layers into parts of about equal height, which give the whole its shape."""
    best = np.zeros(len(row_y), np.int64)
    widths = np.diff(row_first) * spacing.column
    least = _distortion(best, widths, row_y, spacing)
    most = max(1, (int(row_layer[-1]) + 1) // LEAST_LAYERS)
    strips = 2
    while strips <= most:
        cut = _cut(strips, row_layer, row_y, spacing.layer)
        distortion = _distortion(cut, widths, row_y, spacing)
        if distortion < least:
            best, least = cut, distortion
        strips = max(strips + 1, strips * 5 // 4)  # of many counts some, so that the time stays linear
    return best


@compiled
def _cut(strips: int, row_layer: Indices, row_y: Places, layer_height: float) -> Indices:
    height = (row_y[-1] + layer_height) / strips
    strip = np.zeros(len(row_y), np.int64)
    for row in range(1, len(row_y)):
        strip[row] = strip[row - 1]
        if row_layer[row] != row_layer[row - 1] and row_y[row] + layer_height / 2 > height * (strip[row] + 1):
            strip[row] += 1
    return strip


def _distortion(strip: Indices, widths: Places, row_y: Places, spacing: Spacing) -> float:
    """How far the whole is from the shape that is asked for, if its rows are as wide as their nodes need."""
    begins = np.flatnonzero(np.diff(strip, prepend=-1))
    ends = np.append(begins[1:], len(strip)) - 1
    width = float(np.maximum.reduceat(widths, begins).sum()) + spacing.gap * (len(begins) - 1)
    height = float((row_y[ends] - row_y[begins]).max()) + spacing.layer
    return abs(log2(width / height / spacing.aspect))


def _beside_each_other(x: Places, y: Places, strip: Indices, spacing: Spacing) -> Layered:
    """The strips from left to right, every other one upside down."""
    count = int(strip.max()) + 1
    least, most = np.full(count, np.inf), np.full(count, -np.inf)
    first, last = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(least, strip, x)
    np.maximum.at(most, strip, x)
    np.minimum.at(first, strip, y)
    np.maximum.at(last, strip, y)
    widths = most - least
    room = widths + spacing.node + spacing.gap
    lefts = np.cumsum(room) - room
    height = float((last - first).max())
    down = y - first[strip]
    return Layered(
        x - least[strip] + lefts[strip], np.where(strip % 2 == 1, height - down, down), lefts, lefts + widths
    )
