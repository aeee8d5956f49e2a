"""What the event loop reads and writes, as a few arrays of records: one record an op, flow, edge, device, channel.

A flow is one output of one op (or its control signal) that has consumers. An entry is one edge, in the order of flows:
by producer, then output (the control signal first), then the consumer's name. A shared input is one edge of a flow
with several consumers: who takes the bytes last must be counted, where a single consumer is always the last.

Records keep what is needed together in one cache line, and few arrays keep calls between compiled functions free.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention
from engine.simulator.compiled import borrowed, inlined

Records: TypeAlias = np.recarray[tuple[int], np.dtype[np.record]]

BUS_CODE, PAIR_CODE, NONE_CODE = 0, 1, 2
CONTENTION_CODES = {Contention.BUS: BUS_CODE, Contention.PAIR: PAIR_CODE, Contention.NONE: NONE_CODE}

MODEL = np.dtype([("contention", "i4"), ("full_memory", "?"), ("op_rest_us", "f8"), ("link_rest_us", "f8")], align=True)
OP = np.dtype(
    [
        ("group", "i4"),
        ("in_degree", "i4"),
        ("flow_first", "i4"),  # the op's flows are those from here to the next op's
        ("entry_first", "i4"),  # likewise its entries
        ("shared_first", "i4"),  # likewise its shared inputs
        ("order", "i4"),  # of its end among simultaneous arrivals: by name
        ("persistent_bytes", "i8"),
        ("held_bytes", "i8"),  # taken at its start: outputs and temporaries
        ("freed_bytes", "i8"),  # freed at its end: temporaries, outputs that nobody takes, inputs that it alone takes
    ],
    align=True,
)
FLOW = np.dtype(
    [
        ("producer", "i4"),
        ("entry_first", "i4"),  # the flow's entries are those from here to the next flow's
        ("order", "i4"),  # of its arrival among simultaneous ones: right after its producer's end
        ("bytes", "i8"),
    ],
    align=True,
)
ENTRY = np.dtype(
    [
        ("consumer", "i4"),
        ("flow", "i4"),
        ("shared", "i4"),  # the shared input that it is, or -1
        ("by_name", "i4"),  # place by place, the consumers of an op by name over all its flows
        ("by_file", "i4"),  # place by place, the entries of an op in the order of the file
    ],
    align=True,
)
LINK = np.dtype([("bandwidth_bytes_per_us", "f8"), ("latency_us", "f8")], align=True)

OP_STATE = np.dtype(
    [
        ("device", "i4"),
        ("pending", "i4"),  # inputs that have not arrived
        ("next", "i4"),  # the op that the device runs after this one, -1 for none yet
        ("time_us", "f8"),
        ("start_us", "f8"),
    ],
    align=True,
)
DEVICE_STATE = np.dtype(
    [
        ("order", "i4"),  # rank by name; the same for ever
        ("kind", "i4"),  # row of the table of times; the same for ever
        ("running", "?"),
        ("first", "i4"),  # first op that it runs, -1 for none yet; `next` leads on
        ("last", "i4"),  # last op in its queue, or that it ran, -1 for none yet
        ("free_us", "f8"),  # when it has rested
        ("leader", "i4"),  # of the flow at hand on this device
        ("tail", "i4"),  # last entry of the flow at hand on this device
        ("level_bytes", "i8"),
        ("peak_bytes", "i8"),
        ("changed_us", "f8"),  # when the level changed last
        ("starting_us", "f8"),  # when the next op takes its memory, infinite for none
        ("starting_bytes", "i8"),
    ],
    align=True,
)
CHANNEL_STATE = np.dtype([("busy", "?"), ("head", "i4"), ("tail", "i4"), ("free_us", "f8")], align=True)
ENTRY_STATE = np.dtype(
    [
        ("leader", "i4"),  # first entry of the same flow on the same device
        ("next_served", "i4"),  # next entry of the same flow on the same device, -1 for none
        ("holders", "i4"),  # at a leader: consumers that still need the copy
        ("queued", "?"),  # at a leader: its transfer has been queued
        ("next_transfer", "i4"),  # at a leader: the next in the channel's queue, -1 for none
        ("time_us", "f8"),  # at a leader: how long its transfer takes
        ("start_us", "f8"),
        ("end_us", "f8"),
    ],
    align=True,
)
EVENT = np.dtype([("time_us", "f8"), ("order", "i4"), ("what", "i4")], align=True)
"""`what`: an op, or ~leader of a transfer"""


class Tables(NamedTuple):
    """Read-only: a graph, its costs and a cluster."""

    model: Records
    """[1]"""
    ops: Records
    """[ops + 1]"""
    flows: Records
    """[flows + 1]"""
    entries: Records
    """[edges]"""
    shared_bytes: NDArray[np.int64]
    """[shared inputs]"""
    links: Records
    """[devices · devices]"""
    time_us: NDArray[np.float64]
    """[kinds, ops], NaN where the op cannot run"""
    output_bytes: NDArray[np.int64]
    """[ops] all outputs; for the published memory model"""


class Scratch(NamedTuple):
    """What one evaluation writes; the next one may have it again."""

    ops: Records
    """[ops]"""
    devices: Records
    """[devices]"""
    channels: Records
    """[devices], or [devices · devices] with channels between pairs"""
    entries: Records
    """[edges]; a transfer is known by its leader: the first entry that it serves"""
    flow_holders: NDArray[np.int32]
    """[flows] who still needs the output on its producer's device"""
    holder_of_shared: NDArray[np.int32]
    """[shared inputs] a flow, or ~leader of a copy"""
    events: Records
    """a binary heap"""


def make_scratch(tables: Tables, cluster: Cluster) -> Scratch:
    """Room for one evaluation at a time."""
    edges, devices = len(tables.entries), cluster.device_count
    channels = devices * devices if cluster.contention == Contention.PAIR else devices
    in_flight = edges if cluster.contention == Contention.NONE else min(channels, edges)
    device_records = records_of(devices, DEVICE_STATE)
    device_records.order = ranks(tuple(device.name for device in cluster.devices))
    kinds = sorted({device.kind for device in cluster.devices})
    device_records.kind = [kinds.index(device.kind) for device in cluster.devices]
    return Scratch(
        ops=records_of(len(tables.output_bytes), OP_STATE),
        devices=device_records,
        channels=records_of(channels, CHANNEL_STATE),
        entries=records_of(edges, ENTRY_STATE),
        flow_holders=np.zeros(len(tables.flows), np.int32),
        holder_of_shared=np.zeros(len(tables.shared_bytes), np.int32),
        events=records_of(devices + in_flight + 1, EVENT),
    )


def ranks(names: tuple[str, ...]) -> NDArray[np.int64]:
    """[names] the place of each name among the sorted names."""
    return inverse_of(np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64))


def records_of(count: int, dtype: np.dtype[np.void]) -> Records:
    """New records, all zero."""
    return np.zeros(count, dtype).view(np.recarray)


def inverse_of(permutation: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each index stands in `permutation`."""
    inverse = np.empty(len(permutation), dtype=np.int64)
    inverse[permutation] = np.arange(len(permutation))
    return inverse


@inlined
def borrow_tables(tables: Tables) -> Tables:
    """For the length of a call of compiled code."""
    return Tables(
        borrowed(tables.model),
        borrowed(tables.ops),
        borrowed(tables.flows),
        borrowed(tables.entries),
        borrowed(tables.shared_bytes),
        borrowed(tables.links),
        borrowed(tables.time_us),
        borrowed(tables.output_bytes),
    )


@inlined
def borrow_scratch(scratch: Scratch) -> Scratch:
    """For the length of a call of compiled code."""
    return Scratch(
        borrowed(scratch.ops),
        borrowed(scratch.devices),
        borrowed(scratch.channels),
        borrowed(scratch.entries),
        borrowed(scratch.flow_holders),
        borrowed(scratch.holder_of_shared),
        borrowed(scratch.events),
    )
