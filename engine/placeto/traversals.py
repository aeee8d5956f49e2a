"""Orders in which an episode visits the groups, for training and for tests on unseen orders.

Source: Addanki et al. 2019, sections 2.1 and 4.3; published code (`topo`, and `random`: one order for the whole run).
"""

import heapq

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.placeto.seeing.features import GroupGraph, longest_ways
from engine.placeto.seeing.reachability import neighbour_lists

TRAVERSALS = ("topological", "reversed", "least_urgent_first", "random_topological", "random", "mixed", "fixed_random")


def visiting_orders(
    traversal: str, graph: GroupGraph, count: int, rng: np.random.Generator, seed: int
) -> NDArray[np.int32]:
    """[count, groups] one order an episode and pass; `traversal` is one of TRAVERSALS.

    `topological`: producers first, by number. `reversed`: the same backwards. `least_urgent_first`: producers first,
    and of the ready groups the one with the shortest path to the end. `random_topological` and `random` are drawn from
    `rng` for each row, `mixed` takes them in turn, `fixed_random` is drawn once from `seed`.
    """
    groups = graph.group_count
    if traversal == "random":
        return rng.permuted(np.tile(np.arange(groups, dtype=np.int32), (count, 1)), axis=1)
    if traversal == "random_topological":
        return _orders_by(graph, rng.random((count, groups)))
    if traversal == "mixed":
        orders = visiting_orders("random_topological", graph, count, rng, seed)
        orders[1::2] = visiting_orders("random", graph, count // 2, rng, seed)
        return orders
    one = np.arange(groups, dtype=np.int32)
    if traversal == "reversed":
        one = one[::-1]
    elif traversal == "fixed_random":
        one = np.random.default_rng(seed).permutation(one)
    elif traversal == "least_urgent_first":
        fastest = np.where(graph.allowed, graph.time_us, np.inf).min(axis=1)
        _, to_the_end = longest_ways(graph, fastest, np.zeros(len(graph.edge_source)))
        one = _orders_by(graph, to_the_end[None, :])[0]
    return np.tile(one, (count, 1))


def _orders_by(graph: GroupGraph, keys: NDArray[np.float64]) -> NDArray[np.int32]:
    """[rows, groups] orders with producers first and, of the ready groups, the least of `keys` [rows, groups] next."""
    child_offset, child_index = neighbour_lists(graph.edge_source, graph.edge_target, graph.group_count)
    waiting = np.bincount(graph.edge_target, minlength=graph.group_count).astype(np.int64)
    return _take_ready(keys, waiting, child_offset, child_index.astype(np.int64))


@compiled
def _take_ready(
    keys: NDArray[np.float64],
    waiting: NDArray[np.int64],
    child_offset: NDArray[np.int64],
    child_index: NDArray[np.int64],
) -> NDArray[np.int32]:
    rows, groups = keys.shape
    orders = np.empty((rows, groups), dtype=np.int32)
    for row in range(rows):
        left = waiting.copy()
        ready = [(keys[row, group], group) for group in range(groups) if left[group] == 0]
        heapq.heapify(ready)
        for place in range(groups):
            group = heapq.heappop(ready)[1]
            orders[row, place] = group
            for member in range(child_offset[group], child_offset[group + 1]):
                child = child_index[member]
                left[child] -= 1
                if left[child] == 0:
                    heapq.heappush(ready, (keys[row, child], child))
    return orders
