"""From a graph, its costs and a cluster to the tables of the event loop, in n log n."""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.simulator.records import (
    CONTENTION_CODES,
    ENTRY,
    FLOW,
    LINK,
    MODEL,
    OP,
    Records,
    Tables,
    inverse_of,
    ranks,
    records_of,
)

OWN_END = CONTROL - 1
"""in the place of an output: what is local arrives before what was sent"""


def make_tables(graph: ComputationGraph, costs: Costs, cluster: Cluster, group_of_op: NDArray[np.int32]) -> Tables:
    """Flatten the inputs into new arrays."""
    kinds = sorted({device.kind for device in cluster.devices})
    model = records_of(1, MODEL)
    model.contention = CONTENTION_CODES[cluster.contention]
    model.full_memory = cluster.memory_model == MemoryModel.FULL
    model.op_rest_us, model.link_rest_us = cluster.op_rest_us, cluster.link_rest_us
    links = records_of(cluster.device_count**2, LINK)
    links.bandwidth_bytes_per_us, links.latency_us = cluster.bandwidth_bytes_per_us.ravel(), cluster.latency_us.ravel()
    flat = _Flat(graph, costs)
    return Tables(
        model=model,
        ops=_op_records(flat, costs, group_of_op),
        flows=_flow_records(flat),
        entries=_entry_records(flat),
        shared_bytes=flat.flow_bytes[flat.flow_of_entry[flat.entry_of_edge[flat.shared_inputs]]],
        links=links,
        time_us=np.ascontiguousarray(costs.time_on(kinds)),
        output_bytes=costs.bytes_of_op(),
    )


class _Flat:
    """Edges in the orders that the records need."""

    def __init__(self, graph: ComputationGraph, costs: Costs) -> None:
        self.op_count = graph.op_count
        self.source, self.target = graph.edge_source.astype(np.int64), graph.edge_target.astype(np.int64)
        output = graph.edge_output.astype(np.int64)
        edges = np.arange(len(output))
        rank = ranks(graph.op_names)
        self.entries = np.lexsort((edges, rank[self.target], output, self.source))
        """[edges] entry → edge"""
        self.entry_of_edge = inverse_of(self.entries)
        self.by_name = self.target[np.lexsort((edges, rank[self.target], self.source))]
        self.by_file = self.entry_of_edge[np.lexsort((edges, self.source))]
        new_flow = np.ones(len(edges), dtype=bool)
        new_flow[1:] = (np.diff(self.source[self.entries]) != 0) | (np.diff(output[self.entries]) != 0)
        self.flow_of_entry = np.cumsum(new_flow) - 1
        self.flow_source, flow_output = self.source[self.entries[new_flow]], output[self.entries[new_flow]]
        self.flow_size = np.bincount(self.flow_of_entry, minlength=len(flow_output))
        self.flow_bytes = _flow_bytes(costs, self.flow_source, flow_output)
        shared = self.flow_size[self.flow_of_entry[self.entry_of_edge]] > 1
        self.shared_inputs = np.lexsort((edges, self.target))
        self.shared_inputs = self.shared_inputs[shared[self.shared_inputs]]
        """[shared inputs] → edge, by consumer"""
        everything = np.concatenate((np.arange(self.op_count), self.flow_source))
        outputs = np.concatenate((np.full(self.op_count, OWN_END), flow_output))
        self.order = inverse_of(np.lexsort((outputs, rank[everything])))
        """[ops + flows] arrivals at one moment: by producer's name, its own end first, then by output"""


def _op_records(flat: _Flat, costs: Costs, group_of_op: NDArray[np.int32]) -> Records:
    count = flat.op_count
    records = records_of(count + 1, OP)
    records.group[:count] = group_of_op
    records.in_degree[:count] = np.bincount(flat.target, minlength=count)
    records.flow_first[:] = _firsts(flat.flow_source, count)
    records.entry_first[:] = _firsts(flat.source, count)
    records.shared_first[:] = _firsts(flat.target[flat.shared_inputs], count)
    records.order[:count] = flat.order[:count]
    records.persistent_bytes[:count] = costs.persistent_bytes
    records.held_bytes[:count] = costs.bytes_of_op() + costs.temporary_bytes
    freed = costs.bytes_of_op() + costs.temporary_bytes
    np.subtract.at(freed, flat.flow_source, flat.flow_bytes)
    alone = flat.flow_size == 1
    consumers = flat.target[flat.entries[np.cumsum(flat.flow_size)[alone] - 1]]
    np.add.at(freed, consumers, flat.flow_bytes[alone])
    records.freed_bytes[:count] = freed
    return records


def _flow_records(flat: _Flat) -> Records:
    count = len(flat.flow_bytes)
    records = records_of(count + 1, FLOW)
    records.producer[:count] = flat.flow_source
    records.entry_first[:] = _firsts(flat.flow_of_entry, count)
    records.order[:count] = flat.order[flat.op_count :]
    records.bytes[:count] = flat.flow_bytes
    return records


def _entry_records(flat: _Flat) -> Records:
    records = records_of(len(flat.entries), ENTRY)
    records.consumer = flat.target[flat.entries]
    records.flow = flat.flow_of_entry
    records.by_name, records.by_file = flat.by_name, flat.by_file
    shared = np.full(len(records), -1)
    shared[flat.entry_of_edge[flat.shared_inputs]] = np.arange(len(flat.shared_inputs))
    records.shared = shared
    return records


def _firsts(owner: NDArray[np.int64], owners: int) -> NDArray[np.int64]:
    """[owners + 1] where each owner's things begin, if things are sorted by owner."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(owner, minlength=owners))))


def _flow_bytes(costs: Costs, flow_source: NDArray[np.int64], flow_output: NDArray[np.int64]) -> NDArray[np.int64]:
    """[flows] bytes of the output; a control signal has none."""
    data = flow_output != CONTROL
    result = np.zeros(len(flow_source), dtype=np.int64)
    result[data] = costs.output_bytes[costs.output_offset[flow_source[data]] + flow_output[data]]
    return result
