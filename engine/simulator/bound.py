"""What no placement can beat: a lower bound of the step time.

The larger of the critical path, each op on its fastest device and transfers free, and the work shared out over the
devices as if it could be cut at will.
"""

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph


def lower_bound_us(graph: ComputationGraph, costs: Costs, cluster: Cluster) -> float:
    """A step time in µs that no placement of `graph` on `cluster` can beat."""
    times = costs.time_on([device.kind for device in cluster.devices])
    fastest = np.nanmin(times, axis=0)
    return float(max(_critical_path_us(graph, fastest), fastest.sum() / cluster.device_count))


def _critical_path_us(graph: ComputationGraph, time_us: NDArray[np.float64]) -> float:
    edges = nx.DiGraph()
    edges.add_nodes_from(range(graph.op_count))
    edges.add_edges_from(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
    end_us = np.zeros(graph.op_count)
    for op in nx.topological_sort(edges):
        end_us[op] = time_us[op] + max((end_us[before] for before in edges.predecessors(op)), default=0.0)
    return float(end_us.max())
