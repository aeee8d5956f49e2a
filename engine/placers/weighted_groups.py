"""The groups as an undirected graph whose vertices and edges have integer loads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.graphs.edge_trips import most_of_each, moved_bytes, trips_of_edges
from engine.problem import PlacementProblem
from engine.search.tasks import tasks_of_groups
from engine.simulator.tables import first_of_each

LOAD_UNITS = 10**9
"""load of all vertices together, and of all edges; as integers far below the library's limit"""


@dataclass(frozen=True, slots=True)
class WeightedGraph:
    """The groups and the loads between them; each edge is listed in both directions."""

    vertex_load: NDArray[np.int64]
    """[groups]"""
    first_neighbour: NDArray[np.int64]
    """[groups + 1]"""
    neighbour: NDArray[np.int64]
    """[2 · edges] sorted within a group"""
    edge_load: NDArray[np.int64]
    """[2 · edges] at least 1"""

    def load_by_device(self, group: int, device_of_group: NDArray[np.int64], devices: int) -> NDArray[np.float64]:
        """[devices] the load of the edges between `group` and the groups on each device; -1 is a group without one."""
        near = slice(self.first_neighbour[group], self.first_neighbour[group + 1])
        placed = device_of_group[self.neighbour[near]] + 1
        loads = self.edge_load[near].astype(np.float64)
        return np.asarray(np.bincount(placed, weights=loads, minlength=devices + 1)[1:], dtype=np.float64)


def weighted_graph(problem: PlacementProblem) -> WeightedGraph:
    """The groups of `problem`, feedback edges included. An edge without data has the least load."""
    grouping, groups = problem.grouping, problem.group_count
    source = np.concatenate([grouping.edge_source, grouping.feedback_edges[:, 0]]).astype(np.int64)
    target = np.concatenate([grouping.edge_target, grouping.feedback_edges[:, 1]]).astype(np.int64)
    sizes = np.concatenate([grouping.edge_bytes.astype(np.float64), _feedback_bytes(problem)])
    pair, edge = np.unique(np.minimum(source, target) * groups + np.maximum(source, target), return_inverse=True)
    flowing = np.zeros(len(pair))
    np.add.at(flowing, edge, sizes)
    load = np.maximum(1, np.rint(flowing * (LOAD_UNITS / max(flowing.sum(), 1.0)))).astype(np.int64)
    one, other = np.concatenate([pair // groups, pair % groups]), np.concatenate([pair % groups, pair // groups])
    order = np.lexsort((other, one))
    return WeightedGraph(
        vertex_load=_vertex_loads(problem),
        first_neighbour=first_of_each(one, groups),
        neighbour=other[order],
        edge_load=np.concatenate([load, load])[order],
    )


def _feedback_bytes(problem: PlacementProblem) -> NDArray[np.float64]:
    """[feedback edges] bytes that each moves in a step; an output counts once an edge, in a loop once a trip."""
    graph, costs, grouping = problem.graph, problem.costs, problem.grouping
    groups = problem.group_count
    data = graph.edge_output >= 0
    taken = costs.output_offset[graph.edge_source[data]] + graph.edge_output[data]
    source = grouping.group_of_op[graph.edge_source[data]].astype(np.int64)
    target = grouping.group_of_op[graph.edge_target[data]].astype(np.int64)
    against = source > target
    sent = np.stack([source[against] * groups + target[against], taken[against]])
    flows, flow_of_edge = np.unique(sent, axis=1, return_inverse=True)
    trips = trips_of_edges(graph, costs.trips_of_op())[data][against]
    sizes = moved_bytes(costs.output_bytes[flows[1]], most_of_each(trips, flow_of_edge, flows.shape[1]))
    wanted = grouping.feedback_edges[:, 0].astype(np.int64) * groups + grouping.feedback_edges[:, 1]
    order = np.argsort(wanted)
    sums = np.zeros(len(wanted))
    np.add.at(sums, order[np.searchsorted(wanted[order], flows[0])], sizes.astype(np.float64))
    return sums


def _vertex_loads(problem: PlacementProblem) -> NDArray[np.int64]:
    """[groups] the time on the fastest possible device, as a share of `LOAD_UNITS`; 1 each if nothing takes time."""
    fastest_us = tasks_of_groups(problem).time_us.min(axis=1)
    if not fastest_us.any():
        return np.ones(len(fastest_us), np.int64)
    return np.asarray(np.rint(fastest_us * (LOAD_UNITS / fastest_us.sum())), dtype=np.int64)
