"""The published memory model, compiled: outputs on their producer's device, in whole µs.

Source: Placeto (Addanki et al. 2019), published simulator. An output is there from the µs of its producer's start to
the latest, over its consumers, of start + run time − 1 (both truncated), but at least in that first µs. What ends in a
µs is still there when something else starts in it.
"""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled, inlined
from engine.simulator.records import Scratch, Tables, entries_of

MOST_DIGIT_BITS = 11


@compiled
def published_peaks(tables: Tables, scratch: Scratch) -> None:
    """Write the peaks of a step whose times are in `scratch`."""
    last = np.empty(len(scratch.ops), np.int64)
    for op in range(len(last)):
        last[op] = _last_us(tables, scratch, op)
    for device in range(len(scratch.devices)):
        state = scratch.devices[device]
        state.level_bytes = state.peak_bytes = 0
        state.head = state.first
    for op in _sorted_by(last):
        state = scratch.devices[scratch.ops[op].device]
        while state.head < state.tail and int(scratch.start_us[scratch.queue[state.head]]) <= last[op]:
            state.level_bytes += tables.output_bytes[scratch.queue[state.head]]
            state.head += 1
        state.peak_bytes = max(state.peak_bytes, state.level_bytes)
        state.level_bytes -= tables.output_bytes[op]


@inlined
def _last_us(tables: Tables, scratch: Scratch, op: int) -> int:
    last = int(scratch.start_us[op])
    for place in range(*entries_of(tables, op)):
        consumer = tables.by_name[place]
        last = max(last, int(scratch.start_us[consumer]) + int(scratch.ops[consumer].time_us) - 1)
    return last


@inlined
def _sorted_by(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Indices in the order of `keys`, which are not negative: a radix sort."""
    order, other = np.arange(len(keys)), np.empty(len(keys), np.int64)
    bits = 4
    while bits < MOST_DIGIT_BITS and (1 << bits) < len(keys):
        bits += 1
    shift, mask, largest = 0, (1 << bits) - 1, keys.max()
    while (largest >> shift) > 0:
        count = np.zeros((1 << bits) + 1, np.int64)
        for key in keys:
            count[((key >> shift) & mask) + 1] += 1
        for digit in range(1 << bits):
            count[digit + 1] += count[digit]
        for index in order:
            digit = (keys[index] >> shift) & mask
            other[count[digit]] = index
            count[digit] += 1
        order, other = other, order
        shift += bits
    return order
