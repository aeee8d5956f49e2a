"""The flat drawing of all ops: each has a place of its own, and the arrays say what is joined to what."""

import dataclasses

import numpy as np
import pytest

from engine import api
from engine.errors import LimitError
from engine.files.tensor_file import unpack_tensors
from engine.flat_view import ASPECT, LAYER, MOST_DRAWN, SPACING, STRIP_GAP, flat_view_to_bytes
from engine.graphs.layered import Layered, layered
from engine.zoo.random_graphs import random_graph

SHAPES = {
    "one node": (1, []),
    "isolated nodes": (1000, []),
    "chain": (3000, [(node, node + 1) for node in range(2999)]),
    "star": (2000, [(0, node) for node in range(1, 2000)]),
    "sink": (2000, [(node, 1999) for node in range(1999)]),
    "ladder against the order of the file": (400, [(node, node - 2) for node in range(399, 1, -1)]),
}


def laid_out(count: int, pairs: list[tuple[int, int]]) -> Layered:
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return layered(count, edges[:, 0], edges[:, 1], np.full(len(edges), 10, dtype=np.int64), SPACING)


def nearest(places: Layered) -> float:
    """The least distance between two nodes of one row."""
    order = np.lexsort((places.x, places.y))
    x, y = places.x[order], places.y[order]
    gaps = np.diff(x)[np.diff(y) == 0]
    return float(gaps.min(initial=np.inf))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_node_has_a_place_of_its_own_on_a_sheet_of_the_shape_of_a_screen(shape: str) -> None:
    count, pairs = SHAPES[shape]
    places = laid_out(count, pairs)
    assert places.x.shape == places.y.shape == (count,)
    assert np.isfinite(places.x).all() and np.isfinite(places.y).all()
    assert places.x.min() >= 0 and places.y.min() >= 0
    assert nearest(places) >= 1 - 1e-9
    if count > 1:
        assert ASPECT / 4 < (places.x.max() + 1) / (places.y.max() + 1) < ASPECT * 4


def test_a_chain_goes_down_and_up_in_strips_without_a_jump() -> None:
    places = laid_out(*SHAPES["chain"])
    right, down = np.diff(places.x), np.diff(places.y)
    assert right.min() >= 0 and right.max() == STRIP_GAP
    assert np.abs(down).max() <= 2 * LAYER
    within = right == 0
    assert within.sum() > 2900 and np.allclose(np.abs(down[within]), LAYER)
    assert (down[within] > 0).any() and (down[within] < 0).any()


def test_the_answer_is_the_same_every_time() -> None:
    graph = random_graph("layered", 60, np.random.default_rng(3)).graph
    pairs = np.unique(np.stack([graph.edge_source, graph.edge_target], axis=1), axis=0).tolist()
    places, again = laid_out(graph.op_count, pairs), laid_out(graph.op_count, pairs)
    assert np.array_equal(places.x, again.x) and np.array_equal(places.y, again.y)


def test_a_source_stands_right_above_what_it_feeds() -> None:
    chain = [(node, node + 1) for node in range(8)]
    places = laid_out(10, [*chain, (9, 5)])
    assert abs(places.y[9] - places.y[4]) < 1e-9, "the layer above node 5"


def test_the_arrays_hold_all_ops_and_each_pair_of_ops_once_with_its_bytes() -> None:
    prepared = random_graph("series-parallel", 80, np.random.default_rng(1))
    arrays, texts = unpack_tensors(flat_view_to_bytes(prepared, "ops"), "the drawing")
    graph, costs = prepared.graph, prepared.costs
    assert texts == {"version": 1, "of": "ops"}
    assert arrays["node.x"].shape == arrays["node.time_us"].shape == (graph.op_count,)
    assert arrays["node.group"].tolist() == prepared.grouping.group_of_op.tolist()
    drawn = list(zip(arrays["edge.source"].tolist(), arrays["edge.target"].tolist(), strict=True))
    edges = list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True))
    assert sorted(set(drawn)) == sorted(drawn) == sorted({(source, target) for source, target, _ in edges})
    of_pair = dict.fromkeys(drawn, 0)
    for source, target, output in edges:
        if output >= 0:
            of_pair[source, target] += int(costs.output_bytes[costs.output_offset[source] + output])
    assert arrays["edge.bytes"].tolist() == [of_pair[pair] for pair in drawn]


def test_groups_are_drawn_in_the_same_form() -> None:
    prepared = random_graph("layered", 60, np.random.default_rng(2))
    arrays, _ = unpack_tensors(flat_view_to_bytes(prepared, "groups"), "the drawing")
    count = prepared.grouping.group_count
    assert arrays["node.group"].tolist() == list(range(count))
    assert arrays["edge.source"].tolist() == prepared.grouping.edge_source.tolist()
    longest = np.nan_to_num(prepared.costs.op_time_in_step_us()).max(axis=0)
    assert arrays["node.time_us"].sum() == pytest.approx(longest.sum(), rel=1e-5)


def test_a_graph_over_the_budget_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = random_graph("tree", 8, np.random.default_rng(0))
    monkeypatch.setattr("engine.flat_view.MOST_DRAWN", 7)
    with pytest.raises(
        LimitError, match=r"^this graph has 8 ops, too many to draw one by one; allowed: at most 7 ops$"
    ):
        flat_view_to_bytes(prepared, "ops")
    assert MOST_DRAWN == 200_000
    assert api.LimitError is LimitError


def test_a_prepared_graph_without_edges_is_drawn() -> None:
    prepared = random_graph("tree", 5, np.random.default_rng(0))
    none = np.empty(0, dtype=np.int32)
    alone = dataclasses.replace(prepared.graph, edge_source=none, edge_target=none, edge_output=none)
    arrays, _ = unpack_tensors(flat_view_to_bytes(dataclasses.replace(prepared, graph=alone), "ops"), "the drawing")
    assert arrays["node.x"].shape == (5,) and arrays["edge.source"].shape == (0,)
