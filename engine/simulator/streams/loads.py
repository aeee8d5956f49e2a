"""The period of a placement, compiled: what a micro-batch takes of the device or link that is busiest with it.

In the steady state of a stream each device and link does the work of one micro-batch a period, so the period is the
greatest of their loads. A device's load is the time of its ops and its rests; the ops of the optimizer, which run once
a batch, do not count; ops that run again before the backward pass count twice. With `sender` and `host` it is also busy
with transfers; with `bus` and `pair` a link's load is that of its transfers and rests; with `none` links are never
busy.

Peaks of memory are estimates here: persistent bytes, what the backward pass needs of each micro-batch in flight, and
the largest need of a single op; where stages run again, what that needs of each, and what it makes of one. The time of
a batch (loop.py) counts memory event by event.

Source: Tarnawski et al.: Efficient algorithms for device placement of DNN graph operators, NeurIPS 2020, section 3, for
the loads with `host`.
"""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import BUS_CODE, HOST_CODE, PAIR_CODE, SENDER_CODE
from engine.files.compiled import inlined
from engine.graphs.graph import BACKWARD, FORWARD
from engine.simulator.records import Scratch, Tables, entries_of_flow
from engine.simulator.step_state import occupied_us, place_ops, reset_devices
from engine.simulator.streams.again import note_again
from engine.simulator.streams.stream import GPIPE_CODE, INFERENCE_CODE
from engine.simulator.transfers import is_late

MOST_CONTIGUOUS = 64
"""most devices of which it is known whether the stages on them are contiguous: one bit each"""
ONE = np.uint64(1)
NEVER = 2**31 - 1
"""level of a device without forward ops"""


@inlined
def period_us(tables: Tables, scratch: Scratch, placement: NDArray[np.int32]) -> float:
    """The period in µs of `placement` [groups], NaN if an op cannot run there; estimates of peaks are in `scratch`.

    It is infinite for a placement that is not contiguous, where it must be.
    """
    reset_devices(scratch)
    if not place_ops(tables, scratch, placement, False):
        return np.nan
    stream = scratch.stream
    stream.device_load_us[:] = 0.0
    stream.link_load_us[:] = 0.0
    stream.used_by[:] = 0
    stream.stashed_on[:] = 0
    if tables.model[0].recomputes:
        stream.remade_on[:] = 0
        for op in range(len(tables.placed_ops)):
            stream.part_of_op[op] = scratch.ops[op].device
        note_again(tables, stream.part_of_op, stream.is_again)
    _add_ops(tables, scratch)
    for flow in range(len(tables.flows) - 1):
        _add_flow(tables, scratch, flow)
    if tables.model[0].full_memory:
        _estimate_peaks(tables, scratch)
    if tables.model[0].is_contiguous and _has_cycle(scratch):
        return np.inf
    most_us = 0.0
    for device in range(len(scratch.devices)):
        most_us = max(most_us, stream.device_load_us[device])
    for channel in range(len(stream.link_load_us)):
        most_us = max(most_us, stream.link_load_us[channel])
    return most_us


@inlined
def _add_ops(tables: Tables, scratch: Scratch) -> None:
    stream = scratch.stream
    for op in range(len(tables.placed_ops)):
        stream.level_of_op[op] = 0
        if not is_late(tables, op):
            device = scratch.ops[op].device
            again = tables.model[0].recomputes and stream.is_again[op]
            stream.device_load_us[device] += occupied_us(tables, scratch, op, device) * (2.0 if again else 1.0)


@inlined
def _add_flow(tables: Tables, scratch: Scratch, flow: int) -> None:
    """Add the transfers of a flow to the loads, and note what they say of stages and of what they hold."""
    producer, stream = int(tables.flows[flow].producer), scratch.stream
    if is_late(tables, producer):
        return
    device, sent_us, sent_trips = int(scratch.ops[producer].device), 0.0, 0.0
    for entry in range(*entries_of_flow(tables, flow)):
        consumer = int(tables.entries[entry].consumer)
        destination = int(scratch.ops[consumer].device)
        _note_use(tables, scratch, flow, producer, consumer)
        if destination == device or is_late(tables, consumer):
            continue
        if int(scratch.devices[destination].copy) != flow:
            scratch.devices[destination].copy = flow
            stream.known_trips[destination] = 0.0
        sent_us = max(sent_us, _add_entry(tables, scratch, entry, device, destination))
        sent_trips = max(sent_trips, tables.entry_trips[entry] if tables.model[0].has_trips else 1.0)
    if tables.model[0].contention == BUS_CODE:
        stream.link_load_us[device * len(scratch.devices) + device] += sent_trips * sent_us
    elif tables.model[0].contention == HOST_CODE and sent_trips > 0:
        _add_moves(tables, scratch, flow, device, sent_trips, sent_us)


@inlined
def _add_moves(tables: Tables, scratch: Scratch, flow: int, device: int, sent_trips: float, sent_us: float) -> None:
    """With `host`, add to each GPU what it sends or receives of a flow, which is sent as often as any edge needs it."""
    if not scratch.devices[device].is_cpu:
        scratch.stream.device_load_us[device] += sent_trips * sent_us
    for destination in range(len(scratch.devices)):
        if int(scratch.devices[destination].copy) == flow and not scratch.devices[destination].is_cpu:
            link = tables.links[device * len(scratch.devices) + destination]
            received_us = sent_trips * tables.flows[flow].bytes / link.bandwidth_bytes_per_us
            scratch.stream.device_load_us[destination] += received_us


@inlined
def _note_use(tables: Tables, scratch: Scratch, flow: int, producer: int, consumer: int) -> None:
    """Note how many changes of device lead to the consumer, and on which devices its pass goes on or needs the flow."""
    stream, phase = scratch.stream, tables.phase[producer]
    device, destination = int(scratch.ops[producer].device), int(scratch.ops[consumer].device)
    is_remote = destination != device
    stream.level_of_op[consumer] = max(stream.level_of_op[consumer], stream.level_of_op[producer] + is_remote)
    bit = ONE << np.uint64(destination & (MOST_CONTIGUOUS - 1))
    buffer = flow if is_remote else int(tables.root_of_flow[flow])
    if phase == FORWARD and tables.model[0].recomputes:
        if tables.phase[consumer] == BACKWARD or stream.is_again[consumer]:
            if stream.is_again[producer] and not is_remote:
                stream.remade_on[buffer] |= bit
            else:
                stream.stashed_on[buffer] |= bit
    elif phase == FORWARD and tables.phase[consumer] == BACKWARD:
        stream.stashed_on[buffer] |= bit
    if is_remote and phase == tables.phase[consumer]:
        stream.used_by[2 * device + (phase == BACKWARD)] |= bit


@inlined
def _add_entry(tables: Tables, scratch: Scratch, entry: int, device: int, destination: int) -> float:
    """Add what an edge between devices costs a channel or its sender; returns what a trip costs the bus, or the sender.

    Of the edges of a flow to one device that with the most trips counts.
    """
    stream, contention = scratch.stream, tables.model[0].contention
    trips = tables.entry_trips[entry] if tables.model[0].has_trips else 1.0
    more = max(0.0, trips - stream.known_trips[destination])
    stream.known_trips[destination] += more
    rest_us, link = tables.model[0].link_rest_us, tables.links[device * len(scratch.devices) + destination]
    of_bytes_us = tables.flows[tables.entries[entry].flow].bytes / link.bandwidth_bytes_per_us
    if contention == BUS_CODE:
        return float(of_bytes_us + link.latency_us + rest_us)
    if contention == PAIR_CODE:
        channel = device * len(scratch.devices) + destination
        stream.link_load_us[channel] += more * (of_bytes_us + link.latency_us + rest_us)
    elif contention == SENDER_CODE:
        stream.device_load_us[device] += more * (of_bytes_us + rest_us)
    return float(of_bytes_us)


@inlined
def _estimate_peaks(tables: Tables, scratch: Scratch) -> None:
    """Write what each device may hold at once: see the head of this file."""
    stream = scratch.stream
    deepest = _note_levels(tables, scratch)
    _add_stashed(tables, scratch, stream.stashed_on)
    for device in range(len(scratch.devices)):
        state, behind = scratch.devices[device], max(0, deepest - stream.first_level[device] + 1)
        state.peak_bytes = state.level_bytes + stream.largest_bytes[device]
        state.peak_bytes += _in_flight(tables, behind) * stream.stashed_bytes[device]
    if tables.model[0].recomputes:
        _add_stashed(tables, scratch, stream.remade_on)
        for device in range(len(scratch.devices)):
            scratch.devices[device].peak_bytes += stream.stashed_bytes[device]


@inlined
def _note_levels(tables: Tables, scratch: Scratch) -> int:
    """Write the first level and the largest op of each device; returns the last level of the forward pass."""
    stream, deepest = scratch.stream, 0
    stream.first_level[:] = NEVER
    stream.largest_bytes[:] = 0
    for op in range(len(tables.placed_ops)):
        device = scratch.ops[op].device
        stream.largest_bytes[device] = max(stream.largest_bytes[device], tables.ops[op].held_bytes)
        if tables.phase[op] == FORWARD and scratch.ops[op].time_us > 0:
            stream.first_level[device] = min(stream.first_level[device], stream.level_of_op[op])
            deepest = max(deepest, stream.level_of_op[op])
    return deepest


@inlined
def _add_stashed(tables: Tables, scratch: Scratch, needed_on: NDArray[np.uint64]) -> None:
    """Add up what the backward pass needs, `needed_on` [flows + 1]: outputs where they are made, copies elsewhere."""
    stream = scratch.stream
    stream.stashed_bytes[:] = 0
    for flow in range(len(tables.flows) - 1):
        stashed = needed_on[flow]
        if stashed == 0:
            continue
        own = int(scratch.ops[tables.flows[flow].producer].device)
        for device in range(min(len(scratch.devices), MOST_CONTIGUOUS)):
            if (stashed >> np.uint64(device)) & ONE:
                held = tables.flows[flow].new_bytes if device == own else tables.flows[flow].bytes
                stream.stashed_bytes[device] += held


@inlined
def _in_flight(tables: Tables, behind: int) -> int:
    """The most micro-batches of which a stage with so many `behind` it, itself included, holds what it needs again."""
    micro_batches = int(tables.model[0].micro_batches)
    if tables.model[0].pipeline == GPIPE_CODE:
        return micro_batches
    if tables.model[0].pipeline == INFERENCE_CODE:
        return 1
    return min(micro_batches, behind)


@inlined
def _has_cycle(scratch: Scratch) -> bool:
    """Whether data of one pass come back to a device that they have left."""
    used_by, devices = scratch.stream.used_by, len(scratch.devices)
    for through in range(devices):
        for device in range(devices):
            for part in range(2):
                if (used_by[2 * device + part] >> np.uint64(through)) & ONE:
                    used_by[2 * device + part] |= used_by[2 * through + part]
    returns = False
    for device in range(devices):
        both = used_by[2 * device] | used_by[2 * device + 1]
        returns |= bool((both >> np.uint64(device)) & ONE)
    return returns
