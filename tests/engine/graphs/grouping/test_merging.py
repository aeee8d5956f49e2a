"""Who is merged with whom, and when merging ends."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.grouping.contraction import Nodes, make_contraction, numbered
from engine.graphs.grouping.merging import MOST_NEIGHBOURS, merge
from engine.graphs.ordering import distinct


def merged(
    edges: list[tuple[int, int]],
    output_bytes: list[int],
    weight: list[int],
    groups: int,
    *,
    edge_bytes: list[int] | None = None,
    site: list[int] | None = None,
    threshold_bytes: int | None = None,
) -> list[int]:
    """[nodes] the group of each node after merging to `groups`."""
    count = len(weight)
    pairs = distinct(np.array(edges, dtype=np.int64).reshape(-1, 2))
    ones = np.ones(count, dtype=np.int64)
    nodes = Nodes(np.array(output_bytes), np.array(weight), ones, np.array(site or [0] * count))
    sizes = np.array(edge_bytes) if edge_bytes else np.ones(len(pairs), dtype=np.int64)
    contraction = make_contraction(nodes, pairs[:, 0], pairs[:, 1], sizes)
    merge(contraction, groups, threshold_bytes, sum(weight) // groups)
    return [int(group) for group in numbered(contraction)]


CHAIN = [(0, 1), (1, 2), (2, 3)]


def test_the_cheapest_group_goes_first_and_to_the_neighbour_with_the_most_bytes() -> None:
    assert merged(CHAIN, [9, 9, 1, 9], [10] * 4, 3, edge_bytes=[5, 5, 7]) == [0, 1, 2, 2]
    assert merged(CHAIN, [9, 9, 1, 9], [10] * 4, 3, edge_bytes=[5, 7, 5]) == [0, 1, 1, 2]
    assert merged(CHAIN, [1, 9, 9, 9], [10] * 4, 3) == [0, 0, 1, 2]


def test_a_neighbour_that_is_too_heavy_is_left_for_a_lighter_one() -> None:
    # the cheap node 1 shares most with 0, but the two would weigh more than an equal share beside the heavier one
    assert merged(CHAIN, [9, 1, 9, 9], [100, 90, 10, 10], 3, edge_bytes=[9, 1, 1]) == [0, 1, 1, 2]


def test_what_has_no_work_goes_first_whatever_its_bytes() -> None:
    assert merged(CHAIN, [1, 9, 1, 9], [1000, 0, 1000, 1000], 3) == [0, 0, 1, 2]


def test_a_threshold_ends_it() -> None:
    assert merged(CHAIN, [4, 6, 6, 6], [10] * 4, 1, threshold_bytes=5) == [0, 0, 1, 2]
    assert merged(CHAIN, [4, 6, 6, 6], [10] * 4, 1, threshold_bytes=0) == [0, 1, 2, 3]
    assert merged(CHAIN, [4, 6, 6, 6], [10] * 4, 1, threshold_bytes=100) == [0, 0, 0, 0]


def test_sites_are_not_mixed() -> None:
    assert merged(CHAIN, [1] * 4, [10] * 4, 1, site=[0, 1, 1, 0]) == [0, 1, 1, 2]


def test_the_leaves_of_a_star_are_collected_beside_the_hub() -> None:
    leaves = 40
    groups = merged([(0, leaf) for leaf in range(1, leaves + 1)], [1] * (leaves + 1), [10] * (leaves + 1), 8)
    sizes = np.bincount(groups)
    assert len(sizes) == 8
    assert sizes.max() <= 4 * 41 / 8 + 1


def test_constants_that_many_read_are_one_group() -> None:
    # two constants feed every link of a chain
    links = MOST_NEIGHBOURS + 6
    edges = [(constant, 2 + link) for constant in (0, 1) for link in range(links)]
    chain = [(2 + link, 3 + link) for link in range(links - 1)]
    groups = merged(edges + chain, [1, 1] + [100] * links, [0, 0] + [1000] * links, links + 1)
    assert groups[0] == groups[1]
    assert groups.count(groups[0]) == 2


@given(
    st.integers(1, 12).flatmap(
        lambda count: st.tuples(
            st.just(count),
            st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=25),
            st.lists(st.integers(0, 9), min_size=count, max_size=count),
            st.lists(st.sampled_from([0, 1, 5, 100]), min_size=count, max_size=count),
            st.integers(1, 12),
        )
    )
)
def test_so_many_are_left_and_the_rest_is_acyclic(
    case: tuple[int, list[tuple[int, int]], list[int], list[int], int],
) -> None:
    count, ends, output_bytes, weight, groups = case
    edges = [(min(pair), max(pair)) for pair in ends if pair[0] != pair[1]]
    group_of_node = np.array(merged(edges, output_bytes, weight, groups))
    assert group_of_node.max() + 1 == min(count, groups)
    between = group_of_node[np.array(edges, dtype=np.int64).reshape(-1, 2)]
    assert np.all(between[:, 0] <= between[:, 1])
