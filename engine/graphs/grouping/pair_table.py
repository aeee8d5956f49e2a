"""A hash table from integers to integers in flat arrays, compiled: open addressing, without marks for what was removed.

Source: D. Knuth, The Art of Computer Programming 3, section 6.4, algorithms L and R.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined

MISSING = -1
_FREE = -1
_MULTIPLIER = 0x2545F4914F6CDD1D


class PairTable(NamedTuple):
    """Keys from 0 and their values; less than half of the slots are ever taken."""

    keys: NDArray[np.int64]
    """[slots] a power of two"""
    values: NDArray[np.int64]
    """[slots]"""


def new_table(most: int) -> PairTable:
    """An empty table with room for `most` keys."""
    slots = 1 << (2 * most + 1).bit_length()
    return PairTable(np.full(slots, _FREE, dtype=np.int64), np.zeros(slots, dtype=np.int64))


@inlined
def _home(table: PairTable, key: int) -> int:
    return (key * _MULTIPLIER >> 32) & (len(table.keys) - 1)


@inlined
def _slot(table: PairTable, key: int) -> int:
    """The slot of `key`, or the free one where it would go."""
    slot = _home(table, key)
    while table.keys[slot] != _FREE and table.keys[slot] != key:
        slot = (slot + 1) & (len(table.keys) - 1)
    return slot


@inlined
def value_of(table: PairTable, key: int) -> int:
    """The value of `key`, or `MISSING`."""
    slot = _slot(table, key)
    return int(table.values[slot]) if table.keys[slot] == key else MISSING


@inlined
def put(table: PairTable, key: int, value: int) -> None:
    """Add `key`, or give it another value."""
    slot = _slot(table, key)
    table.keys[slot], table.values[slot] = key, value


@compiled
def remove(table: PairTable, key: int) -> None:
    """Remove `key`, which is there, and move keys that could stand in its slot up."""
    hole = slot = _slot(table, key)
    last = len(table.keys) - 1
    while True:
        slot = (slot + 1) & last
        if table.keys[slot] == _FREE:
            break
        if (slot - _home(table, table.keys[slot])) & last >= (slot - hole) & last:
            table.keys[hole], table.values[hole] = table.keys[slot], table.values[slot]
            hole = slot
    table.keys[hole] = _FREE
