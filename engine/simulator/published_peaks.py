"""The memory model `outputs`, compiled: outputs on their producer's device.

Source: Placeto (Addanki et al. 2019), published simulator. An output is held from its producer's start to the latest,
over its consumers, of start + run time − 1, both in whole µs, but at least at its producer's start, which is not
truncated. What is taken at a moment is there before what is freed at that moment goes.
"""

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined
from engine.simulator.records import Scratch, Tables, entries_of

MOST_DIGIT_BITS = 11


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
