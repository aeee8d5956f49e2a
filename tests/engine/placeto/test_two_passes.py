"""The two passes of a training step, on a chain of layers drawn by hand."""

import dataclasses
from typing import cast

import numpy as np
import pytest

from engine.placeto.seeing.device_view import (
    BACKWARD_LATER,
    BOTH_LATER,
    BUS_LATER,
    DEVICE_FEATURES,
    FIRST_OF_BOTH,
    FORWARD_LATER,
    look,
)
from engine.placeto.seeing.episode_state import begin_episode, begin_pass, decide
from engine.placeto.seeing.features import GroupGraph, group_graph
from engine.placeto.seeing.reachability import relatives
from engine.placeto.seeing.two_passes import are_backward, feedback_edges, forward_bytes
from engine.placeto.seeing.view_graph import DeviceViewGraph, device_view_graph
from engine.problem import PlacementProblem
from tests.engine.placeto.problems import graph_of, grouped, random_problem, renumbered

LAYERS = 3
FORWARD_US, GRADIENT_US = 100.0, 200.0
OUTPUT_BYTES, GRADIENT_BYTES = 760, 7600


def chain(groups: list[int]) -> PlacementProblem:
    """Layers in a row, ops 0 to 2, and their gradients, ops 3 to 5, that of the last layer first."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 4), (1, 3)]
    times, sizes = [FORWARD_US] * LAYERS + [GRADIENT_US] * LAYERS, [OUTPUT_BYTES] * LAYERS + [GRADIENT_BYTES] * LAYERS
    graph, costs = graph_of(edges, times, sizes)
    names = ("layer_0", "layer_1", "layer_2", *(f"gradients/layer_{layer}_grad/mul" for layer in (2, 1, 0)))
    return grouped(dataclasses.replace(graph, op_names=names), costs, groups, devices=2)


def seen(graph: GroupGraph) -> DeviceViewGraph:
    related = relatives(graph.edge_source, graph.edge_target, graph.group_count, most_reachable_groups=100)
    return device_view_graph(graph, related)


def number(group: int) -> int:
    """A group as the sampler counts it: for another type of number all would be compiled anew."""
    return cast(int, np.int32(group))


TOGETHER = [0, 1, 2, 2, 1, 0]
"""each layer with its gradient"""


def test_gradients_are_backward_only_where_their_group_has_forward_ops() -> None:
    assert are_backward(chain(TOGETHER)).tolist() == [False] * 3 + [True] * 3
    assert not are_backward(chain([0, 1, 2, 3, 4, 5])).any()


def test_bytes_are_of_the_pass_in_which_they_go() -> None:
    problem = chain(TOGETHER)
    graph = group_graph(problem)
    assert list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True)) == [(0, 1), (1, 2)]
    assert forward_bytes(problem, are_backward(problem)).tolist() == [OUTPUT_BYTES, OUTPUT_BYTES]
    source, target, sizes = feedback_edges(problem)
    assert list(zip(source.tolist(), target.tolist(), sizes.tolist(), strict=True)) == [
        (1, 0, GRADIENT_BYTES),
        (2, 1, GRADIENT_BYTES),
    ]


def test_the_work_of_a_group_is_that_of_both_passes() -> None:
    graph = group_graph(chain(TOGETHER))
    rest_us = graph.time_us[0, 0] - FORWARD_US - GRADIENT_US
    np.testing.assert_allclose(graph.backward_us, GRADIENT_US + rest_us / 2)
    apart = group_graph(chain([0, 1, 2, 3, 4, 5]))
    assert not apart.backward_us.any()
    assert (apart.edge_forward_bytes > 0).all() and len(apart.feedback_bytes) == 0


def test_a_second_layer_elsewhere_waits_for_the_forward_ops_and_is_waited_for_by_the_gradients() -> None:
    graph = group_graph(chain(TOGETHER))
    view, unit = seen(graph), graph.mean_group_us
    state = begin_episode(view, np.full(LAYERS, -1, np.int32))
    begin_pass(state)
    decide(view, state, number(0), 0)
    decide(view, state, number(1), 1)
    forward_us, backward_us = (graph.time_us - graph.backward_us)[0, 0], graph.backward_us[0, 0]
    bandwidth = 1.0 / graph.us_per_byte[0, 1]
    assert state.forward.finish[1] * unit == pytest.approx(2 * forward_us + OUTPUT_BYTES / bandwidth)
    assert state.backward.finish[1] * unit == pytest.approx(2 * backward_us + GRADIENT_BYTES / bandwidth)
    assert state.backward.bus[0] == 0.0 and state.backward.bus[1] > 0.0, "the later layer sends its gradient back"
    assert state.forward.bus[0] > 0.0 and state.forward.bus[1] == 0.0


def test_the_device_that_a_list_schedule_of_both_passes_takes_is_marked() -> None:
    graph = group_graph(chain(TOGETHER))
    view, placement = seen(graph), np.full(LAYERS, -1, np.int32)
    state = begin_episode(view, placement)
    begin_pass(state)
    rows = np.zeros((2, DEVICE_FEATURES), np.float32)
    look(view, state, number(0), 0.0, rows)
    assert rows[:, FIRST_OF_BOTH].tolist() == [1.0, 1.0], "empty equal devices are alike"
    decide(view, state, number(0), 0)
    look(view, state, number(1), 0.3, rows)
    assert rows[:, FIRST_OF_BOTH].tolist() == [1.0, 0.0]
    unit, bandwidth = graph.mean_group_us, 1.0 / graph.us_per_byte[0, 1]
    expected = np.log1p(np.array([OUTPUT_BYTES, GRADIENT_BYTES, OUTPUT_BYTES + GRADIENT_BYTES]) / bandwidth / unit)
    np.testing.assert_allclose(rows[1, [FORWARD_LATER, BACKWARD_LATER, BOTH_LATER]], expected, rtol=1e-5)
    assert not rows[0, [FORWARD_LATER, BACKWARD_LATER, BOTH_LATER]].any()
    assert rows[:, BUS_LATER].tolist() == [0.0, 0.0], "nothing was sent yet"


@pytest.mark.parametrize("seed", range(3))
def test_devices_numbered_anew_only_turn_the_rows_of_the_view(seed: int) -> None:
    problem = random_problem(seed, groups=20, devices=4, cpu=False)
    rng = np.random.default_rng(seed)
    new_of_old = rng.permutation(4)
    views, actions = [], rng.integers(0, 4, 20)
    for each, new in ((problem, np.arange(4)), (renumbered(problem, new_of_old), new_of_old)):
        view = seen(group_graph(each))
        state = begin_episode(view, np.full(20, -1, np.int32))
        begin_pass(state)
        rows = np.zeros((20, 4, DEVICE_FEATURES), np.float32)
        for group, action in enumerate(actions.tolist()):
            look(view, state, number(group), group / 20, rows[group])
            decide(view, state, number(group), int(new[action]))
        views.append(rows[:, new])
    np.testing.assert_allclose(views[1], views[0], rtol=1e-5, atol=1e-6)
