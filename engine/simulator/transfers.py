"""Transfers of outputs to other devices, compiled: which are made, in which order, and what their arrival starts."""

import numpy as np

from engine.clusters.cluster import BUS_CODE, HOST_CODE, NONE_CODE, PAIR_CODE, SENDER_CODE
from engine.files.compiled import inlined
from engine.simulator.event_queue import fly, land, set_event
from engine.simulator.held_memory import change_memory, release, take_at_start
from engine.simulator.records import (
    NO_INDEX,
    NOT_QUEUED,
    SIGNED,
    Scratch,
    Tables,
    entries_of,
    entries_of_flow,
    flows_of,
)
from engine.simulator.task_list import put_first

LINK_EVENT = 1 << 30
"""above the order of all arrivals"""
DEVICE_EVENT = LINK_EVENT + (1 << 29)
"""above the order of all links"""


@inlined
def start_op(tables: Tables, scratch: Scratch, device: int, start_us: float) -> tuple[float, int, int]:
    """Start the head of the device's queue; returns its end, its order among simultaneous events, and the op."""
    op = take_from_queue(tables, scratch, device, start_us)
    scratch.devices[device].running = True
    end_us = start_us + scratch.ops[op].time_us
    order = tables.ops[op].order if end_us > start_us else DEVICE_EVENT + scratch.devices[device].order
    return end_us, order, op


@inlined
def take_from_queue(tables: Tables, scratch: Scratch, device: int, start_us: float) -> int:
    """Take the head of the device's queue and set its start to `start_us`; returns the op."""
    op: int = scratch.queue[scratch.devices[device].head]
    scratch.devices[device].head += 1
    scratch.start_us[op] = start_us
    take_at_start(scratch, device, start_us, tables.ops[op].held_bytes)
    return op


@inlined
def send(tables: Tables, scratch: Scratch, op: int, device: int, now: float) -> None:
    """Queue the transfers of `op` in the order of their first remote consumer in the file."""
    transfers, transfer = sort_transfers(tables, scratch, op, device, False)
    place, beyond = entries_of(tables, op)
    while place < beyond:
        transfer = next_to_queue(tables, scratch, place, device, transfers, transfer)
        if transfer != NO_INDEX:
            _queue_transfer(tables, scratch, transfer, device, now)
        place = place + 1 if transfers > 1 else beyond


@inlined
def sort_transfers(tables: Tables, scratch: Scratch, op: int, device: int, keeps_for_late: bool) -> tuple[int, int]:
    """Sort what `op` sends into transfers; returns their number and, of one alone, its index.

    With `keeps_for_late` nothing is sent to late ops: the outputs for them stay.
    """
    transfers, transfer = 0, 0
    for flow in range(*flows_of(tables, op)):
        count, last_transfer = _sort(tables, scratch, flow, device, keeps_for_late)
        if count > 0:
            transfers, transfer = transfers + count, last_transfer
    if tables.model[0].has_trips:
        _count_trips(tables, scratch, op, device, keeps_for_late)
    return transfers, transfer


@inlined
def next_to_queue(tables: Tables, scratch: Scratch, place: int, device: int, transfers: int, transfer: int) -> int:
    """The transfer of the entry at `place` in the order of the file if it has to be queued now, else `NO_INDEX`."""
    if transfers > 1:
        entry = tables.entries[place].by_file
        remote = scratch.ops[tables.entries[entry].consumer].device != device
        transfer = int(scratch.entries[entry].transfer) if remote else NO_INDEX
    if transfer != NO_INDEX and scratch.entries[transfer].next_transfer == NOT_QUEUED:
        scratch.entries[transfer].next_transfer = NO_INDEX
        return transfer
    return NO_INDEX


@inlined
def is_late(tables: Tables, op: int) -> bool:
    """Whether an executed op is one of the optimizer's."""
    return bool(tables.model[0].has_late_ops and not tables.early_ops[op])


@inlined
def _sort(tables: Tables, scratch: Scratch, flow: int, device: int, keeps_for_late: bool) -> tuple[int, int]:
    """Sort the remote entries of `flow` into transfers and copies.

    A transfer's index is that of its first entry, a copy's that of the first entry on its device. With a bus, or
    through the host, one transfer brings all copies, else each copy has a transfer. Returns the number of transfers and
    the last of them.
    """
    first, beyond = entries_of_flow(tables, flow)
    first, beyond = first + SIGNED, beyond + SIGNED
    if beyond - first == 1:
        return _sort_alone(tables, scratch, flow, device, first, keeps_for_late)
    one_for_all = tables.model[0].contention == BUS_CODE or tables.model[0].contention == HOST_CODE
    holders, transfers, transfer, last = 0, 0, NO_INDEX, NO_INDEX
    for entry in range(first, beyond):
        destination = scratch.ops[tables.entries[entry].consumer].device
        if destination == device or _stays(tables, scratch, entry, keeps_for_late):
            holders += 1
            continue
        copy = int(scratch.devices[destination].copy)
        first_here = copy < first or copy >= beyond
        if first_here:
            copy = entry
            scratch.devices[destination].copy = entry
            scratch.entries[entry].holders = 0
        if not one_for_all:
            transfer = NO_INDEX if first_here else copy
            last = scratch.devices[destination].last_served + SIGNED
        if transfer == NO_INDEX:
            transfer = entry
            transfers += 1
            scratch.entries[entry].time_us = 0.0
            scratch.entries[entry].next_transfer = NOT_QUEUED
        else:
            scratch.entries[last].next_served = entry
        if first_here:
            time_us = _transfer_us(tables, scratch, flow, device, destination)
            scratch.entries[transfer].time_us = max(scratch.entries[transfer].time_us, time_us)
        last = entry
        scratch.devices[destination].last_served = entry
        state = scratch.entries[entry]
        state.transfer, state.copy, state.next_served = transfer, copy, NO_INDEX
        scratch.entries[copy].holders += 1
        if tables.entries[entry].counted != NO_INDEX:
            scratch.copy_of_counted[tables.entries[entry].counted] = copy
    scratch.flow_holders[flow] = holders + transfers
    return transfers, transfer


@inlined
def _stays(tables: Tables, scratch: Scratch, entry: int, keeps_for_late: bool) -> bool:
    """Whether what a late op takes is not sent now."""
    if not (keeps_for_late and is_late(tables, tables.entries[entry].consumer)):
        return False
    scratch.entries[entry].transfer = NO_INDEX
    return True


@inlined
def _sort_alone(
    tables: Tables, scratch: Scratch, flow: int, device: int, entry: int, keeps_for_late: bool
) -> tuple[int, int]:
    """Do as `_sort` for a flow that has only one entry."""
    destination = scratch.ops[tables.entries[entry].consumer].device
    if destination == device or _stays(tables, scratch, entry, keeps_for_late):
        return 0, entry
    state = scratch.entries[entry]
    state.time_us = _transfer_us(tables, scratch, flow, device, destination)
    state.transfer = state.copy = entry
    state.next_served, state.next_transfer = NO_INDEX, NOT_QUEUED
    if tables.entries[entry].counted != NO_INDEX:
        state.holders = 1
        scratch.copy_of_counted[tables.entries[entry].counted] = entry
    return 1, entry


@inlined
def _count_trips(tables: Tables, scratch: Scratch, op: int, device: int, keeps_for_late: bool) -> None:
    """Make each transfer of `op` as often as the most frequent of the edges that it serves."""
    first, beyond = entries_of(tables, op)
    for entry in range(first, beyond):
        scratch.transfer_trips[entry] = 0.0
    for entry in range(first, beyond):
        consumer = tables.entries[entry].consumer
        if keeps_for_late and is_late(tables, consumer):
            continue
        if scratch.ops[consumer].device != device:
            transfer = scratch.entries[entry].transfer
            scratch.transfer_trips[transfer] = max(scratch.transfer_trips[transfer], tables.entry_trips[entry])
    for entry in range(first, beyond):
        scratch.entries[entry].time_us *= scratch.transfer_trips[entry]


@inlined
def _transfer_us(tables: Tables, scratch: Scratch, flow: int, device: int, destination: int) -> float:
    link = tables.links[device * len(scratch.devices) + destination]
    return float(link.latency_us + tables.flows[flow].bytes / link.bandwidth_bytes_per_us)


@inlined
def _queue_transfer(tables: Tables, scratch: Scratch, transfer: int, device: int, now: float) -> None:
    """Start the transfer if its channel is free or it needs none, else queue it."""
    if tables.model[0].contention == SENDER_CODE:
        put_first(scratch, device, len(scratch.ops) + transfer)
        return
    if tables.model[0].contention == NONE_CODE:
        scratch.entries[transfer].start_us = now
        end_us = now + scratch.entries[transfer].time_us
        fly(scratch, end_us, tables.flows[tables.entries[transfer].flow].order, transfer)
        return
    channel = _channel(tables, scratch, transfer, device)
    state = scratch.channels[channel]
    if not state.busy:
        state.busy = True
        end_us, order = _start_transfer(tables, scratch, transfer, channel, max(now, state.free_us))
        set_event(scratch, len(scratch.devices) + channel, end_us, order, transfer)
        return
    if state.head == NO_INDEX:
        state.head = transfer
    else:
        scratch.entries[state.tail].next_transfer = transfer
    state.tail = transfer


@inlined
def _channel(tables: Tables, scratch: Scratch, transfer: int, device: int) -> int:
    """The producer's bus, or the channel of the pair of devices."""
    if tables.model[0].contention == PAIR_CODE:
        return device * len(scratch.devices) + int(scratch.ops[tables.entries[transfer].consumer].device)
    return device


@inlined
def _start_transfer(
    tables: Tables, scratch: Scratch, transfer: int, channel: int, start_us: float
) -> tuple[float, int]:
    """Start the transfer; returns its end and its order among simultaneous events."""
    scratch.entries[transfer].start_us = start_us
    end_us = start_us + scratch.entries[transfer].time_us
    order = tables.flows[tables.entries[transfer].flow].order
    if end_us <= start_us:
        devices = len(scratch.devices)
        order = LINK_EVENT + scratch.devices[channel % devices].order
        if tables.model[0].contention == PAIR_CODE:
            order += devices * scratch.devices[channel // devices].order
    return end_us, order


@inlined
def end_transfer(tables: Tables, scratch: Scratch, transfer: int, now: float) -> float:
    """Deliver the bytes to all consumers that the transfer serves, then start the channel's next transfer.

    Returns the moment when the channel's rest ends.
    """
    device = scratch.ops[tables.flows[tables.entries[transfer].flow].producer].device
    entry = transfer
    while entry != NO_INDEX:
        if has_all_inputs(tables, scratch, entry, now):
            _become_ready(tables, scratch, tables.entries[entry].consumer, now)
        entry = scratch.entries[entry].next_served
    free_sent(tables, scratch, transfer, device, now)
    if tables.model[0].contention == NONE_CODE:
        land(scratch)
        return now
    channel = _channel(tables, scratch, transfer, device)
    rest_us: float = tables.model[0].link_rest_us
    if tables.model[0].has_trips:
        rest_us *= scratch.transfer_trips[transfer]
    rested_us = now + rest_us
    following = scratch.channels[channel].head
    end_us, order = np.inf, 0
    if following != NO_INDEX:
        scratch.channels[channel].head = scratch.entries[following].next_transfer
        end_us, order = _start_transfer(tables, scratch, following, channel, rested_us)
    else:
        scratch.channels[channel].busy = False
        scratch.channels[channel].free_us = rested_us
    set_event(scratch, len(scratch.devices) + channel, end_us, order, following)
    return rested_us


@inlined
def free_sent(tables: Tables, scratch: Scratch, transfer: int, device: int, now: float) -> None:
    """Free the output on its producer's `device` if nothing there needs it after this transfer."""
    if tables.model[0].full_memory:
        freed = release(tables, scratch, tables.entries[transfer].flow)
        if freed != 0:
            change_memory(scratch, device, now, -freed)


@inlined
def has_all_inputs(tables: Tables, scratch: Scratch, entry: int, now: float) -> bool:
    """Hand the bytes that a transfer brings to the consumer of `entry`; returns whether it has all its inputs now."""
    consumer = tables.entries[entry].consumer
    if tables.model[0].full_memory and scratch.entries[entry].copy == entry:
        change_memory(scratch, scratch.ops[consumer].device, now, tables.flows[tables.entries[entry].flow].bytes)
    pending = scratch.ops[consumer].pending - 1
    scratch.ops[consumer].pending = pending
    return bool(pending == 0)


@inlined
def _become_ready(tables: Tables, scratch: Scratch, op: int, now: float) -> None:
    device = scratch.ops[op].device
    state = scratch.devices[device]
    scratch.queue[state.tail] = op
    state.tail += 1
    if not state.running:
        end_us, order, op = start_op(tables, scratch, device, max(now, state.free_us))
        set_event(scratch, device, end_us, order, op)
