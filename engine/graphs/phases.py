"""The part of a training step to which each op belongs: what the graph says, else what TensorFlow's names say."""

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER, ComputationGraph
from engine.graphs.grouping.gradients import are_gradients

FORWARD_OP, GRADIENT, UPDATE = range(3)
"""the phases that names tell"""


def phases_of_graph(graph: ComputationGraph, order: NDArray[np.integer]) -> NDArray[np.uint8]:
    """[ops] the phase of each op, an index of `PHASES` from forward on; `order` [ops] is topological.

    By names, what comes after a gradient and is none itself belongs to the optimizer, unless a gradient needs it.
    """
    if len(graph.phase):
        return np.maximum(graph.phase, FORWARD).astype(np.uint8)
    phase = phases_by_name(graph, order.astype(np.int64)) + FORWARD
    used = _leads_to(phase == BACKWARD, order.astype(np.int64), graph)
    return np.where((phase == OPTIMIZER) & used, BACKWARD, phase).astype(np.uint8)


def phases_by_name(graph: ComputationGraph, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """[ops] `FORWARD_OP`, `GRADIENT` by its name, or `UPDATE`: another op after a gradient; `order` is topological."""
    gradients = are_gradients(graph.op_names)
    by_source = np.argsort(graph.edge_source, kind="stable")
    counts = np.bincount(graph.edge_source, minlength=graph.op_count)
    first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    after = _after(gradients, order, first, graph.edge_target.astype(np.int64)[by_source])
    return np.where(gradients, GRADIENT, np.where(after, UPDATE, FORWARD_OP))


def _leads_to(ends: NDArray[np.bool_], order: NDArray[np.int64], graph: ComputationGraph) -> NDArray[np.bool_]:
    """[ops] whether an op or one after it is in `ends` [ops]."""
    by_target = np.argsort(graph.edge_target, kind="stable")
    counts = np.bincount(graph.edge_target, minlength=graph.op_count)
    first = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
    return _after(ends, np.ascontiguousarray(order[::-1]), first, graph.edge_source.astype(np.int64)[by_target])


@compiled
def _after(
    begins: NDArray[np.bool_], order: NDArray[np.int64], first: NDArray[np.int64], target: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """[ops] whether an op or one before it is in `begins`; `first` [ops + 1] is where each op's `target` begins."""
    after = begins.copy()
    for op in order:
        if after[op]:
            for place in range(first[op], first[op + 1]):
                after[target[place]] = True
    return after
