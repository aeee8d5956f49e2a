"""When in a step the ops of a group could run, and what groups send against their order, such as gradients."""

import numpy as np
from numpy.typing import NDArray

from engine.graphs.edge_trips import most_of_each, moved_bytes, trips_of_edges
from engine.graphs.graph import CONTROL
from engine.problem import PlacementProblem
from engine.simulator.compiled import compiled
from engine.simulator.executed import executed_part
from engine.simulator.topology import consumers_by_producer, topological_order

PHASES = 16
"""into which a step is cut, all with the same work"""


def back_edges(problem: PlacementProblem) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """(source, target, bytes): what groups send in a step to groups before them, each output once a pair of groups, in
    a loop once a trip.
    """
    graph, costs, group_of_op = problem.graph, problem.costs, problem.grouping.group_of_op
    source, target = group_of_op[graph.edge_source].astype(np.int64), group_of_op[graph.edge_target].astype(np.int64)
    against = (source > target) & (graph.edge_output != CONTROL)
    output = costs.output_offset[graph.edge_source[against]] + graph.edge_output[against]
    flows = np.stack([source[against], target[against], output], axis=1)
    sent, flow_of_edge = np.unique(flows, axis=0, return_inverse=True)
    trips = most_of_each(trips_of_edges(graph, costs.trips_of_op())[against], flow_of_edge, len(sent))
    pairs, pair_of = np.unique(sent[:, :2], axis=0, return_inverse=True)
    moved = moved_bytes(costs.output_bytes[sent[:, 2]], trips)
    sizes = np.bincount(pair_of.reshape(-1), weights=moved, minlength=len(pairs))
    return pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.int32), sizes.astype(np.float64)


def phases_of_groups(problem: PlacementProblem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([groups, PHASES] the profile, [groups] the slack): see `GroupGraph`.

    When ops could run were every op on its fastest device and nothing sent; a phase is an equal share of the work in
    the order of these times. Ops that could run at once are in one phase, however the graph numbers them.
    """
    graph, _ = executed_part(problem.graph, problem.costs)
    group_of_op, groups = problem.grouping.group_of_op, problem.group_count
    time_us = np.nan_to_num(np.nanmin(problem.op_time_us, axis=0))
    time_us = time_us + np.where(time_us > 0, problem.cluster.op_rest_us * problem.costs.trips_of_op(), 0.0)
    order = topological_order(graph)
    edges, first = consumers_by_producer(graph)
    begin, after = _op_ways(order, first, graph.edge_target[edges], time_us)
    longest = float((begin + after).max()) or 1.0
    slack = np.full(groups, np.inf)
    np.minimum.at(slack, group_of_op, (longest - begin - after) / longest)
    begins, of_begin = np.unique(begin, return_inverse=True)
    work = np.bincount(of_begin, weights=time_us, minlength=len(begins))
    end = np.cumsum(work)
    phase = np.minimum((end - work / 2) / (float(end[-1]) or 1.0) * PHASES, PHASES - 1).astype(np.int64)
    profile = np.zeros((groups, PHASES))
    np.add.at(profile, (group_of_op, phase[of_begin]), time_us)
    return profile / profile.sum(axis=1, keepdims=True).clip(1e-9), slack


@compiled
def _op_ways(
    order: NDArray[np.int32], first: NDArray[np.int64], consumer: NDArray[np.int32], time_us: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """([ops] the longest way to the start of each op, [ops] from its start to the end)."""
    begin, after = np.zeros(len(order)), time_us.copy()
    for op in order:
        for place in range(first[op], first[op + 1]):
            begin[consumer[place]] = max(begin[consumer[place]], begin[op] + time_us[op])
    for op in order[::-1]:
        for place in range(first[op], first[op + 1]):
            after[op] = max(after[op], time_us[op] + after[consumer[place]])
    return begin, after
