"""The event loop, compiled: one step of a placed graph.

Events: the end of an op and the arrival of a transfer. A device's (or channel's) queue is first in, first out, so its
next op is known when it becomes free or earlier, and a start needs no event of its own. The end of an op that takes no
time is handled when its start would be (after the arrivals and the links of that moment). Simultaneous events:
arrivals by producer's name, output and consumer's name, then links, then devices.

The memory model `outputs`, compiled: outputs on their producer's device.

Source: Placeto (Addanki et al. 2019), published simulator. An output is held from its producer's start to the latest,
over its consumers, of start + run time − 1, both in whole µs, but at least at its producer's start, which is not
truncated. What is taken at a moment is there before what is freed at that moment goes.
"""

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import borrowed, compiled, inlined
from engine.simulator.event_queue import next_slot, set_event, time_of
from engine.simulator.held_memory import free_after_op
from engine.simulator.records import NO_INDEX, Scratch, Tables, borrow_scratch, borrow_tables, entries_of
from engine.simulator.transfers import DEVICE_EVENT, end_transfer, send, start_op, take_from_queue

MOST_DIGIT_BITS = 11
ROUNDING_OF_AN_OP = 2.0**-50
"""relative: an op changes a device's sum of work, and the step time, by four roundings of 2**-53 at most"""


@compiled
def published_peaks(tables: Tables, scratch: Scratch) -> None:
    """Write the peaks of a step whose times are in `scratch`."""
    last_us, started, count = np.empty(len(scratch.ops)), np.empty(len(scratch.ops), np.int64), 0
    for device in range(len(scratch.devices)):
        state = scratch.devices[device]
        state.level_bytes = state.peak_bytes = 0
        state.head = state.first
        for place in range(state.first, state.tail):
            op = scratch.queue[place]
            started[count], last_us[op] = op, _last_us(tables, scratch, op)
            count += 1
    for op in _sorted_by(last_us, started[:count]):
        state = scratch.devices[scratch.ops[op].device]
        while state.head < state.tail and scratch.start_us[scratch.queue[state.head]] <= last_us[op]:
            state.level_bytes += tables.output_bytes[scratch.queue[state.head]]
            state.head += 1
        state.peak_bytes = max(state.peak_bytes, state.level_bytes)
        state.level_bytes -= tables.output_bytes[op]


@inlined
def _last_us(tables: Tables, scratch: Scratch, op: int) -> float:
    last = 0
    for place in range(*entries_of(tables, op)):
        consumer = tables.by_name[place]
        last = max(last, int(scratch.start_us[consumer]) + int(scratch.ops[consumer].time_us) - 1)
    return max(float(last), float(scratch.start_us[op]))


@inlined
def _sorted_by(last_us: NDArray[np.float64], started: NDArray[np.int64]) -> NDArray[np.int64]:
    """`started` in the order of `last_us` on each device: a stable radix sort by twice the whole µs, plus 1 for a rest.

    Only a producer's own start has a rest, and `started` has each device's ops in the order of their starts.
    """
    keys, largest = np.empty(len(last_us), np.int64), 0
    for op in started:
        whole_us = int(last_us[op])
        keys[op] = 2 * whole_us + (last_us[op] > whole_us)
        largest = max(largest, keys[op])
    order, other = started, np.empty(len(started), np.int64)
    bits = 4
    while bits < MOST_DIGIT_BITS and (1 << bits) < len(started):
        bits += 1
    shift, mask = 0, (1 << bits) - 1
    while (largest >> shift) > 0:
        count = np.zeros((1 << bits) + 1, np.int64)
        for op in order:
            count[((keys[op] >> shift) & mask) + 1] += 1
        for digit in range(1 << bits):
            count[digit + 1] += count[digit]
        for op in order:
            digit = (keys[op] >> shift) & mask
            other[count[digit]] = op
            count[digit] += 1
        order, other = other, order
        shift += bits
    return order


@compiled
def simulate_step(tables: Tables, scratch: Scratch, placement: NDArray[np.int32], limit_us: float = np.inf) -> float:
    """The step time in µs of `placement` [groups], NaN if an op cannot run there; peaks and times are in `scratch`.

    It stops as soon as the step is sure to take longer than `limit_us`: when a device cannot end its remaining ops, one
    right after the other, in time. Then it returns infinity, and what is in `scratch` is unfinished.
    """
    tables, scratch = borrow_tables(tables), borrow_scratch(scratch)
    _reset(tables, scratch)
    limited, stop_us = limit_us < np.inf, limit_us * (1 + ROUNDING_OF_AN_OP * len(scratch.ops))
    if not _place(tables, scratch, borrowed(placement), limited):
        return np.nan
    if limited and _most_left_us(scratch) > stop_us:
        return np.inf
    _begin(tables, scratch)
    step_time_us = 0.0
    devices = len(scratch.devices)
    while True:
        slot = next_slot(scratch)
        event = scratch.slots[slot]
        now = time_of(event.time_bits)
        if now == np.inf:
            break
        if slot < devices:
            rested_us = _end_op(tables, scratch, event.what, now, limited)
            if limited and rested_us + scratch.devices[slot].left_us > stop_us:
                return _stopped(scratch)
        else:
            rested_us = end_transfer(tables, scratch, event.what, now)
        step_time_us = max(step_time_us, rested_us)
    if not tables.model[0].full_memory:
        published_peaks(tables, scratch)
    return step_time_us


@inlined
def _reset(tables: Tables, scratch: Scratch) -> None:
    for device in range(len(scratch.devices)):
        state = scratch.devices[device]
        state.running = False
        state.op_count = 0
        state.copy = NO_INDEX
        state.free_us = state.changed_us = state.left_us = 0.0
        state.starting_us = np.inf
        state.level_bytes = 0
    if tables.model[0].full_memory:
        scratch.flow_holders[:] = tables.flow_sizes
        scratch.copy_of_shared[:] = NO_INDEX
    for channel in range(len(scratch.channels)):
        scratch.channels[channel].busy = False
        scratch.channels[channel].head = NO_INDEX
        scratch.channels[channel].free_us = 0.0


@inlined
def _place(tables: Tables, scratch: Scratch, placement: NDArray[np.int32], limited: bool) -> bool:
    """Put each op on its group's device; returns False if an op has no time there. Sums the work if it is `limited`."""
    possible = True
    for op in range(len(scratch.ops)):
        placed = tables.placed_ops[op]
        device = placement[placed.group]
        time_us = tables.time_us[scratch.devices[device].kind, op]
        scratch.ops[op].device, scratch.ops[op].pending = device, placed.in_degree
        scratch.ops[op].time_us = time_us
        scratch.devices[device].level_bytes += placed.persistent_bytes
        scratch.devices[device].op_count += 1
        if limited:
            scratch.devices[device].left_us += _occupied_us(tables, scratch, op, device)
        possible &= not np.isnan(time_us)
    first = 0
    for device in range(len(scratch.devices)):
        state = scratch.devices[device]
        state.peak_bytes = state.level_bytes
        state.first = state.head = state.tail = first
        first += state.op_count + 1
    return possible


@inlined
def _begin(tables: Tables, scratch: Scratch) -> None:
    """Queue the ops without inputs in the order of the file and start the first of each device."""
    for op in tables.first_ops:
        device = scratch.ops[op].device
        scratch.queue[scratch.devices[device].tail] = op
        scratch.devices[device].tail += 1
    for device in range(len(scratch.devices)):
        if scratch.devices[device].head < scratch.devices[device].tail:
            end_us, order, op = start_op(tables, scratch, device, 0.0)
            set_event(scratch, device, end_us, order, op)


@inlined
def _end_op(tables: Tables, scratch: Scratch, op: int, now: float, limited: bool) -> float:
    """Hand the outputs to local consumers, send them to the others, then start the device's next op.

    If an op that takes no time sends nothing, no other event can come before the device's next one, so a row of such
    ops is handled at once. Returns the moment when the device's rest ends.
    """
    device = scratch.ops[op].device
    in_a_row = scratch.slots[device].order >= DEVICE_EVENT
    while True:
        remote = _hand_over(tables, scratch, op, device)
        if tables.model[0].full_memory:
            free_after_op(tables, scratch, op, device, now)
        if remote > 0:
            send(tables, scratch, op, device, now)
        state = scratch.devices[device]
        if not in_a_row or remote > 0 or scratch.ops[op].time_us != 0 or state.head == state.tail:
            break
        following = scratch.queue[state.head]
        if now + scratch.ops[following].time_us > now:
            break
        op = following
        take_from_queue(tables, scratch, device, now)
    rested_us = now
    if scratch.ops[op].time_us != 0:
        rested_us += _rest_us(tables, scratch, op, device)
        if limited:
            scratch.devices[device].left_us -= _occupied_us(tables, scratch, op, device)
    end_us, order, following = np.inf, 0, 0
    if scratch.devices[device].head < scratch.devices[device].tail:
        end_us, order, following = start_op(tables, scratch, device, rested_us)
    else:
        scratch.devices[device].running = False
        scratch.devices[device].free_us = rested_us
    set_event(scratch, device, end_us, order, following)
    return rested_us


@inlined
def _rest_us(tables: Tables, scratch: Scratch, op: int, device: int) -> float:
    """The rest in µs of a device after an op that takes time: once a trip."""
    rest_us: float = scratch.devices[device].op_rest_us
    return rest_us * tables.op_trips[op] if tables.model[0].has_trips else rest_us


@inlined
def _occupied_us(tables: Tables, scratch: Scratch, op: int, device: int) -> float:
    """How long `op`, with the rest after it, keeps `device` from other ops, in µs."""
    time_us: float = scratch.ops[op].time_us
    return time_us + _rest_us(tables, scratch, op, device) if time_us != 0 else 0.0


@inlined
def _stopped(scratch: Scratch) -> float:
    """Leave the event queue empty, as an evaluation to the end does. Returns infinity."""
    for slot in range(len(scratch.slots)):
        set_event(scratch, slot, np.inf, 0, 0)
    scratch.in_flight_count[0] = 0
    return np.inf


@inlined
def _most_left_us(scratch: Scratch) -> float:
    most_us = 0.0
    for device in range(len(scratch.devices)):
        most_us = max(most_us, scratch.devices[device].left_us)
    return most_us


@inlined
def _hand_over(tables: Tables, scratch: Scratch, op: int, device: int) -> int:
    """Queue the local consumers of `op` that are ready now; the device is busy. Returns the number of remote edges.

    The loop has no branches, since they could not be predicted: an op that is not ready is overwritten by the next.
    """
    remote, tail = 0, scratch.devices[device].tail
    for place in range(*entries_of(tables, op)):
        consumer = tables.by_name[place]
        here = scratch.ops[consumer].device == device
        pending = scratch.ops[consumer].pending - here
        scratch.ops[consumer].pending = pending
        scratch.queue[tail] = consumer
        tail += here & (pending == 0)
        remote += not here
    scratch.devices[device].tail = tail
    return remote
