"""Merging keeps the group graph acyclic, whatever is merged in whatever order."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.grouping.contraction import (
    AHEAD,
    BACK,
    MOST_LOOKED_AT,
    NOBODY,
    NOWHERE,
    earliest_successor,
    group_of,
    groups_of,
    latest_predecessor,
    merge_groups,
    merged_position,
    numbered,
)
from engine.graphs.ordering import distinct
from tests.engine.graphs.grouping.digraphs import contraction_of, neighbours, reachable


@given(st.data(), st.integers(2, 10))
def test_every_merge_that_is_allowed_keeps_it_acyclic(data: st.DataObject, count: int) -> None:
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    edges = sorted({(min(pair), max(pair)) for pair in data.draw(st.lists(ends, max_size=25)) if pair[0] != pair[1]})
    contraction = contraction_of(count, edges)
    for one, other in data.draw(st.lists(ends, max_size=30)):
        one, other = group_of(contraction, one), group_of(contraction, other)
        position = merged_position(contraction, one, other) if one != other else NOWHERE
        if position != NOWHERE:
            merge_groups(contraction, one, other, position)
    group_of_node = numbered(contraction)
    between = distinct(group_of_node[np.array(edges, dtype=np.int64).reshape(-1, 2)])
    assert np.all(between[:, 0] < between[:, 1])
    assert contraction.remaining[0] == group_of_node.max() + 1
    groups = groups_of(contraction).tolist()
    links = {
        (groups.index(source), groups.index(target))
        for source in groups
        for target in neighbours(contraction, AHEAD, source)
    }
    back = {
        (groups.index(source), groups.index(target))
        for target in groups
        for source in neighbours(contraction, BACK, target)
    }
    assert links == back == {(source, target) for source, target in between.tolist()}
    for side in (AHEAD, BACK):
        degrees = [len(neighbours(contraction, side, group)) for group in groups]
        assert contraction.degree[side, groups].tolist() == degrees
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
                assert merged_position(contraction, one, other) == NOWHERE
                assert merged_position(contraction, other, one) == NOWHERE
        earliest, latest = earliest_successor(contraction, one), latest_predecessor(contraction, one)
        assert earliest == NOBODY or merged_position(contraction, one, earliest) != NOWHERE
        assert latest == NOBODY or merged_position(contraction, one, latest) != NOWHERE


def test_bytes_that_flow_are_added_up() -> None:
    contraction = contraction_of(4, [(0, 1), (0, 2), (1, 3), (2, 3)])  # 1, 2, 3 and 4 bytes
    merged = merge_groups(contraction, 1, 2, 1)
    assert neighbours(contraction, AHEAD, 0) == {merged: 3}
    assert neighbours(contraction, BACK, 3) == {merged: 7}


def test_sites_are_kept_apart() -> None:
    contraction = contraction_of(2, [(0, 1)], site=[0, 1])
    assert merged_position(contraction, 0, 1) == NOWHERE


def test_a_check_looks_at_so_many_neighbours_and_no_more() -> None:
    leaves = MOST_LOOKED_AT + 1
    star = contraction_of(leaves + 2, [(leaf, leaves) for leaf in range(leaves)] + [(leaves, leaves + 1)])
    assert merged_position(star, 0, leaves) != NOWHERE  # the leaf's side is enough
    assert merged_position(star, leaves, leaves + 1) != NOWHERE
