"""PipeDream's way to split a graph: parts that cannot be cut at one place stay together, then one linear order.

Of each biconnected component of the graph, passes and all, the nodes from which its edges start share a device. Nodes
without work, such as inputs, that feed many layers tie nothing. What is left is divided along a linear order, the
better of a depth-first and a breadth-first one.
Source: Narayanan et al., PipeDream, SOSP 2019, section 3.1; with biconnected components as Tarnawski et al., NeurIPS
2020, appendix on baselines.
"""

from dataclasses import replace

import networkx
import numpy as np
from numpy.typing import NDArray

from engine.graphs.colocation import DisjointSets
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.phases import phases_of_graph
from engine.placers.pipeline_dp.device_states import states_of_devices
from engine.placers.pipeline_dp.ideals import breadth_first_order, depth_first_order, prefixes
from engine.placers.pipeline_dp.problem_units import split_problem
from engine.placers.pipeline_dp.splitting import least_periods
from engine.problem import PlacementProblem
from engine.simulator.topology import topological_order

LIGHT = 0.1
"""share of the middle output's bytes below which the output of a node without work ties nothing"""


def pipedream_us(problem: PlacementProblem) -> float:
    """The least period of the splits that PipeDream considers; infinite where none fits."""
    split = split_problem(tied(problem))
    units = split.units
    best_us = np.inf
    for order in (depth_first_order, breadth_first_order):
        ideals = prefixes([order(units.before, units.unit_count)], units.unit_count)
        periods = least_periods(units, ideals, states_of_devices(units.devices), lambda: False)
        assert periods is not None
        best_us = min(best_us, periods.best_us)
    return float(best_us)


def tied(problem: PlacementProblem) -> PlacementProblem:
    """The problem with groups that consist of those of `problem` that PipeDream keeps together."""
    graph, group_of_op = problem.graph, problem.grouping.group_of_op
    node_of_op = group_of_op.astype(np.int64) * 4 + phases_of_graph(graph, topological_order(graph))
    ends = np.stack([node_of_op[graph.edge_source], node_of_op[graph.edge_target]], axis=1)
    ends = ends[~_is_light(problem)[graph.edge_source] & (ends[:, 0] != ends[:, 1])]
    sets = DisjointSets(problem.group_count)
    starts: dict[tuple[int, int], list[int]] = {}
    for start, end in ends.tolist():
        starts.setdefault((min(start, end), max(start, end)), []).append(start)
    joined = networkx.Graph(list(starts))
    for edges in networkx.biconnected_component_edges(joined):
        tails = [tail for one, other in edges for tail in starts[min(one, other), max(one, other)]]
        for tail in tails:
            sets.unite(tails[0] // 4, tail // 4)
    return _coarser(problem, sets)


def _is_light(problem: PlacementProblem) -> NDArray[np.bool_]:
    """[ops] whether an op has neither work nor an output worth speaking of, and several consumers."""
    consumers = np.bincount(problem.graph.edge_source, minlength=problem.graph.op_count)
    sent = problem.costs.bytes_of_op()
    middle = np.median(sent[consumers > 0]) if consumers.any() else 0.0
    idle = (np.nan_to_num(problem.op_time_us) == 0.0).all(axis=0)
    return np.asarray(idle & (sent < LIGHT * middle) & (consumers > 1))


def _coarser(problem: PlacementProblem, sets: DisjointSets) -> PlacementProblem:
    set_of_group = sets.numbered()
    count = int(set_of_group.max()) + 1
    allowed = np.ones((count, problem.device_count), dtype=bool)
    np.logical_and.at(allowed, set_of_group, problem.allowed)
    none = np.zeros(0, np.int32)
    grouping = Grouping(
        names=tuple(f"part_{number}" for number in range(count)),
        group_of_op=set_of_group[problem.grouping.group_of_op],
        edge_source=none,
        edge_target=none,
        edge_bytes=np.zeros(0, np.int64),
        feedback_edges=np.zeros((0, 2), np.int32),
    )
    return replace(problem, grouping=grouping, allowed=allowed)
