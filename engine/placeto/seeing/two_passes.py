"""The forward and the backward pass of a training step, group by group.

A group of a training step often holds forward ops and their gradients. Its consumers wait for the forward ops alone, so
a schedule of whole groups makes them wait too long. Here the work of a group is split in two.
"""

import numpy as np
from numpy.typing import NDArray

from engine.graphs.distinct_rows import distinct_rows
from engine.graphs.edge_trips import most_of_each, moved_bytes, trips_of_edges
from engine.graphs.graph import CONTROL
from engine.graphs.phases import FORWARD_OP, phases_by_name
from engine.problem import PlacementProblem
from engine.simulator.topology import topological_order


def are_backward(problem: PlacementProblem) -> NDArray[np.bool_]:
    """[ops] the gradients, and all ops after one, of groups that have forward ops with a time too.

    In a group without such forward ops they count as forward: the order of the groups fits them.
    """
    group_of_op, graph = problem.grouping.group_of_op, problem.graph
    later = phases_by_name(graph, topological_order(graph).astype(np.int64)) != FORWARD_OP
    time_us = np.nan_to_num(problem.op_time_us).max(axis=0)
    forward_us = np.bincount(group_of_op, weights=np.where(later, 0.0, time_us), minlength=problem.group_count)
    return np.asarray(later & (forward_us[group_of_op] > 0.0))


def feedback_edges(problem: PlacementProblem) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """(source, target, bytes) of the bytes that groups send in a step to earlier groups.

    Each output counts once for a pair of groups, in a loop once a trip.
    """
    source, target = _groups_of_edges(problem)
    pairs, sizes = _sent(problem, source > target)
    return pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32), sizes


def forward_bytes(problem: PlacementProblem, backward: NDArray[np.bool_]) -> NDArray[np.float64]:
    """[group edges] the bytes that forward ops send to forward ops; `backward` [ops] as of `are_backward`."""
    graph, grouping, groups = problem.graph, problem.grouping, np.int64(problem.group_count)
    source, target = _groups_of_edges(problem)
    onward = (source < target) & ~backward[graph.edge_source] & ~backward[graph.edge_target]
    pairs, sizes = _sent(problem, onward)
    wanted = grouping.edge_source.astype(np.int64) * groups + grouping.edge_target
    order = np.argsort(wanted)
    found = np.zeros(len(wanted))
    found[order[np.searchsorted(wanted[order], pairs[:, 0] * groups + pairs[:, 1])]] = sizes
    return found


def _groups_of_edges(problem: PlacementProblem) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    graph, group_of_op = problem.graph, problem.grouping.group_of_op
    return group_of_op[graph.edge_source].astype(np.int64), group_of_op[graph.edge_target].astype(np.int64)


def _sent(problem: PlacementProblem, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """([pairs, 2] of groups, [pairs] bytes that the `chosen` [edges] move from the first to the second in a step).

    Each output counts once for a pair.
    """
    graph, costs = problem.graph, problem.costs
    source, target = _groups_of_edges(problem)
    taken = chosen & (graph.edge_output != CONTROL)
    output = costs.output_offset[graph.edge_source[taken]] + graph.edge_output[taken]
    sent, flow_of_edge = distinct_rows((source[taken], target[taken], output))
    trips = most_of_each(trips_of_edges(graph, costs.trips_of_op())[taken], flow_of_edge, len(sent))
    pairs, pair_of = distinct_rows((sent[:, 0], sent[:, 1]))
    moved = moved_bytes(costs.output_bytes[sent[:, 2]], trips)
    return pairs, np.bincount(pair_of, weights=moved, minlength=len(pairs)).astype(np.float64)
