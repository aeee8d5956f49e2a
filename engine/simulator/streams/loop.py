"""The event loop of a stream, compiled: the micro-batches of a batch in one placed graph, each an index more.

Tables, events, transfers and memory are those of a step (event_loop.py); what differs is what a device takes next, see
blocks.py. With one micro-batch and one block a device this is a step, and so a step with `host` is simulated here.

- A micro-batch has inputs, buffers and transfers of its own. Persistent bytes are held once.
- The ops of the optimizer run once a batch, when their device has run all else. What they take from other ops is
  summed up over the micro-batches in place: it is held once, from the first micro-batch on, and sent with the last.
  Where micro-batches take routes (batch.py) they do not run, and each device holds its sum to the end.
- With `sender` and `host` a device sends as soon as it is free, before its next op. With `host` a GPU is busy for
  bytes / bandwidth when it sends an output, once for all that take it, and again when it receives one; the latency lies
  between. A CPU reads and writes its own memory: it is never busy so. Signals carry no bytes and keep nothing busy.
"""

import numpy as np

from engine.clusters.cluster import BUS_CODE, HOST_CODE, NONE_CODE, PAIR_CODE, SENDER_CODE
from engine.files.compiled import compiled, inlined
from engine.simulator.event_queue import fly, land, next_slot, set_event, time_of
from engine.simulator.held_memory import free_after_op, release
from engine.simulator.records import (
    NO_INDEX,
    Scratch,
    Tables,
    borrow_scratch,
    borrow_tables,
    entries_of,
    entries_of_flow,
    flows_of,
    of_micro_batch,
)
from engine.simulator.step_state import occupied_us, rest_after_us, stopped
from engine.simulator.streams.blocks import become_ready, begin_blocks, take_next, wake
from engine.simulator.streams.moves import keeps_sender, latency_us, put_move
from engine.simulator.transfers import (
    LINK_EVENT,
    free_sent,
    has_all_inputs,
    is_late,
    next_to_queue,
    sort_transfers,
)


@compiled
def run_stream(tables: Tables, scratch: Scratch, limited: bool, stop_us: float) -> float:
    """Handle all events; returns the time in µs, or infinity as soon as it is sure to be above `stop_us`."""
    tables, scratch = borrow_tables(tables), borrow_scratch(scratch)
    devices, micro_batches = len(scratch.devices), len(scratch.ops) // len(tables.placed_ops)
    begin_blocks(tables, scratch, micro_batches)
    scratch.stream.woken_count[0] = 0
    for device in range(devices):
        wake(scratch, device)
    now, batch_us = 0.0, 0.0
    has_channels = tables.model[0].contention == BUS_CODE or tables.model[0].contention == PAIR_CODE
    while True:
        _start_woken(tables, scratch, micro_batches, now)
        slot = next_slot(scratch)
        event = scratch.slots[slot]
        now, what = time_of(event.time_bits), int(event.what)
        free_us = now
        if now == np.inf:
            return batch_us
        if slot < devices:
            if scratch.stream.turns[slot].moves:
                _end_move(tables, scratch, what, micro_batches, now)
            else:
                free_us = _end_op(tables, scratch, slot, what, micro_batches, now, limited)
                if limited and free_us + scratch.devices[slot].left_us > stop_us:
                    return stopped(scratch)
            scratch.devices[slot].running, scratch.devices[slot].free_us = False, free_us
            wake(scratch, slot)  # its next work, or none, takes the place of its event
        elif has_channels:
            free_us = _end_transfer(tables, scratch, slot - devices, what, micro_batches, now)
        else:
            land(scratch)
            _arrive(tables, scratch, what, micro_batches, now)
        batch_us = max(batch_us, free_us)


@inlined
def _start_woken(tables: Tables, scratch: Scratch, micro_batches: int, now: float) -> None:
    """Let the devices that the last event has woken take their next work."""
    stream = scratch.stream
    for index in range(stream.woken_count[0]):
        device = int(stream.woken[index])
        stream.turns[device].is_woken = False
        take_next(tables, scratch, device, micro_batches, max(now, scratch.devices[device].free_us))
    stream.woken_count[0] = 0


@inlined
def _end_op(
    tables: Tables, scratch: Scratch, device: int, op: int, micro_batches: int, now: float, limited: bool
) -> float:
    """Hand the outputs of `op` to its consumers here, and send them to the others; returns when its rest ends."""
    stream, micro = scratch.stream, int(scratch.stream.turns[device].micro)
    own, sums_up = of_micro_batch(tables, scratch, micro), _sums_up(scratch, micro, micro_batches)
    remote = 0
    for place in range(*entries_of(tables, op)):
        consumer = tables.by_name[place]
        if sums_up and is_late(tables, consumer):
            continue
        if own.ops[consumer].device != device:
            remote += 1
            continue
        pending = own.ops[consumer].pending - 1
        own.ops[consumer].pending = pending
        if pending == 0:
            become_ready(tables, scratch, consumer, micro, micro_batches)
    if tables.model[0].full_memory:
        free_after_op(tables, own, op, device, now)
    if remote > 0:
        _send(tables, scratch, own, op, device, micro, micro_batches, now)
    if tables.model[0].full_memory and tables.model[0].has_late_ops and micro_batches > 1:
        _sum_up(tables, scratch, op, device, micro, micro_batches)
    stream.blocks[stream.turns[device].current].left -= 1
    if own.ops[op].time_us == 0:
        return now
    if limited:
        scratch.devices[device].left_us -= occupied_us(tables, scratch, op, device)
    return now + rest_after_us(tables, scratch, op, device)


@inlined
def _sums_up(scratch: Scratch, micro: int, micro_batches: int) -> bool:
    """Whether what late ops take of a micro-batch goes no further than its device."""
    return micro < micro_batches - 1 or len(scratch.stream.first_micro) > 0


@inlined
def _sum_up(tables: Tables, scratch: Scratch, op: int, device: int, micro: int, micro_batches: int) -> None:
    """Free what `op` gives to late ops in all micro-batches but one: it is added to the sum, which is held to the end.

    The first micro-batch's buffer holds the sum; when the last one ends its own takes its place.
    """
    last = not _sums_up(scratch, micro, micro_batches)
    first = int(scratch.stream.first_micro[device]) if len(scratch.stream.first_micro) else 0
    if micro == first or is_late(tables, op):
        return
    own = of_micro_batch(tables, scratch, 0 if last else micro)
    for flow in range(*flows_of(tables, op)):
        for entry in range(*entries_of_flow(tables, flow)):
            if not is_late(tables, tables.entries[entry].consumer):
                continue
            if tables.entries[entry].counted == NO_INDEX:
                scratch.devices[device].level_bytes -= tables.flows[flow].new_bytes
            else:
                scratch.devices[device].level_bytes -= release(tables, own, flow)


@inlined
def _send(
    tables: Tables, scratch: Scratch, own: Scratch, op: int, device: int, micro: int, micro_batches: int, now: float
) -> None:
    """Send the outputs of `op` in the order of their first remote consumer in the file."""
    keeps = _sums_up(scratch, micro, micro_batches)
    for other in range(len(scratch.devices)):
        scratch.devices[other].copy = NO_INDEX  # it may be that of another micro-batch
    transfers, transfer = sort_transfers(tables, own, op, device, keeps)
    place, beyond = entries_of(tables, op)
    while place < beyond:
        transfer = next_to_queue(tables, own, place, device, transfers, transfer)
        if transfer != NO_INDEX:
            _queue_transfer(tables, scratch, own, transfer, device, micro, now)
        place = place + 1 if transfers > 1 else beyond


@inlined
def _queue_transfer(
    tables: Tables, scratch: Scratch, own: Scratch, transfer: int, device: int, micro: int, now: float
) -> None:
    """Start the transfer if nothing must be free for it, else queue it."""
    number = micro * len(tables.entries) + transfer
    contention = tables.model[0].contention
    order = tables.flows[tables.entries[transfer].flow].order
    if contention == NONE_CODE or (contention == HOST_CODE and not keeps_sender(tables, scratch, transfer, device)):
        if contention == HOST_CODE:
            own.entries[transfer].time_us = latency_us(tables, own, transfer, device)
        own.entries[transfer].start_us = now
        fly(scratch, now + own.entries[transfer].time_us, order, number)
    elif contention in (SENDER_CODE, HOST_CODE):
        put_move(scratch, device, number)
    else:
        channel = _channel(tables, own, transfer, device)
        state = scratch.channels[channel]
        if not state.busy:
            state.busy = True
            _start_transfer(tables, scratch, own, transfer, channel, micro, max(now, state.free_us))
            return
        if state.head == NO_INDEX:
            state.head = number
        else:
            scratch.entries[state.tail].next_transfer = number
        state.tail = number


@inlined
def _channel(tables: Tables, own: Scratch, transfer: int, device: int) -> int:
    if tables.model[0].contention == PAIR_CODE:
        return device * len(own.devices) + int(own.ops[tables.entries[transfer].consumer].device)
    return device


@inlined
def _start_transfer(
    tables: Tables, scratch: Scratch, own: Scratch, transfer: int, channel: int, micro: int, start_us: float
) -> None:
    own.entries[transfer].start_us = start_us
    end_us = start_us + own.entries[transfer].time_us
    order = tables.flows[tables.entries[transfer].flow].order
    devices = len(scratch.devices)
    if end_us <= start_us:
        order = LINK_EVENT + scratch.devices[channel % devices].order
        if tables.model[0].contention == PAIR_CODE:
            order += devices * scratch.devices[channel // devices].order
    scratch.stream.channel_micro[channel] = micro
    set_event(scratch, devices + channel, end_us, order, transfer)


@inlined
def _end_transfer(
    tables: Tables, scratch: Scratch, channel: int, transfer: int, micro_batches: int, now: float
) -> float:
    """Deliver the bytes, then start the channel's next transfer; returns when the channel's rest ends."""
    micro = int(scratch.stream.channel_micro[channel])
    own = of_micro_batch(tables, scratch, micro)
    device = own.ops[tables.flows[tables.entries[transfer].flow].producer].device
    entry = transfer
    while entry != NO_INDEX:
        _deliver(tables, scratch, own, entry, micro, micro_batches, now)
        entry = int(own.entries[entry].next_served)
    free_sent(tables, own, transfer, device, now)
    rest_us: float = tables.model[0].link_rest_us
    if tables.model[0].has_trips:
        rest_us *= own.transfer_trips[transfer]
    rested_us = now + rest_us
    following = int(scratch.channels[channel].head)
    if following == NO_INDEX:
        scratch.channels[channel].busy = False
        scratch.channels[channel].free_us = rested_us
        set_event(scratch, len(scratch.devices) + channel, np.inf, 0, 0)
        return rested_us
    scratch.channels[channel].head = scratch.entries[following].next_transfer
    micro = following // len(tables.entries)
    own = of_micro_batch(tables, scratch, micro)
    _start_transfer(tables, scratch, own, following - micro * len(tables.entries), channel, micro, rested_us)
    return rested_us


@inlined
def _deliver(
    tables: Tables, scratch: Scratch, own: Scratch, entry: int, micro: int, micro_batches: int, now: float
) -> None:
    if has_all_inputs(tables, own, entry, now):
        become_ready(tables, scratch, int(tables.entries[entry].consumer), micro, micro_batches)


@inlined
def _end_move(tables: Tables, scratch: Scratch, move: int, micro_batches: int, now: float) -> None:
    """End a send, whose bytes are on their way, or a receive, whose consumers have their input now."""
    sends = micro_batches * len(tables.entries)
    if move >= sends:
        micro = (move - sends) // len(tables.entries)
        copy = move - sends - micro * len(tables.entries)
        _take_copy(tables, scratch, of_micro_batch(tables, scratch, micro), copy, micro, micro_batches, now)


@inlined
def _arrive(tables: Tables, scratch: Scratch, number: int, micro_batches: int, now: float) -> None:
    """Deliver the bytes of the transfer of a global index; with `host` GPUs must receive them first."""
    micro = number // len(tables.entries)
    transfer, own = number - micro * len(tables.entries), of_micro_batch(tables, scratch, micro)
    flow = tables.entries[transfer].flow
    free_sent(tables, own, transfer, own.ops[tables.flows[flow].producer].device, now)
    entry = transfer
    while entry != NO_INDEX:
        following = int(own.entries[entry].next_served)
        if tables.model[0].contention != HOST_CODE:
            _deliver(tables, scratch, own, entry, micro, micro_batches, now)
        elif int(own.entries[entry].copy) == entry:
            device = int(own.ops[tables.entries[entry].consumer].device)
            if scratch.devices[device].is_cpu or tables.flows[flow].bytes == 0:
                _take_copy(tables, scratch, own, entry, micro, micro_batches, now)
            else:
                put_move(scratch, device, (micro_batches + micro) * len(tables.entries) + entry)
                wake(scratch, device)
        entry = following


@inlined
def _take_copy(
    tables: Tables, scratch: Scratch, own: Scratch, copy: int, micro: int, micro_batches: int, now: float
) -> None:
    """Deliver a copy to all its consumers, which are on one device."""
    scratch.stream.arrived_us[micro * len(tables.entries) + copy] = now
    entry = copy
    while entry != NO_INDEX:
        if int(own.entries[entry].copy) == copy:
            _deliver(tables, scratch, own, entry, micro, micro_batches, now)
        entry = int(own.entries[entry].next_served)
