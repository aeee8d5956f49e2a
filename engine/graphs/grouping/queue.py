"""A priority queue of groups in flat arrays, compiled: a binary heap.

Source: J. Williams, Algorithm 232: Heapsort, Communications of the ACM 7(6), 1964.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined


class Queue(NamedTuple):
    """Groups, the one with the least cost first; of equals the fewest ops, then the lowest position decide."""

    length: NDArray[np.int64]
    """[1]"""
    cost: NDArray[np.float64]
    """[room]"""
    ops: NDArray[np.int64]
    """[room]"""
    position: NDArray[np.int64]
    """[room]"""
    group: NDArray[np.int64]
    """[room]"""


def new_queue(room: int) -> Queue:
    """An empty queue for at most `room` entries."""
    ops, position, group = np.empty((3, room), np.int64)
    return Queue(np.zeros(1, np.int64), np.empty(room), ops, position, group)


@compiled
def push(queue: Queue, cost: float, ops: int, position: int, group: int) -> None:
    """Add an entry."""
    hole = queue.length[0]
    queue.length[0] += 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if not _is_before(queue, parent, cost, ops, position):
            _move(queue, parent, hole)
            hole = parent
        else:
            break
    _set(queue, hole, cost, ops, position, group)


@compiled
def pop(queue: Queue) -> tuple[int, int]:
    """Take the first entry out; returns its group and its ops."""
    first = queue.group[0], queue.ops[0]
    queue.length[0] -= 1
    last = queue.length[0]
    cost, ops, position, group = queue.cost[last], queue.ops[last], queue.position[last], queue.group[last]
    hole, child = 0, 1
    while child < last:
        right = child + 1
        if right < last and _is_before(queue, right, queue.cost[child], queue.ops[child], queue.position[child]):
            child = right
        if not _is_before(queue, child, cost, ops, position):
            break
        _move(queue, child, hole)
        hole, child = child, 2 * child + 1
    _set(queue, hole, cost, ops, position, group)
    return first


@inlined
def _is_before(queue: Queue, place: int, cost: float, ops: int, position: int) -> bool:
    if queue.cost[place] != cost:
        return bool(queue.cost[place] < cost)
    if queue.ops[place] != ops:
        return bool(queue.ops[place] < ops)
    return bool(queue.position[place] < position)


@inlined
def _move(queue: Queue, source: int, target: int) -> None:
    _set(queue, target, queue.cost[source], queue.ops[source], queue.position[source], queue.group[source])


@inlined
def _set(queue: Queue, place: int, cost: float, ops: int, position: int, group: int) -> None:
    queue.cost[place], queue.ops[place], queue.position[place], queue.group[place] = cost, ops, position, group
