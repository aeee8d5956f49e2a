"""A heap of whole numbers in an array, the smallest first, compiled."""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled

SIZE = 1
"""where in `count` the heap's size stands"""


@compiled
def push(heap: NDArray[np.int64], count: NDArray[np.int64], number: int) -> None:
    """Put `number` into the heap, which has room."""
    place = count[SIZE]
    count[SIZE] += 1
    while place > 0 and heap[(place - 1) // 2] > number:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = number


@compiled
def pop(heap: NDArray[np.int64], count: NDArray[np.int64]) -> int:
    """Take the smallest number out of the heap, which has one."""
    smallest = heap[0]
    count[SIZE] -= 1
    size, number, place = count[SIZE], heap[count[SIZE]], 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= number:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = number
    return int(smallest)
