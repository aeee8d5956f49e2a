"""The turns of devices in a stream, compiled: which block each works on, and its ready ops, sends and receives.

A block is the ops of one stage in one micro-batch. A device takes its blocks in the order of the schedule: it runs the
ready ops of the current one first in, first out, and none of a later one before all of them have ended. Sends and
receives that keep a device busy come before ops, first in, first out.
"""

import numpy as np

from engine.files.compiled import inlined
from engine.graphs.graph import NOT_SAID
from engine.simulator.event_queue import set_event
from engine.simulator.held_memory import take_at_start
from engine.simulator.records import NO_INDEX, Scratch, Tables, of_micro_batch
from engine.simulator.streams.moves import start_move
from engine.simulator.transfers import DEVICE_EVENT, is_late


@inlined
def one_block_each(tables: Tables, scratch: Scratch) -> None:
    """Let a step be a stream of one micro-batch: a device has one block, and one of the late ops behind it."""
    stream = scratch.stream
    for block in range(len(stream.blocks)):
        stream.blocks[block].micro, stream.blocks[block].left = 0, 0
        stream.blocks[block].is_late = block % 2 == 1
        stream.block_of[block] = block
    for op in range(len(tables.placed_ops)):
        block = 2 * int(scratch.ops[op].device) + is_late(tables, op)
        stream.stage_of_op[op] = block
        stream.blocks[block].left += tables.phase[op] != NOT_SAID
    reset_blocks(scratch)
    for device in range(len(scratch.devices)):
        stream.turns[device].current, stream.turns[device].beyond = 2 * device, 2 * device + 2


@inlined
def reset_blocks(scratch: Scratch) -> None:
    """Empty the lists of all blocks and devices."""
    stream = scratch.stream
    for block in range(len(stream.blocks)):
        stream.blocks[block].head = NO_INDEX
        stream.blocks[block].is_begun = False
    for device in range(len(scratch.devices)):
        stream.turns[device].moves, stream.turns[device].move_head = False, NO_INDEX
        stream.turns[device].is_woken = False


@inlined
def begin_blocks(tables: Tables, scratch: Scratch, micro_batches: int) -> None:
    """Queue the ops without inputs of all micro-batches in the order of the file; late ops wait for their block."""
    for micro in range(micro_batches):
        for op in tables.first_ops:
            if not is_late(tables, op):
                put_ready(tables, scratch, op, micro, micro_batches)


@inlined
def put_ready(tables: Tables, scratch: Scratch, op: int, micro: int, micro_batches: int) -> None:
    """Put a ready op at the end of its block's list."""
    stream, ops = scratch.stream, len(tables.placed_ops)
    block = int(stream.block_of[stream.stage_of_op[op] * micro_batches + micro])
    stream.next_ready[micro * ops + op] = NO_INDEX
    if stream.blocks[block].head == NO_INDEX:
        stream.blocks[block].head = op
    else:
        stream.next_ready[micro * ops + stream.blocks[block].tail] = op
    stream.blocks[block].tail = op


@inlined
def become_ready(tables: Tables, scratch: Scratch, op: int, micro: int, micro_batches: int) -> None:
    """Queue an op that has all its inputs, and wake its device.

    A late op whose device has not come to its last block is found when that begins.
    """
    device = int(scratch.ops[micro * len(tables.placed_ops) + op].device)
    current = int(scratch.stream.turns[device].current)
    if not is_late(tables, op) or _is_at(scratch, op, micro, micro_batches, current):
        put_ready(tables, scratch, op, micro, micro_batches)
        wake(scratch, device)


@inlined
def wake(scratch: Scratch, device: int) -> None:
    """Let a device look for work when the event is handled, if it does not work now."""
    stream = scratch.stream
    if not scratch.devices[device].running and not stream.turns[device].is_woken:
        stream.turns[device].is_woken = True
        stream.woken[stream.woken_count[0]] = device
        stream.woken_count[0] += 1


@inlined
def _is_at(scratch: Scratch, op: int, micro: int, micro_batches: int, block: int) -> bool:
    """Whether `block` is the one that runs an op of a micro-batch."""
    stream = scratch.stream
    of_op = stream.block_of[stream.stage_of_op[op] * micro_batches + micro]
    return bool(of_op == block and stream.blocks[block].is_begun)


@inlined
def take_next(tables: Tables, scratch: Scratch, device: int, micro_batches: int, free_us: float) -> None:
    """Let the device, which is free at `free_us`, take its next move, else the next ready op of its current block."""
    turn = scratch.stream.turns[device]
    if turn.move_head != NO_INDEX:
        start_move(tables, scratch, device, micro_batches, free_us)
        return
    _pass_ended_blocks(tables, scratch, device, micro_batches)
    op = int(scratch.stream.blocks[turn.current].head) if turn.current < turn.beyond else NO_INDEX
    if op == NO_INDEX:
        scratch.devices[device].running, scratch.devices[device].free_us = False, free_us
        set_event(scratch, device, np.inf, 0, 0)
    else:
        _start(tables, scratch, device, op, free_us)


@inlined
def _start(tables: Tables, scratch: Scratch, device: int, op: int, start_us: float) -> None:
    """Start `op`, the head of the current block's list."""
    stream, ops = scratch.stream, len(tables.placed_ops)
    turn = stream.turns[device]
    micro = int(stream.blocks[turn.current].micro)
    stream.blocks[turn.current].head = stream.next_ready[micro * ops + op]
    turn.micro, turn.moves = micro, False
    scratch.devices[device].running = True
    scratch.start_us[micro * ops + op] = start_us
    if len(scratch.ops) == ops:  # of one micro-batch the order is kept, for timelines and the published memory model
        scratch.queue[scratch.devices[device].tail] = op
        scratch.devices[device].tail += 1
    take_at_start(scratch, device, start_us, tables.ops[op].held_bytes)
    end_us = start_us + scratch.ops[micro * ops + op].time_us
    order = tables.ops[op].order if end_us > start_us else DEVICE_EVENT + scratch.devices[device].order
    set_event(scratch, device, end_us, order, op)


@inlined
def _pass_ended_blocks(tables: Tables, scratch: Scratch, device: int, micro_batches: int) -> None:
    """Go on to the first block that has ops left; that of the late ops begins with those that wait for nothing else."""
    stream = scratch.stream
    turn = stream.turns[device]
    while turn.current < turn.beyond and stream.blocks[turn.current].left == 0:
        turn.current += 1
    if turn.current >= turn.beyond or not stream.blocks[turn.current].is_late or stream.blocks[turn.current].is_begun:
        return
    stream.blocks[turn.current].is_begun = True
    micro = int(stream.blocks[turn.current].micro)
    own = of_micro_batch(tables, scratch, micro)
    for op in tables.late_ops:
        if own.ops[op].device == device and own.ops[op].pending == 0:
            put_ready(tables, scratch, op, micro, micro_batches)
