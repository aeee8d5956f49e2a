"""Random graphs of four shapes for comparing methods: series-parallel, layered, tree, butterfly.

Op times are log-normal around 300 µs; how long transfers take beside them is drawn for each graph, from a tenth of the
work to twice as long.
"""

from collections.abc import Callable

import numpy as np

from engine.costs.costs import ANY_KIND, Costs, CostSource
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from engine.prepared import PreparedGraph

EdgeList = list[tuple[int, int]]

MEDIAN_US = 300.0
SPREAD = 0.8
"""deviation of the logarithm"""
BYTES_PER_US = 7600.0
"""of the published links: what a µs of transfer stands for"""
TRANSFER_RATIOS = (0.1, 0.3, 1.0, 2.0)
"""mean transfer over mean op"""


def series_parallel(ops: int, rng: np.random.Generator) -> EdgeList:
    """Grow a series-parallel graph from one edge: split edges in series, or in parallel with an op on each."""
    edges, count = [(0, 1)], 2
    while count < ops:
        source, target = edges[int(rng.integers(len(edges)))]
        if rng.random() < 0.5:
            edges.remove((source, target))
        edges += [(source, count), (count, target)]
        count += 1
    return edges


def layered(ops: int, rng: np.random.Generator) -> EdgeList:
    """A graph of layers of equal width; each op consumes one to three ops of the layer before."""
    width = int(rng.integers(3, 9))
    edges = []
    for op in range(width, ops):
        before = op // width * width - width
        inputs = rng.choice(width, int(rng.integers(1, 4)), replace=False)
        edges += [(before + int(lane), op) for lane in inputs]
    return edges


def tree(ops: int, rng: np.random.Generator) -> EdgeList:
    """A tree, such as a reduction: each op but the last has one consumer, not far behind it."""
    return [(op, min(ops - 1, op + 1 + int(rng.integers(0, max(1, (ops - op) // 2))))) for op in range(ops - 1)]


def butterfly(ops: int, rng: np.random.Generator) -> EdgeList:
    """A butterfly, as in a fast Fourier transform, with enough lanes for about `ops` ops."""
    del rng
    ranks = max(1, next(log for log in range(1, 20) if (log + 2) << (log + 1) > ops))
    lanes = 1 << ranks
    edges = []
    for rank in range(ranks):
        for lane in range(lanes):
            op = (rank + 1) * lanes + lane
            edges += [(rank * lanes + lane, op), (rank * lanes + (lane ^ (1 << rank)), op)]
    return edges


SHAPES: dict[str, Callable[[int, np.random.Generator], EdgeList]] = {
    "series-parallel": series_parallel,
    "layered": layered,
    "tree": tree,
    "butterfly": butterfly,
}


def random_graph(shape: str, ops: int, rng: np.random.Generator) -> PreparedGraph:
    """A random graph of about `ops` ops in one of `SHAPES`, with each op as a group."""
    return graph_of_edges(shape, SHAPES[shape](ops, rng), rng)


def graph_of_edges(name: str, edges: EdgeList, rng: np.random.Generator) -> PreparedGraph:
    """A graph with these edges, each from a lower to a higher op, with random costs and each op as a group."""
    pairs = np.array(sorted(set(edges), key=lambda pair: (pair[1], pair[0])), dtype=np.int32)
    count = int(pairs.max()) + 1
    graph = ComputationGraph(
        name=name,
        op_names=tuple(f"op_{index}" for index in range(count)),
        op_types=("",) * count,
        edge_source=pairs[:, 0].copy(),
        edge_target=pairs[:, 1].copy(),
        edge_output=np.zeros(len(pairs), np.int32),
        devices=("",) * count,
        colocation=((),) * count,
        back_edges=np.zeros((0, 2), np.int32),
    )
    costs = _costs(count, rng)
    return PreparedGraph(graph, costs, group_ops(graph, costs, None))


def _costs(ops: int, rng: np.random.Generator) -> Costs:
    time_us = MEDIAN_US * rng.lognormal(0.0, SPREAD, ops)
    transfer_us = float(rng.choice(TRANSFER_RATIOS)) * time_us.mean() * rng.lognormal(0.0, SPREAD, ops)
    return Costs(
        kinds=(ANY_KIND,),
        time_us=time_us[np.newaxis],
        output_offset=np.arange(ops + 1, dtype=np.int64),
        output_bytes=(BYTES_PER_US * transfer_us).astype(np.int64),
        persistent_bytes=np.zeros(ops, np.int64),
        temporary_bytes=np.zeros(ops, np.int64),
        source=np.full(ops, CostSource.GIVEN, np.uint8),
    )
