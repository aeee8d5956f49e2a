"""What must hold of a graph, its costs and a cluster before they can be simulated."""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.errors import CostError, GraphError, shortened
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL, ComputationGraph

MOST = 2.0**62
"""µs of a step, bytes of a device: beyond it 64-bit numbers overflow"""


def check_edges(graph: ComputationGraph, costs: Costs) -> None:
    """The costs are this graph's, and edges lead from an output of an op to an op. Raises GraphError or CostError."""
    ops = graph.op_count
    if len(costs.persistent_bytes) != ops:
        raise CostError(f"costs of {len(costs.persistent_bytes)} ops", where=graph.name, allowed=f"{ops} ops")
    if graph.edge_count == 0:
        return
    ends = np.stack((graph.edge_source, graph.edge_target))
    if ends.min() < 0 or ends.max() >= ops:
        raise GraphError("an edge leads to no op", where=graph.name, allowed=f"ops 0 to {ops - 1}")
    outputs = np.diff(costs.output_offset)[graph.edge_source]
    wrong = np.flatnonzero((graph.edge_output < CONTROL) | (graph.edge_output >= outputs))
    if len(wrong):
        edge = wrong[0]
        raise CostError(
            f"output {graph.edge_output[edge]} has no bytes",
            where=f"op {shortened(graph.op_names[graph.edge_source[edge]])}",
            allowed=f"{outputs[edge]} outputs",
        )


def check_sizes(graph: ComputationGraph, costs: Costs, cluster: Cluster) -> None:
    """No step can be so long and no memory so full that numbers overflow. Raises CostError for the largest op."""
    held = _bytes_of_op(costs)
    if held.sum() >= MOST:
        raise _too_much(graph, held, f"less than {MOST:.0e} bytes of all ops")
    trips = costs.trips_of_op()
    with np.errstate(over="ignore"):  # what is more than a float can be is too much
        times = np.nan_to_num(costs.time_on([device.kind for device in cluster.devices])).max(axis=0)
    sent_us = held / cluster.bandwidth_bytes_per_us.min(initial=np.inf, where=_between(cluster))
    each_us = cluster.latency_us.max(initial=0, where=_between(cluster)) + cluster.link_rest_us
    longest_us = times + trips * (cluster.op_rest_us + cluster.device_count * sent_us)
    transfers = trips_of_edges(graph, trips).sum(dtype=np.float64)
    if longest_us.sum() + transfers * each_us >= MOST:
        raise _too_much(graph, longest_us, f"a step, transfers included, of less than {MOST:.0e} µs")


def _between(cluster: Cluster) -> NDArray[np.bool_]:
    """[devices, devices] the links between different devices."""
    return ~np.eye(cluster.device_count, dtype=bool)


def _bytes_of_op(costs: Costs) -> NDArray[np.float64]:
    """[ops] without overflow."""
    owner = np.repeat(np.arange(len(costs.persistent_bytes)), np.diff(costs.output_offset))
    outputs = np.bincount(owner, costs.output_bytes.astype(np.float64), len(costs.persistent_bytes))
    return np.asarray(outputs + costs.temporary_bytes + costs.persistent_bytes, dtype=np.float64)


def _too_much(graph: ComputationGraph, sizes: NDArray[np.float64], allowed: str) -> CostError:
    op = int(sizes.argmax())
    return CostError(f"{sizes[op]:.3g} is too much", where=f"op {shortened(graph.op_names[op])}", allowed=allowed)
