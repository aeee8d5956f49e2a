"""A topological order of the ops in linear time, compiled; a cycle is refused with the name of an op on it."""

import numpy as np
from numpy.typing import NDArray

from engine.errors import GraphError, shortened
from engine.files.compiled import compiled
from engine.graphs.graph import ComputationGraph


def consumers_by_producer(graph: ComputationGraph) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The edges [edges] by producer, then in the order of the file, and [ops + 1] where each producer's edges begin."""
    edges = np.argsort(graph.edge_source, kind="stable")
    counts = np.bincount(graph.edge_source, minlength=graph.op_count)
    return edges, np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))


def topological_order(graph: ComputationGraph) -> NDArray[np.int32]:
    """[ops] the ops, producers before consumers. Raises GraphError where there is a cycle."""
    edges, first = consumers_by_producer(graph)
    in_degree = np.bincount(graph.edge_target, minlength=graph.op_count)
    order = _order(first, graph.edge_target[edges], in_degree)
    if len(order) < graph.op_count:
        where = f"op {shortened(graph.op_names[_op_on_a_cycle(graph, order)])}"
        raise GraphError("the op waits for itself", where=where, allowed="no cycle")
    return order


def _op_on_a_cycle(graph: ComputationGraph, order: NDArray[np.int32]) -> int:
    """An op on a cycle: walk back from an op that is missing in `order`, along missing ones, until one comes again."""
    missing = np.ones(graph.op_count, dtype=bool)
    missing[order] = False
    edges = zip(graph.edge_target.tolist(), graph.edge_source.tolist(), strict=True)
    inputs = {target: source for target, source in edges if missing[source]}
    op = int(np.flatnonzero(missing)[0])
    passed: set[int] = set()
    while op not in passed:
        passed.add(op)
        op = inputs[op]
    return op


@compiled
def _order(first: NDArray[np.int64], consumers: NDArray[np.int32], in_degree: NDArray[np.int64]) -> NDArray[np.int32]:
    """The ops, producers before consumers; ops on or behind a cycle are missing."""
    pending = in_degree.copy()
    order = np.empty(len(pending), np.int32)
    known = 0
    for op in range(len(pending)):
        if pending[op] == 0:
            order[known] = op
            known += 1
    done = 0
    while done < known:
        op = order[done]
        done += 1
        for place in range(first[op], first[op + 1]):
            pending[consumers[place]] -= 1
            if pending[consumers[place]] == 0:
                order[known] = consumers[place]
                known += 1
    return order[:known]
