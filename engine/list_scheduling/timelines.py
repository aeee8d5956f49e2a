"""When devices and links are taken, with the gaps in between, compiled."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled

FIRST_ROOM = 64
"""spans that a row has room for at first"""


class Timelines(NamedTuple):
    """What is taken, one row a device or channel, for compiled code. Spans of a row are in order and apart."""

    start_us: NDArray[np.float64]
    """[rows, room]"""
    end_us: NDArray[np.float64]
    """[rows, room]"""
    spans: NDArray[np.int64]
    """[rows] spans in a row"""


@compiled
def empty_timelines(rows: int) -> Timelines:
    """Nothing is taken."""
    return Timelines(np.empty((rows, FIRST_ROOM)), np.empty((rows, FIRST_ROOM)), np.zeros(rows, np.int64))


@compiled
def gap(timelines: Timelines, row: int, ready_us: float, time_us: float) -> float:
    """The earliest start, from `ready_us` on, of a gap of `time_us` in the row."""
    low, high = 0, timelines.spans[row]
    while low < high:  # the first span that ends after `ready_us`
        middle = (low + high) // 2
        if timelines.end_us[row, middle] > ready_us:
            high = middle
        else:
            low = middle + 1
    start_us = ready_us
    for span in range(low, timelines.spans[row]):
        if start_us + time_us <= timelines.start_us[row, span]:
            break
        start_us = max(start_us, timelines.end_us[row, span])
    return start_us


@compiled
def book(timelines: Timelines, row: int, start_us: float, end_us: float) -> Timelines:
    """The timelines with one more span, in twice the room if they are full; what takes no time is not written down."""
    if end_us <= start_us:
        return timelines
    rows, room = timelines.start_us.shape
    place = timelines.spans[row]
    if place == room:
        wider = Timelines(np.empty((rows, 2 * room)), np.empty((rows, 2 * room)), timelines.spans)
        for other in range(rows):  # the assignment of a slice takes seconds to compile
            for span in range(timelines.spans[other]):
                wider.start_us[other, span] = timelines.start_us[other, span]
                wider.end_us[other, span] = timelines.end_us[other, span]
        timelines = wider
    timelines.spans[row] += 1
    while place > 0 and timelines.start_us[row, place - 1] > start_us:
        timelines.start_us[row, place] = timelines.start_us[row, place - 1]
        timelines.end_us[row, place] = timelines.end_us[row, place - 1]
        place -= 1
    timelines.start_us[row, place], timelines.end_us[row, place] = start_us, end_us
    return timelines
