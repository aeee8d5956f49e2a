"""How often edges and flows are used in a step, and what they move, as far as integers go."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.edge_trips import MOST_MOVED, most_of_each, moved_bytes, trips_of_edges
from tests.engine.graphs.graph_samples import make_graph

MOST = 2**62


def test_an_edge_is_used_as_often_as_the_end_that_runs_less_often() -> None:
    graph = make_graph(list("abcd"), [("a", "b"), ("b", "c"), ("c", "d")])
    assert trips_of_edges(graph, np.array([1, 40, 40, 0])).tolist() == [1, 40, 0]


def test_a_flow_is_used_as_often_as_one_of_its_edges() -> None:
    assert most_of_each(np.array([1, 40, 0, 7]), np.array([0, 0, 1, 3]), 4).tolist() == [40, 0, 0, 7]


@given(st.lists(st.tuples(st.integers(0, 10**15), st.integers(0, 10**18)), max_size=40))
def test_what_moves_is_exact_or_as_much_as_fits(flows: list[tuple[int, int]]) -> None:
    sizes = np.array([size for size, _ in flows], dtype=np.int64)
    trips = np.array([count for _, count in flows], dtype=np.int64)
    moved = moved_bytes(sizes, trips).tolist()
    assert sum(moved) <= MOST + sum(sizes.tolist()) < 2**63
    for (size, count), found in zip(flows, moved, strict=True):
        fitting = MOST // len(flows) // max(size, 1)
        assert found == size * min(count, max(fitting, 1))
        assert found >= size * min(count, 1), "once at least, where there is anything"
        if size * count <= MOST_MOVED // len(flows):
            assert found == size * count
