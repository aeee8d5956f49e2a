"""Opened blocks: sums as of their ops one by one, places that nobody shares, bundles that count an output once."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.block_view import BlockView
from engine.errors import GraphError
from engine.files.tensor_file import unpack_tensors
from engine.graphs.graph import PHASES
from engine.graphs.grouping.grouping import edges_between, group_ops
from engine.prepared import PreparedGraph
from tests.engine.graphs.graph_samples import make_costs, make_graph


def prepared_of(seed: int, layers: int = 5) -> PreparedGraph:
    """Layers of a random shape whose ops have random costs, one of them in a loop, with control edges."""
    rng = np.random.default_rng(seed)
    names = [f"net/layer_{layer}/{part}" for layer in range(layers) for part in ("a", "b", "c/d", "c/e")]
    names = ["in", *names, "loss"]
    count = len(names)
    pairs = {(int(rng.integers(op)), op, int(rng.integers(-1, 2))) for op in range(1, count) for _ in range(2)}
    edges = [(names[one], names[other], output) for one, other, output in pairs]
    sizes = rng.integers(1, 9, (count, 2)).tolist()
    graph = replace(make_graph(names, edges), op_types=tuple(rng.choice(["K", "L", "M"], count).tolist()))
    costs = make_costs(count, {"fast": rng.random(count).tolist(), "slow": (3 * rng.random(count)).tolist()}, sizes)
    costs = replace(costs, persistent_bytes=rng.integers(0, 5, count))
    return PreparedGraph(graph, costs, group_ops(graph, costs, 4))


def opened_of(view: BlockView) -> list[Any]:
    return [view.opened(block) for block in range(view.tree.block_count)]


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_rows_are_the_sums_of_their_ops(seed: int) -> None:
    prepared = prepared_of(seed)
    view = BlockView(prepared)
    order, costs = view.tree.order.tolist(), prepared.costs
    bytes_of_op = costs.bytes_of_op()
    for opened in opened_of(view):
        assert opened["is_drawn"]
        for row in opened["children"]:
            ops = order[row["first"] : row["first"] + row["ops"]]
            assert row["output_bytes"] == sum(int(bytes_of_op[op]) for op in ops)
            assert row["persistent_bytes"] == sum(int(costs.persistent_bytes[op]) for op in ops)
            types = [prepared.graph.op_types[op] for op in ops]
            assert dict(row["types"]) == {name: types.count(name) for name in set(types)}
            assert (row["op"] is None) == (row["block"] is not None)
            if row["op"] is not None:
                assert ops == [row["op"]] and row["whole_name"] == prepared.graph.op_names[row["op"]]
            assert row["ops"] % max(1, row["members"]) == 0


@settings(max_examples=15)
@given(st.integers(0, 10**6))
def test_no_two_children_share_a_place_and_data_goes_down_or_on(seed: int) -> None:
    for opened in opened_of(BlockView(prepared_of(seed))):
        places = [(row["strip"], row["y"], row["x"]) for row in opened["children"]]
        assert len(set(places)) == len(places)
        for strip, y, x in places:
            assert 0 <= strip < opened["strips"] and x >= 0 and y >= 0
            assert all(abs(other - x) >= 0.999 for s, row, other in places if (s, row) == (strip, y) and other != x)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_bundles_made_of_the_arrays_have_the_bytes_that_groups_would_have(seed: int, parts: int) -> None:
    """As a browser adds them up: an output that several ops of a part take counts once."""
    prepared = prepared_of(seed)
    arrays, texts = unpack_tensors(BlockView(prepared).ops_to_bytes(), "blocks")
    assert texts == {"version": 1, "kinds": ["fast", "slow"]}
    part_of_op = np.random.default_rng(seed).integers(0, parts, prepared.graph.op_count).astype(np.int32)
    sums: dict[tuple[int, int], float] = {}
    counted: dict[tuple[int, int, int], float] = {}
    columns = [arrays[f"edge.{name}"].tolist() for name in ("source", "target", "output", "bytes")]
    for source, target, output, size in zip(*columns, strict=True):
        pair = int(part_of_op[source]), int(part_of_op[target])
        if pair[0] != pair[1]:
            key = (*pair, output)
            more = 0.0 if output < 0 else max(0.0, size - counted.get(key, 0.0))
            counted[key] = counted.get(key, 0.0) + more
            sums[pair] = sums.get(pair, 0.0) + more
    pairs, sizes = edges_between(prepared.graph, prepared.costs, part_of_op)
    assert sums == {(one, other): size for (one, other), size in zip(pairs.tolist(), sizes.tolist(), strict=True)}
    data = [output for output in columns[2] if output >= 0]
    assert data == sorted(data) and columns[2][len(data) :] == [-1] * (len(columns[2]) - len(data))


def test_times_are_those_of_the_kinds_and_groups_those_of_the_graph() -> None:
    prepared = prepared_of(3)
    arrays, _ = unpack_tensors(BlockView(prepared).ops_to_bytes(), "blocks")
    assert np.array_equal(arrays["op.time_us"], prepared.costs.op_time_in_step_us().astype(np.float32))
    assert arrays["op.group"].tolist() == prepared.grouping.group_of_op.tolist()
    assert sorted(arrays["tree.order"].tolist()) == list(range(prepared.graph.op_count))


@pytest.mark.parametrize("block", [-1, 10**6])
def test_another_block_is_refused(block: int) -> None:
    with pytest.raises(GraphError, match="no such block"):
        BlockView(prepared_of(1)).opened(block)


def test_too_much_in_one_block_has_no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.block_view.MOST_CHILDREN_DRAWN", 1)
    opened = BlockView(prepared_of(1)).opened(0)
    assert (opened["is_drawn"], opened["children"], opened["strips"]) == (False, [], 0)


def test_modules_stand_in_the_order_of_their_forward_passes() -> None:
    """A step comes back to each module, to the first one last."""
    names = ["a/mm", "b/mm", "c/mm", "loss", "c/backward_mm", "b/backward_mm", "a/backward_mm", "a/update", "c/update"]
    edges = [(one, other, 0) for one, other in itertools.pairwise(names[:7])]
    edges += [("a/backward_mm", "a/update", 0), ("c/backward_mm", "c/update", 0)]
    count = len(names)
    phases = [PHASES.index("forward")] * 4 + [PHASES.index("backward")] * 3 + [PHASES.index("optimizer")] * 2
    graph = replace(make_graph(names, edges), phase=np.array(phases, dtype=np.uint8))
    costs = make_costs(count, {"fast": [1.0, 1, 1, 1, 5, 5, 5, 90, 90]}, [[4, 4]] * count)
    rows = BlockView(PreparedGraph(graph, costs, group_ops(graph, costs, 9))).opened(0)["children"]
    assert isinstance(rows, list)
    assert [row["name"] for row in rows if isinstance(row, dict)] == ["a", "b", "c", "loss"]
