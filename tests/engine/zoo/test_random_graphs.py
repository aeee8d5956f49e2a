"""The random graphs have the shapes that they are named for."""

import numpy as np
import pytest

from engine.prepared import PreparedGraph
from engine.zoo.random_graphs import SHAPES, random_graph


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ops", [12, 60, 200])
def test_it_is_acyclic_of_about_that_size_and_drawn_from_the_seed(shape: str, ops: int) -> None:
    one, other = (random_graph(shape, ops, np.random.default_rng(3)) for _ in range(2))
    assert ops / 2.5 <= one.graph.op_count <= ops
    assert one.grouping.group_count == one.graph.op_count
    assert len(one.grouping.feedback_edges) == 0
    assert one.to_bytes() == other.to_bytes()


def degrees(prepared: PreparedGraph) -> tuple[list[int], list[int]]:
    """[ops] inputs, and consumers."""
    graph = prepared.graph
    ins = np.bincount(graph.edge_target, minlength=graph.op_count)
    outs = np.bincount(graph.edge_source, minlength=graph.op_count)
    return ins.tolist(), outs.tolist()


def test_a_series_parallel_graph_has_one_begin_and_one_end() -> None:
    ins, outs = degrees(random_graph("series-parallel", 80, np.random.default_rng(1)))
    assert ins.count(0) == outs.count(0) == 1


def test_every_op_of_a_tree_but_the_last_has_one_consumer() -> None:
    _, outs = degrees(random_graph("tree", 80, np.random.default_rng(1)))
    assert sorted(outs) == [0, *[1] * 79]


def test_every_op_of_a_butterfly_takes_two_and_is_taken_by_two() -> None:
    ins, outs = degrees(random_graph("butterfly", 80, np.random.default_rng(1)))
    assert sorted(ins) == sorted(outs) == [0] * 16 + [2] * 64


def test_ops_of_a_layer_take_from_one_to_three() -> None:
    ins, _ = degrees(random_graph("layered", 80, np.random.default_rng(1)))
    assert set(ins) == {0, 1, 2, 3}
