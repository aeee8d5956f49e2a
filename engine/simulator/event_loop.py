"""The event loop, compiled: one step of a placed graph.

Where transfers have links, devices run their ready ops first in, first out; with `sender` see thread_loop.py. Late ops,
those of the optimizer, become ready when all others of their device have ended: PyTorch runs a step's parts in order.

Events: the end of an op and the arrival of a transfer. A device's (or channel's) queue is first in, first out, so its
next op is known when it becomes free or earlier, and a start needs no event of its own. The end of an op that takes no
time is handled when its start would be (after the arrivals and the links of that moment). Simultaneous events:
arrivals by producer's name, output and consumer's name, then links, then devices.
"""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import HOST_CODE, SENDER_CODE
from engine.files.compiled import borrowed, compiled, inlined
from engine.simulator.event_queue import next_slot, set_event, time_of
from engine.simulator.held_memory import free_after_op
from engine.simulator.published_peaks import published_peaks
from engine.simulator.records import Scratch, Tables, borrow_scratch, borrow_tables, entries_of
from engine.simulator.step_state import (
    ROUNDING_OF_AN_OP,
    ends_the_early,
    hold_late_ops,
    is_released,
    most_left_us,
    occupied_us,
    place_ops,
    reset,
    rest_after_us,
    stopped,
)
from engine.simulator.streams.blocks import one_block_each
from engine.simulator.streams.loads import period_us
from engine.simulator.streams.loop import run_stream
from engine.simulator.thread_loop import run_threads
from engine.simulator.transfers import DEVICE_EVENT, end_transfer, send, start_op, take_from_queue


@compiled
def simulate_step(tables: Tables, scratch: Scratch, placement: NDArray[np.int32], limit_us: float = np.inf) -> float:
    """The step time in µs of `placement` [groups], NaN if an op cannot run there; peaks and times are in `scratch`.

    In a stream of micro-batches it is the period instead, see streams/loads.py.

    It stops as soon as the step is sure to take longer than `limit_us`: when a device cannot end its remaining ops, one
    right after the other, in time. Then it returns infinity, and what is in `scratch` is unfinished.
    """
    tables, scratch = borrow_tables(tables), borrow_scratch(scratch)
    if tables.model[0].is_stream:
        return period_us(tables, scratch, borrowed(placement))
    reset(tables, scratch)
    limited, stop_us = limit_us < np.inf, limit_us * (1 + ROUNDING_OF_AN_OP * len(scratch.ops))
    if not place_ops(tables, scratch, borrowed(placement), limited):
        return np.nan
    if limited and most_left_us(scratch) > stop_us:
        return np.inf
    if tables.model[0].contention == HOST_CODE:
        one_block_each(tables, scratch)
        step_time_us = run_stream(tables, scratch, limited, stop_us)
    elif tables.model[0].contention == SENDER_CODE:
        hold_late_ops(tables, scratch)
        step_time_us = run_threads(tables, scratch, limited, stop_us)
    else:
        hold_late_ops(tables, scratch)
        step_time_us = _run_queues(tables, scratch, limited, stop_us)
    if step_time_us < np.inf and tables.model[0].outputs_memory:
        published_peaks(tables, scratch)
    return step_time_us


@inlined
def _run_queues(tables: Tables, scratch: Scratch, limited: bool, stop_us: float) -> float:
    """Handle all events; returns the step time in µs, or infinity as soon as it is sure to be above `stop_us`."""
    _begin(tables, scratch)
    step_time_us = 0.0
    devices = len(scratch.devices)
    while True:
        slot = next_slot(scratch)
        event = scratch.slots[slot]
        now = time_of(event.time_bits)
        if now == np.inf:
            return step_time_us
        if slot < devices:
            rested_us = _end_op(tables, scratch, event.what, now, limited)
            if limited and rested_us + scratch.devices[slot].left_us > stop_us:
                return stopped(scratch)
        else:
            rested_us = end_transfer(tables, scratch, event.what, now)
        step_time_us = max(step_time_us, rested_us)


@inlined
def _begin(tables: Tables, scratch: Scratch) -> None:
    """Queue the ops without inputs in the order of the file and start the first of each device."""
    for op in tables.first_ops:
        if scratch.ops[op].pending == 0:
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
        rested_us += rest_after_us(tables, scratch, op, device)
        if limited:
            scratch.devices[device].left_us -= occupied_us(tables, scratch, op, device)
    end_us, order, following = np.inf, 0, 0
    if scratch.devices[device].head < scratch.devices[device].tail:
        end_us, order, following = start_op(tables, scratch, device, rested_us)
    else:
        scratch.devices[device].running = False
        scratch.devices[device].free_us = rested_us
    set_event(scratch, device, end_us, order, following)
    return rested_us


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
    if ends_the_early(tables, scratch, op, device):
        for late in tables.late_ops:
            if is_released(scratch, late, device):
                scratch.queue[tail] = late
                tail += 1
    scratch.devices[device].tail = tail
    return remote
