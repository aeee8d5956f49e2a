"""The memory model `full`, compiled.

Memory is counted in half-open intervals: bytes freed at a moment are gone before bytes taken at the same moment,
whatever the order of the events, and bytes held for no time do not count. A buffer that ops pass on is held once on a
device, as long as anything there needs one of the outputs that share it.
"""

import numpy as np

from engine.files.compiled import inlined
from engine.simulator.records import NO_INDEX, Scratch, Tables, counted_of


@inlined
def take_at_start(scratch: Scratch, device: int, start_us: float, held_bytes: int) -> None:
    """Note that an op takes `held_bytes` at `start_us`; the next change of the device's memory applies it."""
    scratch.devices[device].starting_us, scratch.devices[device].starting_bytes = start_us, held_bytes


@inlined
def free_after_op(tables: Tables, scratch: Scratch, op: int, device: int, now: float) -> None:
    """Free at the end of `op` its temporaries, its outputs without consumers and inputs that no op here still needs."""
    freed = tables.ops[op].freed_bytes
    for place in range(*counted_of(tables, op)):
        counted = tables.counted[place]
        copy = scratch.copy_of_counted[place]
        if copy != NO_INDEX:
            scratch.entries[copy].holders += counted.passed - 1
            freed += tables.flows[counted.flow].bytes if scratch.entries[copy].holders == 0 else 0
        elif counted.passed == 0:
            freed += release(tables, scratch, counted.flow)
        else:
            scratch.flow_holders[counted.flow] += counted.passed - 1
    state = scratch.devices[device]
    start_us, level, peak = state.starting_us, state.level_bytes, state.peak_bytes
    if start_us <= now:
        peak = max(peak, level if start_us > state.changed_us else peak)
        level += state.starting_bytes
        state.starting_us = np.inf
    else:
        start_us = state.changed_us
    state.peak_bytes = max(peak, level if now > start_us else peak)
    state.level_bytes = level - freed
    state.changed_us = now


@inlined
def release(tables: Tables, scratch: Scratch, flow: int) -> int:
    """Note that one holder of `flow` on its producer's device needs it no more; returns the bytes that this frees.

    The last holder of a flow that passes a buffer on frees the input from which it comes.
    """
    freed: int = 0
    while True:
        scratch.flow_holders[flow] -= 1
        if scratch.flow_holders[flow] > 0:
            return freed
        freed += int(tables.flows[flow].new_bytes)
        place = tables.flows[flow].passed_by
        if place == NO_INDEX:
            return freed
        flow = tables.counted[place].flow
        copy = scratch.copy_of_counted[place]
        if copy != NO_INDEX:
            scratch.entries[copy].holders -= 1
            return freed + (int(tables.flows[flow].bytes) if scratch.entries[copy].holders == 0 else 0)


@inlined
def change_memory(scratch: Scratch, device: int, now: float, change: int) -> None:
    """Apply a change of a device's memory. Changes come in order of time; the noted start of an op is applied first."""
    start_us = scratch.devices[device].starting_us
    if start_us <= now:
        _change_level(scratch, device, start_us, scratch.devices[device].starting_bytes)
        scratch.devices[device].starting_us = np.inf
    _change_level(scratch, device, now, change)


@inlined
def _change_level(scratch: Scratch, device: int, now: float, change: int) -> None:
    """Change the level of memory; a level that lasted no time does not count for the peak."""
    state = scratch.devices[device]
    lasted = state.level_bytes if now > state.changed_us else state.peak_bytes
    state.peak_bytes = max(state.peak_bytes, lasted)
    state.changed_us = now
    state.level_bytes += change
