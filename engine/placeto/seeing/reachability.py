"""The groups before, after and parallel to each group: reachability in the group graph by bit sets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.simulator.tables import first_of_each

_WORD_BITS = 64


@dataclass(frozen=True, slots=True)
class Relatives:
    """The parents and children of each group, as lists (`offset` into `index`).

    All other groups are parallel to it.
    """

    parent_offset: NDArray[np.int64]
    """[groups + 1]"""
    parent_index: NDArray[np.int32]
    child_offset: NDArray[np.int64]
    """[groups + 1]"""
    child_index: NDArray[np.int32]


def reachability(edge_source: NDArray[np.int32], edge_target: NDArray[np.int32], groups: int) -> NDArray[np.bool_]:
    """[groups, groups] whether the row's group reaches the column's; a group does not reach itself.

    Needs edge_source < edge_target. Time groups · edges / 64, memory groups² / 8 bytes and the answer's groups² bytes.
    """
    order = np.argsort(edge_source, kind="stable")
    words = _reach_words(edge_source[order], edge_target[order], groups)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return np.ascontiguousarray(bits[:, :groups]).astype(bool)


@compiled
def _reach_words(source: NDArray[np.int32], target: NDArray[np.int32], groups: int) -> NDArray[np.uint64]:
    """[groups, words] bit sets. The edges, ordered by source, are taken last first: targets' sets are then complete."""
    words = np.zeros((groups, (groups + _WORD_BITS - 1) // _WORD_BITS), dtype=np.uint64)
    for edge in range(len(source) - 1, -1, -1):
        row, column = source[edge], target[edge]
        words[row] |= words[column]
        words[row, column // _WORD_BITS] |= np.uint64(1) << np.uint64(column % _WORD_BITS)
    return words


def relatives(
    edge_source: NDArray[np.int32], edge_target: NDArray[np.int32], groups: int, *, most_reachable_groups: int
) -> Relatives:
    """All groups that reach a group and all that it reaches, as in the paper.

    In a graph of more than `most_reachable_groups` groups, a group's direct neighbours stand for them.
    """
    if groups <= most_reachable_groups:
        pairs = np.argwhere(reachability(edge_source, edge_target, groups))
    else:
        pairs = np.stack([edge_source, edge_target], axis=1).astype(np.int64)
    before, after = pairs[:, 0], pairs[:, 1]
    parent_offset, parent_index = neighbour_lists(after, before, groups)
    child_offset, child_index = neighbour_lists(before, after, groups)
    return Relatives(parent_offset, parent_index, child_offset, child_index)


def neighbour_lists(
    owner: NDArray[np.integer], neighbour: NDArray[np.integer], groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """(offset [groups + 1], index [pairs]): the neighbours of each owner, in ascending order."""
    order = np.lexsort((neighbour, owner))
    return first_of_each(owner, groups), neighbour[order].astype(np.int32)
