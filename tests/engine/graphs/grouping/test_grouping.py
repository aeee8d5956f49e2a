"""Grouping as a whole: what holds for every graph, and what it should do with some."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.costs import Costs
from engine.errors import SettingsError
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from tests.engine.graphs.graph_samples import (
    assert_consistent,
    make_costs,
    make_graph,
    members,
    permuted,
    random_graphs,
)

GROUPS = st.none() | st.integers(1, 8)


@given(random_graphs(), GROUPS, st.none() | st.integers(0, 30))
def test_what_holds_for_every_grouping(
    sample: tuple[ComputationGraph, Costs], groups: int | None, threshold_bytes: int | None
) -> None:
    graph, costs = sample
    grouping = group_ops(graph, costs, groups, threshold_bytes)
    assert_consistent(graph, grouping)
    classes, class_of_op = colocation_classes(graph).max() + 1, colocation_classes(graph)
    for class_ in range(classes):
        assert len(set(grouping.group_of_op[class_of_op == class_].tolist())) == 1
    if groups is None:
        assert grouping.group_count == classes
    elif threshold_bytes is None:
        assert grouping.group_count <= groups


@given(random_graphs(), GROUPS, st.randoms(use_true_random=False))
def test_the_order_of_the_file_changes_nothing(
    sample: tuple[ComputationGraph, Costs], groups: int | None, random: object
) -> None:
    graph, costs = sample
    order = list(range(graph.op_count))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis's random.Random
    moved, moved_costs = permuted(graph, costs, order)
    one, other = group_ops(graph, costs, groups), group_ops(moved, moved_costs, groups)
    assert one.names == other.names
    assert np.array_equal(one.group_of_op[order], other.group_of_op)
    for field in ("edge_source", "edge_target", "edge_bytes", "feedback_edges"):
        assert np.array_equal(getattr(one, field), getattr(other, field))


@given(random_graphs(most_ops=8), GROUPS)
def test_the_bytes_of_an_edge_are_those_of_a_slow_twin(
    sample: tuple[ComputationGraph, Costs], groups: int | None
) -> None:
    graph, costs = sample
    grouping = group_ops(graph, costs, groups)
    trips = costs.trips_of_op().tolist()
    flows: dict[tuple[int, int], dict[tuple[int, int], int]] = {}
    for source, target, output in zip(graph.edge_source, graph.edge_target, graph.edge_output, strict=True):
        pair = (int(grouping.group_of_op[source]), int(grouping.group_of_op[target]))
        flows.setdefault(pair, {})
        if output != CONTROL:
            key = int(source), int(output)
            flows[pair][key] = max(flows[pair].get(key, 0), min(trips[source], trips[target]))
    for source, target, size in zip(grouping.edge_source, grouping.edge_target, grouping.edge_bytes, strict=True):
        sent = flows[int(source), int(target)].items()
        assert size == sum(costs.output_bytes[costs.output_offset[op] + out] * times for (op, out), times in sent)


def test_what_flows_in_a_loop_weighs_more_than_what_flows_into_it() -> None:
    graph = make_graph(["before", "body", "next"], [("before", "body"), ("body", "next")])
    sizes = [[1000], [100], []]
    assert group_ops(graph, make_costs(3, (), sizes), None).edge_bytes.tolist() == [1000, 100]
    assert group_ops(graph, make_costs(3, (), sizes, [1, 40, 40]), None).edge_bytes.tolist() == [1000, 4000]
    assert group_ops(graph, make_costs(3, (), sizes, [1, 40, 0]), None).edge_bytes.tolist() == [1000, 0]


def test_one_group_a_class_is_all_there_is_without_a_number() -> None:
    graph = make_graph(list("abc"), [("a", "b"), ("b", "c")], colocation={"c": ["a"]})
    grouping = group_ops(graph, make_costs(3), None)
    assert members(graph, grouping.group_of_op) == {frozenset("ac"), frozenset("b")}
    assert grouping.names == ("a", "b")
    assert grouping.feedback_edges.tolist() == [[1, 0]]


def test_a_group_is_called_after_its_longest_op() -> None:
    graph = make_graph(list("abcd"), [("a", "b"), ("b", "c"), ("c", "d")])
    costs = make_costs(4, [1, 5, 5, 2], [[1], [1], [2], [1]])
    assert group_ops(graph, costs, 1).names == ("c",)


def test_a_group_with_forward_ops_is_called_after_one_of_them() -> None:
    graph = make_graph(["a", "b", "gradients/b_grad/MatMul"], [("a", "b"), ("b", "gradients/b_grad/MatMul")])
    assert group_ops(graph, make_costs(3, [1, 2, 9]), 1).names == ("b",)


def test_a_threshold_leaves_large_groups_alone() -> None:
    graph = make_graph(list("abcd"), [("a", "b"), ("a", "c"), ("a", "d")])
    costs = make_costs(4, output_bytes=[[2000], [10], [1000], [1000]])
    grouping = group_ops(graph, costs, 1, threshold_bytes=1000)
    assert members(graph, grouping.group_of_op) == {frozenset("ab"), frozenset("c"), frozenset("d")}
    assert group_ops(graph, costs, 1, threshold_bytes=1001).group_count == 1


def test_the_branches_of_a_fork_stay_apart() -> None:
    # Six branches of five ops between a start and an end; a branch is worth a device of its own.
    branches = [[f"{letter}{index}" for index in range(5)] for letter in "abcdef"]
    chains = [list(zip(["start", *branch], [*branch, "end"], strict=True)) for branch in branches]
    names = ["start", *(name for branch in branches for name in branch), "end"]
    graph = make_graph(names, [edge for chain in chains for edge in chain])
    parts = members(graph, group_ops(graph, make_costs(32), 8).group_of_op)
    for part in parts:
        assert len({name[0] for name in part - {"start", "end"}}) <= 1


def test_no_group_holds_much_more_than_its_share() -> None:
    names = [f"op_{index:04}" for index in range(2000)]
    graph = make_graph(names, list(itertools.pairwise(names)))
    sizes = np.bincount(group_ops(graph, make_costs(2000), 20).group_of_op)
    assert len(sizes) <= 20
    assert sizes.max() <= 200 + 1  # an equal share is 100


def test_fixed_devices_and_kinds_are_not_mixed() -> None:
    names = list("abcdef")
    graph = make_graph(names, list(itertools.pairwise(names)), devices={"c": "/device:GPU:1"})
    gpu_only = [1.0, 1.0, 1.0, 1.0, float("nan"), 1.0]
    costs = make_costs(6, {"GPU": gpu_only, "CPU": [1.0] * 6})
    parts = members(graph, group_ops(graph, costs, 1).group_of_op)
    assert parts == {frozenset("ab"), frozenset("c"), frozenset("d"), frozenset("e"), frozenset("f")}


def test_ops_without_times_are_shared_out_by_number() -> None:
    names = [f"op_{index}" for index in range(100)]
    graph = make_graph(names)
    sizes = np.bincount(group_ops(graph, make_costs(100, [0.0] * 100), 10).group_of_op)
    assert len(sizes) == 10
    assert sizes.max() <= 20


@pytest.mark.parametrize(
    ("count", "edges"),
    [
        (1, []),
        (10_000, []),
        (100_000, [(index, index + 1) for index in range(99_999)]),
        (50_001, [(0, index) for index in range(1, 50_001)]),
        (50_001, [(index, 50_000) for index in range(50_000)]),
    ],
    ids=["one op", "isolated", "chain", "star", "star inwards"],
)
def test_extreme_graphs(count: int, edges: list[tuple[int, int]]) -> None:
    names = [f"op_{index}" for index in range(count)]
    graph = make_graph(names, [(names[source], names[target]) for source, target in edges])
    grouping = group_ops(graph, make_costs(count), 128)
    assert_consistent(graph, grouping)
    assert grouping.group_count == min(count, 128)
    assert np.bincount(grouping.group_of_op).max() <= max(1, 4 * count / 128 + 2)


@pytest.mark.parametrize(
    ("groups", "threshold_bytes", "message"),
    [
        (0, None, "groups: 0 groups; allowed: an integer from 1, or all"),
        (-5, None, "groups: -5 groups; allowed: an integer from 1, or all"),
        (8, -1, "threshold_bytes: -1 bytes; allowed: from 0"),
    ],
)
def test_mistakes(groups: int, threshold_bytes: int | None, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        group_ops(make_graph(["a"]), make_costs(1), groups, threshold_bytes)
    assert str(caught.value) == message
