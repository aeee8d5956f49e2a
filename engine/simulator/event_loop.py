"""The event loop, compiled: one step of a placed graph.

Events: the end of an op and the arrival of a transfer. A device's (or channel's) queue is first in, first out, so its
next op is known as soon as it is free or earlier, and starting it needs no event of its own. Where an op takes no time
its end is handled in the place of its start (after the arrivals and the links of that moment), as if both events were
there. Simultaneous events: arrivals by the producer's name, output and consumer's name, then links, then devices.

Memory is counted in half-open intervals: what is given back at a moment is gone before what is taken at that moment,
whatever the order of the events, and what is held for no time does not count.
"""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled
from engine.simulator.published_memory import published_peaks
from engine.simulator.tables import BUS_CODE, NONE_CODE, PAIR_CODE, Scratch, Tables

LINK_EVENT = 1 << 40
"""above the order of all arrivals"""
DEVICE_EVENT = 1 << 41
"""above the order of all links"""
NEVER = np.inf


@compiled
def simulate_step(tables: Tables, scratch: Scratch, placement: NDArray[np.int32]) -> float:
    """The step time of `placement` [groups]; peaks and times are left in `scratch`. NaN if an op cannot run there."""
    if not _place(tables, scratch, placement):
        return np.nan
    _reset(tables, scratch)
    count = 0
    for op in tables.first_ops:
        count = _become_ready(tables, scratch, count, op, 0.0)
    step_time_us = 0.0
    while count > 0:
        now, item = scratch.heap_time_us[0], scratch.heap_item[0]
        count = _pop(scratch, count)
        if item >= 0:
            count, rested = _end_op(tables, scratch, count, item, now)
        else:
            count, rested = _end_transfer(tables, scratch, count, ~item, now)
        step_time_us = max(step_time_us, rested)
    if not tables.full_memory:
        published_peaks(tables, scratch)
    return step_time_us


@compiled
def _place(tables: Tables, scratch: Scratch, placement: NDArray[np.int32]) -> bool:
    """Spread groups over ops; False if an op has no time on its device."""
    possible = True
    for op in range(len(tables.group_of_op)):
        device = placement[tables.group_of_op[op]]
        scratch.device_of_op[op] = device
        scratch.pending[op] = tables.in_degree[op]
        possible &= not np.isnan(tables.time_us[tables.row_of_device[device], op])
    return possible


@compiled
def _reset(tables: Tables, scratch: Scratch) -> None:
    scratch.first_op[:] = -1
    scratch.last_op[:] = -1
    scratch.running[:] = -1
    scratch.device_free_us[:] = 0.0
    scratch.leader_on[:] = -1
    scratch.channel_head[:] = -1
    scratch.channel_busy[:] = False
    scratch.channel_free_us[:] = 0.0
    scratch.level_bytes[:] = 0
    scratch.changed_us[:] = 0.0
    scratch.starting_us[:] = NEVER
    if tables.full_memory:
        for op in range(len(tables.persistent_bytes)):
            scratch.level_bytes[scratch.device_of_op[op]] += tables.persistent_bytes[op]
    scratch.peak_bytes[:] = scratch.level_bytes


@compiled
def _push(scratch: Scratch, count: int, time_us: float, order: int, item: int) -> int:
    """Add an event to the binary heap of `count` events; returns the new count."""
    times, orders, items = scratch.heap_time_us, scratch.heap_order, scratch.heap_item
    hole = count
    while hole > 0:
        parent = (hole - 1) >> 1
        if times[parent] < time_us or (times[parent] == time_us and orders[parent] <= order):
            break
        times[hole], orders[hole], items[hole] = times[parent], orders[parent], items[parent]
        hole = parent
    times[hole], orders[hole], items[hole] = time_us, order, item
    return count + 1


@compiled
def _pop(scratch: Scratch, count: int) -> int:
    """Take the first event away; returns the new count."""
    times, orders, items = scratch.heap_time_us, scratch.heap_order, scratch.heap_item
    count -= 1
    time_us, order, item = times[count], orders[count], items[count]
    hole, child = 0, 1
    while child < count:
        right = child + 1
        if right < count and (
            times[right] < times[child] or (times[right] == times[child] and orders[right] < orders[child])
        ):
            child = right
        if time_us < times[child] or (time_us == times[child] and order <= orders[child]):
            break
        times[hole], orders[hole], items[hole] = times[child], orders[child], items[child]
        hole, child = child, 2 * child + 1
    times[hole], orders[hole], items[hole] = time_us, order, item
    return count


@compiled
def _become_ready(tables: Tables, scratch: Scratch, count: int, op: int, now: float) -> int:
    """All inputs of `op` are there: it queues at its device, and starts if that is idle."""
    device = scratch.device_of_op[op]
    scratch.next_op[op] = -1
    tail = scratch.last_op[device]
    if tail >= 0:
        scratch.next_op[tail] = op
    else:
        scratch.first_op[device] = op
    scratch.last_op[device] = op
    if scratch.running[device] < 0:
        return _start_op(tables, scratch, count, op, max(now, scratch.device_free_us[device]))
    return count


@compiled
def _start_op(tables: Tables, scratch: Scratch, count: int, op: int, start_us: float) -> int:
    device = scratch.device_of_op[op]
    scratch.running[device] = op
    end_us = start_us + tables.time_us[tables.row_of_device[device], op]
    scratch.start_us[op], scratch.end_us[op] = start_us, end_us
    if tables.full_memory:
        scratch.starting_us[device], scratch.starting_bytes[device] = start_us, tables.held_bytes[op]
    order = tables.op_order[op] if end_us > start_us else DEVICE_EVENT + tables.device_order[device]
    return _push(scratch, count, end_us, order, op)


@compiled
def _end_op(tables: Tables, scratch: Scratch, count: int, op: int, now: float) -> tuple[int, float]:
    """Outputs go to the local consumers at once and to the others by transfers; then the device goes on.

    Returns the number of events and the moment when the device has rested.
    """
    device = scratch.device_of_op[op]
    for place in range(tables.out_offset[op], tables.out_offset[op + 1]):
        target = tables.out_target[place]
        if scratch.device_of_op[target] == device:
            scratch.pending[target] -= 1
            if scratch.pending[target] == 0:
                count = _become_ready(tables, scratch, count, target, now)
    if tables.full_memory:
        _give_back(tables, scratch, op, device, now)
    if tables.out_offset[op] < tables.out_offset[op + 1]:
        count = _send(tables, scratch, count, op, device, now)
    rested = now + tables.op_rest_us if tables.time_us[tables.row_of_device[device], op] != 0 else now
    scratch.device_free_us[device] = rested
    following = scratch.next_op[op]
    if following >= 0:
        count = _start_op(tables, scratch, count, following, rested)
    else:
        scratch.running[device] = -1
    return count, rested


@compiled
def _send(tables: Tables, scratch: Scratch, count: int, op: int, device: int, now: float) -> int:
    """Queue the transfers of `op` in the order of their first remote consumer in the file."""
    remote = False
    for flow in range(tables.flow_offset[op], tables.flow_offset[op + 1]):
        remote |= _lead(tables, scratch, flow, device)
    if remote:
        one_for_all = tables.contention == BUS_CODE
        for place in range(tables.out_offset[op], tables.out_offset[op + 1]):
            entry = tables.entries_by_file[place]
            if scratch.device_of_op[tables.entry_target[entry]] == device:
                continue
            leader = tables.entry_offset[tables.flow_of_entry[entry]] if one_for_all else scratch.leader[entry]
            if not scratch.queued[leader]:
                scratch.queued[leader] = True
                count = _queue_transfer(tables, scratch, count, leader, device, now)
    return count


@compiled
def _lead(tables: Tables, scratch: Scratch, flow: int, device: int) -> bool:
    """Sort the entries of `flow` by device: leaders, chains, holders, durations. True if one of them is remote."""
    first, beyond = tables.entry_offset[flow], tables.entry_offset[flow + 1]
    flows, size = len(tables.flow_bytes), tables.flow_bytes[flow]
    one_for_all = tables.contention == BUS_CODE
    holders, longest = 0, -1.0
    for entry in range(first, beyond):
        destination = scratch.device_of_op[tables.entry_target[entry]]
        scratch.next_served[entry] = -1
        if destination == device:
            holders += 1
            scratch.holder_of_input[tables.entry_input[entry]] = flow
            continue
        leader = scratch.leader_on[destination]
        if leader < first or leader >= beyond:
            leader = entry
            scratch.leader_on[destination] = leader
            scratch.holders[flows + leader] = 0
            duration = size / tables.bandwidth_bytes_per_us[device, destination]
            duration += tables.latency_us[device, destination]
            scratch.transfer_us[leader] = duration
            scratch.queued[leader] = False
            longest = max(longest, duration)
            holders += not one_for_all
        else:
            scratch.next_served[scratch.tail_on[destination]] = entry
        scratch.tail_on[destination] = entry
        scratch.leader[entry] = leader
        scratch.holders[flows + leader] += 1
        scratch.holder_of_input[tables.entry_input[entry]] = flows + leader
    if one_for_all and longest >= 0:
        holders += 1
        scratch.transfer_us[first] = longest
        scratch.queued[first] = False
    scratch.holders[flow] = holders
    return longest >= 0


@compiled
def _queue_transfer(tables: Tables, scratch: Scratch, count: int, leader: int, device: int, now: float) -> int:
    if tables.contention == NONE_CODE:
        flow = tables.flow_of_entry[leader]
        end_us = now + scratch.transfer_us[leader]
        scratch.transfer_start_us[leader], scratch.transfer_end_us[leader] = now, end_us
        return _push(scratch, count, end_us, tables.flow_order[flow], ~leader)
    channel = _channel(tables, scratch, leader, device)
    if not scratch.channel_busy[channel]:
        return _start_transfer(tables, scratch, count, leader, channel, max(now, scratch.channel_free_us[channel]))
    scratch.next_transfer[leader] = -1
    if scratch.channel_head[channel] < 0:
        scratch.channel_head[channel] = leader
    else:
        scratch.next_transfer[scratch.channel_tail[channel]] = leader
    scratch.channel_tail[channel] = leader
    return count


@compiled
def _channel(tables: Tables, scratch: Scratch, leader: int, device: int) -> int:
    """The producer's bus, or the channel of the pair of devices."""
    if tables.contention == PAIR_CODE:
        destination = scratch.device_of_op[tables.entry_target[leader]]
        return device * len(tables.device_order) + int(destination)
    return device


@compiled
def _start_transfer(tables: Tables, scratch: Scratch, count: int, leader: int, channel: int, start_us: float) -> int:
    end_us = start_us + scratch.transfer_us[leader]
    scratch.transfer_start_us[leader], scratch.transfer_end_us[leader] = start_us, end_us
    scratch.channel_busy[channel] = True
    order = tables.flow_order[tables.flow_of_entry[leader]]
    if end_us <= start_us:
        devices = len(tables.device_order)
        order = LINK_EVENT + tables.device_order[channel % devices]
        if tables.contention == PAIR_CODE:
            order += devices * tables.device_order[channel // devices]
    return _push(scratch, count, end_us, order, ~leader)


@compiled
def _end_transfer(tables: Tables, scratch: Scratch, count: int, leader: int, now: float) -> tuple[int, float]:
    """The bytes arrive at all consumers that the transfer serves; then the channel goes on.

    Returns the number of events and the moment when the channel has rested.
    """
    flow = tables.flow_of_entry[leader]
    device = scratch.device_of_op[tables.flow_source[flow]]
    if tables.contention == BUS_CODE:
        for entry in range(tables.entry_offset[flow], tables.entry_offset[flow + 1]):
            if scratch.device_of_op[tables.entry_target[entry]] != device:
                count = _arrive(tables, scratch, count, entry, now)
    else:
        entry = leader
        while entry >= 0:
            count = _arrive(tables, scratch, count, entry, now)
            entry = scratch.next_served[entry]
    if tables.full_memory:
        scratch.holders[flow] -= 1
        if scratch.holders[flow] == 0:
            _change_memory(scratch, device, now, -tables.flow_bytes[flow])
    if tables.contention == NONE_CODE:
        return count, now
    channel = _channel(tables, scratch, leader, device)
    rested = now + tables.link_rest_us
    scratch.channel_busy[channel] = False
    scratch.channel_free_us[channel] = rested
    following = scratch.channel_head[channel]
    if following >= 0:
        scratch.channel_head[channel] = scratch.next_transfer[following]
        count = _start_transfer(tables, scratch, count, following, channel, rested)
    return count, rested


@compiled
def _arrive(tables: Tables, scratch: Scratch, count: int, entry: int, now: float) -> int:
    target = tables.entry_target[entry]
    if tables.full_memory and scratch.leader[entry] == entry:
        size = tables.flow_bytes[tables.flow_of_entry[entry]]
        _change_memory(scratch, scratch.device_of_op[target], now, size)
    scratch.pending[target] -= 1
    if scratch.pending[target] == 0:
        count = _become_ready(tables, scratch, count, target, now)
    return count


@compiled
def _give_back(tables: Tables, scratch: Scratch, op: int, device: int, now: float) -> None:
    """At its end `op` frees its temporaries, outputs that nobody takes, and inputs that nobody here needs any more."""
    freed = tables.passing_bytes[op]
    for place in range(tables.input_offset[op], tables.input_offset[op + 1]):
        holder = scratch.holder_of_input[place]
        scratch.holders[holder] -= 1
        if scratch.holders[holder] == 0:
            freed += tables.input_bytes[place]
    _change_memory(scratch, device, now, -freed)


@compiled
def _change_memory(scratch: Scratch, device: int, now: float, change: int) -> None:
    """Changes come in the order of time, but for the start of the next op: that is caught up with first."""
    start_us = scratch.starting_us[device]
    if start_us <= now:
        _set_level(scratch, device, start_us, scratch.starting_bytes[device])
        scratch.starting_us[device] = NEVER
    _set_level(scratch, device, now, change)


@compiled
def _set_level(scratch: Scratch, device: int, now: float, change: int) -> None:
    """A level counts once it has lasted."""
    if now > scratch.changed_us[device]:
        scratch.peak_bytes[device] = max(scratch.peak_bytes[device], scratch.level_bytes[device])
        scratch.changed_us[device] = now
    scratch.level_bytes[device] += change
