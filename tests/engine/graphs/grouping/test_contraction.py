"""Merging keeps the group graph acyclic, whatever is merged in whatever order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.grouping.contraction import MOST_LOOKED_AT
from engine.graphs.ordering import distinct
from tests.engine.graphs.grouping.digraphs import contraction_of, reachable


@given(st.data(), st.integers(2, 10))
def test_every_merge_that_is_allowed_keeps_it_acyclic(data: st.DataObject, count: int) -> None:
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = sorted({(min(pair), max(pair)) for pair in data.draw(st.lists(ends, max_size=25)) if pair[0] != pair[1]})
    contraction = contraction_of(count, edges)
    for one, other in data.draw(st.lists(ends, max_size=30)):
        one, other = contraction.group_of(one), contraction.group_of(other)
        position = contraction.merged_position(one, other) if one != other else None
        if position is not None:
            contraction.merge(one, other, position)
    group_of_node = contraction.numbered()
    between = distinct(group_of_node[np.array(edges, dtype=np.int64).reshape(-1, 2)])
    assert np.all(between[:, 0] < between[:, 1])
    assert contraction.count == group_of_node.max() + 1
    groups = contraction.groups()
    links = {
        (groups.index(source), groups.index(target)) for source in groups for target in contraction.successors[source]
    }
    assert links == {(source, target) for source, target in between.tolist()}
    sizes = np.bincount(group_of_node)
    assert [contraction.ops[group] for group in groups] == sizes.tolist()
    assert [contraction.output_bytes[group] for group in groups] == (10 * sizes).tolist()
    assert [contraction.weight[group] for group in groups] == (2 * sizes).tolist()


@given(st.data(), st.integers(2, 8))
def test_a_merge_that_makes_a_cycle_is_refused_and_a_neighbour_always_passes(data: st.DataObject, count: int) -> None:
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = sorted({(min(pair), max(pair)) for pair in data.draw(st.lists(ends, max_size=20)) if pair[0] != pair[1]})
    contraction = contraction_of(count, edges)
    reach = reachable(np.array(edges, dtype=np.int64).reshape(-1, 2), count)
    np.fill_diagonal(reach, val=False)
    for one in range(count):
        for other in range(one + 1, count):
            makes_a_cycle = bool(np.any(reach[one] & reach[:, other]))
            if makes_a_cycle:
                assert contraction.merged_position(one, other) is None
                assert contraction.merged_position(other, one) is None
        earliest, latest = contraction.earliest_successor(one), contraction.latest_predecessor(one)
        assert earliest is None or contraction.merged_position(one, earliest) is not None
        assert latest is None or contraction.merged_position(one, latest) is not None


def test_bytes_that_flow_are_added_up() -> None:
    contraction = contraction_of(4, [(0, 1), (0, 2), (1, 3), (2, 3)])  # 1, 2, 3 and 4 bytes
    merged = contraction.merge(1, 2, 1)
    assert contraction.successors[0] == {merged: 3}
    assert contraction.predecessors[3] == {merged: 7}


def test_sites_are_kept_apart() -> None:
    contraction = contraction_of(2, [(0, 1)], site=[0, 1])
    assert contraction.merged_position(0, 1) is None


def test_a_check_looks_at_so_many_neighbours_and_no_more() -> None:
    leaves = MOST_LOOKED_AT + 1
    star = contraction_of(leaves + 2, [(leaf, leaves) for leaf in range(leaves)] + [(leaves, leaves + 1)])
    assert star.merged_position(0, leaves) is not None  # the leaf's side is enough
    assert star.merged_position(leaves, leaves + 1) is not None
