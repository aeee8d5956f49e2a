"""What the devices hold over a batch: the holdings of a step, for each micro-batch, by the rules of streams/loop.py."""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.simulator.executed import executed_part
from engine.simulator.holdings import GivenStep, curves_of, joined_holdings, passing_holdings, persistent_holdings
from engine.simulator.streams.batch import BatchSends, SimulatedBatch
from engine.simulator.streams.stages import NO_STAGE
from engine.simulator.timeline import NOT_SENT, Holdings, MemoryCurve, Transfers

ALL_MICRO_BATCHES = -1
"""stands for the micro-batch of what is held once for all"""


@dataclass(frozen=True, slots=True)
class BatchMemory:
    """The memory of the devices over a batch."""

    holdings: Holdings
    micro: NDArray[np.int32]
    """[holdings] the micro-batch of each, or `ALL_MICRO_BATCHES` for persistent bytes"""
    curves: tuple[MemoryCurve, ...]
    """[devices] what the holdings add up to"""


def batch_memory(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, batch: SimulatedBatch, sends: BatchSends
) -> BatchMemory:
    """What a batch holds; `graph` and `costs` are the executed part.

    What the optimizer takes is summed up in place: the first micro-batch's outputs for it are held until the last
    one's take their place, those between are added when their op has ended.
    """
    micro_batches = len(batch.start_us)
    part = _Part(graph, costs, np.arange(graph.edge_count))
    parts = [persistent_holdings(_micro_batch(part, cluster, batch, sends, 0))]
    micro = [np.full(len(parts[0].op), ALL_MICRO_BATCHES, np.int32)]
    if cluster.memory_model == MemoryModel.FULL:
        early, summed_until_us = _without_optimizer(part, batch), _summed_until_us(part, batch)
        for each in range(micro_batches):
            own = _micro_batch(part if each == micro_batches - 1 else early, cluster, batch, sends, each)
            parts.append(passing_holdings(own, summed_until_us if each == 0 < micro_batches - 1 else None))
            micro.append(np.full(len(parts[-1].op), each, np.int32))
    holdings = joined_holdings(parts)
    return BatchMemory(holdings, np.concatenate(micro), curves_of(holdings, cluster.device_count))


@dataclass(frozen=True, slots=True)
class _Part:
    """The part of a graph that a micro-batch executes."""

    graph: ComputationGraph
    costs: Costs
    edges: NDArray[np.int64]
    """[edges of the part] each edge's index among those of the batch"""


def _is_late(part: _Part, batch: SimulatedBatch) -> NDArray[np.bool_]:
    """[ops] whether the op belongs to the optimizer."""
    return np.asarray((batch.stage_of_op == NO_STAGE) & (part.costs.trips_of_op() > 0))


def _without_optimizer(part: _Part, batch: SimulatedBatch) -> _Part:
    """What all micro-batches but the last execute."""
    trips = np.where(_is_late(part, batch), 0, part.costs.trips_of_op())
    edges = np.flatnonzero(trips_of_edges(part.graph, trips) > 0)
    return _Part(*executed_part(part.graph, dataclasses.replace(part.costs, trips=trips)), edges)


def _summed_until_us(part: _Part, batch: SimulatedBatch) -> NDArray[np.float64]:
    """[all outputs] until when the first micro-batch holds what the optimizer takes; 0 for other outputs."""
    graph, is_late, offset = part.graph, _is_late(part, batch), part.costs.output_offset
    until_us = np.zeros(len(part.costs.output_bytes))
    summed = is_late[graph.edge_target] & ~is_late[graph.edge_source] & (graph.edge_output != CONTROL)
    source = graph.edge_source[summed]
    until_us[offset[source] + graph.edge_output[summed]] = batch.end_us[-1, source]
    return until_us


def _micro_batch(part: _Part, cluster: Cluster, batch: SimulatedBatch, sends: BatchSends, micro: int) -> GivenStep:
    """One micro-batch as a step; a transfer is a copy of an output on another device."""
    graph, costs, device = part.graph, part.costs, batch.device_of_op
    source, target = device[graph.edge_source], device[graph.edge_target]
    remote = np.flatnonzero(source != target)
    ends = np.stack((graph.edge_source[remote], graph.edge_output[remote], target[remote]))
    (op, output, to), first, copy = np.unique(ends, axis=1, return_index=True, return_inverse=True)
    transfer_of_edge = np.full(graph.edge_count, NOT_SENT, np.int64)
    transfer_of_edge[remote] = copy.ravel()
    of_batch = part.edges[remote[first]]
    sent_us = sends.sent_us[micro, of_batch]
    place = np.minimum(costs.output_offset[op] + np.maximum(output, 0), len(costs.output_bytes) - 1)
    transfers = Transfers(
        op=op.astype(np.int32),
        output=output.astype(np.int32),
        source=device[op],
        channel=np.arange(len(op)),
        destination_offset=np.arange(len(op) + 1),
        destinations=to.astype(np.int32),
        start_us=sent_us,
        end_us=sends.arrived_us[micro, of_batch],
        bytes=np.where(output == CONTROL, 0, costs.output_bytes[place]),
        trips=np.ones(len(op), np.int64),
    )
    start_us, end_us = batch.start_us[micro], batch.end_us[micro]
    return GivenStep(
        graph, costs, cluster, device, start_us, end_us - start_us, end_us, transfers, transfer_of_edge, sent_us
    )
