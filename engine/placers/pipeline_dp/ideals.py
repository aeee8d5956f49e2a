"""The ideals of a partial order: the sets of units that hold, with a unit, all that come before it.

A pipeline's first stages together are an ideal. They are enumerated by size, as sets of bits, up to a number; beyond
it those of some linear orders, the prefixes, take their place.
Source: Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino, Efficient algorithms for device placement of DNN
graph operators, NeurIPS 2020, section 5.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined
from engine.graphs.ordering import Pairs, adjacency

WORD_BITS = 64
EMPTY = -1
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Ideals:
    """Ideals by size, the empty one first and the whole last, and which of them differ by one unit."""

    bits: NDArray[np.uint64]
    """[ideals, words] the units of each"""
    smaller_offset: NDArray[np.int64]
    """[ideals + 1] where the next two begin for each ideal"""
    smaller: NDArray[np.int32]
    """[links] an ideal with one unit less"""
    removed: NDArray[np.int32]
    """[links] the unit that it lacks"""

    @property
    def count(self) -> int:
        return len(self.bits)

    def units_between(self, small: int, large: int) -> NDArray[np.int64]:
        """The units in ideal `large` that are not in `small`, in rising order."""
        words = (self.bits[large] & ~self.bits[small]).astype("<u8")
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))


def all_ideals(before: Pairs, units: int, most: int) -> Ideals | None:
    """All ideals of `units` units in the order `before` [pairs, 2], or None if there are more than `most`."""
    words = 1 + (units - 1) // WORD_BITS
    needs = np.zeros((units, words), dtype=np.uint64)
    for first, second in before.tolist():
        needs[second, first // WORD_BITS] |= np.uint64(1) << np.uint64(first % WORD_BITS)
    bits = np.zeros((most + 1, words), dtype=np.uint64)
    table = _new_table(most)
    count, links = _enumerate(needs, units, bits, table)
    if count > most:
        return None
    larger, smaller, removed = (np.empty(links, dtype=np.int32) for _ in range(3))
    _link(needs, units, bits[:count], table, larger, smaller, removed)
    return _linked(bits[:count].copy(), larger, smaller, removed)


def prefixes(orders: Sequence[NDArray[np.integer]], units: int) -> Ideals:
    """The prefixes of each of `orders` [units], linear extensions of one partial order; each set once."""
    words = 1 + (units - 1) // WORD_BITS
    bits = np.zeros((1 + len(orders) * units, words), dtype=np.uint64)
    table = _new_table(len(bits))
    count = _insert_prefixes(np.array(orders, dtype=np.int32), bits, table)
    by_size = np.argsort(np.bitwise_count(bits[:count]).sum(axis=1, dtype=np.int64), kind="stable")
    number = np.empty(count, dtype=np.int64)
    number[by_size] = np.arange(count)
    links = _links_of_prefixes(np.array(orders, dtype=np.int32), bits, table)
    links = np.unique(np.stack([number[links[:, 0]], number[links[:, 1]], links[:, 2]], axis=1), axis=0)
    return _linked(bits[by_size], *links.T.astype(np.int32))


def depth_first_order(before: Pairs, units: int) -> NDArray[np.int32]:
    """[units] a linear order that goes on, where it can, with a unit that the last one made ready."""
    return _order(before, units, deepest=True)


def breadth_first_order(before: Pairs, units: int) -> NDArray[np.int32]:
    """[units] a linear order that takes the units as they become ready."""
    return _order(before, units, deepest=False)


def _order(before: Pairs, units: int, *, deepest: bool) -> NDArray[np.int32]:
    successors = adjacency(before[:, 0], before[:, 1], units)
    waits_for = np.bincount(before[:, 1], minlength=units).tolist()
    ready = [unit for unit in range(units) if waits_for[unit] == 0]
    ready = ready[::-1] if deepest else ready
    order: list[int] = []
    while ready:
        unit = ready.pop() if deepest else ready.pop(0)
        order.append(unit)
        made_ready = []
        for successor in successors[unit]:
            waits_for[successor] -= 1
            if waits_for[successor] == 0:
                made_ready.append(successor)
        ready.extend(reversed(made_ready) if deepest else made_ready)
    return np.array(order, dtype=np.int32)


def _linked(
    bits: NDArray[np.uint64], larger: NDArray[np.int32], smaller: NDArray[np.int32], removed: NDArray[np.int32]
) -> Ideals:
    """Ideals with the links from `larger` [links] to `smaller` sorted by the larger one."""
    order = np.argsort(larger, kind="stable")
    offset = np.concatenate(([0], np.cumsum(np.bincount(larger, minlength=len(bits)))))
    return Ideals(bits, offset, np.ascontiguousarray(smaller[order]), np.ascontiguousarray(removed[order]))


def _new_table(most: int) -> NDArray[np.int64]:
    """An empty hash table for `most` ideals, half full at most."""
    return np.full(1 << max(4, (2 * most + 2).bit_length()), EMPTY, dtype=np.int64)


@inlined
def _slot(words: NDArray[np.uint64], bits: NDArray[np.uint64], table: NDArray[np.int64]) -> np.int64:
    """The place of the set `words` in `table`: where it is, or the free one where it belongs."""
    key = np.uint64(0)
    for word in words:
        key = (key ^ word) * _MIX
        key ^= key >> np.uint64(29)
    mask = len(table) - 1
    slot = np.int64(key & np.uint64(mask))
    while table[slot] != EMPTY:
        same = True
        for index in range(len(words)):
            if bits[table[slot], index] != words[index]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@inlined
def _is_ready(needs: NDArray[np.uint64], held: NDArray[np.uint64], unit: int) -> bool:
    """Whether `held` lacks `unit` and has all that it needs."""
    if held[unit // WORD_BITS] >> np.uint64(unit % WORD_BITS) & np.uint64(1):
        return False
    for index in range(len(held)):  # noqa: SIM110  # compiled code has no all()
        if needs[unit, index] & ~held[index]:
            return False
    return True


@compiled
def _enumerate(
    needs: NDArray[np.uint64], units: int, bits: NDArray[np.uint64], table: NDArray[np.int64]
) -> tuple[int, int]:
    """Fill `bits` with all ideals by size; returns their number, or more than fit, and the number of links."""
    table[_slot(bits[0], bits, table)] = 0
    count, done, links = 1, 0, 0
    words = np.zeros(bits.shape[1], dtype=np.uint64)
    while done < count:
        for unit in range(units):
            if not _is_ready(needs, bits[done], unit):
                continue
            links += 1
            words[:] = bits[done]
            words[unit // WORD_BITS] |= np.uint64(1) << np.uint64(unit % WORD_BITS)
            slot = _slot(words, bits, table)
            if table[slot] == EMPTY:
                bits[count] = words
                table[slot] = count
                count += 1
                if count == len(bits):
                    return count, links
        done += 1
    return count, links


@compiled
def _link(
    needs: NDArray[np.uint64],
    units: int,
    bits: NDArray[np.uint64],
    table: NDArray[np.int64],
    larger: NDArray[np.int32],
    smaller: NDArray[np.int32],
    removed: NDArray[np.int32],
) -> None:
    """Fill the links between `bits` [ideals, words]."""
    words = np.zeros(bits.shape[1], dtype=np.uint64)
    link = 0
    for ideal in range(len(bits)):
        for unit in range(units):
            if _is_ready(needs, bits[ideal], unit):
                words[:] = bits[ideal]
                words[unit // WORD_BITS] |= np.uint64(1) << np.uint64(unit % WORD_BITS)
                larger[link], smaller[link], removed[link] = table[_slot(words, bits, table)], ideal, unit
                link += 1


@compiled
def _insert_prefixes(orders: NDArray[np.int32], bits: NDArray[np.uint64], table: NDArray[np.int64]) -> int:
    """Fill `bits` with the prefixes of `orders` [orders, units], each set once; returns their number."""
    table[_slot(bits[0], bits, table)] = 0
    count = 1
    words = np.zeros(bits.shape[1], dtype=np.uint64)
    for order in orders:
        words[:] = 0
        for unit in order:
            words[unit // WORD_BITS] |= np.uint64(1) << np.uint64(unit % WORD_BITS)
            slot = _slot(words, bits, table)
            if table[slot] == EMPTY:
                bits[count] = words
                table[slot] = count
                count += 1
    return count


@compiled
def _links_of_prefixes(
    orders: NDArray[np.int32], bits: NDArray[np.uint64], table: NDArray[np.int64]
) -> NDArray[np.int64]:
    """[links, 3] the larger set, the smaller and the unit between them, of all prefixes of `orders`."""
    links = np.empty((orders.size, 3), dtype=np.int64)
    words = np.zeros(bits.shape[1], dtype=np.uint64)
    link = 0
    for order in orders:
        words[:] = 0
        last = np.int64(0)
        for unit in order:
            words[unit // WORD_BITS] |= np.uint64(1) << np.uint64(unit % WORD_BITS)
            ideal = table[_slot(words, bits, table)]
            links[link, 0], links[link, 1], links[link, 2] = ideal, last, unit
            last = ideal
            link += 1
    return links
