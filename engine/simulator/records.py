"""The arrays of records that the event loop reads and writes: one record an op, flow, edge, device or channel.

A flow is one output of one op (or its control signal) that has consumers. An entry is one edge, in the order of flows:
by producer, then output (the control signal first), then the consumer's name. A counted input is one edge of a flow
with several consumers, or of one whose buffer is passed on: the loop counts them to know which takes the bytes last; a
single consumer is always the last. A flow that passes a buffer on holds the input from which it comes, until nothing
needs the flow any more. A transfer's index is that of the first entry that it serves, a copy's that of the first entry
on its device.

Why records: fields that are used together lie together, and few arrays keep calls between compiled functions cheap.
Indices are unsigned, so that no code is spent on negative ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import borrowed, inlined, part_of
from engine.simulator.streams.state import Records, StreamState, borrow_stream

NO_INDEX = 2**32 - 1
"""stands for no index"""
SIGNED = 0
"""added to an unsigned index, makes it signed in compiled code, where mixing the two would give floats"""
NOT_QUEUED = 2**32 - 2
"""stands for the next transfer of one that is in no queue"""

MODEL = np.dtype(
    [
        ("contention", "i4"),
        ("full_memory", "?"),
        ("outputs_memory", "?"),  # whether outputs alone occupy memory: the published model
        ("has_trips", "?"),  # whether any op is executed more or less often than once
        ("has_rests", "?"),  # whether a device rests more or less often than once after any op
        ("is_stream", "?"),  # whether a placement is judged by its period in a stream of micro-batches
        ("is_contiguous", "?"),  # whether the groups of a device must be contiguous
        ("recomputes", "?"),  # whether stages run again before their backward pass
        ("pipeline", "i4"),
        ("micro_batches", "i4"),
        ("has_late_ops", "?"),  # whether a device keeps some ops until all its others have ended
        ("link_rest_us", "f8"),
    ],
    align=True,
)
PLACED_OP = np.dtype([("group", "u4"), ("in_degree", "i4"), ("persistent_bytes", "i8")], align=True)
OP = np.dtype(
    [
        ("flow_first", "u4"),  # the op's flows are those from here to the next op's
        ("entry_first", "u4"),  # likewise its entries
        ("counted_first", "u4"),  # likewise its counted inputs
        ("order", "i4"),  # rank of its end among simultaneous arrivals: by name
        ("held_bytes", "i8"),  # taken at its start: new buffers of outputs, and temporaries
        ("freed_bytes", "i8"),  # freed at its end: temporaries, outputs without consumers, inputs that only it takes
    ],
    align=True,
)
FLOW = np.dtype(
    [
        ("producer", "u4"),
        ("entry_first", "u4"),  # the flow's entries are those from here to the next flow's
        ("order", "i4"),  # rank of its arrival among simultaneous ones: right after its producer's end
        ("passed_by", "u4"),  # the counted input of its producer whose buffer it passes on, or NO_INDEX
        ("bytes", "i8"),  # of a transfer, and of a copy
        ("new_bytes", "i8"),  # of the buffer on its producer's device; 0 where that is another's
    ],
    align=True,
)
ENTRY = np.dtype(
    [
        ("consumer", "u4"),
        ("flow", "u4"),
        ("counted", "u4"),  # its index among the counted inputs, or NO_INDEX
        ("by_file", "u4"),  # place by place, the entries of an op in the order of the file
    ],
    align=True,
)
COUNTED = np.dtype(
    [
        ("flow", "u4"),
        ("passed", "i4"),  # flows of its consumer that pass its buffer on
    ],
    align=True,
)
LINK = np.dtype([("bandwidth_bytes_per_us", "f8"), ("latency_us", "f8")], align=True)

OP_STATE = np.dtype(
    [
        ("device", "u4"),
        ("pending", "i4"),  # inputs that have not arrived
        ("time_us", "f8"),
    ],
    align=True,
)
DEVICE_STATE = np.dtype(
    [
        ("order", "i4"),  # rank by name; never changes
        ("kind", "u4"),  # row of the table of times; never changes
        ("is_cpu", "?"),  # never changes
        ("op_count", "u4"),
        ("early_left", "i4"),  # ops that have not ended and for which its late ones wait
        ("first", "u4"),  # the device's part of `queue` begins here
        ("head", "u4"),  # the next op to start, in `queue`
        ("tail", "u4"),  # behind the last ready op, in `queue`
        ("running", "?"),
        ("op_rest_us", "f8"),  # its rest after an op of non-zero time; never changes
        ("free_us", "f8"),  # when its rest ends
        ("left_us", "f8"),  # time and rests of its ops that have not ended
        ("copy", "u4"),  # copy of the current flow on this device
        ("last_served", "u4"),  # last entry of the current flow on this device
        ("level_bytes", "i8"),
        ("peak_bytes", "i8"),
        ("changed_us", "f8"),  # when the level changed last
        ("starting_us", "f8"),  # when the next op takes its memory, infinite for none
        ("starting_bytes", "i8"),
    ],
    align=True,
)
CHANNEL_STATE = np.dtype(
    [
        ("busy", "?"),
        ("head", "u4"),
        ("tail", "u4"),
        ("last_inline", "u4"),  # with `sender` the last op at the head of the list that runs at once
        ("free_us", "f8"),
    ],
    align=True,
)
ENTRY_STATE = np.dtype(
    [
        ("transfer", "u4"),  # the transfer that brings its bytes
        ("copy", "u4"),  # the copy that its consumer reads
        ("next_served", "u4"),  # next entry of its transfer, NO_INDEX behind the last
        ("holders", "i4"),  # of a copy: consumers that still need it
        ("next_transfer", "u4"),  # of a transfer: the next in the channel's queue, NO_INDEX behind the last; with
        # `sender` the place in `queue` of the op that runs after it
        ("time_us", "f8"),  # of a transfer: how long it takes
        ("start_us", "f8"),  # of a transfer
    ],
    align=True,
)
FLIGHT = np.dtype([("time_us", "f8"), ("order", "i4"), ("what", "u4")], align=True)
EVENT = np.dtype([("time_bits", "i8"), ("order", "i4"), ("what", "u4")], align=True)
"""`what`: an op or a transfer"""


class Tables(NamedTuple):
    """A graph, its costs and a cluster, as the event loop reads them. Read-only."""

    model: Records
    """[1]"""
    placed_ops: Records
    """[ops]"""
    ops: Records
    """[ops + 1]"""
    flows: Records
    """[flows + 1]"""
    entries: Records
    """[edges]"""
    first_ops: NDArray[np.uint32]
    """ops without inputs, in the order of the file; ops of no trips are left out, since they never start"""
    flow_sizes: NDArray[np.int32]
    """[flows + 1] number of entries of each"""
    by_name: NDArray[np.uint32]
    """[edges] place by place, the consumers of an op by name over all its flows"""
    counted: Records
    """[counted inputs] by consumer"""
    links: Records
    """[devices · devices]"""
    time_us: NDArray[np.float64]
    """[kinds, ops], NaN where the op cannot run"""
    output_bytes: NDArray[np.int64]
    """[ops] all outputs; for the published memory model"""
    op_rests: NDArray[np.float64]
    """[ops] how often a device rests after each in a step, or [0] where it is once each"""
    entry_trips: NDArray[np.float64]
    """[edges] how often a step sends along each, or [0] without trips"""
    inline_ops: NDArray[np.bool_]
    """[ops] with `sender`, whether the op runs at once where it becomes ready; else [0]"""
    early_ops: NDArray[np.bool_]
    """[ops] whether the late ops of its device wait for its end; or [0] where there are no late ops"""
    late_ops: NDArray[np.uint32]
    """those of the optimizer, in the order of the file: each waits for all early ops of its device"""
    phase: NDArray[np.uint8]
    """[ops] the part of a training step to which each belongs, an index of `PHASES`; [0] without a stream"""
    root_of_flow: NDArray[np.uint32]
    """[flows] the flow whose buffer each passes on, or itself; [0] without a stream"""


class Scratch(NamedTuple):
    """The working arrays of one evaluation; the next evaluation may reuse them."""

    ops: Records
    """[ops]"""
    start_us: NDArray[np.float64]
    """[ops]"""
    queue: NDArray[np.uint32]
    """[ops + devices] ops in the order in which they run, device by device, each with a spare place;
    without `sender` the ready ones stand here before they run"""
    devices: Records
    """[devices]"""
    channels: Records
    """[devices], or [devices · devices] with channels between pairs; with `sender` each device's list of tasks"""
    next_task: NDArray[np.uint32]
    """[ops + edges] with `sender`, the task behind each in its device's list: an op, or ops + transfer; else [0]"""
    entries: Records
    """[edges]"""
    flow_holders: NDArray[np.int32]
    """[flows + 1] holders of the output on its producer's device: all entries, until some turn out to be remote"""
    copy_of_counted: NDArray[np.uint32]
    """[counted inputs] the copy, or `NO_INDEX` where the producer is on the same device"""
    slots: Records
    """[a power of two] the next event of each device, then of each channel, infinite for none; without channels the
    slot behind the devices holds the first of all transfers"""
    winners: NDArray[np.uint32]
    """[2 · slots] the tournament over the slots: the earliest is at 1"""
    in_flight: Records
    """[edges] without channels: a binary heap of transfers"""
    in_flight_count: NDArray[np.int64]
    """[1]"""
    transfer_trips: NDArray[np.float64]
    """[edges] how often the transfer of this index is made, or [0] without trips"""
    stream: StreamState


@inlined
def flows_of(tables: Tables, op: int) -> tuple[int, int]:
    """The range of the flows of `op`: the first and one behind the last."""
    return tables.ops[op].flow_first, tables.ops[op + 1].flow_first


@inlined
def entries_of(tables: Tables, op: int) -> tuple[int, int]:
    """The range of the entries of `op`: the first and one behind the last."""
    return tables.ops[op].entry_first, tables.ops[op + 1].entry_first


@inlined
def counted_of(tables: Tables, op: int) -> tuple[int, int]:
    """The range of the counted inputs of `op`: the first and one behind the last."""
    return tables.ops[op].counted_first, tables.ops[op + 1].counted_first


@inlined
def entries_of_flow(tables: Tables, flow: int) -> tuple[int, int]:
    """The range of the entries of `flow`: the first and one behind the last."""
    return tables.flows[flow].entry_first, tables.flows[flow + 1].entry_first


@inlined
def borrow_tables(tables: Tables) -> Tables:
    """The same tables without reference counting, for one call of compiled code."""
    return Tables(
        borrowed(tables.model),
        borrowed(tables.placed_ops),
        borrowed(tables.ops),
        borrowed(tables.flows),
        borrowed(tables.entries),
        borrowed(tables.first_ops),
        borrowed(tables.flow_sizes),
        borrowed(tables.by_name),
        borrowed(tables.counted),
        borrowed(tables.links),
        borrowed(tables.time_us),
        borrowed(tables.output_bytes),
        borrowed(tables.op_rests),
        borrowed(tables.entry_trips),
        borrowed(tables.inline_ops),
        borrowed(tables.early_ops),
        borrowed(tables.late_ops),
        borrowed(tables.phase),
        borrowed(tables.root_of_flow),
    )


@inlined
def borrow_scratch(scratch: Scratch) -> Scratch:
    """The same scratch without reference counting, for one call of compiled code."""
    return Scratch(
        borrowed(scratch.ops),
        borrowed(scratch.start_us),
        borrowed(scratch.queue),
        borrowed(scratch.devices),
        borrowed(scratch.channels),
        borrowed(scratch.next_task),
        borrowed(scratch.entries),
        borrowed(scratch.flow_holders),
        borrowed(scratch.copy_of_counted),
        borrowed(scratch.slots),
        borrowed(scratch.winners),
        borrowed(scratch.in_flight),
        borrowed(scratch.in_flight_count),
        borrowed(scratch.transfer_trips),
        borrow_stream(scratch.stream),
    )


@inlined
def of_micro_batch(tables: Tables, scratch: Scratch, micro: int) -> Scratch:
    """The part of a stream's scratch that belongs to one micro-batch; devices, channels and events are common."""
    ops, entries, flows, counted = len(tables.placed_ops), len(tables.entries), len(tables.flows), len(tables.counted)
    return Scratch(
        part_of(scratch.ops, micro * ops, ops),
        part_of(scratch.start_us, micro * ops, ops),
        scratch.queue,
        scratch.devices,
        scratch.channels,
        scratch.next_task,
        part_of(scratch.entries, micro * entries, entries),
        part_of(scratch.flow_holders, micro * flows, flows),
        part_of(scratch.copy_of_counted, micro * counted, counted),
        scratch.slots,
        scratch.winners,
        scratch.in_flight,
        scratch.in_flight_count,
        part_of(scratch.transfer_trips, micro * len(tables.entry_trips), len(tables.entry_trips)),
        scratch.stream,
    )


def records_of(count: int, dtype: np.dtype[np.void]) -> Records:
    """New records, all zero."""
    return np.zeros(count, dtype).view(np.recarray)
