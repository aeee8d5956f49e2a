"""Nested groupings: what holds for every graph, whatever the level."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.clusters.cluster import Contention, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping import levels
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.grouping.levels import coarser_group_of_each, halvings, nearest, nested_groupings
from engine.simulator import Simulator
from tests.engine.graphs.graph_samples import assert_consistent, make_costs, make_graph, permuted, random_graphs
from tests.engine.placers.small_problems import small_cluster

COARSEST = st.integers(1, 4)


@settings(max_examples=30)
@given(random_graphs(most_ops=24), COARSEST)
def test_what_holds_for_every_level(sample: tuple[ComputationGraph, Costs], coarsest: int) -> None:
    graph, costs = sample
    levels = nested_groupings(graph, costs, coarsest)
    counts = [level.group_count for level in levels]
    assert counts == sorted(set(counts))
    class_of_op = colocation_classes(graph)
    for level in levels:
        assert_consistent(graph, level)
        assert all(len(set(level.group_of_op[class_of_op == each].tolist())) == 1 for each in set(class_of_op.tolist()))
    for coarse, fine in itertools.pairwise(levels):
        inside = coarser_group_of_each(coarse, fine)
        assert np.array_equal(inside[fine.group_of_op], coarse.group_of_op), "a fine group lies in one coarse group"
    finest = group_ops(graph, costs, None)
    assert levels[-1].names == finest.names
    assert np.array_equal(levels[-1].group_of_op, finest.group_of_op)


@settings(max_examples=30)
@given(random_graphs(most_ops=24), COARSEST, st.randoms(use_true_random=False))
def test_the_order_of_the_file_changes_no_level(
    sample: tuple[ComputationGraph, Costs], coarsest: int, random: object
) -> None:
    graph, costs = sample
    order = list(range(graph.op_count))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis's random.Random
    levels = nested_groupings(graph, costs, coarsest)
    moved = nested_groupings(*permuted(graph, costs, order), coarsest)
    for one, other in itertools.zip_longest(levels, moved):
        assert one.names == other.names
        assert np.array_equal(one.group_of_op[order], other.group_of_op)


@given(random_graphs(most_ops=24), st.sampled_from(Contention), st.sampled_from(MemoryModel), st.data())
def test_a_coarse_placement_takes_the_same_step_at_every_finer_level(
    sample: tuple[ComputationGraph, Costs], contention: Contention, memory_model: MemoryModel, data: st.DataObject
) -> None:
    graph, costs = sample
    cluster = small_cluster(3, contention=contention, memory_model=memory_model)
    levels = nested_groupings(graph, costs, 2)
    coarse = levels[0]
    placement = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 3, coarse.group_count, dtype=np.int32)
    expected = Simulator(graph, costs, cluster, coarse.group_of_op).evaluate(placement[None, :])
    for fine in levels[1:]:
        finer = placement[coarser_group_of_each(coarse, fine)]
        found = Simulator(graph, costs, cluster, fine.group_of_op).evaluate(finer[None, :])
        assert np.array_equal(found.step_time_us, expected.step_time_us)
        assert np.array_equal(found.peak_bytes, expected.peak_bytes)


def test_each_level_has_about_half_the_groups_of_the_next() -> None:
    names = [f"op_{index:04}" for index in range(1000)]
    chain = make_graph(names, list(itertools.pairwise(names)))
    sizes = [level.group_count for level in nested_groupings(chain, make_costs(1000), 4)]
    assert sizes == [4, 8, 16, 32, 64, 128, 256, 500, 1000]
    fans = [(name, f"{name}/{index}") for name in names[:100] for index in range(3)]
    wide = make_graph([*names[:100], *(leaf for _, leaf in fans)], [*itertools.pairwise(names[:100]), *fans])
    counts = [level.group_count for level in nested_groupings(wide, make_costs(400), 4)]
    assert counts[-1] == 400 and all(one <= 0.8 * other for one, other in itertools.pairwise(counts))


def test_gradients_join_their_forward_ops_below_the_finest_level() -> None:
    forward = [f"layer_{index}/MatMul" for index in range(100)]
    backward = [f"gradients/{name}_grad/MatMul" for name in forward]
    graph = make_graph(
        [*forward, *backward],
        [*itertools.pairwise([*forward, *reversed(backward)]), *zip(forward, backward, strict=True)],
    )
    levels = nested_groupings(graph, make_costs(200))
    assert [level.group_count for level in levels] == [32, 50, 100, 200]
    for level in levels[:-1]:
        of_name = dict(zip(graph.op_names, level.group_of_op.tolist(), strict=True))
        assert all(of_name[one] == of_name[other] for one, other in zip(forward, backward, strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_a_finer_level_keeps_heavy_gradients_apart_from_their_layers(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a grouping of so many groups does; and the levels still nest, whatever the weights."""
    monkeypatch.setattr(levels, "GROUPS_WITHOUT_LEVELS", 4)
    rng = np.random.default_rng(seed)
    forward = [f"layer_{index}/MatMul" for index in range(100)]
    gradients = [[f"gradients/{name}_grad/{part}" for part in ("inputs", "weights")] for name in forward]
    chain = [*itertools.pairwise([*forward, *(inputs for inputs, _ in reversed(gradients))])]
    inputs = [(name, part) for name, parts in zip(forward, gradients, strict=True) for part in parts]
    graph = make_graph([*forward, *itertools.chain(*gradients)], [*chain, *inputs])
    ops_of_layer = np.stack([np.arange(100), 100 + 2 * np.arange(100), 101 + 2 * np.arange(100)], axis=1)
    heavy = rng.choice(100, 3, replace=False)
    time_us = np.exp(rng.standard_normal(300))
    time_us[ops_of_layer[heavy]] = 1000.0 * rng.uniform(0.8, 1.2, (3, 3))
    nested = nested_groupings(graph, make_costs(300, time_us.tolist()), 2)
    are_apart = []
    for coarser, finer in itertools.pairwise(nested):
        assert_consistent(graph, finer)
        assert np.array_equal(coarser_group_of_each(coarser, finer)[finer.group_of_op], coarser.group_of_op)
        are_apart.append([len(set(finer.group_of_op[ops].tolist())) > 1 for ops in ops_of_layer[heavy]])
    assert not any(are_apart[0]) and all(are_apart[-2]), "coarse levels keep layers whole, fine ones do not"


def test_a_small_graph_has_its_classes_alone() -> None:
    (only,) = nested_groupings(make_graph(list("abc"), [("a", "b"), ("b", "c")]), make_costs(3))
    assert only.group_count == 3


def test_sizes_and_the_nearest_level() -> None:
    assert halvings(33, 32) == [32] and halvings(32, 32) == [] and halvings(300, 32) == [256, 128, 64, 32]
    levels = nested_groupings(make_graph([f"op{i}" for i in range(300)]), make_costs(300), 4)
    assert nearest(levels, 30).group_count == 32 and nearest(levels, 10**6) is levels[-1]
