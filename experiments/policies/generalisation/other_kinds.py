"""Kinds of graphs that no generator of a training makes: an op a group, forward alone, other shapes and costs."""

from collections.abc import Callable

import numpy as np

from engine.prepared import PreparedGraph
from engine.zoo.random_graphs import EdgeList, butterfly, graph_of_edges, tree

SIZES = (60, 120, 180, 250)
"""ops, taken in turn"""


def transformer(ops: int, rng: np.random.Generator) -> EdgeList:
    """Layers of attention, one op at a time: projections, scores, softmax and mixing a head, and a gated network."""
    heads, edges, last = int(rng.integers(2, 7)), EdgeList(), 0
    count = 1

    def add(*sources: int) -> int:
        nonlocal count
        edges.extend((source, count) for source in sources)
        count += 1
        return count - 1

    while count < ops:
        normal = add(last)
        mixed = []
        for _ in range(heads):
            query, key, value = add(normal), add(normal), add(normal)
            mixed.append(add(add(add(query, key)), value))
        attended = add(add(*mixed), last)
        normal = add(attended)
        gated = add(add(add(normal)), add(normal))
        last = add(add(gated), attended)
    return edges


def wide(ops: int, rng: np.random.Generator) -> EdgeList:
    """Stages of a third of all ops side by side, each from one op and into one op, as in an ensemble."""
    width = max(2, ops // 3 - int(rng.integers(0, 5)))
    edges, source, count = EdgeList(), 0, 1
    while count < ops:
        row = range(count, count + width)
        edges += [(source, op) for op in row] + [(op, count + width) for op in row]
        source, count = count + width, count + width + 1
    return edges


def narrow(ops: int, rng: np.random.Generator) -> EdgeList:
    """Two long lanes with rungs between them here and there."""
    edges, share = [(0, 1)], float(rng.uniform(0.05, 0.4))
    for op in range(2, ops):
        edges.append((op - 2, op))
        if rng.random() < share:
            edges.append((op - 1, op))
    return [*edges, (ops - 2, ops), (ops - 1, ops)]


OTHER_KINDS: dict[str, Callable[[int, np.random.Generator], EdgeList]] = {
    "tree": tree,
    "butterfly": butterfly,
    "transformer": transformer,
    "wide": wide,
    "narrow": narrow,
}


def graph_of_kind(kind: str, number: int, seed: int) -> PreparedGraph:
    """Graph `number` of one of `OTHER_KINDS`, with each op as a group."""
    rng = np.random.default_rng([seed, list(OTHER_KINDS).index(kind), number])
    return graph_of_edges(kind, OTHER_KINDS[kind](SIZES[number % len(SIZES)], rng), rng)
