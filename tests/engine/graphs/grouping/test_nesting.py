"""Levels as arrays, and placements by groups and their parts."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.costs import Costs
from engine.errors import PlacementError
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import nested_groupings
from engine.graphs.grouping.nesting import SPLIT, Levels, SplitPlacement
from engine.prepared import PreparedGraph
from tests.engine.graphs.graph_samples import random_graphs


def levels_of(sample: tuple[ComputationGraph, Costs], shown: int) -> tuple[Levels, tuple[Grouping, ...]]:
    nested = nested_groupings(*sample, 2)
    return Levels.of(sample[0], nested, nested[shown % len(nested)]), nested


def slowly_split(nested: tuple[Grouping, ...], shown: int, device_of_op: np.ndarray) -> SplitPlacement:
    """The obviously right twin of `Levels.split_placement`: group by group."""

    def device(level: int, group: int) -> int:
        found = set(device_of_op[nested[level].group_of_op == group].tolist())
        return found.pop() if len(found) == 1 else SPLIT

    def inside(level: int, group: int) -> int:
        return int(nested[level - 1].group_of_op[nested[level].group_of_op == group][0])

    reported = SplitPlacement([device(shown, group) for group in range(nested[shown].group_count)])
    for level in range(shown + 1, len(nested)):
        groups = range(nested[level].group_count)
        part = [device(level, group) for group in groups if device(level - 1, inside(level, group)) == SPLIT]
        if not part:
            break
        reported.parts.append(part)
    return reported


@given(random_graphs(most_ops=24), st.integers(0, 5), st.integers(0, 99))
def test_levels_come_back_from_the_database(sample: tuple[ComputationGraph, Costs], shown: int, _seed: int) -> None:
    levels, nested = levels_of(sample, shown)
    graph, costs = sample
    prepared = PreparedGraph(graph, costs, nested[levels.shown], levels=levels)
    again = PreparedGraph.from_bytes(prepared.to_bytes())
    assert again.levels.group_counts == [grouping.group_count for grouping in nested]
    for found, expected in zip(again.levels.groupings(again.graph), nested, strict=True):
        assert found.names == expected.names
        for name in ("group_of_op", "edge_source", "edge_target", "edge_bytes", "feedback_edges"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)


@given(random_graphs(most_ops=24), st.integers(0, 5), st.integers(0, 99), st.floats(0, 1))
def test_a_placement_is_split_into_groups_and_parts(
    sample: tuple[ComputationGraph, Costs], shown: int, seed: int, moved: float
) -> None:
    levels, nested = levels_of(sample, shown)
    rng = np.random.default_rng(seed)
    units = nested[-1].group_count
    placement = np.where(rng.random(units) < moved, rng.integers(0, 3, units), 0).astype(np.int32)
    device_of_op = placement[nested[-1].group_of_op]
    reported = levels.split_placement(placement)
    assert reported == slowly_split(nested, levels.shown, device_of_op)
    np.testing.assert_array_equal(levels.units(reported), placement)
    prepared = PreparedGraph(*sample, nested[levels.shown], levels=levels)
    np.testing.assert_array_equal(prepared.device_of_op(reported), device_of_op)
    assert prepared.by_groups(device_of_op) == reported


@given(random_graphs(most_ops=24), st.integers(0, 5))
def test_another_number_of_groups_or_parts_is_refused(sample: tuple[ComputationGraph, Costs], shown: int) -> None:
    levels, nested = levels_of(sample, shown)
    reported = levels.split_placement((np.arange(nested[-1].group_count) % 2).astype(np.int32))
    groups = reported.device_of_group
    wrong = [SplitPlacement([*groups, 0], reported.parts), SplitPlacement(groups, [*reported.parts, [0]])]
    for level, part in enumerate(reported.parts):
        shorter = [*reported.parts[:level], part[1:], *reported.parts[level + 1 :]]
        wrong.append(SplitPlacement(groups, shorter))
    for placement in wrong:
        with pytest.raises(PlacementError, match="one for each group or part"):
            levels.units(placement)


def test_without_levels_a_placement_is_by_group() -> None:
    levels = Levels()
    assert not levels and levels.group_counts == []
    placement = np.array([1, 0, 2], dtype=np.int32)
    assert levels.split_placement(placement) == SplitPlacement([1, 0, 2])
    np.testing.assert_array_equal(levels.units(SplitPlacement([1, 0, 2])), placement)
    with pytest.raises(PlacementError, match="1 devices; allowed: 0"):
        levels.units(SplitPlacement([1, SPLIT], [[0]]))


def test_the_parts_of_a_small_example() -> None:
    """Two groups of two parts each; only the second one is split, and only one of its parts is split again."""
    inside = np.concatenate([[0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]]).astype(np.int32)
    counts = np.array([[2, 0, 0], [4, 0, 0], [8, 0, 0]], dtype=np.int32)
    levels = Levels(0, np.arange(8, dtype=np.int32), inside, counts=counts)
    placement = np.array([1, 1, 1, 1, 0, 0, 0, 1], dtype=np.int32)
    assert levels.split_placement(placement) == SplitPlacement([1, SPLIT], [[0, SPLIT], [0, 1]])
    assert list(itertools.chain(*levels.split_placement(placement).parts)) == [0, SPLIT, 0, 1]
