"""The event loop for `sender`, compiled: each device is one thread, which runs its ops and sends their outputs.

A device runs depth first: of what an op makes ready, its consumers on this device come before its transfers, and both
before all that waits, the last of them foremost; but consumers that only look at shapes or pass their input on run at
once, first in, first out. A transfer keeps its sender for bytes / bandwidth and the rest of a link; its bytes arrive
latency + bytes / bandwidth after its start, whatever the receiver does. Nothing that arrives can come before a task
that waits, so the next task is known when a device becomes free or earlier.

Events: the end of an op, the start of a transfer, and its arrival, in the order of event_loop.py: the start of a
transfer, like the end of an op that takes no time, is handled after the arrivals of that moment.

Source: the rules are those that explain traced steps of TensorFlow's processes (docs/measuring/model.md).
"""

import numpy as np

from engine.files.compiled import inlined
from engine.simulator.event_queue import fly, land, next_slot, set_event, time_of
from engine.simulator.held_memory import free_after_op
from engine.simulator.records import NO_INDEX, Scratch, Tables, entries_of
from engine.simulator.step_state import ends_the_early, is_released, occupied_us, rest_after_us, stopped
from engine.simulator.task_list import put_first, put_inline, put_last, take_first
from engine.simulator.transfers import DEVICE_EVENT, free_sent, has_all_inputs, send, start_op


@inlined
def run_threads(tables: Tables, scratch: Scratch, limited: bool, stop_us: float) -> float:
    """Handle all events; returns the step time in µs, or infinity as soon as it is sure to be above `stop_us`."""
    for op in tables.first_ops:
        if scratch.ops[op].pending > 0:
            continue
        if tables.inline_ops[op]:
            put_inline(scratch, scratch.ops[op].device, op)
        else:
            put_last(scratch, scratch.ops[op].device, op)
    devices, ops = len(scratch.devices), len(scratch.ops)
    for device in range(devices):
        _take_next(tables, scratch, device, 0.0)
    step_time_us = 0.0
    while True:
        slot = next_slot(scratch)
        event = scratch.slots[slot]
        now, task = time_of(event.time_bits), int(event.what)
        if now == np.inf:
            return step_time_us
        if slot == devices:
            land(scratch)
            _arrive(tables, scratch, task, now)
            free_us = now
        else:
            if task < ops:
                free_us = _end_op(tables, scratch, task, slot, now, limited)
            else:
                free_us = _start_transfer(tables, scratch, task - ops, slot, now)
            _take_next(tables, scratch, slot, free_us)
            if limited and free_us + scratch.devices[slot].left_us > stop_us:
                return stopped(scratch)
        step_time_us = max(step_time_us, free_us)


@inlined
def _take_next(tables: Tables, scratch: Scratch, device: int, free_us: float) -> None:
    """Let the device, which is free at `free_us`, take its next task."""
    task = take_first(scratch, device)
    if task == NO_INDEX:
        scratch.devices[device].running, scratch.devices[device].free_us = False, free_us
        set_event(scratch, device, np.inf, 0, 0)
    elif task < len(scratch.ops):
        scratch.queue[scratch.devices[device].tail] = task
        scratch.devices[device].tail += 1
        end_us, order, op = start_op(tables, scratch, device, free_us)
        set_event(scratch, device, end_us, order, op)
    else:
        scratch.devices[device].running = True
        set_event(scratch, device, free_us, DEVICE_EVENT + scratch.devices[device].order, task)


@inlined
def _end_op(tables: Tables, scratch: Scratch, op: int, device: int, now: float, limited: bool) -> float:
    """Put the transfers of `op` and its consumers that are ready on `device` first; returns when its rest ends."""
    if tables.model[0].full_memory:
        free_after_op(tables, scratch, op, device, now)
    first, beyond = entries_of(tables, op)
    remote = 0
    for place in range(first, beyond):
        remote += scratch.ops[tables.by_name[place]].device != device
    if remote > 0:
        send(tables, scratch, op, device, now)
    for place in range(first, beyond):
        consumer = tables.by_name[place]
        if scratch.ops[consumer].device == device:
            pending = scratch.ops[consumer].pending - 1
            scratch.ops[consumer].pending = pending
            if pending == 0 and tables.inline_ops[consumer]:
                put_inline(scratch, device, consumer)
            elif pending == 0:
                put_first(scratch, device, consumer)
    _release_late(tables, scratch, op, device)
    if scratch.ops[op].time_us == 0:
        return now
    if limited:
        scratch.devices[device].left_us -= occupied_us(tables, scratch, op, device)
    return now + rest_after_us(tables, scratch, op, device)


@inlined
def _release_late(tables: Tables, scratch: Scratch, op: int, device: int) -> None:
    """If `op` is the last early one of `device`, put its late ops that have all their inputs behind all that waits."""
    if not ends_the_early(tables, scratch, op, device):
        return
    for late in tables.late_ops:
        if is_released(scratch, late, device):
            if tables.inline_ops[late]:
                put_inline(scratch, device, late)
            else:
                put_last(scratch, device, late)


@inlined
def _start_transfer(tables: Tables, scratch: Scratch, transfer: int, device: int, now: float) -> float:
    """Send the bytes on their way; returns when their sender is free."""
    state = scratch.entries[transfer]
    state.start_us, state.next_transfer = now, scratch.devices[device].tail
    arrival_us = now + state.time_us
    flow, destination = tables.entries[transfer].flow, scratch.ops[tables.entries[transfer].consumer].device
    if arrival_us > now:
        fly(scratch, arrival_us, tables.flows[flow].order, transfer)
    else:
        _arrive(tables, scratch, transfer, now)
    link = tables.links[device * len(scratch.devices) + destination]
    kept_us = tables.model[0].link_rest_us + tables.flows[flow].bytes / link.bandwidth_bytes_per_us
    free_us: float = now + (kept_us * scratch.transfer_trips[transfer] if tables.model[0].has_trips else kept_us)
    return free_us


@inlined
def _arrive(tables: Tables, scratch: Scratch, transfer: int, now: float) -> None:
    """Deliver the bytes to all consumers that the transfer serves; what is ready then comes last on its device."""
    entry = transfer
    while entry != NO_INDEX:
        if has_all_inputs(tables, scratch, entry, now):
            consumer = tables.entries[entry].consumer
            device = scratch.ops[consumer].device
            put_last(scratch, device, consumer)
            if not scratch.devices[device].running:
                _take_next(tables, scratch, device, max(now, scratch.devices[device].free_us))
        entry = scratch.entries[entry].next_served
    producer = tables.flows[tables.entries[transfer].flow].producer
    free_sent(tables, scratch, transfer, scratch.ops[producer].device, now)
