"""Every op, or every group, of a graph with a place in one flat drawing, as arrays for a browser.

Layers are longest paths from top to bottom, as in `engine/graphs/layout.py`, but in compiled code that takes a time
linear in ops and edges. The layers go down in the first strip, up in the next one to the right, and so on, so that the
whole has the shape of a screen.

Source: K. Sugiyama, S. Tagawa, M. Toda, Methods for visual understanding of hierarchical system structures, IEEE
Trans. SMC 11(2), 1981.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import LimitError
from engine.files.compiled import compiled, inlined
from engine.files.tensor_file import pack_tensors
from engine.graphs.edge_trips import moved_bytes, trips_of_edges
from engine.graphs.graph import CONTROL
from engine.prepared import PreparedGraph

MOST_DRAWN = 200_000
"""ops of a graph that is drawn as a whole"""
ROW, LAYER, STRIP_GAP = 1.0, 1.6, 3.0
"""distances from one row of a wide layer to the next, from layer to layer, and between two strips of layers"""
NARROWEST_ROW = 12
"""a layer with more nodes than this, and than 1.5 times the square root of all, is broken into several rows"""
ORDER_SWEEPS, PLACE_SWEEPS = 4, 4
ASPECT = 1.0
"""width by height of the whole"""

Indices = NDArray[np.int64]
Places = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FlatLayout:
    """The centres of all nodes; 1 is the distance between neighbours. No two nodes share a place."""

    x: Places
    """[nodes] from the left, at least 0"""
    y: Places
    """[nodes] from the top, at least 0"""


@dataclass(frozen=True, slots=True)
class _Side:
    """The edges on one side of the nodes. Those of node i are first[i] to first[i + 1]."""

    first: Indices
    other: Indices
    """[edges] the node at the other end"""
    share: Places
    """[edges] of the edge in the weights of its node's edges on this side; they add up to 1"""
    weight: Places
    """[nodes] sum of the weights"""


def require_drawable(ops: int) -> None:
    """Raise LimitError for a graph with too many ops to be drawn one by one."""
    if ops > MOST_DRAWN:
        raise LimitError(
            f"this graph has {ops:,} ops, too many to draw one by one", allowed=f"at most {MOST_DRAWN:,} ops"
        )


def flat_view_to_bytes(prepared: PreparedGraph, of: str) -> bytes:
    """The drawing of `ops` or `groups`, as docs/formats.md describes it. Raises LimitError, as `require_drawable`."""
    require_drawable(prepared.graph.op_count)
    source, target, sizes = _edges_of_groups(prepared) if of == "groups" else edges_of_ops(prepared)
    groups = prepared.grouping.group_of_op.astype(np.int32)
    times = np.nan_to_num(prepared.costs.op_time_in_step_us()).max(axis=0, initial=0.0)
    if of == "groups":
        count = prepared.grouping.group_count
        times = np.bincount(groups, weights=times, minlength=count)
        groups = np.arange(count, dtype=np.int32)
    places = flat_layout(len(groups), source, target, sizes)
    arrays: dict[str, NDArray[np.generic]] = {
        "node.x": places.x.astype(np.float32),
        "node.y": places.y.astype(np.float32),
        "node.group": groups,
        "node.time_us": times.astype(np.float32),
        "edge.source": source.astype(np.int32),
        "edge.target": target.astype(np.int32),
        "edge.bytes": sizes.astype(np.float64),
    }
    return pack_tensors(arrays, {"version": 1, "of": of})


def _edges_of_groups(prepared: PreparedGraph) -> tuple[Indices, Indices, NDArray[np.int64]]:
    grouping = prepared.grouping
    return grouping.edge_source.astype(np.int64), grouping.edge_target.astype(np.int64), grouping.edge_bytes


def edges_of_ops(prepared: PreparedGraph) -> tuple[Indices, Indices, NDArray[np.int64]]:
    """Source, target and bytes of each pair of ops with an edge; a pair's outputs add up, control edges have none."""
    graph, costs = prepared.graph, prepared.costs
    if not graph.edge_count:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    is_data = graph.edge_output != CONTROL
    output = costs.output_offset[graph.edge_source] + np.where(is_data, graph.edge_output, 0)
    sizes = np.zeros(graph.edge_count, dtype=np.int64)
    sizes[is_data] = costs.output_bytes[output[is_data]]
    moved = moved_bytes(sizes, trips_of_edges(graph, costs.trips_of_op()))
    keys = graph.edge_source.astype(np.int64) * graph.op_count + graph.edge_target
    pairs, index = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(sums, index.reshape(-1), moved)
    return pairs // graph.op_count, pairs % graph.op_count, sums


def flat_layout(count: int, source: Indices, target: Indices, sizes: NDArray[np.int64]) -> FlatLayout:
    """The places of `count` nodes with edges that form no cycle, each pair once, of so many bytes."""
    weights = 1.0 + np.log2(1.0 + sizes)
    above, below = _side(count, target, source, weights), _side(count, source, target, weights)
    layer = _layers(above.first, above.weight, below.first, below.other, below.weight)
    used, layer = np.unique(layer, return_inverse=True)
    layer = layer.reshape(-1).astype(np.int64)
    member = np.argsort(layer, kind="stable")
    layer_first = np.searchsorted(layer[member], np.arange(len(used) + 1))
    x = np.zeros(count)
    _order(ORDER_SWEEPS, layer_first, member, x, *_arrays(above), *_arrays(below))
    row_first, row_y = _rows(layer_first, max(NARROWEST_ROW, int(1.5 * count**0.5)))
    _pull(PLACE_SWEEPS, row_first, member, x, *_arrays(above), *_arrays(below))
    y = np.empty(count)
    y[member] = np.repeat(row_y, np.diff(row_first))
    return _in_strips(x, y)


def _side(count: int, node: Indices, other: Indices, weights: Places) -> _Side:
    order = np.argsort(node, kind="stable")
    degree = np.bincount(node, minlength=count)
    sums = np.bincount(node, weights=weights, minlength=count).astype(np.float64)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(degree)]).astype(np.int64)
    return _Side(first, other[order].astype(np.int64), (weights / sums[node])[order], sums)


def _arrays(side: _Side) -> tuple[Indices, Indices, Places]:
    return side.first, side.other, side.share


@compiled
def _layers(above_first: Indices, above_weight: Places, first: Indices, below: Indices, weight: Places) -> Indices:
    """[nodes] longest path to each node; one that gives more than it takes stands right above those that it feeds."""
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


@inlined
def _barycentre(node: int, x: Places, first: Indices, other: Indices, share: Places) -> np.float64:
    """The mean x of the neighbours; without any the node's own."""
    if first[node] == first[node + 1]:
        return np.float64(x[node])
    mean = np.float64(0.0)
    for edge in range(first[node], first[node + 1]):
        mean += x[other[edge]] * share[edge]
    return mean


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
) -> None:
    """Order `member` in each layer by the means of the layer above, then below; `x` gets even places around 0."""
    layers = len(layer_first) - 1
    for layer in range(layers):
        _spread(layer_first[layer], layer_first[layer + 1], member, x)
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


@inlined
def _spread(start: int, end: int, member: Indices, x: Places) -> None:
    for place in range(start, end):
        x[member[place]] = place - start - (end - start - 1) / 2


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
) -> None:
    """Move the nodes of each row towards their neighbours, in their order and at least 1 apart (least squares)."""
    rows = len(row_first) - 1
    longest = 0
    for row in range(rows):
        _spread(row_first[row], row_first[row + 1], member, x)
        longest = max(longest, row_first[row + 1] - row_first[row])
    total, size = np.empty(longest), np.empty(longest, np.int64)
    for sweep in range(sweeps):
        downwards = sweep % 2 == 0
        for step in range(rows):
            row = step if downwards else rows - 1 - step
            start = row_first[row]
            blocks = 0
            for place in range(start, row_first[row + 1]):
                if downwards:
                    wish = _barycentre(member[place], x, above_first, above, above_share)
                else:
                    wish = _barycentre(member[place], x, below_first, below, below_share)
                total[blocks], size[blocks] = wish - (place - start), 1
                while blocks and total[blocks - 1] * size[blocks] >= total[blocks] * size[blocks - 1]:
                    total[blocks - 1] += total[blocks]
                    size[blocks - 1] += size[blocks]
                    blocks -= 1
                blocks += 1
            place = start
            for block in range(blocks):
                for _ in range(size[block]):
                    x[member[place]] = total[block] / size[block] + (place - start)
                    place += 1


def _rows(layer_first: Indices, most: int) -> tuple[Indices, Places]:
    """Where each row begins, and its y: a layer has as many rows as `most` nodes a row need."""
    sizes = np.diff(layer_first)
    parts = -(-sizes // most)
    layer = np.repeat(np.arange(len(sizes)), parts)
    within = np.arange(len(layer)) - np.repeat(np.cumsum(parts) - parts, parts)
    y = np.repeat(np.cumsum((parts - 1) * ROW + LAYER) - ((parts - 1) * ROW + LAYER), parts) + within * ROW
    return np.append(layer_first[layer] + within * most, layer_first[-1]), y


def _in_strips(x: Places, y: Places) -> FlatLayout:
    """Break the layers into strips, side by side, so that the whole has about the shape `ASPECT`."""
    height, strips = float(y.max()) + LAYER, 1
    for _ in range(4):
        width = float(_widths(x, _strips(y, height, strips)).mean()) + STRIP_GAP
        strips = max(1, round((ASPECT * height / width) ** 0.5))
    strip = _strips(y, height, strips)
    widths = _widths(x, strip)
    left = np.full(len(widths), np.inf)
    np.minimum.at(left, strip, x)
    begins = np.cumsum(widths + STRIP_GAP) - (widths + STRIP_GAP)
    length = height / strips
    down = y - strip * length
    placed = np.where(strip % 2 == 0, down, length - LAYER / 2 - down)
    return FlatLayout(x - left[strip] + begins[strip], placed - placed.min())


def _strips(y: Places, height: float, strips: int) -> Indices:
    """[nodes] the strip of each."""
    return np.minimum((y * strips / height).astype(np.int64), strips - 1)


def _widths(x: Places, strip: Indices) -> Places:
    """[strips] from the leftmost to the rightmost node of each; 0 for one without nodes."""
    left, right = np.full(strip.max() + 1, np.inf), np.full(strip.max() + 1, -np.inf)
    np.minimum.at(left, strip, x)
    np.maximum.at(right, strip, x)
    return np.where(np.isfinite(left), right - left, 0.0)
