"""Shapes of drawn networks: the edges between their layers, which are numbered in a topological order."""

from collections.abc import Callable

import numpy as np

MOST_SIDE_BY_SIDE = 64
"""layers of a row, or towers"""
LayerEdges = list[tuple[int, int]]
DrawLayers = Callable[[int, np.random.Generator], LayerEdges]
"""(about how many layers, random numbers) → edges from a lower to a higher layer"""


class _Layout:
    """Layers that are added one after the other."""

    def __init__(self) -> None:
        self.count = 0
        self.edges: LayerEdges = []

    def add(self, *sources: int) -> int:
        """A new layer that consumes `sources`."""
        self.edges += [(source, self.count) for source in dict.fromkeys(sources)]
        self.count += 1
        return self.count - 1

    def chain(self, source: int, length: int) -> int:
        """The last of `length` new layers, each of which consumes the one before it, the first `source`."""
        for _ in range(length):
            source = self.add(source)
        return source


def chain_with_skips(layers: int, rng: np.random.Generator) -> LayerEdges:
    """A chain in blocks; around a block its input may be added to its output."""
    drawn, share = _Layout(), rng.random()
    last = drawn.add()
    while drawn.count < layers:
        end = drawn.chain(last, int(rng.integers(1, 5)))
        last = drawn.add(end, last) if rng.random() < share else end
    return drawn.edges


def branching_cells(layers: int, rng: np.random.Generator) -> LayerEdges:
    """Cells one after the other, each of a few branches of unequal length that are put together at its end."""
    drawn, most = _Layout(), int(rng.integers(2, 7))
    last = drawn.add()
    while drawn.count < layers:
        lengths = rng.integers(1, 5, int(rng.integers(2, most + 1)))
        last = drawn.add(*(drawn.chain(last, int(length)) for length in lengths))
    return drawn.edges


def dense_cells(layers: int, rng: np.random.Generator) -> LayerEdges:
    """Cells of nodes that each consume two earlier nodes of their cell or the ends of the last two cells."""
    drawn, size = _Layout(), int(rng.integers(3, 8))
    before = last = drawn.add()
    while drawn.count < layers:
        inside = [before, last]
        for _ in range(size):
            inside.append(drawn.add(*(inside[int(each)] for each in rng.integers(0, len(inside), 2))))
        before, last = last, drawn.add(*inside[2:])
    return drawn.edges


def series_parallel(layers: int, rng: np.random.Generator) -> LayerEdges:
    """An edge that is replaced again and again, by two in a row or by two side by side."""
    edges, count, share = [(0, 1)], 2, rng.uniform(0.3, 0.7)
    while count < layers:
        source, target = edges[int(rng.integers(len(edges)))]
        if rng.random() < share:
            edges.remove((source, target))
        edges += [(source, count), (count, target)]
        count += 1
    return _in_order(edges, count)


def u_net(layers: int, rng: np.random.Generator) -> LayerEdges:
    """Down and up again, with an edge from each step down to the step up at the same depth; several in a row."""
    drawn, depth, length = _Layout(), int(rng.integers(2, 6)), int(rng.integers(1, 4))
    last = drawn.add()
    while drawn.count < layers:
        kept = []
        for _ in range(depth):
            last = drawn.chain(last, length)
            kept.append(last)
        for other in reversed(kept):
            last = drawn.chain(drawn.add(drawn.chain(last, length), other), 1)
    return drawn.edges


def experts(layers: int, rng: np.random.Generator) -> LayerEdges:
    """Blocks of a router and experts side by side, whose answers are added up, between common layers."""
    drawn, width, length = _Layout(), int(rng.integers(2, 17)), int(rng.integers(1, 4))
    last = drawn.add()
    while drawn.count < layers:
        common = drawn.chain(last, int(rng.integers(1, 4)))
        router = drawn.add(common)
        last = drawn.add(common, *(drawn.chain(drawn.add(common, router), length) for _ in range(width)))
    return drawn.edges


def random_layers(layers: int, rng: np.random.Generator) -> LayerEdges:
    """Rows of equal width; each layer consumes one to three of the row before and now and then one further back."""
    drawn, width, reach = _Layout(), _width(rng), rng.random() * 0.3
    first = drawn.add()
    rows = [[drawn.add(first) for _ in range(width)]]
    while drawn.count < layers:
        row = []
        for _ in range(width):
            sources = [rows[-1][int(each)] for each in rng.integers(0, width, int(rng.integers(1, 4)))]
            if rng.random() < reach:
                sources.append(rows[int(rng.integers(len(rows)))][int(rng.integers(width))])
            row.append(drawn.add(*sources))
        rows.append(row)
    return drawn.edges


def side_by_side(layers: int, rng: np.random.Generator) -> LayerEdges:
    """Towers beside each other that meet at the end, with an edge from one to another here and there."""
    drawn, towers, share = _Layout(), _width(rng), rng.random() * 0.3
    first = drawn.add()
    ends = [first] * towers
    while drawn.count < layers:
        for tower in range(towers):
            other = [ends[int(rng.integers(towers))]] if rng.random() < share else []
            ends[tower] = drawn.add(ends[tower], *other)
    drawn.add(*ends)
    return drawn.edges


def unrolled(layers: int, rng: np.random.Generator) -> LayerEdges:
    """A recurrent network unrolled in time: each cell consumes the cell below and the one before."""
    drawn, deep = _Layout(), int(rng.integers(1, 9))
    before: list[int] = []
    while drawn.count < layers:
        row, below = [], drawn.add()
        for depth in range(deep):
            below = drawn.add(below, *before[depth : depth + 1])
            row.append(below)
        drawn.add(below)
        before = row
    return drawn.edges


def attention(layers: int, rng: np.random.Generator) -> LayerEdges:
    """Blocks of heads side by side over a common input and of two layers after them, each with a way around."""
    drawn, heads = _Layout(), int(rng.integers(1, 9))
    last = drawn.add()
    while drawn.count < layers:
        answers = []
        for _ in range(heads):
            query, key, value = (drawn.add(last) for _ in range(3))
            answers.append(drawn.add(drawn.add(query, key), value))
        middle = drawn.add(drawn.add(*answers), last)
        last = drawn.add(drawn.chain(middle, 2), middle)
    return drawn.edges


SHAPES: dict[str, DrawLayers] = {
    "chain with skips": chain_with_skips,
    "branching cells": branching_cells,
    "dense cells": dense_cells,
    "series-parallel": series_parallel,
    "U-net": u_net,
    "experts": experts,
    "random layers": random_layers,
    "side by side": side_by_side,
    "unrolled": unrolled,
    "attention": attention,
}
LIKE_A_FAMILY: dict[str, tuple[str, ...]] = {
    "nmt": ("unrolled", "attention"),
    "ptb": ("unrolled",),
    "cifar10": ("dense cells", "branching cells"),
}
"""the shapes that are nearest to a family: left out of a training whose policy is tried on that family"""


def shapes_without(family: str) -> tuple[str, ...]:
    """The names of all shapes but those that are nearest to `family`; with an empty name all."""
    return tuple(shape for shape in SHAPES if shape not in LIKE_A_FAMILY.get(family, ()))


def log_uniform(least: float, most: float, rng: np.random.Generator) -> float:
    """A number between the two whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(least), np.log(most))))


def _width(rng: np.random.Generator) -> int:
    """From 2 to `MOST_SIDE_BY_SIDE`; the logarithm is uniform."""
    return int(log_uniform(2, MOST_SIDE_BY_SIDE + 1, rng))


def _in_order(edges: LayerEdges, count: int) -> LayerEdges:
    """The same graph, numbered in a topological order."""
    after: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for source, target in edges:
        after[source].append(target)
        missing[target] += 1
    ready, number = [node for node in range(count) if missing[node] == 0], dict[int, int]()
    while ready:
        node = ready.pop()
        number[node] = len(number)
        for target in after[node]:
            missing[target] -= 1
            if missing[target] == 0:
                ready.append(target)
    return [(number[source], number[target]) for source, target in edges]
