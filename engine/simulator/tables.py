"""What the event loop reads: a graph, its costs and a cluster as flat arrays; and the scratch that it writes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, ComputationGraph

BUS_CODE, PAIR_CODE, NONE_CODE = 0, 1, 2
OWN_END = CONTROL - 1
"""in the place of an output: what is local arrives before what was sent"""
CONTENTION_CODES = {Contention.BUS: BUS_CODE, Contention.PAIR: PAIR_CODE, Contention.NONE: NONE_CODE}


class Tables(NamedTuple):
    """Read-only arrays for compiled code.

    A flow is one output of one op (or its control signal) that has consumers. An entry is one edge in the order of
    flows: by producer, then output (the control signal first), then the consumer's name.
    """

    group_of_op: NDArray[np.int32]
    """[ops]"""
    time_us: NDArray[np.float64]
    """[kinds, ops], NaN where the op cannot run"""
    row_of_device: NDArray[np.int32]
    """[devices] row of `time_us`"""
    in_degree: NDArray[np.int32]
    """[ops] edges into the op"""
    first_ops: NDArray[np.int32]
    """ops without inputs, in the order of the file"""
    out_offset: NDArray[np.int64]
    """[ops + 1] into `out_target`, and into the entries"""
    out_target: NDArray[np.int32]
    """[edges] consumers of an op, all flows together, by name"""
    flow_offset: NDArray[np.int64]
    """[ops + 1] flows of an op"""
    entry_offset: NDArray[np.int64]
    """[flows + 1] entries of a flow"""
    entry_target: NDArray[np.int32]
    """[edges] consumer"""
    entry_input: NDArray[np.int32]
    """[edges] the entry's place among the inputs of the consumer"""
    entries_by_file: NDArray[np.int32]
    """[edges] an op's entries in the order of the file"""
    flow_of_entry: NDArray[np.int32]
    """[edges]"""
    flow_source: NDArray[np.int32]
    """[flows] producer"""
    flow_bytes: NDArray[np.int64]
    """[flows]"""
    op_order: NDArray[np.int64]
    """[ops] rank of the op's own end among simultaneous arrivals: by the producer's name"""
    flow_order: NDArray[np.int64]
    """[flows] the same for the arrival of a flow: right after its producer's own end"""
    device_order: NDArray[np.int64]
    """[devices] rank by name"""
    input_offset: NDArray[np.int64]
    """[ops + 1] inputs of an op"""
    input_source: NDArray[np.int32]
    """[edges] producer, by input"""
    input_bytes: NDArray[np.int64]
    """[edges] bytes of the flow, by input"""
    held_bytes: NDArray[np.int64]
    """[ops] taken when the op starts: all outputs and temporaries"""
    passing_bytes: NDArray[np.int64]
    """[ops] given back when it ends: temporaries and outputs that nobody takes"""
    output_bytes: NDArray[np.int64]
    """[ops] all outputs"""
    persistent_bytes: NDArray[np.int64]
    """[ops]"""
    bandwidth_bytes_per_us: NDArray[np.float64]
    """[devices, devices]"""
    latency_us: NDArray[np.float64]
    """[devices, devices]"""
    contention: int
    full_memory: bool
    op_rest_us: float
    link_rest_us: float


class Scratch(NamedTuple):
    """Arrays that one evaluation writes; the next one may have them again."""

    device_of_op: NDArray[np.int32]
    pending: NDArray[np.int32]
    """[ops] inputs that have not arrived"""
    next_op: NDArray[np.int32]
    """[ops] the op that a device runs after this one, -1 for none yet: a device's queue and its history"""
    start_us: NDArray[np.float64]
    """[ops]"""
    end_us: NDArray[np.float64]
    """[ops]"""
    first_op: NDArray[np.int32]
    """[devices] first op in the device's history"""
    last_op: NDArray[np.int32]
    """[devices] tail of the device's queue"""
    running: NDArray[np.int32]
    """[devices] op that runs or will run next, -1 for none"""
    device_free_us: NDArray[np.float64]
    """[devices] when the device has rested"""
    channel_head: NDArray[np.int32]
    """[channels] first transfer that waits, -1 for none"""
    channel_tail: NDArray[np.int32]
    """[channels]"""
    channel_busy: NDArray[np.bool_]
    """[channels]"""
    channel_free_us: NDArray[np.float64]
    """[channels]"""
    next_transfer: NDArray[np.int32]
    """[edges] next in the channel's queue; a transfer is known by its leader, the first entry that it serves"""
    leader: NDArray[np.int32]
    """[edges] first entry of the same flow on the same device"""
    next_served: NDArray[np.int32]
    """[edges] next entry of the same flow on the same device, -1 for none"""
    transfer_us: NDArray[np.float64]
    """[edges] duration, at the leader"""
    transfer_start_us: NDArray[np.float64]
    """[edges] at the leader"""
    transfer_end_us: NDArray[np.float64]
    """[edges] at the leader"""
    queued: NDArray[np.bool_]
    """[edges] whether the leader has been sent"""
    holders: NDArray[np.int32]
    """[flows + edges] who still needs the bytes: of a flow at its producer, of a copy at its leader"""
    holder_of_input: NDArray[np.int32]
    """[edges] index into `holders`"""
    leader_on: NDArray[np.int32]
    """[devices] leader of the flow at hand"""
    tail_on: NDArray[np.int32]
    """[devices] last entry of the flow at hand"""
    level_bytes: NDArray[np.int64]
    """[devices] memory in use"""
    peak_bytes: NDArray[np.int64]
    """[devices]"""
    changed_us: NDArray[np.float64]
    """[devices] when the level last changed"""
    starting_us: NDArray[np.float64]
    """[devices] when the next op takes its memory, infinite for none"""
    starting_bytes: NDArray[np.int64]
    """[devices]"""
    heap_time_us: NDArray[np.float64]
    heap_order: NDArray[np.int64]
    heap_item: NDArray[np.int32]
    """an op, or ~transfer"""


def make_tables(graph: ComputationGraph, costs: Costs, cluster: Cluster, group_of_op: NDArray[np.int32]) -> Tables:
    """Flatten the inputs; they are copied where they are changed."""
    ops = graph.op_count
    source, target = graph.edge_source.astype(np.int64), graph.edge_target.astype(np.int64)
    output = graph.edge_output.astype(np.int64)
    rank = _ranks(graph.op_names)
    kinds = sorted({device.kind for device in cluster.devices})
    inputs = np.argsort(target, kind="stable")
    place_of_edge = np.empty(len(source), dtype=np.int64)
    place_of_edge[inputs] = np.arange(len(source))
    entries = np.lexsort((place_of_edge, rank[target], output, source))
    new_flow = np.ones(len(source), dtype=bool)
    new_flow[1:] = (np.diff(source[entries]) != 0) | (np.diff(output[entries]) != 0)
    flow_of_entry = np.cumsum(new_flow) - 1
    flow_source, flow_output = source[entries[new_flow]], output[entries[new_flow]]
    flow_bytes = _flow_bytes(costs, flow_source, flow_output)
    bytes_of_op = costs.bytes_of_op()
    taken = np.zeros(ops, dtype=np.int64)
    np.add.at(taken, flow_source, flow_bytes)
    arrival_rank = rank[np.concatenate((np.arange(ops), flow_source))]
    arrival_output = np.concatenate((np.full(ops, OWN_END), flow_output))
    order = np.empty(ops + len(flow_bytes), dtype=np.int64)
    order[np.lexsort((arrival_output, arrival_rank))] = np.arange(len(order))
    entry_of_edge = np.empty(len(source), dtype=np.int64)
    entry_of_edge[entries] = np.arange(len(source))
    input_bytes = flow_bytes[flow_of_entry[entry_of_edge[inputs]]]
    return Tables(
        group_of_op=group_of_op.astype(np.int32),
        time_us=np.ascontiguousarray(costs.time_on(kinds)),
        row_of_device=np.array([kinds.index(device.kind) for device in cluster.devices], dtype=np.int32),
        in_degree=np.bincount(target, minlength=ops).astype(np.int32),
        first_ops=np.flatnonzero(np.bincount(target, minlength=ops) == 0).astype(np.int32),
        out_offset=_offsets(np.bincount(source, minlength=ops)),
        out_target=target[np.lexsort((place_of_edge, rank[target], source))].astype(np.int32),
        flow_offset=_offsets(np.bincount(flow_source, minlength=ops)),
        entry_offset=_offsets(np.bincount(flow_of_entry, minlength=len(flow_bytes))),
        entry_target=target[entries].astype(np.int32),
        entry_input=place_of_edge[entries].astype(np.int32),
        entries_by_file=entry_of_edge[np.lexsort((np.arange(len(source)), source))].astype(np.int32),
        flow_of_entry=flow_of_entry.astype(np.int32),
        flow_source=flow_source.astype(np.int32),
        flow_bytes=flow_bytes,
        op_order=order[:ops],
        flow_order=order[ops:],
        device_order=_ranks(tuple(device.name for device in cluster.devices)),
        input_offset=_offsets(np.bincount(target, minlength=ops)),
        input_source=source[inputs].astype(np.int32),
        input_bytes=input_bytes,
        held_bytes=bytes_of_op + costs.temporary_bytes,
        passing_bytes=bytes_of_op - taken + costs.temporary_bytes,
        output_bytes=bytes_of_op,
        persistent_bytes=costs.persistent_bytes.copy(),
        bandwidth_bytes_per_us=np.ascontiguousarray(cluster.bandwidth_bytes_per_us, dtype=np.float64).copy(),
        latency_us=np.ascontiguousarray(cluster.latency_us, dtype=np.float64).copy(),
        contention=CONTENTION_CODES[cluster.contention],
        full_memory=cluster.memory_model == MemoryModel.FULL,
        op_rest_us=float(cluster.op_rest_us),
        link_rest_us=float(cluster.link_rest_us),
    )


def make_scratch(tables: Tables) -> Scratch:
    """Room for one evaluation at a time."""
    ops, edges, flows = len(tables.in_degree), len(tables.entry_target), len(tables.flow_bytes)
    devices = len(tables.device_order)
    channels = devices * devices if tables.contention == PAIR_CODE else devices
    in_flight = edges if tables.contention == NONE_CODE else min(channels, edges)
    return Scratch(
        device_of_op=np.empty(ops, np.int32),
        pending=np.empty(ops, np.int32),
        next_op=np.empty(ops, np.int32),
        start_us=np.empty(ops),
        end_us=np.empty(ops),
        first_op=np.empty(devices, np.int32),
        last_op=np.empty(devices, np.int32),
        running=np.empty(devices, np.int32),
        device_free_us=np.empty(devices),
        channel_head=np.empty(channels, np.int32),
        channel_tail=np.empty(channels, np.int32),
        channel_busy=np.empty(channels, np.bool_),
        channel_free_us=np.empty(channels),
        next_transfer=np.empty(edges, np.int32),
        leader=np.empty(edges, np.int32),
        next_served=np.empty(edges, np.int32),
        transfer_us=np.empty(edges),
        transfer_start_us=np.empty(edges),
        transfer_end_us=np.empty(edges),
        queued=np.empty(edges, np.bool_),
        holders=np.empty(flows + edges, np.int32),
        holder_of_input=np.empty(edges, np.int32),
        leader_on=np.empty(devices, np.int32),
        tail_on=np.empty(devices, np.int32),
        level_bytes=np.empty(devices, np.int64),
        peak_bytes=np.empty(devices, np.int64),
        changed_us=np.empty(devices),
        starting_us=np.empty(devices),
        starting_bytes=np.empty(devices, np.int64),
        heap_time_us=np.empty(devices + in_flight + 1),
        heap_order=np.empty(devices + in_flight + 1, np.int64),
        heap_item=np.empty(devices + in_flight + 1, np.int32),
    )


def _ranks(names: tuple[str, ...]) -> NDArray[np.int64]:
    """[names] the place of each name among the sorted names."""
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)))


def _flow_bytes(costs: Costs, flow_source: NDArray[np.int64], flow_output: NDArray[np.int64]) -> NDArray[np.int64]:
    """[flows] bytes of the output; a control signal has none."""
    data = flow_output != CONTROL
    result = np.zeros(len(flow_source), dtype=np.int64)
    result[data] = costs.output_bytes[costs.output_offset[flow_source[data]] + flow_output[data]]
    return result
