"""The third step of grouping: merge the group with the smallest cost into a neighbour, again and again.

A group costs its output bytes, and belongs to the neighbour with which it shares the most bytes. Source: R. Addanki et
al., Placeto, NeurIPS 2019, appendix on grouping. These choices, which the source leaves open, keep groups light enough
to be worth moving:

- Of the neighbours only those count that may be merged with the group: `Contraction.merged_position` checks on their
  neighbours that the group graph stays acyclic.
- A bound limits the weight of a group without its heaviest node. It starts at an equal share of the work and doubles
  only when no more groups can be merged within it.
- Groups with hardly any work (a variable, a cast) are merged first, whatever their bytes: alone on a device they only
  cost transfers.
- Where all neighbours are too heavy, or there are none (isolated ops, leaves of a star), groups that depend on the same
  group are collected into one. So are constants with many consumers.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined
from engine.graphs.grouping.contraction import (
    AHEAD,
    BACK,
    NOBODY,
    NOWHERE,
    Contraction,
    added_weight,
    earliest_successor,
    group_of,
    groups_of,
    latest_predecessor,
    merge_groups,
    merged_position,
)
from engine.graphs.grouping.pair_table import MISSING, PairTable, new_table, put, value_of
from engine.graphs.grouping.queue import Queue, new_queue, pop, push

NEIGHBOURS_TRIED = 32
MOST_NEIGHBOURS = 24
"""neighbours of a group that may look for a partner; a group with more (a learning rate) would draw all into one"""
NEGLIGIBLE_PART = 32
"""a group that weighs less than this part of an equal share has hardly any work"""
DOUBLINGS_BEFORE_COLLECTING = 2
"""doublings with neighbours alone merged, until the bound is four equal shares"""
NO_THRESHOLD = 2**63 - 1


class WeightBound(NamedTuple):
    """The weights that may be merged in one round."""

    group_weight: int
    """largest weight of a group that looks for a partner"""
    added_weight: int
    """largest weight of the merged group without its heaviest node"""
    collects: bool = False
    """whether groups without a partner are collected"""


class MergingWalk(NamedTuple):
    """One walk over the groups, cheapest first, within one bound: what it goes by, and what it has to remember."""

    groups: int
    threshold_bytes: int
    bound: WeightBound
    queue: Queue
    collector: PairTable
    """(site, latest predecessor or earliest successor) → the group into which such groups are collected"""
    fitting: NDArray[np.int64]
    """[nodes] scratch: the neighbours of a group that may be merged with it"""
    shared: NDArray[np.int64]
    """[nodes] scratch: the bytes that they share with it"""


def merge(contraction: Contraction, groups: int, threshold_bytes: int | None, equal_share: int) -> None:
    """Merge until `groups` remain, or until no group below `threshold_bytes` can be merged.

    More remain only where sites keep groups apart. `equal_share` is the weight that each of `groups` equal groups would
    have.
    """
    opened = new_table(len(contraction.position))
    _collect_constants(contraction, groups_of(contraction), opened, groups, equal_share // NEGLIGIBLE_PART)
    total = int(contraction.weight[groups_of(contraction)].sum())
    most = NO_THRESHOLD if threshold_bytes is None else threshold_bytes
    for bound in _bounds(total, equal_share):
        if contraction.remaining[0] > groups:
            _go(contraction, _new_walk(contraction, groups, most, bound), groups_of(contraction))


def _bounds(total: int, equal_share: int) -> Iterator[WeightBound]:
    """The bound of each round; in the last one everything is light enough."""
    most_weight = max(equal_share, 1)
    yield WeightBound(equal_share // NEGLIGIBLE_PART, equal_share)
    for doubling in range(DOUBLINGS_BEFORE_COLLECTING + 1):
        yield WeightBound(total, equal_share << doubling)
    while most_weight < total:
        yield WeightBound(total, most_weight, collects=True)
        most_weight *= 2
    yield WeightBound(total, total, collects=True)


def _new_walk(contraction: Contraction, groups: int, threshold_bytes: int, bound: WeightBound) -> MergingWalk:
    count, left = len(contraction.position), int(contraction.remaining[0])
    return MergingWalk(
        groups=groups,
        threshold_bytes=threshold_bytes,
        bound=bound,
        queue=new_queue(2 * left),
        collector=new_table(left),
        fitting=np.empty(count, np.int64),
        shared=np.empty(count, np.int64),
    )


@compiled
def _collect_constants(
    contraction: Contraction, by_position: NDArray[np.int64], opened: PairTable, groups: int, negligible: int
) -> None:
    """Merge, site by site, groups with no input, hardly any weight and many consumers, such as a learning rate."""
    for group in by_position:
        is_constant = contraction.degree[BACK, group] == 0 and contraction.weight[group] <= negligible
        if is_constant and contraction.degree[AHEAD, group] > MOST_NEIGHBOURS and contraction.remaining[0] > groups:
            site = contraction.site[group]
            first = value_of(opened, site)
            if first != MISSING:
                group = merge_groups(contraction, first, group, contraction.position[first])
            put(opened, site, group)


@compiled
def _go(contraction: Contraction, walk: MergingWalk, by_position: NDArray[np.int64]) -> None:
    """MergingWalk over the groups, cheapest first."""
    for group in by_position:
        _enqueue(contraction, walk, group)
    while walk.queue.length[0] > 0 and contraction.remaining[0] > walk.groups:
        group, ops = pop(walk.queue)
        if contraction.absorbed_by[group] != group or contraction.ops[group] != ops:
            continue  # merged since
        if contraction.output_bytes[group] >= walk.threshold_bytes or not _looks(contraction, walk, group):
            continue
        other, position = _partner(contraction, walk, group)
        if other == NOBODY:
            continue
        _enqueue(contraction, walk, merge_groups(contraction, group, other, position))


@inlined
def _enqueue(contraction: Contraction, walk: MergingWalk, group: int) -> None:
    """Fewest output bytes first, then fewest ops, then lowest position."""
    push(walk.queue, float(contraction.output_bytes[group]), contraction.ops[group], contraction.position[group], group)


@inlined
def _looks(contraction: Contraction, walk: MergingWalk, group: int) -> bool:
    """Whether the group is light enough, and has few enough neighbours, to look for a partner in this walk."""
    if contraction.weight[group] > walk.bound.group_weight:
        return False
    degree = contraction.degree[AHEAD, group] + contraction.degree[BACK, group]
    return bool(walk.bound.collects or degree <= MOST_NEIGHBOURS)


@compiled
def _fits(contraction: Contraction, walk: MergingWalk, group: int, other: int) -> bool:
    if contraction.site[group] != contraction.site[other]:
        return False
    return added_weight(contraction, group, other) <= walk.bound.added_weight


@compiled
def _partner(contraction: Contraction, walk: MergingWalk, group: int) -> tuple[int, int]:
    """The group to merge `group` with, or `NOBODY`, and the position of the merged group."""
    other, position = _closest(contraction, walk, group)
    if other != NOBODY:
        return other, position
    after, before = earliest_successor(contraction, group), latest_predecessor(contraction, group)
    for next_to in (after, before):
        if next_to != NOBODY and _fits(contraction, walk, group, next_to):
            return next_to, int(contraction.position[next_to])
    if walk.bound.collects or (after == NOBODY and before == NOBODY):
        return _collector(contraction, walk, group, before, after)
    return NOBODY, NOWHERE


@inlined
def _closest(contraction: Contraction, walk: MergingWalk, group: int) -> tuple[int, int]:
    """The neighbour that shares the most bytes with `group` and may be merged with it, of equals the lightest, then the
    first; and the merged position. Of those that fit, `NEIGHBOURS_TRIED` are tried."""
    count = _find_fitting(contraction, walk, group)
    for _ in range(min(count, NEIGHBOURS_TRIED)):
        best = 0
        for place in range(1, count):
            if _is_closer(contraction, walk, place, best):
                best = place
        other = walk.fitting[best]
        position = merged_position(contraction, group, other)
        if position != NOWHERE:
            return other, position
        count -= 1
        walk.fitting[best], walk.shared[best] = walk.fitting[count], walk.shared[count]
    return NOBODY, NOWHERE


@inlined
def _find_fitting(contraction: Contraction, walk: MergingWalk, group: int) -> int:
    """Write the neighbours that fit to the walk's scratch; returns their number."""
    count = 0
    for side in (AHEAD, BACK):
        edge = contraction.first[side, group]
        while edge != NOBODY:
            other = contraction.holder[1 - side, edge]
            if _fits(contraction, walk, group, other):
                walk.fitting[count], walk.shared[count] = other, contraction.edge_bytes[edge]
                count += 1
            edge = contraction.following[side, edge]
    return count


@inlined
def _is_closer(contraction: Contraction, walk: MergingWalk, place: int, best: int) -> bool:
    if walk.shared[place] != walk.shared[best]:
        return bool(walk.shared[place] > walk.shared[best])
    one, other = walk.fitting[place], walk.fitting[best]
    if contraction.weight[one] != contraction.weight[other]:
        return bool(contraction.weight[one] < contraction.weight[other])
    return bool(contraction.position[one] < contraction.position[other])


@inlined
def _collector(contraction: Contraction, walk: MergingWalk, group: int, before: int, after: int) -> tuple[int, int]:
    """The group that collects those with the neighbour of `group`, and the merged position; else `NOBODY`.

    After that `group` itself collects the next such groups.
    """
    count = len(contraction.position)
    beside = before if before != NOBODY else count + after if after != NOBODY else 2 * count
    key = contraction.site[group] * (2 * count + 1) + beside
    opened = value_of(walk.collector, key)
    other = group if opened == MISSING else group_of(contraction, opened)
    if other != group and _fits(contraction, walk, group, other):
        position = merged_position(contraction, group, other)
        if position != NOWHERE:
            return other, position
    put(walk.collector, key, group)
    return NOBODY, NOWHERE
