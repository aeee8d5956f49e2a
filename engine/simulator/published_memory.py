"""The published memory model, compiled: outputs on their producer's device, in whole µs.

Source: Placeto (Addanki et al. 2019), published simulator. An output is there from the µs of its producer's start to
the latest, over its consumers, of start + run time − 1 (both truncated), but at least in that first µs. What ends in a
µs is still there when something else starts in it.
"""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled, inlined
from engine.simulator.records import Scratch, Tables

DIGIT_BITS = 11


@compiled
def published_peaks(tables: Tables, scratch: Scratch) -> None:
    """Write the peaks of a step whose times are in `scratch`."""
    last = np.empty(len(scratch.ops), np.int64)
    for op in range(len(last)):
        last[op] = _last_us(tables, scratch, op)
    following = np.empty(len(scratch.devices), np.int32)
    for device in range(len(following)):
        scratch.devices[device].level_bytes = scratch.devices[device].peak_bytes = 0
        following[device] = scratch.devices[device].first
    for op in _sorted_by(last):
        device = scratch.ops[op].device
        level, starting = scratch.devices[device].level_bytes, following[device]
        while starting >= 0 and int(scratch.ops[starting].start_us) <= last[op]:
            level += tables.output_bytes[starting]
            starting = scratch.ops[starting].next
        scratch.devices[device].peak_bytes = max(scratch.devices[device].peak_bytes, level)
        scratch.devices[device].level_bytes = level - tables.output_bytes[op]
        following[device] = starting


@inlined
def _last_us(tables: Tables, scratch: Scratch, op: int) -> int:
    last = int(scratch.ops[op].start_us)
    for place in range(tables.ops[op].entry_first, tables.ops[op + 1].entry_first):
        consumer = scratch.ops[tables.entries[place].by_name]
        last = max(last, int(consumer.start_us) + int(consumer.time_us) - 1)
    return last


@inlined
def _sorted_by(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices in the order of `keys`, which are not negative: a radix sort."""
    order, other = np.arange(len(keys)), np.empty(len(keys), np.int64)
    shift, largest = 0, keys.max()
    while (largest >> shift) > 0:
        count = np.zeros((1 << DIGIT_BITS) + 1, np.int64)
        for key in keys:
            count[((key >> shift) & ((1 << DIGIT_BITS) - 1)) + 1] += 1
        for digit in range(1 << DIGIT_BITS):
            count[digit + 1] += count[digit]
        for index in order:
            digit = (keys[index] >> shift) & ((1 << DIGIT_BITS) - 1)
            other[count[digit]] = index
            count[digit] += 1
        order, other = other, order
        shift += DIGIT_BITS
    return order
