"""Reachability against the obviously right slow twin, and the sets built on it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.placeto.seeing.reachability import reachability, relatives

Edges = list[tuple[int, int]]


def as_arrays(edges: Edges) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    pairs = np.array(edges, dtype=np.int32).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


@st.composite
def acyclic_graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    groups = draw(st.integers(2, 150))
    node = st.integers(0, groups - 1)
    edges = draw(st.lists(st.tuples(node, node).filter(lambda pair: pair[0] < pair[1]), max_size=3 * groups))
    return groups, edges


@given(acyclic_graphs())
def test_reachability_is_that_of_a_plain_search(case: tuple[int, Edges]) -> None:
    groups, edges = case
    expected = np.zeros((groups, groups), dtype=bool)
    for first in range(groups):
        waiting = [first]
        while waiting:
            here = waiting.pop()
            for source, target in edges:
                if source == here and not expected[first, target]:
                    expected[first, target] = True
                    waiting.append(target)
    assert np.array_equal(reachability(*as_arrays(edges), groups), expected)


def test_sets_of_a_drawn_graph() -> None:
    # 0 → 1 → 3 and 0 → 2 → 3; 4 stands alone
    related = relatives(*as_arrays([(0, 1), (0, 2), (1, 3), (2, 3)]), 5, most_reachable_groups=5)
    parents = [related.parent_index[related.parent_offset[g] : related.parent_offset[g + 1]].tolist() for g in range(5)]
    children = [related.child_index[related.child_offset[g] : related.child_offset[g + 1]].tolist() for g in range(5)]
    assert parents == [[], [0], [0], [0, 1, 2], []]
    assert children == [[1, 2, 3], [3], [3], [], []]


def test_beyond_the_limit_direct_neighbours_stand_for_the_sets() -> None:
    related = relatives(*as_arrays([(0, 1), (1, 2)]), 3, most_reachable_groups=2)
    assert related.parent_index.tolist() == [0, 1] and related.child_index.tolist() == [1, 2]
