"""Who is merged with whom, and when merging ends."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.grouping.contraction import Nodes, make_contraction, numbered
from engine.graphs.grouping.merging import MOST_NEIGHBOURS, merge
from engine.graphs.grouping.rules import LEAST_BYTES, MERGING_RULES, MergingRule
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
    rule: MergingRule = LEAST_BYTES,
    weight_per_byte: float = 0.0,
) -> list[int]:
    """[nodes] the group of each node after merging to `groups`."""
    count = len(weight)
    pairs = distinct(np.array(edges, dtype=np.int64).reshape(-1, 2))
    ones = np.ones(count, dtype=np.int64)
    nodes = Nodes(np.array(output_bytes), np.array(weight), ones, np.array(site or [0] * count))
    sizes = np.array(edge_bytes) if edge_bytes else np.ones(len(pairs), dtype=np.int64)
    contraction = make_contraction(nodes, pairs[:, 0], pairs[:, 1], sizes, weight_per_byte)
    merge(contraction, groups, threshold_bytes, sum(weight) // groups, rule)
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


def test_published_has_no_bound() -> None:
    heavy = {"output_bytes": [9, 1, 9, 9], "weight": [100, 90, 10, 10], "edge_bytes": [9, 1, 1]}
    assert merged(CHAIN, groups=3, **heavy) == [0, 1, 1, 2]  # type: ignore[arg-type]
    assert merged(CHAIN, groups=3, rule=MERGING_RULES["published"], **heavy) == [0, 0, 1, 2]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "weight_per_byte", "expected"),
    [
        ("least_bytes", 0.0, [0, 0, 1, 2]),
        ("bytes_and_time", 1.0, [0, 1, 2, 2]),
        ("bytes_and_time", 100.0, [0, 0, 1, 2]),
        ("balance", 0.0, [0, 1, 2, 2]),
    ],
)
def test_the_cost_of_a_group(rule: str, weight_per_byte: float, expected: list[int]) -> None:
    found = merged(CHAIN, [1, 9, 9, 2], [60, 60, 60, 50], 3, rule=MERGING_RULES[rule], weight_per_byte=weight_per_byte)
    assert found == expected


def test_in_a_matching_each_group_is_merged_once() -> None:
    # all leaves share most with the hub
    leaves = range(1, 6)
    edges = [(0, leaf) for leaf in leaves] + [(leaf, leaf + 1) for leaf in leaves if leaf < 5]
    sizes = {edge: 9 if edge[0] == 0 else 1 for edge in edges}
    edge_bytes = [sizes[edge] for edge in sorted(edges)]
    for rule, expected in (("balance", [6]), ("heavy_edge_matching", [2, 2, 2])):
        groups = merged(
            edges, [1] * 6, [1000, 9, 9, 9, 9, 9], len(expected), edge_bytes=edge_bytes, rule=MERGING_RULES[rule]
        )
        assert np.bincount(groups).tolist() == expected


def test_expansion_prefers_the_lighter_of_two_neighbours() -> None:
    case = {"output_bytes": [1] * 3, "weight": [100, 10, 20], "edge_bytes": [6, 5]}
    assert merged(CHAIN[:2], groups=2, rule=MERGING_RULES["heavy_edge_matching"], **case) == [0, 0, 1]  # type: ignore[arg-type]
    assert merged(CHAIN[:2], groups=2, rule=MERGING_RULES["expansion_matching"], **case) == [0, 1, 1]  # type: ignore[arg-type]


def test_branches_stay_apart_while_anything_else_can_be_merged() -> None:
    # a fork of two branches of two ops each; the first op of each shares most with the fork
    edges, edge_bytes = [(0, 1), (0, 2), (1, 3), (2, 4)], [9, 9, 1, 1]
    by_rule = {
        name: merged(edges, [1] * 5, [10] * 5, 2, edge_bytes=edge_bytes, rule=MERGING_RULES[name])
        for name in ("least_bytes", "branches")
    }
    assert by_rule == {"least_bytes": [0, 0, 0, 0, 1], "branches": [0, 0, 1, 0, 1]}


@given(
    st.integers(1, 12).flatmap(
        lambda count: st.tuples(
            st.just(count),
            st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=25),
            st.lists(st.integers(0, 9), min_size=count, max_size=count),
            st.lists(st.sampled_from([0, 1, 5, 100]), min_size=count, max_size=count),
            st.integers(1, 12),
        )
    ),
    st.sampled_from(list(MERGING_RULES)),
)
def test_so_many_are_left_and_the_rest_is_acyclic(
    case: tuple[int, list[tuple[int, int]], list[int], list[int], int], rule: str
) -> None:
    count, ends, output_bytes, weight, groups = case
    edges = [(min(pair), max(pair)) for pair in ends if pair[0] != pair[1]]
    group_of_node = np.array(merged(edges, output_bytes, weight, groups, rule=MERGING_RULES[rule]))
    assert group_of_node.max() + 1 == min(count, groups)
    between = group_of_node[np.array(edges, dtype=np.int64).reshape(-1, 2)]
    assert np.all(between[:, 0] <= between[:, 1])
