"""The published memory model, compiled: outputs on their producer's device, in whole µs.

Source: Placeto (Addanki et al. 2019), published simulator. An output is there from the µs of its producer's start to
the latest, over its consumers, of start + run time − 1 (both truncated), but at least in that first µs. What ends in a
µs is still there when something else starts in it.
"""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled
from engine.simulator.tables import Scratch, Tables

DIGIT_BITS = 11


@compiled
def published_peaks(tables: Tables, scratch: Scratch) -> None:
    """Write the peaks of a step whose times are in `scratch`."""
    ops = len(tables.output_bytes)
    last = np.empty(ops, np.int64)
    for op in range(ops):
        last[op] = int(scratch.start_us[op])
    for op in range(ops):
        time_us = tables.time_us[tables.row_of_device[scratch.device_of_op[op]], op]
        end = int(scratch.start_us[op]) + int(time_us) - 1
        for place in range(tables.input_offset[op], tables.input_offset[op + 1]):
            source = tables.input_source[place]
            last[source] = max(last[source], end)
    scratch.level_bytes[:] = 0
    scratch.peak_bytes[:] = 0
    next_op = scratch.first_op.copy()
    for op in _sorted_by(last):
        device = scratch.device_of_op[op]
        level, following = scratch.level_bytes[device], next_op[device]
        while following >= 0 and int(scratch.start_us[following]) <= last[op]:
            level += tables.output_bytes[following]
            following = scratch.next_op[following]
        scratch.peak_bytes[device] = max(scratch.peak_bytes[device], level)
        scratch.level_bytes[device], next_op[device] = level - tables.output_bytes[op], following


@compiled
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
