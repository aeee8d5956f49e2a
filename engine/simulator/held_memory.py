"""The memory model `full`, compiled.

Memory is counted in half-open intervals: what is given back at a moment is gone before what is taken at that moment,
whatever the order of the events, and what is held for no time does not count.
"""

import numpy as np

from engine.simulator.compiled import inlined
from engine.simulator.records import Scratch, Tables


@inlined
def free_after_op(tables: Tables, scratch: Scratch, op: int, now: float) -> None:
    """At its end `op` frees its temporaries, outputs that nobody takes, and inputs that nobody here needs any more."""
    freed = tables.ops[op].freed_bytes
    for place in range(tables.ops[op].shared_first, tables.ops[op + 1].shared_first):
        holder = scratch.holder_of_shared[place]
        if holder >= 0:
            scratch.flow_holders[holder] -= 1
            left = scratch.flow_holders[holder]
        else:
            scratch.entries[~holder].holders -= 1
            left = scratch.entries[~holder].holders
        if left == 0:
            freed += tables.shared_bytes[place]
    change_memory(scratch, scratch.ops[op].device, now, -freed)


@inlined
def change_memory(scratch: Scratch, device: int, now: float, change: int) -> None:
    """Changes come in the order of time, but for the start of the next op: that is caught up with first."""
    start_us = scratch.devices[device].starting_us
    if start_us <= now:
        _change_level(scratch, device, start_us, scratch.devices[device].starting_bytes)
        scratch.devices[device].starting_us = np.inf
    _change_level(scratch, device, now, change)


@inlined
def _change_level(scratch: Scratch, device: int, now: float, change: int) -> None:
    """A level counts once it has lasted."""
    state = scratch.devices[device]
    if now > state.changed_us:
        state.peak_bytes = max(state.peak_bytes, state.level_bytes)
        state.changed_us = now
    state.level_bytes += change
