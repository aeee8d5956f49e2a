"""Opened scopes: every op once, all data between them and to the outside, down to single ops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.costs import Costs
from engine.errors import GraphError
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import edges_between, group_ops
from engine.graphs.scopes import OUTSIDE, OpenScope, open_scope
from engine.prepared import MOST_ITEMS_DRAWN, PreparedGraph
from tests.engine.graphs.graph_samples import make_costs, make_graph, random_graphs

NAMES = ["in", "block/a/x", "block/a/y", "block/b", "block/b/z", "out"]
EDGES = [
    ("in", "block/a/x"),
    ("block/a/x", "block/b"),
    ("block/b", "block/a/y"),
    ("block/a/y", "block/b/z"),
    ("block/b/z", "out"),
]


def opened(prefix: str, group_of_op: list[int] | None = None, group: int = 0) -> OpenScope:
    costs = make_costs(6, output_bytes=[[2**op] for op in range(6)])
    groups = np.array(group_of_op or [1, 0, 0, 0, 0, 1], dtype=np.int32)
    return open_scope(make_graph(NAMES, EDGES), costs, groups, group, prefix)


def test_a_group_opens_below_what_all_its_ops_share() -> None:
    found = opened("")
    assert found.prefix == "block"
    assert dict(zip(found.names, found.is_scope.tolist(), strict=True)) == {
        "block/a": True,
        "block/b": False,
        "block/b/z": False,
    }
    assert found.item_of_op[[0, 5]].tolist() == [OUTSIDE, OUTSIDE]


def test_data_against_the_order_is_kept_apart_and_data_of_the_outside_counted() -> None:
    found = opened("")
    item = {name: index for index, name in enumerate(found.names)}
    assert found.inputs[item["block/a"]] == 1 and found.outputs[item["block/b/z"]] == 16
    flows = [*zip(found.edge_source, found.edge_target, found.edge_bytes, strict=True)]
    flows += [(*pair, size) for pair, size in zip(found.against, found.bytes_against, strict=True)]
    between = {(found.names[one], found.names[other]): int(size) for one, other, size in flows}
    assert between == {("block/a", "block/b"): 2, ("block/b", "block/a"): 8, ("block/a", "block/b/z"): 4}
    assert np.all(found.edge_source < found.edge_target) and np.all(found.against[:, 0] > found.against[:, 1])


def test_a_scope_opens_to_its_ops() -> None:
    found = opened("block/a")
    assert sorted(found.names) == ["block/a/x", "block/a/y"] and not found.is_scope.any()


@pytest.mark.parametrize(("prefix", "group"), [("block/c", 0), ("bloc", 0), ("block/a", 1), ("", 2), ("block/b/z", 0)])
def test_what_a_group_has_not_is_refused(prefix: str, group: int) -> None:
    with pytest.raises(GraphError, match="no such scope"):
        opened(prefix, group=group)


@given(random_graphs(most_ops=20), st.integers(1, 4), st.data())
def test_every_op_is_in_one_item_and_no_byte_is_lost(
    sample: tuple[ComputationGraph, Costs], groups: int, data: st.DataObject
) -> None:
    graph, costs = sample
    grouping = group_ops(graph, costs, groups)
    group = data.draw(st.integers(0, grouping.group_count - 1))
    found = open_scope(graph, costs, grouping.group_of_op, group, "")
    assert np.array_equal(found.item_of_op != OUTSIDE, grouping.group_of_op == group)
    assert set(found.item_of_op.tolist()) - {OUTSIDE} == set(range(found.group_count))
    part = np.where(found.item_of_op == OUTSIDE, np.int32(found.group_count), found.item_of_op)
    _, sizes = edges_between(graph, costs, part)
    assert sizes.sum() == sum(
        part.sum() for part in (found.edge_bytes, found.bytes_against, found.inputs, found.outputs)
    )


def test_a_scope_with_too_many_ops_has_no_drawing() -> None:
    count = MOST_ITEMS_DRAWN + 1
    graph, costs = make_graph([f"op_{index}" for index in range(count)], []), make_costs(count)
    view = PreparedGraph(graph, costs, group_ops(graph, costs, 1)).scope_view(0, "")
    assert view["is_drawn"] is False and view["edges"] == []
    rows = view["groups"]
    assert isinstance(rows, list) and len(rows) == count
