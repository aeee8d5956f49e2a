"""The event loop, compiled: one step of a placed graph.

Events: the end of an op and the arrival of a transfer. A device's (or channel's) queue is first in, first out, so what
it takes next is known when it becomes free or earlier, and starting that needs no event of its own. Where an op takes
no time its end is handled in the place of its start (after the arrivals and the links of that moment), as if both
events were there. Simultaneous events: arrivals by producer's name, output and consumer's name, then links, then
devices.
"""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled, inlined
from engine.simulator.held_memory import change_memory, free_after_op
from engine.simulator.published_memory import published_peaks
from engine.simulator.records import BUS_CODE, NONE_CODE, PAIR_CODE, Scratch, Tables, borrow_scratch, borrow_tables

LINK_EVENT = 1 << 30
"""above the order of all arrivals"""
DEVICE_EVENT = LINK_EVENT + (1 << 29)
"""above the order of all links"""


@compiled
def simulate_step(tables: Tables, scratch: Scratch, placement: NDArray[np.int32]) -> float:
    """The step time of `placement` [groups]; peaks and times are left in `scratch`. NaN if an op cannot run there."""
    tables, scratch = borrow_tables(tables), borrow_scratch(scratch)
    _reset(scratch)
    if not _place(tables, scratch, placement):
        return np.nan
    count = 0
    for op in range(len(scratch.ops)):
        if tables.ops[op].in_degree == 0:
            count = _become_ready(tables, scratch, count, op, 0.0)
    step_time_us = 0.0
    while count > 0:
        now, what = scratch.events[0].time_us, scratch.events[0].what
        count = _pop(scratch, count)
        if what >= 0:
            count, rested_us = _end_op(tables, scratch, count, what, now)
        else:
            count, rested_us = _end_transfer(tables, scratch, count, ~what, now)
        step_time_us = max(step_time_us, rested_us)
    if not tables.model[0].full_memory:
        published_peaks(tables, scratch)
    return step_time_us


@inlined
def _reset(scratch: Scratch) -> None:
    for device in range(len(scratch.devices)):
        state = scratch.devices[device]
        state.running = False
        state.first = state.last = state.leader = -1
        state.free_us = state.changed_us = 0.0
        state.starting_us = np.inf
        state.level_bytes = state.peak_bytes = 0
    for channel in range(len(scratch.channels)):
        scratch.channels[channel].busy = False
        scratch.channels[channel].head = -1
        scratch.channels[channel].free_us = 0.0


@inlined
def _place(tables: Tables, scratch: Scratch, placement: NDArray[np.int32]) -> bool:
    """Spread groups over ops; False if an op has no time on its device."""
    possible = True
    for op in range(len(scratch.ops)):
        device = placement[tables.ops[op].group]
        time_us = tables.time_us[scratch.devices[device].kind, op]
        scratch.ops[op].device = device
        scratch.ops[op].pending = tables.ops[op].in_degree
        scratch.ops[op].time_us = time_us
        scratch.devices[device].level_bytes += tables.ops[op].persistent_bytes
        possible &= not np.isnan(time_us)
    for device in range(len(scratch.devices)):
        scratch.devices[device].peak_bytes = scratch.devices[device].level_bytes
    return possible


@inlined
def _push(scratch: Scratch, count: int, time_us: float, order: int, what: int) -> int:
    """Add an event to the heap of `count` events; returns the new count."""
    events = scratch.events
    hole = count
    while hole > 0:
        parent = (hole - 1) >> 1
        before = events[parent].time_us
        if before < time_us or (before == time_us and events[parent].order <= order):
            break
        events[hole] = events[parent]
        hole = parent
    events[hole].time_us, events[hole].order, events[hole].what = time_us, order, what
    return count + 1


@inlined
def _pop(scratch: Scratch, count: int) -> int:
    """Take the first event away; returns the new count."""
    events = scratch.events
    count -= 1
    time_us, order = events[count].time_us, events[count].order
    hole, child = 0, 1
    while child < count:
        right = child + 1
        if right < count and _before(
            events[right].time_us, events[right].order, events[child].time_us, events[child].order
        ):
            child = right
        if not _before(events[child].time_us, events[child].order, time_us, order):
            break
        events[hole] = events[child]
        hole, child = child, 2 * child + 1
    events[hole] = events[count]
    return count


@inlined
def _before(time_us: float, order: int, other_us: float, other_order: int) -> bool:
    return time_us < other_us or (time_us == other_us and order < other_order)


@inlined
def _become_ready(tables: Tables, scratch: Scratch, count: int, op: int, now: float) -> int:
    """All inputs of `op` are there: it queues at its device, and starts if that is idle."""
    device = scratch.devices[scratch.ops[op].device]
    scratch.ops[op].next = -1
    if device.last >= 0:
        scratch.ops[device.last].next = op
    else:
        device.first = op
    device.last = op
    if not device.running:
        count = _start_op(tables, scratch, count, op, max(now, device.free_us))
    return count


@inlined
def _start_op(tables: Tables, scratch: Scratch, count: int, op: int, start_us: float) -> int:
    device = scratch.devices[scratch.ops[op].device]
    device.running = True
    device.starting_us, device.starting_bytes = start_us, tables.ops[op].held_bytes
    scratch.ops[op].start_us = start_us
    end_us = start_us + scratch.ops[op].time_us
    order = tables.ops[op].order if end_us > start_us else DEVICE_EVENT + device.order
    return _push(scratch, count, end_us, order, op)


@inlined
def _end_op(tables: Tables, scratch: Scratch, count: int, op: int, now: float) -> tuple[int, float]:
    """Outputs go to the local consumers at once and to the others by transfers; then the device goes on.

    Returns the number of events and the moment when the device has rested.
    """
    device = scratch.ops[op].device
    for place in range(tables.ops[op].entry_first, tables.ops[op + 1].entry_first):
        consumer = tables.entries[place].by_name
        if scratch.ops[consumer].device == device:
            scratch.ops[consumer].pending -= 1
            if scratch.ops[consumer].pending == 0:
                count = _become_ready(tables, scratch, count, consumer, now)
    if tables.model[0].full_memory:
        free_after_op(tables, scratch, op, now)
    remote = False
    for flow in range(tables.ops[op].flow_first, tables.ops[op + 1].flow_first):
        remote |= _lead(tables, scratch, flow, device)
    if remote:
        count = _send(tables, scratch, count, op, now)
    rested_us = now + tables.model[0].op_rest_us if scratch.ops[op].time_us != 0 else now
    scratch.devices[device].free_us = rested_us
    following = scratch.ops[op].next
    if following >= 0:
        count = _start_op(tables, scratch, count, following, rested_us)
    else:
        scratch.devices[device].running = False
    return count, rested_us


@inlined
def _lead(tables: Tables, scratch: Scratch, flow: int, device: int) -> bool:
    """Sort the entries of `flow` by device: leaders, chains, holders, durations. True if one of them is remote."""
    first, beyond = tables.flows[flow].entry_first, tables.flows[flow + 1].entry_first
    one_for_all = tables.model[0].contention == BUS_CODE
    holders, longest_us = 0, -1.0
    for entry in range(first, beyond):
        shared = tables.entries[entry].shared
        destination = scratch.ops[tables.entries[entry].consumer].device
        if destination == device:
            holders += 1
            if shared >= 0:
                scratch.holder_of_shared[shared] = flow
            continue
        leader = scratch.devices[destination].leader
        if leader < first or leader >= beyond:
            leader = entry
            scratch.devices[destination].leader = leader
            link = tables.links[device * len(scratch.devices) + destination]
            time_us = link.latency_us + tables.flows[flow].bytes / link.bandwidth_bytes_per_us
            longest_us = max(longest_us, time_us)
            scratch.entries[leader].time_us = time_us
            scratch.entries[leader].queued = False
            scratch.entries[leader].holders = 0
            holders += not one_for_all
        else:
            scratch.entries[scratch.devices[destination].tail].next_served = entry
        scratch.devices[destination].tail = entry
        scratch.entries[entry].leader = leader
        scratch.entries[entry].next_served = -1
        scratch.entries[leader].holders += 1
        if shared >= 0:
            scratch.holder_of_shared[shared] = ~leader
    if one_for_all and longest_us >= 0:
        holders += 1
        scratch.entries[first].time_us = longest_us
        scratch.entries[first].queued = False
    scratch.flow_holders[flow] = holders
    return longest_us >= 0


@inlined
def _send(tables: Tables, scratch: Scratch, count: int, op: int, now: float) -> int:
    """Queue the transfers of `op` in the order of their first remote consumer in the file."""
    one_for_all = tables.model[0].contention == BUS_CODE
    for place in range(tables.ops[op].entry_first, tables.ops[op + 1].entry_first):
        entry = tables.entries[place].by_file
        if scratch.ops[tables.entries[entry].consumer].device == scratch.ops[op].device:
            continue
        leader = scratch.entries[entry].leader
        if one_for_all:
            leader = tables.flows[tables.entries[entry].flow].entry_first
        if not scratch.entries[leader].queued:
            scratch.entries[leader].queued = True
            count = _queue_transfer(tables, scratch, count, leader, now)
    return count


@inlined
def _queue_transfer(tables: Tables, scratch: Scratch, count: int, leader: int, now: float) -> int:
    """The transfer waits for its channel, or starts if that is free or there is none."""
    if tables.model[0].contention == NONE_CODE:
        scratch.entries[leader].start_us = now
        scratch.entries[leader].end_us = now + scratch.entries[leader].time_us
        order = tables.flows[tables.entries[leader].flow].order
        return _push(scratch, count, scratch.entries[leader].end_us, order, ~leader)
    channel = scratch.channels[_channel(tables, scratch, leader)]
    if not channel.busy:
        return _start_transfer(tables, scratch, count, leader, max(now, channel.free_us))
    scratch.entries[leader].next_transfer = -1
    if channel.head < 0:
        channel.head = leader
    else:
        scratch.entries[channel.tail].next_transfer = leader
    channel.tail = leader
    return count


@inlined
def _channel(tables: Tables, scratch: Scratch, leader: int) -> int:
    """The producer's bus, or the channel of the pair of devices."""
    device = int(scratch.ops[tables.flows[tables.entries[leader].flow].producer].device)
    if tables.model[0].contention == PAIR_CODE:
        return device * len(scratch.devices) + int(scratch.ops[tables.entries[leader].consumer].device)
    return device


@inlined
def _start_transfer(tables: Tables, scratch: Scratch, count: int, leader: int, start_us: float) -> int:
    channel = _channel(tables, scratch, leader)
    scratch.channels[channel].busy = True
    end_us = start_us + scratch.entries[leader].time_us
    scratch.entries[leader].start_us, scratch.entries[leader].end_us = start_us, end_us
    order = tables.flows[tables.entries[leader].flow].order
    if end_us <= start_us:
        devices = len(scratch.devices)
        order = LINK_EVENT + scratch.devices[channel % devices].order
        if tables.model[0].contention == PAIR_CODE:
            order += devices * scratch.devices[channel // devices].order
    return _push(scratch, count, end_us, order, ~leader)


@inlined
def _end_transfer(tables: Tables, scratch: Scratch, count: int, leader: int, now: float) -> tuple[int, float]:
    """The bytes arrive at all consumers that the transfer serves; then the channel goes on.

    Returns the number of events and the moment when the channel has rested.
    """
    flow = tables.entries[leader].flow
    device = scratch.ops[tables.flows[flow].producer].device
    if tables.model[0].contention == BUS_CODE:
        for entry in range(tables.flows[flow].entry_first, tables.flows[flow + 1].entry_first):
            if scratch.ops[tables.entries[entry].consumer].device != device:
                count = _arrive(tables, scratch, count, entry, now)
    else:
        entry = leader
        while entry >= 0:
            count = _arrive(tables, scratch, count, entry, now)
            entry = scratch.entries[entry].next_served
    if tables.model[0].full_memory:
        scratch.flow_holders[flow] -= 1
        if scratch.flow_holders[flow] == 0:
            change_memory(scratch, device, now, -tables.flows[flow].bytes)
    if tables.model[0].contention == NONE_CODE:
        return count, now
    channel = scratch.channels[_channel(tables, scratch, leader)]
    channel.busy = False
    channel.free_us = now + tables.model[0].link_rest_us
    following = channel.head
    if following >= 0:
        channel.head = scratch.entries[following].next_transfer
        count = _start_transfer(tables, scratch, count, following, channel.free_us)
    return count, channel.free_us


@inlined
def _arrive(tables: Tables, scratch: Scratch, count: int, entry: int, now: float) -> int:
    consumer = tables.entries[entry].consumer
    if tables.model[0].full_memory and scratch.entries[entry].leader == entry:
        change_memory(scratch, scratch.ops[consumer].device, now, tables.flows[tables.entries[entry].flow].bytes)
    scratch.ops[consumer].pending -= 1
    if scratch.ops[consumer].pending == 0:
        count = _become_ready(tables, scratch, count, consumer, now)
    return count
