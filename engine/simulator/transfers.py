"""Outputs on their way to other devices, compiled: what is sent, in which order, and who has it when it arrives."""

from engine.simulator.compiled import inlined
from engine.simulator.held_memory import change_memory, take_at_start
from engine.simulator.records import (
    BUS_CODE,
    NONE_CODE,
    NOT_QUEUED,
    NOTHING,
    PAIR_CODE,
    SIGNED,
    Scratch,
    Tables,
    entries_of,
    entries_of_flow,
    flows_of,
)
from engine.simulator.schedule import fly, land, set_event

LINK_EVENT = 1 << 30
"""above the order of all arrivals"""
DEVICE_EVENT = LINK_EVENT + (1 << 29)
"""above the order of all links"""


@inlined
def start_op(tables: Tables, scratch: Scratch, device: int, start_us: float) -> None:
    """The device takes the head of its queue."""
    op = take_from_queue(tables, scratch, device, start_us)
    scratch.devices[device].running = True
    end_us = start_us + scratch.ops[op].time_us
    order = tables.ops[op].order if end_us > start_us else DEVICE_EVENT + scratch.devices[device].order
    set_event(scratch, device, end_us, order, op)


@inlined
def take_from_queue(tables: Tables, scratch: Scratch, device: int, start_us: float) -> int:
    """The head of the device's queue, which starts then."""
    op: int = scratch.queue[scratch.devices[device].head]
    scratch.devices[device].head += 1
    scratch.start_us[op] = start_us
    take_at_start(scratch, device, start_us, tables.ops[op].held_bytes)
    return op


@inlined
def send(tables: Tables, scratch: Scratch, op: int, device: int, now: float) -> None:
    """Queue the transfers of `op` in the order of their first remote consumer in the file."""
    transfers, leader = 0, 0
    for flow in range(*flows_of(tables, op)):
        count, last_leader = _lead(tables, scratch, flow, device)
        if count > 0:
            transfers, leader = transfers + count, last_leader
    if transfers == 1:
        scratch.entries[leader].next_transfer = NOTHING
        _queue_transfer(tables, scratch, leader, device, now)
    else:
        _send_by_file(tables, scratch, op, device, now)


@inlined
def _send_by_file(tables: Tables, scratch: Scratch, op: int, device: int, now: float) -> None:
    one_for_all = tables.model[0].contention == BUS_CODE
    for place in range(*entries_of(tables, op)):
        entry = tables.entries[place].by_file
        if scratch.ops[tables.entries[entry].consumer].device == device:
            continue
        leader = tables.flows[tables.entries[entry].flow].entry_first if one_for_all else scratch.entries[entry].leader
        if scratch.entries[leader].next_transfer == NOT_QUEUED:
            scratch.entries[leader].next_transfer = NOTHING
            _queue_transfer(tables, scratch, leader, device, now)


@inlined
def _lead(tables: Tables, scratch: Scratch, flow: int, device: int) -> tuple[int, int]:
    """Sort the remote entries of `flow` by device: leaders, chains, holders, durations.

    Returns the number of its transfers and the leader of the last of them.
    """
    first, beyond = entries_of_flow(tables, flow)
    first, beyond = first + SIGNED, beyond + SIGNED
    one_for_all = tables.model[0].contention == BUS_CODE
    if beyond - first == 1:
        return _lead_alone(tables, scratch, flow, device, first)
    holders, transfers, last_leader, longest_us = 0, 0, first, -1.0
    for entry in range(first, beyond):
        destination = scratch.ops[tables.entries[entry].consumer].device
        if destination == device:
            holders += 1
            continue
        leader = scratch.devices[destination].leader
        if leader < first or leader >= beyond:
            leader = entry
            scratch.devices[destination].leader = leader
            time_us = _transfer_us(tables, scratch, flow, device, destination)
            longest_us = max(longest_us, time_us)
            scratch.entries[leader].time_us = time_us
            scratch.entries[leader].next_transfer = NOT_QUEUED
            scratch.entries[leader].holders = 0
            transfers, last_leader = transfers + 1, entry
        else:
            scratch.entries[scratch.devices[destination].last_served].next_served = entry
        scratch.devices[destination].last_served = entry
        scratch.entries[entry].leader = leader
        scratch.entries[entry].next_served = NOTHING
        scratch.entries[leader].holders += 1
        if tables.entries[entry].shared != NOTHING:
            scratch.leader_of_shared[tables.entries[entry].shared] = leader
    if one_for_all and transfers > 0:
        transfers, last_leader = 1, first
        scratch.entries[first].time_us = longest_us
        scratch.entries[first].next_transfer = NOT_QUEUED
    scratch.flow_holders[flow] = holders + transfers
    return transfers, last_leader


@inlined
def _lead_alone(tables: Tables, scratch: Scratch, flow: int, device: int, entry: int) -> tuple[int, int]:
    """The same for a flow with one entry."""
    destination = scratch.ops[tables.entries[entry].consumer].device
    if destination == device:
        return 0, entry
    state = scratch.entries[entry]
    state.time_us = _transfer_us(tables, scratch, flow, device, destination)
    state.leader, state.next_served, state.next_transfer = entry, NOTHING, NOT_QUEUED
    return 1, entry


@inlined
def _transfer_us(tables: Tables, scratch: Scratch, flow: int, device: int, destination: int) -> float:
    link = tables.links[device * len(scratch.devices) + destination]
    return float(link.latency_us + tables.flows[flow].bytes / link.bandwidth_bytes_per_us)


@inlined
def _queue_transfer(tables: Tables, scratch: Scratch, leader: int, device: int, now: float) -> None:
    """The transfer waits for its channel, or starts if that is free or there is none."""
    if tables.model[0].contention == NONE_CODE:
        scratch.entries[leader].start_us = now
        end_us = now + scratch.entries[leader].time_us
        fly(scratch, end_us, tables.flows[tables.entries[leader].flow].order, leader)
        return
    channel = _channel(tables, scratch, leader, device)
    state = scratch.channels[channel]
    if not state.busy:
        _start_transfer(tables, scratch, leader, channel, max(now, state.free_us))
        return
    if state.head == NOTHING:
        state.head = leader
    else:
        scratch.entries[state.tail].next_transfer = leader
    state.tail = leader


@inlined
def _channel(tables: Tables, scratch: Scratch, leader: int, device: int) -> int:
    """The producer's bus, or the channel of the pair of devices."""
    if tables.model[0].contention == PAIR_CODE:
        return device * len(scratch.devices) + int(scratch.ops[tables.entries[leader].consumer].device)
    return device


@inlined
def _start_transfer(tables: Tables, scratch: Scratch, leader: int, channel: int, start_us: float) -> None:
    scratch.channels[channel].busy = True
    scratch.entries[leader].start_us = start_us
    end_us = start_us + scratch.entries[leader].time_us
    order = tables.flows[tables.entries[leader].flow].order
    devices = len(scratch.devices)
    if end_us <= start_us:
        order = LINK_EVENT + scratch.devices[channel % devices].order
        if tables.model[0].contention == PAIR_CODE:
            order += devices * scratch.devices[channel // devices].order
    set_event(scratch, devices + channel, end_us, order, leader)


@inlined
def end_transfer(tables: Tables, scratch: Scratch, leader: int, now: float) -> float:
    """The bytes arrive at all consumers that the transfer serves; then the channel goes on.

    Returns the moment when the channel has rested.
    """
    flow = tables.entries[leader].flow
    device = scratch.ops[tables.flows[flow].producer].device
    _arrive_everywhere(tables, scratch, leader, device, now)
    if tables.model[0].full_memory:
        scratch.flow_holders[flow] -= 1
        if scratch.flow_holders[flow] == 0:
            change_memory(scratch, device, now, -tables.flows[flow].bytes)
    if tables.model[0].contention == NONE_CODE:
        land(scratch)
        return now
    channel = _channel(tables, scratch, leader, device)
    rested_us: float = now + tables.model[0].link_rest_us
    following = scratch.channels[channel].head
    if following != NOTHING:
        scratch.channels[channel].head = scratch.entries[following].next_transfer
        _start_transfer(tables, scratch, following, channel, rested_us)
    else:
        scratch.channels[channel].busy = False
        scratch.channels[channel].free_us = rested_us
        set_event(scratch, len(scratch.devices) + channel, float("inf"), 0, 0)
    return rested_us


@inlined
def _arrive_everywhere(tables: Tables, scratch: Scratch, leader: int, device: int, now: float) -> None:
    flow = tables.entries[leader].flow
    if tables.model[0].contention == BUS_CODE:
        for entry in range(*entries_of_flow(tables, flow)):
            if scratch.ops[tables.entries[entry].consumer].device != device:
                _arrive(tables, scratch, entry, now)
        return
    entry = leader
    while entry != NOTHING:
        _arrive(tables, scratch, entry, now)
        entry = scratch.entries[entry].next_served


@inlined
def _arrive(tables: Tables, scratch: Scratch, entry: int, now: float) -> None:
    consumer = tables.entries[entry].consumer
    device = scratch.ops[consumer].device
    if tables.model[0].full_memory and scratch.entries[entry].leader == entry:
        change_memory(scratch, device, now, tables.flows[tables.entries[entry].flow].bytes)
    pending = scratch.ops[consumer].pending - 1
    scratch.ops[consumer].pending = pending
    if pending == 0:
        state = scratch.devices[device]
        scratch.queue[state.tail] = consumer
        state.tail += 1
        if not state.running:
            start_op(tables, scratch, device, max(now, state.free_us))
