"""Makes the event loop's tables and working arrays from a graph, its costs and a cluster, in n log n."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import CONTENTION_CODES, NO_CHANNELS, Cluster, Contention, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL, NOT_SAID, OPTIMIZER, ComputationGraph
from engine.graphs.phases import phases_of_graph
from engine.simulator import records as kinds_of
from engine.simulator.passed_buffers import NOT_PASSED, passing_edges, roots
from engine.simulator.records import NO_INDEX, Scratch, Tables, records_of
from engine.simulator.streams.state import BLOCK, TURN, Records, StreamState
from engine.simulator.streams.stream import PIPELINE_CODES, Stream
from engine.simulator.topology import topological_order

INLINE_TYPES = frozenset(
    (
        "Const",
        "Enter",
        "Exit",
        "ExpandDims",
        "Identity",
        "IdentityN",
        "LoopCond",
        "Merge",
        "NextIteration",
        "NoOp",
        "Placeholder",
        "PreventGradient",
        "Rank",
        "ReadVariableOp",
        "Reshape",
        "Shape",
        "ShapeN",
        "Size",
        "Squeeze",
        "StopGradient",
        "Switch",
        "VarHandleOp",
    )
)
"""op types whose kernels TensorFlow does not call expensive: they look at shapes or pass their input on"""
OWN_END = CONTROL - 1
"""stands for an output: the op's own end, which local consumers see before any sent output arrives"""


@dataclass(frozen=True, slots=True)
class Numbering:
    """The order of ops and edges in the tables. Ops are in topological order: ops that run together lie together."""

    ops: NDArray[np.int64]
    """[ops] number in the tables → op of the graph"""
    entries: NDArray[np.int64]
    """[edges] entry → edge of the graph"""


def make_tables(
    graph: ComputationGraph,
    costs: Costs,
    cluster: Cluster,
    group_of_op: NDArray[np.int32],
    stream: Stream | None = None,
) -> tuple[Tables, Numbering]:
    """Flatten the inputs, whose every edge a step uses, into new arrays. Raises GraphError for a cycle.

    With `stream`, placements are judged by their period.
    """
    ops = topological_order(graph).astype(np.int64)
    flat = _Flat(graph, costs, ops)
    executed, late = costs.trips_of_op() > 0, late_ops(graph, costs)
    has_blocks, phase = stream is not None or cluster.contention == Contention.HOST, np.empty(0, np.uint8)
    if has_blocks:
        phase = np.where(executed, phases_of_graph(graph, ops), NOT_SAID).astype(np.uint8)
    if stream is not None:
        late = phase == OPTIMIZER
    tables = Tables(
        model=_model_record(cluster, flat, stream, bool(late.any())),
        placed_ops=_placed_op_records(flat, costs, group_of_op),
        ops=_op_records(flat, costs),
        flows=_flow_records(flat),
        entries=_entry_records(flat),
        first_ops=flat.number[_start_first(graph, costs)].astype(np.uint32),
        flow_sizes=np.append(flat.flow_size, 0).astype(np.int32),
        by_name=flat.by_name.astype(np.uint32),
        counted=_counted_records(flat),
        links=_link_records(cluster),
        time_us=_op_times_us(costs, cluster, ops),
        output_bytes=costs.bytes_of_op()[ops],
        op_rests=(costs.rests_of_op()[ops] if flat.has_rests else np.empty(0)).astype(np.float64),
        inline_ops=_inline_ops(graph)[ops] if cluster.contention == Contention.SENDER else np.empty(0, bool),
        entry_trips=(flat.edge_trips[flat.entries] if flat.has_trips else np.empty(0)).astype(np.float64),
        early_ops=(executed & ~late)[ops] if late.any() else np.empty(0, bool),
        late_ops=flat.number[np.flatnonzero(late)].astype(np.uint32),
        phase=phase[ops] if has_blocks else phase,
        root_of_flow=flat.roots_of_flows() if has_blocks else np.empty(0, np.uint32),
    )
    return tables, Numbering(ops, flat.entries)


def with_times(tables: Tables, numbering: Numbering, costs: Costs, cluster: Cluster) -> Tables:
    """`tables` with the op times of `costs` and the links of `cluster`, which are alike in all else."""
    return tables._replace(links=_link_records(cluster), time_us=_op_times_us(costs, cluster, numbering.ops))


def with_groups(tables: Tables, numbering: Numbering, group_of_op: NDArray[np.int32]) -> Tables:
    """`tables` for placements of other groups: the group of each op of the graph, `group_of_op` [ops]."""
    placed_ops = tables.placed_ops.copy()
    placed_ops.group = group_of_op[numbering.ops]
    return tables._replace(placed_ops=placed_ops)


def _op_times_us(costs: Costs, cluster: Cluster, ops: NDArray[np.int64]) -> NDArray[np.float64]:
    """[kinds, ops] by the names of the cluster's kinds, and by the tables' numbers `ops` [ops] of the graph's ops."""
    return np.ascontiguousarray(costs.time_on_devices(cluster.one_of_each_kind)[:, ops])


def _start_first(graph: ComputationGraph, costs: Costs) -> NDArray[np.bool_]:
    """[ops] whether an op is executed and has no inputs."""
    waits_for = np.bincount(graph.edge_target, minlength=graph.op_count)
    return np.asarray((waits_for == 0) & (costs.trips_of_op() > 0))


def _inline_ops(graph: ComputationGraph) -> NDArray[np.bool_]:
    """[ops] whether TensorFlow runs the op at once, in the thread that made it ready."""
    return np.array([op_type in INLINE_TYPES for op_type in graph.op_types])


def late_ops(graph: ComputationGraph, costs: Costs) -> NDArray[np.bool_]:
    """[ops] whether a device runs the op only when all its ops of other phases have ended: those of the optimizer."""
    if not len(graph.phase):
        return np.zeros(graph.op_count, dtype=np.bool_)
    return np.asarray((graph.phase == OPTIMIZER) & (costs.trips_of_op() > 0))


def _model_record(cluster: Cluster, flat: "_Flat", stream: Stream | None, has_late_ops: bool) -> Records:
    model = records_of(1, kinds_of.MODEL)
    if stream is not None:
        model.is_stream, model.is_contiguous, model.recomputes = True, stream.contiguous, stream.recomputes
        model.pipeline, model.micro_batches = PIPELINE_CODES[stream.pipeline], stream.micro_batches
    model.has_late_ops = has_late_ops
    model.has_trips = flat.has_trips
    model.has_rests = flat.has_rests
    model.contention = CONTENTION_CODES[cluster.contention]
    model.full_memory = cluster.memory_model == MemoryModel.FULL
    model.outputs_memory = cluster.memory_model == MemoryModel.OUTPUTS
    model.link_rest_us = cluster.link_rest_us
    return model


def _link_records(cluster: Cluster) -> Records:
    links = records_of(cluster.device_count**2, kinds_of.LINK)
    links.bandwidth_bytes_per_us, links.latency_us = cluster.bandwidth_bytes_per_us.ravel(), cluster.latency_us.ravel()
    return links


def _placed_op_records(flat: "_Flat", costs: Costs, group_of_op: NDArray[np.int32]) -> Records:
    records = records_of(flat.op_count, kinds_of.PLACED_OP)
    records.group, records.persistent_bytes = group_of_op[flat.ops], costs.kept_bytes()[flat.ops]
    records.in_degree = np.bincount(flat.target, minlength=flat.op_count)
    return records


class _Flat:
    """The edges in the orders that the records need; ops by their numbers in the tables."""

    def __init__(self, graph: ComputationGraph, costs: Costs, ops: NDArray[np.int64]) -> None:
        self.ops, self.op_count = ops, graph.op_count
        self.number = _inverse(ops)
        self.source, self.target = self.number[graph.edge_source], self.number[graph.edge_target]
        output = graph.edge_output.astype(np.int64)
        edges = np.arange(len(output))
        rank = ranks(graph.op_names)[ops]
        self.entries = np.lexsort((edges, rank[self.target], output, self.source))
        """[edges] entry → edge: by producer, then output (the control signal first), then the consumer's name"""
        self.entry_of_edge = _inverse(self.entries)
        self.by_name = self.target[np.lexsort((edges, rank[self.target], self.source))]
        self.by_file = self.entry_of_edge[np.lexsort((edges, self.source))]
        new_flow = np.ones(len(edges), dtype=bool)
        new_flow[1:] = (np.diff(self.source[self.entries]) != 0) | (np.diff(output[self.entries]) != 0)
        self.flow_of_entry = np.cumsum(new_flow) - 1
        self.flow_source, flow_output = self.source[self.entries[new_flow]], output[self.entries[new_flow]]
        self.flow_size = np.bincount(self.flow_of_entry, minlength=len(flow_output))
        self.flow_bytes = flow_bytes(costs, ops[self.flow_source], flow_output)
        self.has_trips = bool((costs.trips_of_op() != 1).any())
        self.has_rests = bool((costs.rests_of_op() != 1).any())
        self.edge_trips = trips_of_edges(graph, costs.trips_of_op())
        self.flow_of_edge = self.flow_of_entry[self.entry_of_edge]
        self._find_buffers(graph, costs, flow_output)
        by_target = np.lexsort((edges, self.target))
        self.counted_edges = by_target[self.is_counted[self.flow_of_edge[by_target]]]
        """[counted inputs] → edge"""
        everything = np.concatenate((np.arange(self.op_count), self.flow_source))
        outputs = np.concatenate((np.full(self.op_count, OWN_END), flow_output))
        self.order = _inverse(np.lexsort((outputs, rank[everything])))
        """[ops + flows] rank among simultaneous arrivals: by producer's name, its own end first, then by output"""

    def roots_of_flows(self) -> NDArray[np.uint32]:
        """[flows] the flow whose buffer each passes on if all ops are on one device, or itself."""
        passes = self.edge_passed >= 0
        parents = np.arange(len(self.flow_bytes))
        parents[passes] = self.flow_of_edge[self.edge_passed[passes]]
        return roots(parents).astype(np.uint32)

    def _find_buffers(self, graph: ComputationGraph, costs: Costs, flow_output: NDArray[np.int64]) -> None:
        """Find the flows that pass an input's buffer on, the bytes of the others' buffers, and what must be counted."""
        passed_by, new_bytes = passing_edges(graph, costs), costs.new_bytes()
        data = np.flatnonzero(flow_output != CONTROL)
        output = costs.output_offset[self.ops[self.flow_source[data]]] + flow_output[data]
        self.edge_passed = np.full(len(self.flow_bytes), NOT_PASSED)
        """[flows] the edge whose buffer each passes on, or `NOT_PASSED`"""
        self.edge_passed[data] = passed_by[output]
        self.new_bytes = self.flow_bytes.copy()
        """[flows] bytes of the buffer on its producer's device; 0 where that is another's"""
        self.new_bytes[data] = new_bytes[output]
        self.is_counted = (self.flow_size > 1) | (self.new_bytes != self.flow_bytes) | (self.edge_passed >= 0)
        passed = self.edge_passed[self.edge_passed >= 0]
        self.is_counted[self.flow_of_edge[passed]] = True


def _op_records(flat: _Flat, costs: Costs) -> Records:
    count = flat.op_count
    records = records_of(count + 1, kinds_of.OP)
    records.flow_first[:] = first_of_each(flat.flow_source, count)
    records.entry_first[:] = first_of_each(flat.source, count)
    records.counted_first[:] = first_of_each(flat.target[flat.counted_edges], count)
    records.order[:count] = flat.order[:count]
    held = (costs.new_bytes_of_op() + costs.temporary_bytes)[flat.ops]
    records.held_bytes[:count] = held
    freed = held.copy()
    np.subtract.at(freed, flat.flow_source, flat.new_bytes)
    alone = ~flat.is_counted
    consumers = flat.target[flat.entries[np.cumsum(flat.flow_size)[alone] - 1]]
    np.add.at(freed, consumers, flat.flow_bytes[alone])
    records.freed_bytes[:count] = freed
    return records


def _flow_records(flat: _Flat) -> Records:
    count = len(flat.flow_bytes)
    records = records_of(count + 1, kinds_of.FLOW)
    records.producer[:count] = flat.flow_source
    records.entry_first[:] = first_of_each(flat.flow_of_entry, count)
    records.order[:count] = flat.order[flat.op_count :]
    records.bytes[:count], records.new_bytes[:count] = flat.flow_bytes, flat.new_bytes
    passed_by = np.full(count + 1, NO_INDEX)
    passing = np.flatnonzero(flat.edge_passed >= 0)
    passed_by[passing] = _places(flat)[flat.edge_passed[passing]]
    records.passed_by = passed_by
    return records


def _entry_records(flat: _Flat) -> Records:
    records = records_of(len(flat.entries), kinds_of.ENTRY)
    records.consumer = flat.target[flat.entries]
    records.flow, records.by_file = flat.flow_of_entry, flat.by_file
    records.counted = _places(flat)[flat.entries]
    return records


def _places(flat: _Flat) -> NDArray[np.int64]:
    """[edges] the place of each among the counted inputs, or `NO_INDEX`."""
    places = np.full(len(flat.entries), NO_INDEX)
    places[flat.counted_edges] = np.arange(len(flat.counted_edges))
    return places


def _counted_records(flat: _Flat) -> Records:
    records = records_of(len(flat.counted_edges), kinds_of.COUNTED)
    passed = np.bincount(flat.edge_passed[flat.edge_passed >= 0], minlength=len(flat.entries))
    records.flow, records.passed = flat.flow_of_edge[flat.counted_edges], passed[flat.counted_edges]
    return records


def make_scratch(tables: Tables, cluster: Cluster, micro_batches: int = 1) -> Scratch:
    """New working arrays, for one evaluation at a time; with `micro_batches` of them for a batch."""
    ops, edges, devices = (
        len(tables.placed_ops) * micro_batches,
        len(tables.entries) * micro_batches,
        cluster.device_count,
    )
    channels = devices * devices if cluster.contention == Contention.PAIR else devices
    slots = 2
    while slots < devices + channels:
        slots *= 2
    states = records_of(devices, kinds_of.DEVICE_STATE)
    states.order = ranks(tuple(device.name for device in cluster.devices))
    states.op_rest_us = cluster.op_rests_us
    states.is_cpu = [device.is_cpu for device in cluster.devices]
    row_of_kind = {device.kind: row for row, device in enumerate(cluster.one_of_each_kind)}
    states.kind = [row_of_kind[device.kind] for device in cluster.devices]
    events = records_of(slots, kinds_of.EVENT)
    events.time_bits = np.float64(np.inf).view(np.int64)
    winners = np.concatenate((np.zeros(slots, np.uint32), np.arange(slots, dtype=np.uint32)))
    for node in reversed(range(slots)):
        winners[node] = winners[2 * node]
    return Scratch(
        ops=records_of(ops, kinds_of.OP_STATE),
        start_us=np.zeros(ops),
        queue=np.zeros(ops + devices, np.uint32),
        devices=states,
        channels=records_of(channels, kinds_of.CHANNEL_STATE),
        next_task=np.zeros(ops + edges if cluster.contention == Contention.SENDER else 0, np.uint32),
        entries=records_of(edges, kinds_of.ENTRY_STATE),
        flow_holders=np.zeros(len(tables.flows) * micro_batches, np.int32),
        copy_of_counted=np.zeros(len(tables.counted) * micro_batches, np.uint32),
        slots=events,
        winners=winners,
        in_flight=records_of(edges if cluster.contention in NO_CHANNELS else 0, kinds_of.FLIGHT),
        in_flight_count=np.zeros(1, np.int64),
        transfer_trips=np.zeros(len(tables.entry_trips) * micro_batches),
        stream=_stream_state(tables, cluster, micro_batches, channels),
    )


def _stream_state(tables: Tables, cluster: Cluster, micro_batches: int, channels: int) -> StreamState:
    """Those of a step with `host`, or of the loads in a stream; a batch has stages and blocks of its own."""
    has_blocks, devices = len(tables.phase) > 0, cluster.device_count
    ops, entries = len(tables.phase), len(tables.entries) * has_blocks
    recomputes = bool(tables.model[0].recomputes)
    return StreamState(
        stage_of_op=np.zeros(ops, np.uint32),
        block_of=np.zeros(2 * devices * has_blocks, np.uint32),
        blocks=records_of(2 * devices * has_blocks, BLOCK),
        turns=records_of(devices * has_blocks, TURN),
        next_ready=np.zeros(micro_batches * ops, np.uint32),
        next_move=np.zeros(2 * micro_batches * entries, np.uint32),
        woken=np.zeros(devices * has_blocks, np.uint32),
        woken_count=np.zeros(1 * has_blocks, np.int64),
        first_micro=np.zeros(0, np.uint32),
        channel_micro=np.zeros(channels * has_blocks, np.uint32),
        arrived_us=np.zeros(micro_batches * entries),
        level_of_op=np.zeros(ops, np.int32),
        device_load_us=np.zeros(devices * has_blocks),
        link_load_us=np.zeros(devices * devices * has_blocks),
        used_by=np.zeros(2 * devices * has_blocks, np.uint64),
        known_trips=np.zeros(devices * has_blocks),
        first_level=np.zeros(devices * has_blocks, np.int32),
        largest_bytes=np.zeros(devices * has_blocks, np.int64),
        stashed_bytes=np.zeros(devices * has_blocks, np.int64),
        stashed_on=np.zeros(len(tables.flows) * has_blocks, np.uint64),
        part_of_op=np.zeros(len(tables.placed_ops) * recomputes, np.int32),
        is_again=np.zeros(len(tables.placed_ops) * recomputes, np.bool_),
        remade_on=np.zeros(len(tables.flows) * recomputes, np.uint64),
    )


def ranks(names: tuple[str, ...]) -> NDArray[np.int64]:
    """[names] the rank of each name among the sorted names."""
    return _inverse(np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64))


def _inverse(permutation: NDArray[np.int64]) -> NDArray[np.int64]:
    inverse = np.empty(len(permutation), dtype=np.int64)
    inverse[permutation] = np.arange(len(permutation))
    return inverse


def first_of_each(owner: NDArray[np.integer], owners: int) -> NDArray[np.int64]:
    """[owners + 1] where each owner's items begin when the items are sorted by owner."""
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(np.bincount(owner, minlength=owners))))


def flow_bytes(costs: Costs, flow_source: NDArray[np.int64], flow_output: NDArray[np.int64]) -> NDArray[np.int64]:
    """[flows] bytes of the output of `flow_source`, an op of the graph; a control signal has none."""
    data = flow_output != CONTROL
    result = np.zeros(len(flow_source), dtype=np.int64)
    result[data] = costs.output_bytes[costs.output_offset[flow_source[data]] + flow_output[data]]
    return result
