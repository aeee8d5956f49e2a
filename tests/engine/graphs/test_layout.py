"""The drawing: nothing overlaps, edges lead down, simple graphs are drawn without a crossing."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping, group_ops
from engine.graphs.layered import _apart
from engine.graphs.layout import ASPECT, COLUMN, LAYER, NODE_SIZE, Layout, layout
from tests.engine.graphs.graph_samples import make_costs, make_graph, random_graphs


def grouping_of(count: int, edges: list[tuple[int, int]]) -> Grouping:
    names = [f"op_{index:06}" for index in range(count)]
    return group_ops(make_graph(names, [(names[one], names[other]) for one, other in edges]), make_costs(count), None)


def assert_well_drawn(grouping: Grouping, drawn: Layout) -> None:
    assert drawn.x.shape == drawn.y.shape == (grouping.group_count,)
    for centres, whole in ((drawn.x, drawn.width), (drawn.y, drawn.height)):
        assert centres.min() - NODE_SIZE / 2 >= 0
        assert centres.max() + NODE_SIZE / 2 <= whole
    lefts = np.array([strip.left for strip in drawn.strips])
    rights = np.array([strip.right for strip in drawn.strips])
    assert np.all(rights[:-1] < lefts[1:])
    strip = np.searchsorted(lefts, drawn.x, side="right") - 1
    assert np.all(drawn.x - NODE_SIZE / 2 >= lefts[strip] - 0.2)
    assert np.all(drawn.x + NODE_SIZE / 2 <= rights[strip] + 0.2)
    assert_edges_lead_on(grouping, drawn, strip)
    rows: dict[tuple[int, float], list[float]] = {}
    for number, x, y in zip(strip.tolist(), drawn.x.tolist(), drawn.y.tolist(), strict=True):
        rows.setdefault((number, y), []).append(x)
    for (one, upper), (other, lower) in itertools.pairwise(sorted(rows)):
        assert one != other or lower - upper >= NODE_SIZE
    for row in rows.values():
        assert all(right - left >= NODE_SIZE for left, right in itertools.pairwise(sorted(row)))


def assert_edges_lead_on(grouping: Grouping, drawn: Layout, strip: np.ndarray) -> None:
    """An edge leads along its strip, down the first one, up the second, or to a later strip."""
    source, target = grouping.edge_source, grouping.edge_target
    upwards = np.array([each.leads_up for each in drawn.strips])
    assert upwards.tolist() == [number % 2 == 1 for number in range(len(upwards))]
    down = drawn.y[target] - drawn.y[source]
    along = np.where(upwards[strip[source]], -down, down)
    assert np.all((strip[source] < strip[target]) | ((strip[source] == strip[target]) & (along > 0)))


def crossings(grouping: Grouping, drawn: Layout) -> int:
    """Pairs of edges, as straight lines, that cross within both."""
    ends = [
        (np.array([drawn.x[source], drawn.y[source]]), np.array([drawn.x[target], drawn.y[target]]))
        for source, target in zip(grouping.edge_source, grouping.edge_target, strict=True)
    ]

    def side(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
        return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))

    return sum(
        side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
        for (a, b), (c, d) in itertools.combinations(ends, 2)
    )


@given(random_graphs(most_ops=20), st.none() | st.integers(1, 10))
def test_any_graph_is_well_drawn(sample: tuple[ComputationGraph, Costs], groups: int | None) -> None:
    grouping = group_ops(*sample, groups)
    drawn = layout(grouping)
    assert_well_drawn(grouping, drawn)
    again = layout(grouping)
    assert np.array_equal(drawn.x, again.x)
    assert np.array_equal(drawn.y, again.y)
    assert (drawn.width, drawn.height) == (again.width, again.height)


@pytest.mark.parametrize(
    ("count", "edges"),
    [
        (7, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]),
        (10, [(0, 5), (5, 2), (2, 7), (7, 4), (1, 6), (6, 3), (3, 8), (8, 9)]),
        (8, [(0, 4), (0, 3), (0, 2), (4, 1), (3, 5), (2, 6), (1, 7), (5, 7), (6, 7)]),
        (15, [(0, 14), (14, 13), (0, 12), (12, 1), (14, 2), (12, 3), (2, 11), (3, 4), (1, 10), (13, 9)]),
    ],
    ids=["tree", "two chains", "three branches", "uneven tree"],
)
def test_simple_graphs_have_no_crossings(count: int, edges: list[tuple[int, int]]) -> None:
    # grouping numbers the groups in a topological order, so the edges may be written in any
    grouping = grouping_of(count, edges)
    drawn = layout(grouping)
    assert_well_drawn(grouping, drawn)
    assert crossings(grouping, drawn) == 0


def test_a_chain_is_a_straight_line() -> None:
    drawn = layout(grouping_of(5, [(0, 1), (1, 2), (2, 3), (3, 4)]))
    assert len(set(drawn.x.tolist())) == 1
    assert np.diff(drawn.y).tolist() == [LAYER] * 4
    assert len(drawn.strips) == 1


def test_what_needs_nothing_stands_right_above_what_needs_it() -> None:
    grouping = grouping_of(5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    drawn = layout(grouping)
    y = dict(zip(grouping.names, drawn.y.tolist(), strict=True))
    assert y["op_000004"] == y["op_000002"]


def test_a_variable_that_takes_a_constant_stands_above_its_reader_all_the_same() -> None:
    # constant → variable → last op of a chain; the constant has 4 bytes, the variable 4,000
    names = ["constant", "variable", "a", "b", "c", "d"]
    edges = [("constant", "variable"), ("variable", "d"), ("a", "b"), ("b", "c"), ("c", "d")]
    costs = make_costs(6, output_bytes=[[4], [4000], [100], [100], [100], [100]])
    grouping = group_ops(make_graph(names, edges), costs, None)
    drawn = layout(grouping)
    y = dict(zip(grouping.names, drawn.y.tolist(), strict=True))
    assert y["variable"] == y["c"]
    assert y["constant"] == y["b"]


def test_a_wide_layer_is_broken_into_rows() -> None:
    grouping = grouping_of(400, [])
    drawn = layout(grouping)
    assert_well_drawn(grouping, drawn)
    assert drawn.width < 21 * COLUMN
    assert len(set(drawn.y.tolist())) == 20  # 20 a row


def test_a_deep_graph_is_folded_into_strips_that_fill_a_panel() -> None:
    count = 300
    grouping = grouping_of(count, [(index, index + 1) for index in range(count - 1)])
    drawn = layout(grouping)
    assert_well_drawn(grouping, drawn)
    assert 0.5 * ASPECT < drawn.width / drawn.height < 2 * ASPECT
    steps = np.hypot(np.diff(drawn.x), np.diff(drawn.y))
    assert steps.max() <= 3 * LAYER, "the end of a strip stands beside the beginning of the next"


def test_a_training_step_lies_beside_its_forward_half() -> None:
    # forward 0 … 49, backward 50 … 99, each backward op takes what its forward op made
    chain = [(index, index + 1) for index in range(99)]
    grouping = grouping_of(100, [*chain, *((index, 99 - index) for index in range(49))])
    drawn = layout(grouping)
    assert_well_drawn(grouping, drawn)
    assert np.abs(drawn.y[:49] - drawn.y[99:50:-1]).max() <= LAYER


@pytest.mark.parametrize(
    ("count", "edges"),
    [
        (1, []),
        (50_000, [(index, index + 1) for index in range(49_999)]),
        (50_001, [(0, index) for index in range(1, 50_001)]),
    ],
    ids=["one op", "chain", "star"],
)
def test_extreme_graphs(count: int, edges: list[tuple[int, int]]) -> None:
    grouping = grouping_of(count, edges)
    assert_well_drawn(grouping, layout(grouping))


@given(st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=5))
def test_places_are_the_nearest_to_the_wishes(wishes: list[float]) -> None:
    wish = np.array(wishes)
    _apart(wish, np.empty(len(wish)), np.empty(len(wish), np.int64))
    places = wish.tolist()
    assert all(right - left >= 1.0 - 1e-9 for left, right in itertools.pairwise(places))

    def distance(candidate: list[float]) -> float:
        return sum((place - wish) ** 2 for place, wish in zip(candidate, wishes, strict=True))

    best = distance(places)
    rng = np.random.default_rng(0)
    for _ in range(200):  # no other places that keep the space are nearer
        moved = sorted(place + float(shift) for place, shift in zip(places, rng.normal(0, 2, len(places)), strict=True))
        gaps = np.maximum(np.diff(moved), 1.0)
        assert distance(list(moved[0] + np.concatenate([[0.0], np.cumsum(gaps)]))) >= best - 1e-9
