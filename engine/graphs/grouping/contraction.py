"""The group graph while groups are merged: acyclic at the start, and kept acyclic by an order of the groups. Compiled.

Every group has a position, and every edge leads from a lower to a higher position, which proves that there is no cycle.
So two groups may be merged only where their merged group has a position too. With u before v that is

- u's position, if nothing that v needs comes after u (v moves back to u), or
- v's position, if nothing that needs u comes before v (u moves forward to v).

Each check reads the neighbours of one group, without a search. The rule is sufficient, not necessary: it refuses some
merges that would make no cycle. It never gets stuck: it allows to merge a group with its earliest successor, and with
its latest predecessor.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled, inlined
from engine.graphs.grouping.pair_table import MISSING, PairTable, new_table, put, remove, value_of

MOST_LOOKED_AT = 1000
"""neighbours of a group that a check reads; a group with more fails the check, so that hubs cost no quadratic time"""
AHEAD, BACK = 0, 1
"""the sides of a group: edges to its successors, edges from its predecessors"""
NOBODY = MISSING
"""where a group has no such neighbour"""
NOWHERE = -1
"""where the order has no place for a merged group"""


@dataclass(frozen=True, slots=True)
class Nodes:
    """The nodes that start as groups, in topological order. Integers, so that sums do not depend on their order."""

    output_bytes: NDArray[np.int64]
    """[nodes] the cost by which groups are merged"""
    weight: NDArray[np.int64]
    """[nodes] share of the work, in any unit"""
    ops: NDArray[np.int64]
    """[nodes] number of ops"""
    site: NDArray[np.int64]
    """[nodes] the set of devices on which a node may go, as a number: only nodes of one site may be merged"""


class Contraction(NamedTuple):
    """The mutable group graph. One of its nodes names a group; the figures of its other nodes mean nothing.

    The edges of a group stand in a list for each side, and in a table by their two ends.
    """

    remaining: NDArray[np.int64]
    """[1] number of groups"""
    position: NDArray[np.int64]
    """[nodes]"""
    output_bytes: NDArray[np.int64]
    """[nodes]"""
    weight: NDArray[np.int64]
    """[nodes]"""
    heaviest: NDArray[np.int64]
    """[nodes] the largest weight of a single node in the group"""
    ops: NDArray[np.int64]
    """[nodes]"""
    site: NDArray[np.int64]
    """[nodes]"""
    absorbed_by: NDArray[np.int64]
    """[nodes] the group that holds a node, or one that this group holds; a group's own number"""
    degree: NDArray[np.int64]
    """[sides, nodes] neighbours"""
    first: NDArray[np.int64]
    """[sides, nodes] the first edge of the group's list, or `NOBODY`"""
    following: NDArray[np.int64]
    """[sides, edges] the next edge of the list, or `NOBODY`"""
    preceding: NDArray[np.int64]
    """[sides, edges] the edge before it, or `NOBODY`"""
    holder: NDArray[np.int64]
    """[sides, edges] the group in whose list the edge stands: its source `AHEAD`, its target `BACK`"""
    edge_bytes: NDArray[np.int64]
    """[edges] bytes that flow along it"""
    edge_of_pair: PairTable
    """source · nodes + target → edge"""


def make_contraction(
    nodes: Nodes,
    sources: NDArray[np.integer],
    targets: NDArray[np.integer],
    edge_bytes: NDArray[np.int64],
) -> Contraction:
    """Each node as a group. Edges, each once, lead from lower to higher nodes; `edge_bytes` [edges] flow along them."""
    assert np.all(sources < targets)
    count, edges = len(nodes.ops), len(sources)
    numbers = np.arange(count, dtype=np.int64)
    weight = nodes.weight.astype(np.int64)
    contraction = Contraction(
        remaining=np.array([count]),
        position=numbers,
        output_bytes=nodes.output_bytes.astype(np.int64),
        weight=weight,
        heaviest=weight.copy(),
        ops=nodes.ops.astype(np.int64),
        site=nodes.site.astype(np.int64),
        absorbed_by=numbers.copy(),
        degree=np.zeros((2, count), np.int64),
        first=np.full((2, count), NOBODY),
        following=np.full((2, edges), NOBODY),
        preceding=np.full((2, edges), NOBODY),
        holder=np.stack((sources, targets)).astype(np.int64),
        edge_bytes=edge_bytes.astype(np.int64),
        edge_of_pair=new_table(edges),
    )
    _link_all(contraction)
    return contraction


def groups_of(contraction: Contraction) -> NDArray[np.int64]:
    """[groups] the remaining groups, by position."""
    left = np.flatnonzero(contraction.absorbed_by == np.arange(len(contraction.absorbed_by)))
    return left[np.argsort(contraction.position[left])]


def numbered(contraction: Contraction) -> NDArray[np.int32]:
    """[nodes] the group of each node; groups are numbered by position, so that edges lead to higher numbers."""
    groups = groups_of(contraction)
    number_of_group = np.zeros(len(contraction.position), np.int32)
    number_of_group[groups] = np.arange(len(groups))
    holding = contraction.absorbed_by
    while np.any((further := holding[holding]) != holding):
        holding = further
    return number_of_group[holding]


@compiled
def group_of(contraction: Contraction, node: int) -> int:
    """The group that holds `node`."""
    absorbed_by = contraction.absorbed_by
    while absorbed_by[node] != node:
        absorbed_by[node] = absorbed_by[absorbed_by[node]]
        node = absorbed_by[node]
    return node


@compiled
def latest_predecessor(contraction: Contraction, group: int) -> int:
    """The predecessor with the highest position, or `NOBODY`."""
    found = NOBODY
    edge = contraction.first[BACK, group]
    while edge != NOBODY:
        other = contraction.holder[AHEAD, edge]
        if found == NOBODY or contraction.position[other] > contraction.position[found]:
            found = other
        edge = contraction.following[BACK, edge]
    return found


@compiled
def earliest_successor(contraction: Contraction, group: int) -> int:
    """The successor with the lowest position, or `NOBODY`."""
    found = NOBODY
    edge = contraction.first[AHEAD, group]
    while edge != NOBODY:
        other = contraction.holder[BACK, edge]
        if found == NOBODY or contraction.position[other] < contraction.position[found]:
            found = other
        edge = contraction.following[AHEAD, edge]
    return found


@inlined
def added_weight(contraction: Contraction, one: int, other: int) -> int:
    """The weight of the merged group without its heaviest node."""
    weight, heaviest = contraction.weight, contraction.heaviest
    return int(weight[one] + weight[other] - max(heaviest[one], heaviest[other]))


@compiled
def merged_position(contraction: Contraction, one: int, other: int) -> int:
    """The position of the merged group; `NOWHERE` where the order has no place for it, or where the sites differ."""
    if contraction.site[one] != contraction.site[other]:
        return NOWHERE
    position = contraction.position
    before, after = (one, other) if position[one] < position[other] else (other, one)
    if _needs_nothing_past(contraction, after, position[before]):
        return int(position[before])
    return int(position[after]) if _feeds_nothing_ahead_of(contraction, before, position[after]) else NOWHERE


@compiled
def merge_groups(contraction: Contraction, one: int, other: int, position: int) -> int:
    """Merge two groups at their `merged_position` and return the node that names the merged group."""
    if _neighbours(contraction, one) < _neighbours(contraction, other):
        one, other = other, one  # the shorter list of neighbours is moved: n log n moves in all
    contraction.absorbed_by[other] = one
    for side in (AHEAD, BACK):
        edge = contraction.first[side, other]
        while edge != NOBODY:
            following = contraction.following[side, edge]
            _hand_over(contraction, side, edge, one)
            edge = following
        contraction.first[side, other] = NOBODY
    contraction.output_bytes[one] += contraction.output_bytes[other]
    contraction.weight[one] += contraction.weight[other]
    contraction.ops[one] += contraction.ops[other]
    contraction.heaviest[one] = max(contraction.heaviest[one], contraction.heaviest[other])
    contraction.position[one] = position
    contraction.remaining[0] -= 1
    return one


@inlined
def _hand_over(contraction: Contraction, side: int, edge: int, group: int) -> None:
    """Give `edge` from the list of the group that holds it on `side` to `group`.

    It vanishes if it leads to `group` itself, and its bytes are added to an edge that leads where it does.
    """
    neighbour = contraction.holder[1 - side, edge]
    remove(contraction.edge_of_pair, _pair(contraction, edge))
    contraction.holder[side, edge] = group
    same = value_of(contraction.edge_of_pair, _pair(contraction, edge))
    if neighbour == group or same != MISSING:
        _unlink(contraction, 1 - side, edge, neighbour)
        if neighbour != group:
            contraction.edge_bytes[same] += contraction.edge_bytes[edge]
    else:
        put(contraction.edge_of_pair, _pair(contraction, edge), edge)
        _link(contraction, side, edge, group)


@inlined
def _pair(contraction: Contraction, edge: int) -> int:
    """The key of an edge's two ends."""
    return int(contraction.holder[AHEAD, edge] * len(contraction.position) + contraction.holder[BACK, edge])


@inlined
def _link(contraction: Contraction, side: int, edge: int, group: int) -> None:
    """Put `edge` at the front of the group's list."""
    front = contraction.first[side, group]
    contraction.following[side, edge], contraction.preceding[side, edge] = front, NOBODY
    if front != NOBODY:
        contraction.preceding[side, front] = edge
    contraction.first[side, group] = edge
    contraction.degree[side, group] += 1


@inlined
def _unlink(contraction: Contraction, side: int, edge: int, group: int) -> None:
    """Take `edge` out of the group's list."""
    before, after = contraction.preceding[side, edge], contraction.following[side, edge]
    if before == NOBODY:
        contraction.first[side, group] = after
    else:
        contraction.following[side, before] = after
    if after != NOBODY:
        contraction.preceding[side, after] = before
    contraction.degree[side, group] -= 1


@compiled
def _link_all(contraction: Contraction) -> None:
    """Link all edges, and find when each node begins and ends."""
    for edge in range(len(contraction.edge_bytes)):
        put(contraction.edge_of_pair, _pair(contraction, edge), edge)
        _link(contraction, AHEAD, edge, contraction.holder[AHEAD, edge])
        _link(contraction, BACK, edge, contraction.holder[BACK, edge])


@inlined
def _neighbours(contraction: Contraction, group: int) -> int:
    return int(contraction.degree[AHEAD, group] + contraction.degree[BACK, group])


@inlined
def _needs_nothing_past(contraction: Contraction, group: int, position: int) -> bool:
    edge = contraction.first[BACK, group]
    if contraction.degree[BACK, group] > MOST_LOOKED_AT:
        return False
    while edge != NOBODY and contraction.position[contraction.holder[AHEAD, edge]] <= position:
        edge = contraction.following[BACK, edge]
    return bool(edge == NOBODY)


@inlined
def _feeds_nothing_ahead_of(contraction: Contraction, group: int, position: int) -> bool:
    edge = contraction.first[AHEAD, group]
    if contraction.degree[AHEAD, group] > MOST_LOOKED_AT:
        return False
    while edge != NOBODY and contraction.position[contraction.holder[BACK, edge]] >= position:
        edge = contraction.following[AHEAD, edge]
    return bool(edge == NOBODY)
