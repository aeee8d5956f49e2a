"""The state of a step, compiled: how it begins for a placement, how long ops occupy devices, how it is given up."""

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import inlined
from engine.simulator.event_queue import set_event
from engine.simulator.records import NO_INDEX, Scratch, Tables

ROUNDING_OF_AN_OP = 2.0**-50
"""relative: an op changes a device's sum of work, and the step time, by four roundings of 2**-53 at most"""


@inlined
def reset(tables: Tables, scratch: Scratch) -> None:
    """Empty all devices, channels and copies of the step before."""
    reset_devices(scratch)
    reset_buffers(tables, scratch)


@inlined
def reset_buffers(tables: Tables, scratch: Scratch) -> None:
    """Let all consumers need each buffer, and no copy be made."""
    if tables.model[0].full_memory:
        scratch.flow_holders[:] = tables.flow_sizes
        scratch.copy_of_counted[:] = NO_INDEX


@inlined
def reset_devices(scratch: Scratch) -> None:
    """Empty all devices and channels."""
    for device in range(len(scratch.devices)):
        state = scratch.devices[device]
        state.running = False
        state.op_count = 0
        state.early_left = 0
        state.copy = NO_INDEX
        state.free_us = state.changed_us = state.left_us = 0.0
        state.starting_us = np.inf
        state.level_bytes = 0
    for channel in range(len(scratch.channels)):
        scratch.channels[channel].busy = False
        scratch.channels[channel].head = scratch.channels[channel].last_inline = NO_INDEX
        scratch.channels[channel].free_us = 0.0


@inlined
def place_ops(tables: Tables, scratch: Scratch, placement: NDArray[np.int32], limited: bool) -> bool:
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
            scratch.devices[device].left_us += occupied_us(tables, scratch, op, device)
        possible &= not np.isnan(time_us)
    first = 0
    for device in range(len(scratch.devices)):
        state = scratch.devices[device]
        state.peak_bytes = state.level_bytes
        state.first = state.head = state.tail = first
        first += state.op_count + 1
    return possible


@inlined
def hold_late_ops(tables: Tables, scratch: Scratch) -> None:
    """Let the late ops of each device wait for its early ones, if it has any, as for one more input."""
    if not tables.model[0].has_late_ops:
        return
    for op in range(len(scratch.ops)):
        scratch.devices[scratch.ops[op].device].early_left += tables.early_ops[op]
    for op in tables.late_ops:
        scratch.ops[op].pending += scratch.devices[scratch.ops[op].device].early_left > 0


@inlined
def ends_the_early(tables: Tables, scratch: Scratch, op: int, device: int) -> bool:
    """Note the end of `op`; whether it was the last early one of its device, so that the late ones wait no more."""
    if not tables.model[0].has_late_ops or not tables.early_ops[op]:
        return False
    left = scratch.devices[device].early_left - 1
    scratch.devices[device].early_left = left
    return bool(left == 0)


@inlined
def is_released(scratch: Scratch, op: int, device: int) -> bool:
    """Whether a late op is on `device`, whose early ones have ended, and waits for nothing else."""
    if scratch.ops[op].device != device:
        return False
    pending = scratch.ops[op].pending - 1
    scratch.ops[op].pending = pending
    return bool(pending == 0)


@inlined
def rest_after_us(tables: Tables, scratch: Scratch, op: int, device: int) -> float:
    """The rest in µs of a device after an op that takes time: once a kernel that it launches."""
    rest_us: float = scratch.devices[device].op_rest_us
    return rest_us * tables.op_rests[op] if tables.model[0].has_rests else rest_us


@inlined
def occupied_us(tables: Tables, scratch: Scratch, op: int, device: int) -> float:
    """How long `op`, with the rest after it, keeps `device` from other ops, in µs."""
    time_us: float = scratch.ops[op].time_us
    return time_us + rest_after_us(tables, scratch, op, device) if time_us != 0 else 0.0


@inlined
def stopped(scratch: Scratch) -> float:
    """Leave the event queue empty, as an evaluation to the end does. Returns infinity."""
    for slot in range(len(scratch.slots)):
        set_event(scratch, slot, np.inf, 0, 0)
    scratch.in_flight_count[0] = 0
    return np.inf


@inlined
def most_left_us(scratch: Scratch) -> float:
    """The work in µs that is left on the device with most of it."""
    most_us = 0.0
    for device in range(len(scratch.devices)):
        most_us = max(most_us, scratch.devices[device].left_us)
    return most_us
