"""An op whose output feeds exactly one other op joins it."""

import numpy as np

from engine.graphs.graph import CONTROL
from engine.graphs.grouping.contraction import added_weight, numbered
from engine.graphs.grouping.joining import NOBODY, SEVERAL, join, only_consumers
from tests.engine.graphs.graph_samples import make_graph
from tests.engine.graphs.grouping.digraphs import contraction_of


def test_who_is_the_only_consumer() -> None:
    graph = make_graph(
        list("abcdef"),
        [("a", "b", 0), ("a", "b", 1), ("b", "c"), ("b", "d"), ("c", "d", CONTROL), ("d", "e"), ("d", "f", CONTROL)],
    )
    # a feeds b alone, with two outputs; b feeds two; c and d: control edges are no feeding; e and f feed nobody
    assert only_consumers(graph).tolist() == [1, SEVERAL, NOBODY, 4, NOBODY, NOBODY]


def joined(count: int, edges: list[tuple[int, int]], consumer: list[int], most_weight: int) -> list[int]:
    contraction = contraction_of(count, edges)
    join(contraction, np.array(consumer), np.arange(count, dtype=np.int32), np.arange(count), most_weight)
    return list(map(int, numbered(contraction)))


def test_a_chain_joins_as_far_as_the_weight_allows() -> None:
    chain = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    consumer = [1, 2, 3, 4, 5, NOBODY]
    assert joined(6, chain, consumer, most_weight=100) == [0, 0, 0, 0, 0, 0]
    assert joined(6, chain, consumer, most_weight=4) == [0, 0, 0, 1, 1, 1]  # each node weighs 2, the heaviest is free
    assert joined(6, chain, consumer, most_weight=0) == [0, 1, 2, 3, 4, 5]


def test_where_an_output_is_needed_twice_nothing_joins() -> None:
    assert joined(3, [(0, 1), (0, 2)], [SEVERAL, NOBODY, NOBODY], most_weight=100) == [0, 1, 2]


def test_a_join_that_would_make_a_cycle_is_left_out() -> None:
    # 0 feeds 2 alone, but 1 must come between them
    assert joined(3, [(0, 1), (0, 2), (1, 2)], [2, NOBODY, NOBODY], most_weight=100) == [0, 1, 2]


def test_the_heaviest_node_is_free() -> None:
    contraction = contraction_of(3, [(0, 1), (1, 2)])
    contraction.heaviest[:] = contraction.weight[:] = [10, 1, 4]
    assert added_weight(contraction, 0, 1) == 1
    assert added_weight(contraction, 0, 2) == 4
