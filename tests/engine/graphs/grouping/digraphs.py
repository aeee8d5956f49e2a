"""Small directed graphs as pairs of numbers."""

import numpy as np
from hypothesis import strategies as st

from engine.graphs.grouping.contraction import NOBODY, Contraction, Nodes, make_contraction
from engine.graphs.ordering import distinct

DIGRAPHS = st.integers(1, 9).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=25),
    )
)


def pairs_of(edges: list[tuple[int, int]]) -> np.ndarray:
    return distinct(np.array(edges, dtype=np.int32).reshape(-1, 2))


def reachable(pairs: np.ndarray, count: int) -> np.ndarray:
    """[nodes, nodes] by Warshall's rule."""
    reach = np.eye(count, dtype=bool)
    reach[pairs[:, 0], pairs[:, 1]] = True
    for middle in range(count):
        reach |= reach[:, middle, None] & reach[None, middle]
    return reach


def contraction_of(count: int, edges: list[tuple[int, int]], site: list[int] | None = None) -> Contraction:
    pairs = distinct(np.array(edges, dtype=np.int64).reshape(-1, 2))
    ones = np.ones(count, dtype=np.int64)
    nodes = Nodes(ones * 10, ones * 2, ones, np.array(site or [0] * count, dtype=np.int64))
    return make_contraction(nodes, pairs[:, 0], pairs[:, 1], np.arange(1, len(pairs) + 1))


def neighbours(contraction: Contraction, side: int, group: int) -> dict[int, int]:
    """Neighbour → bytes that flow between the two."""
    found = {}
    edge = int(contraction.first[side, group])
    while edge != NOBODY:
        found[int(contraction.holder[1 - side, edge])] = int(contraction.edge_bytes[edge])
        edge = int(contraction.following[side, edge])
    return found
