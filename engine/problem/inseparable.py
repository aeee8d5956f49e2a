"""Groups that contiguous stages cannot part: those of a cycle of one pass, whose data would come back to a device."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import BACKWARD, FORWARD, ComputationGraph
from engine.graphs.ordering import distinct, strong_components
from engine.graphs.phases import phases_of_graph
from engine.problem.problem import PlacementProblem
from engine.simulator.topology import topological_order

NO_UNIT = -1
"""stands for the unit of a group that shares no device with others"""


def inseparable_groups(problem: PlacementProblem) -> NDArray[np.int32]:
    """[groups] one number, from 0, for all groups that share a device in every contiguous placement."""
    graph = problem.simulator.executed
    phase = phases_of_graph(graph, topological_order(graph))
    passes = pairs_of_passes(graph, phase, problem.simulator.group_of_op)
    joined = joined_by_cycles(passes, np.arange(problem.group_count, dtype=np.int32))
    return np.unique(joined, return_inverse=True)[1].astype(np.int32)


def pairs_of_passes(
    graph: ComputationGraph, phase: NDArray[np.uint8], group_of_op: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """[pairs, 2] groups between which data of the forward, and of the backward pass flow; `phase` [ops]."""
    forward, backward = (_pairs(graph, group_of_op, phase == one) for one in (FORWARD, BACKWARD))
    return forward, backward


def _pairs(graph: ComputationGraph, group_of_op: NDArray[np.int32], is_inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[pairs, 2] groups joined by an edge between two of the ops `is_inside` [ops]."""
    inside = is_inside[graph.edge_source] & is_inside[graph.edge_target]
    ends = [group_of_op[graph.edge_source[inside]], group_of_op[graph.edge_target[inside]]]
    return distinct(np.stack(ends, axis=1)).astype(np.int64)


def joined_by_cycles(passes: Sequence[NDArray[np.int64]], shares: NDArray[np.int32]) -> NDArray[np.int32]:
    """[groups] `shares` with one number for all groups that are joined by cycles of a pass, or of what is joined.

    Groups of one number share a device already; those of `NO_UNIT` stay by themselves.
    """
    has_unit = shares != NO_UNIT
    count = 0
    joined = shares.copy()
    while (left := len(np.unique(joined[has_unit]))) != count:
        count = left
        for pairs in passes:
            joined[has_unit] = strong_components(joined[pairs], len(shares))[joined[has_unit]]
    return joined
