"""Levels, strong components, and the order of the classes."""

import numpy as np
from hypothesis import given

from engine.graphs.colocation import colocation_classes
from engine.graphs.ordering import levels, positions_of_classes, rank_of_ops, strong_components
from tests.engine.graphs.graph_samples import make_graph
from tests.engine.graphs.grouping.digraphs import DIGRAPHS, pairs_of, reachable


@given(DIGRAPHS)
def test_components_are_the_mutually_reachable(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = case
    pairs = pairs_of(edges)
    component = strong_components(pairs, count)
    reach = reachable(pairs, count)
    assert np.array_equal(component[:, None] == component[None, :], reach & reach.T)


@given(DIGRAPHS)
def test_a_level_is_the_longest_path_to_a_node(case: tuple[int, list[tuple[int, int]]]) -> None:
    count, edges = case
    pairs = pairs_of([(min(edge), max(edge)) for edge in edges])
    longest = [0] * count
    for source, target in pairs.tolist():  # sorted by source, and edges lead to higher numbers
        longest[target] = max(longest[target], longest[source] + 1)
    assert levels(pairs, count).tolist() == longest


def test_the_rank_is_as_late_as_may_be_then_by_name() -> None:
    graph = make_graph(["z", "b", "a", "c"], [("z", "a"), ("b", "a")])
    assert rank_of_ops(graph).tolist() == [1, 0, 2, 3]


def positions(graph_names: str, edges: list[tuple[str, str]], colocation: dict[str, list[str]]) -> dict[str, int]:
    graph = make_graph(list(graph_names), edges, colocation=colocation)
    class_of_op = colocation_classes(graph)
    position = positions_of_classes(graph, class_of_op, rank_of_ops(graph))
    return dict(zip(graph.op_names, position[class_of_op].tolist(), strict=True))


def test_a_variable_that_is_updated_at_the_end_comes_first() -> None:
    # v: the variable with its update u; f: forward, g: gradient
    position = positions("gfuv", [("v", "f"), ("f", "g"), ("v", "g"), ("g", "u")], {"u": ["v"]})
    assert position == {"v": 0, "u": 0, "f": 1, "g": 2}


def test_forward_ops_that_hold_their_gradients_are_in_forward_order() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "z"), ("z", "y"), ("y", "x")]
    position = positions("xyzabc", edges, {"x": ["a"], "y": ["b"], "z": ["c"]})
    assert position == {"a": 0, "x": 0, "b": 1, "y": 1, "c": 2, "z": 2}


def test_a_class_that_is_in_no_cycle_stands_after_all_that_it_needs() -> None:
    # e starts early but its fellow l ends late: still nothing needs to be fed back
    position = positions("eabl", [("a", "b"), ("b", "l")], {"l": ["e"]})
    assert position == {"a": 0, "b": 1, "l": 2, "e": 2}


def test_a_long_cycle_needs_no_stack() -> None:
    count = 100_000
    ring = np.stack([np.arange(count), np.roll(np.arange(count), -1)], axis=1)
    assert len(set(strong_components(ring, count).tolist())) == 1
    assert levels(ring[:-1], count).max() == count - 1
