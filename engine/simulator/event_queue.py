"""The event queue, compiled: a tournament over the devices' and channels' next events, and a heap of transfers.

Each device and each channel has at most one event to come, in a slot of its own. A tournament finds the earliest:
played anew for each event where there are few slots, kept as a tree where there are many. Matches are decided without
branches: the processor cannot predict which event comes first, and a wrong guess costs more than a match. Without
channels any number of transfers can be under way: they are in a binary heap, whose first has the slot behind the
devices.
"""

import numpy as np

from engine.files.compiled import inlined
from engine.simulator.records import Scratch

ONE = np.uint64(1)
FEW_SLOTS = 8


@inlined
def next_slot(scratch: Scratch) -> int:
    """The slot with the earliest event."""
    slots = len(scratch.slots)
    if slots > FEW_SLOTS:
        return int(scratch.winners[1])
    winner = _earlier(scratch, 0, 1)
    if slots > 2:
        winner = _earlier(scratch, winner, _earlier(scratch, 2, 3))
    if slots > 4:
        other = _earlier(scratch, _earlier(scratch, 4, 5), _earlier(scratch, 6, 7))
        winner = _earlier(scratch, winner, other)
    return winner


@inlined
def _earlier(scratch: Scratch, one: int, other: int) -> int:
    bits, order = scratch.slots[one].time_bits, scratch.slots[one].order
    other_bits, other_order = scratch.slots[other].time_bits, scratch.slots[other].order
    return other if (other_bits < bits) | ((other_bits == bits) & (other_order < order)) else one


@inlined
def set_event(scratch: Scratch, slot: int, time_us: float, order: int, what: int) -> None:
    """Set the next event of `slot`; among simultaneous events the lower order comes first."""
    bits = int(np.float64(time_us).view(np.int64))
    scratch.slots[slot].time_bits, scratch.slots[slot].order, scratch.slots[slot].what = bits, order, what
    if len(scratch.slots) > FEW_SLOTS:
        _play(scratch, slot, bits, order)


@inlined
def _play(scratch: Scratch, slot: int, bits: int, order: int) -> None:
    """Play the matches of `slot`, from its leaf of the tree to the root."""
    winner = np.uint64(slot)
    node = np.uint64(len(scratch.slots)) + winner
    while node > ONE:
        rival = np.uint64(scratch.winners[node ^ ONE])
        rival_bits, rival_order = scratch.slots[rival].time_bits, scratch.slots[rival].order
        earlier = (rival_bits < bits) | ((rival_bits == bits) & (rival_order < order))
        winner = rival if earlier else winner
        bits = rival_bits if earlier else bits
        order = rival_order if earlier else order
        node >>= ONE
        scratch.winners[node] = winner


@inlined
def time_of(bits: int) -> float:
    """The time in µs whose bits these are. No time is negative, so the bits compare like the times, only faster."""
    return np.int64(bits).view(np.float64)


@inlined
def fly(scratch: Scratch, time_us: float, order: int, transfer: int) -> None:
    """Add a transfer that needs no channel to the heap of those under way."""
    heap = scratch.in_flight
    hole = scratch.in_flight_count[0]
    scratch.in_flight_count[0] = hole + 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if _in_order(heap[parent].time_us, heap[parent].order, time_us, order):
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole].time_us, heap[hole].order, heap[hole].what = time_us, order, transfer
    if hole == 0:
        set_event(scratch, len(scratch.devices), time_us, order, transfer)


@inlined
def land(scratch: Scratch) -> None:
    """Remove the first transfer of the heap, which has arrived."""
    heap = scratch.in_flight
    count = scratch.in_flight_count[0] - 1
    scratch.in_flight_count[0] = count
    hole, child = 0, 1
    while child < count:
        right = child + 1
        if right < count and not _in_order(
            heap[child].time_us, heap[child].order, heap[right].time_us, heap[right].order
        ):
            child = right
        if _in_order(heap[count].time_us, heap[count].order, heap[child].time_us, heap[child].order):
            break
        heap[hole] = heap[child]
        hole, child = child, 2 * child + 1
    time_us, order, transfer = np.inf, 0, 0
    if count > 0:
        heap[hole] = heap[count]
        time_us, order, transfer = heap[0].time_us, heap[0].order, heap[0].what
    set_event(scratch, len(scratch.devices), time_us, order, transfer)


@inlined
def _in_order(time_us: float, order: int, other_us: float, other_order: int) -> bool:
    return time_us < other_us or (time_us == other_us and order <= other_order)
