"""Orders of visiting: each is a permutation, the topological ones keep producers first, the fixed ones stay."""

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.placeto.seeing.features import group_graph
from engine.placeto.traversals import TRAVERSALS, visiting_orders
from tests.engine.placers.small_problems import small_cluster
from tests.engine.placeto.problems import graph_of, problem_of, random_problem

PRODUCERS_FIRST = ("topological", "least_urgent_first", "random_topological")


def orders(traversal: str, *, count: int = 6, seed: int = 0) -> NDArray[np.int32]:
    graph = group_graph(random_problem(4, groups=20))
    return visiting_orders(traversal, graph, count, np.random.default_rng(seed), 0)


@pytest.mark.parametrize("traversal", TRAVERSALS)
def test_every_group_is_visited_once(traversal: str) -> None:
    assert np.array_equal(np.sort(orders(traversal), axis=1), np.tile(np.arange(20), (6, 1)))


@pytest.mark.parametrize("traversal", PRODUCERS_FIRST)
def test_producers_come_first(traversal: str) -> None:
    grouping = random_problem(4, groups=20).grouping
    place = np.argsort(orders(traversal), axis=1)
    assert (place[:, grouping.edge_source] < place[:, grouping.edge_target]).all()


@pytest.mark.parametrize("traversal", ["topological", "reversed", "least_urgent_first", "fixed_random"])
def test_fixed_orders_do_not_depend_on_chance(traversal: str) -> None:
    first, second = orders(traversal, seed=1), orders(traversal, seed=2)
    assert np.array_equal(first, second) and len(np.unique(first, axis=0)) == 1


@pytest.mark.parametrize("traversal", ["random_topological", "random", "mixed"])
def test_drawn_orders_differ_from_episode_to_episode(traversal: str) -> None:
    assert len(np.unique(orders(traversal), axis=0)) > 1
    assert np.array_equal(orders(traversal, seed=3), orders(traversal, seed=3))


def test_every_other_mixed_order_has_producers_first() -> None:
    grouping = random_problem(4, groups=20).grouping
    place = np.argsort(orders("mixed", count=8), axis=1)
    kept = (place[:, grouping.edge_source] < place[:, grouping.edge_target]).all(axis=1)
    assert kept.tolist() == [True, False] * 4


def test_another_seed_is_another_fixed_order() -> None:
    graph = group_graph(random_problem(4, groups=20))
    first, second = (visiting_orders("fixed_random", graph, 1, np.random.default_rng(0), seed) for seed in (1, 2))
    assert not np.array_equal(first, second)


def test_the_least_urgent_of_the_ready_groups_comes_first() -> None:
    # 0 → 2 → 4 is long, 1 → 3 is short
    graph, costs = graph_of([(0, 2), (1, 3), (2, 4)], [5.0, 1.0, 5.0, 1.0, 5.0], [0] * 5)
    drawn = group_graph(problem_of(graph, costs, small_cluster(2)))
    order = visiting_orders("least_urgent_first", drawn, 1, np.random.default_rng(0), 0)
    assert order.tolist() == [[1, 3, 0, 2, 4]]
    assert visiting_orders("reversed", drawn, 1, np.random.default_rng(0), 0).tolist() == [[4, 3, 2, 1, 0]]
