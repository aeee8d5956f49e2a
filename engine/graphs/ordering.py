"""Orders of directed graphs: levels, strong components, and positions of the classes of ops.

Nothing here depends on the order of the file, and nothing recurses.
"""

import heapq
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.graphs.graph import ComputationGraph

Pairs: TypeAlias = NDArray[np.integer]
"""[edges, 2] source, target"""
NO_PAIR = -1


def distinct(pairs: Pairs) -> Pairs:
    """`pairs` without self-loops, each once, sorted."""
    found, _ = pairs_of_edges(pairs[:, 0], pairs[:, 1])
    return found.astype(pairs.dtype)


def pairs_of_edges(
    sources: NDArray[np.integer], targets: NDArray[np.integer]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of ends [pairs, 2] of edges, without self-loops, each once, sorted; and [edges] the pair of each edge.

    The pair of a self-loop is `NO_PAIR`.
    """
    apart = sources != targets
    count = int(targets.max()) + 1 if len(targets) else 1
    keys, pair_of_apart = np.unique(sources[apart].astype(np.int64) * count + targets[apart], return_inverse=True)
    pair_of_edge = np.full(len(sources), NO_PAIR)
    pair_of_edge[apart] = pair_of_apart
    return np.stack(np.divmod(keys, count), axis=1), pair_of_edge


def adjacency(sources: NDArray[np.integer], targets: NDArray[np.integer], count: int) -> list[list[int]]:
    """[count] the targets of each source, in the order of the edges."""
    order = np.argsort(sources, kind="stable")
    ends = np.cumsum(np.bincount(sources, minlength=count)).tolist()
    sorted_targets = targets[order].tolist()
    return [sorted_targets[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def levels(pairs: Pairs, count: int) -> NDArray[np.int64]:
    """[nodes] length in edges of the longest path to each node of an acyclic graph with `count` nodes."""
    successors = adjacency(pairs[:, 0], pairs[:, 1], count)
    waits_for = np.bincount(pairs[:, 1], minlength=count).tolist()
    level = [0] * count
    order = [node for node in range(count) if waits_for[node] == 0]
    for node in order:  # it grows while it is walked
        next_level = level[node] + 1
        for successor in successors[node]:
            level[successor] = max(level[successor], next_level)
            waits_for[successor] -= 1
            if waits_for[successor] == 0:
                order.append(successor)
    assert len(order) == count, "the graph has a cycle"
    return np.array(level, dtype=np.int64)


def rank_of_ops(graph: ComputationGraph) -> NDArray[np.int64]:
    """[ops] the place of each op in a topological order that runs each op as late as possible, ties by name.

    So a variable stands right before its first use and not with all others at the start.
    """
    to_the_end = levels(np.stack([graph.edge_target, graph.edge_source], axis=1), graph.op_count)
    order = sorted(range(graph.op_count), key=lambda op: (-to_the_end[op], graph.op_names[op]))
    rank = np.empty(graph.op_count, dtype=np.int64)
    rank[order] = np.arange(graph.op_count)
    return rank


def strong_components(pairs: Pairs, count: int) -> NDArray[np.int32]:
    """[nodes] the strongly connected component of each node; the numbers mean nothing.

    Source: R. Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1(2), 1972.
    """
    unseen_successors = [iter(successors) for successors in adjacency(pairs[:, 0], pairs[:, 1], count)]
    found = [-1] * count
    lowest = [0] * count
    """the earliest found node that is reachable, as far as known, and has no component yet"""
    component = [-1] * count
    without_component: list[int] = []
    clock = 0
    for root in range(count):
        path = [root] if found[root] < 0 else []
        while path:
            node = path[-1]
            if found[node] < 0:
                found[node] = lowest[node] = clock
                clock += 1
                without_component.append(node)
            for successor in unseen_successors[node]:
                if found[successor] < 0:
                    path.append(successor)
                    break
                if component[successor] < 0:
                    lowest[node] = min(lowest[node], found[successor])
            else:
                path.pop()
                if path:
                    lowest[path[-1]] = min(lowest[path[-1]], lowest[node])
                if lowest[node] == found[node]:
                    _close_component(node, without_component, component)
    return np.array(component, dtype=np.int32)


def _close_component(head: int, without_component: list[int], component: list[int]) -> None:
    """Make `head` and all nodes found since into one component."""
    while component[head] < 0:
        component[without_component.pop()] = head


def positions_of_classes(
    graph: ComputationGraph, class_of_op: NDArray[np.int32], rank: NDArray[np.int64]
) -> NDArray[np.int64]:
    """[classes] the position of each class in one order of all, as early as its first op by `rank` [ops] allows.

    A variable's class is at both ends of the step: it is read at the start and updated at the end. So classes form
    cycles. Within a cycle (a strong component) an edge from a class with a later first op to one with an earlier first
    op is ignored: it leads into an update. Without such edges the graph is acyclic and has an order. An edge against
    the positions is a feedback edge.

    The order goes by the ops, not by levels of the classes: an op that waits for the updates alone (a training op) is
    at the end, where it runs, not right after the variables, where it would separate them from their forward ops.
    """
    count = int(class_of_op.max()) + 1
    earliest = np.full(count, graph.op_count, dtype=np.int64)
    np.minimum.at(earliest, class_of_op, rank)
    pairs = distinct(np.stack([class_of_op[graph.edge_source], class_of_op[graph.edge_target]], axis=1))
    sources, targets = pairs[:, 0], pairs[:, 1]
    into_updates = earliest[sources] > earliest[targets]
    if into_updates.any():
        component = strong_components(pairs, count)
        into_updates &= component[sources] == component[targets]
    return earliest_first(pairs[~into_updates], earliest)


def earliest_first(pairs: Pairs, key: NDArray[np.int64]) -> NDArray[np.int64]:
    """[nodes] the place of each node in a topological order that takes the least key among the ready nodes next."""
    count = len(key)
    if np.all(key[pairs[:, 0]] < key[pairs[:, 1]]):
        return np.argsort(np.argsort(key, kind="stable"))  # the keys themselves are such an order
    successors = adjacency(pairs[:, 0], pairs[:, 1], count)
    waits_for = np.bincount(pairs[:, 1], minlength=count).tolist()
    keys = key.tolist()
    ready = [(keys[node], node) for node in range(count) if waits_for[node] == 0]
    heapq.heapify(ready)
    place = np.empty(count, dtype=np.int64)
    for number in range(count):
        _, node = heapq.heappop(ready)
        place[node] = number
        for successor in successors[node]:
            waits_for[successor] -= 1
            if waits_for[successor] == 0:
                heapq.heappush(ready, (keys[successor], successor))
    return place
