"""Gradients stay with their forward op, as far as names tell and weight allows."""

import itertools

import numpy as np
import pytest

from engine.graphs.grouping.gradients import NO_OP, are_gradients, forward_ops, join_gradients
from engine.graphs.grouping.grouping import group_ops
from tests.engine.graphs.graph_samples import assert_consistent, make_costs, make_graph, members


@pytest.mark.parametrize(
    ("name", "forward"),
    [
        ("gradients/a/conv_grad/Conv2DBackpropInput", "a/conv"),
        ("gradients/a/conv_grad/tuple/control_dependency_1", "a/conv"),
        ("train/gradients_2/a/conv_grad_1/ShapeN", "a/conv"),
        ("gradients/a/x_grad/y_grad/Mul", "a/x_grad/y"),
        ("gradient_tape/a/conv/Conv2D/Conv2DBackpropInput", "a/conv"),
        ("model/gradient_tape_1/relu/ReluGrad", "relu"),
        ("a/gradients/relu_grad/ReluGrad", "relu"),
        ("gradients/relu_grad", None),
        ("gradients/missing_grad/Mul", None),
        ("gradients/Fill", None),
        ("mygradients/relu_grad/ReluGrad", None),
        ("a/conv", None),
    ],
)
def test_names_of_gradients(name: str, forward: str | None) -> None:
    names = ["a/conv", "relu", "a/x_grad/y", "conv_grad"]
    index = names.index(forward) if forward else NO_OP
    others = [NO_OP] * len(names)
    found = forward_ops([*names, name] if name not in names else names)
    assert found[-1 if name not in names else names.index(name)] == index
    assert found[: len(names)].tolist() == others


@pytest.mark.parametrize("name", ["gradients/x", "a/gradients_1/b", "gradient_tape/x", "a/gradient_tape_12/b"])
def test_a_scope_of_gradients_marks_the_backward_pass(name: str) -> None:
    others = ["mygradients/x", "a/gradients", "gradients_x/b", "gradient/x", "gradients_tape/x", "gradient_tapes/x"]
    assert are_gradients([name, *others]).tolist() == [True, *[False] * len(others)]


def test_the_nearest_scope_that_fits_counts() -> None:
    names = ["a", "a_grad/b", "gradients/a_grad/b_grad/Mul"]
    assert forward_ops(names).tolist() == [NO_OP, NO_OP, 0]


def test_a_name_of_a_thousand_gradients_is_read_in_no_time() -> None:
    assert forward_ops(["gradients/" + "x_grad/" * 1000 + "y"]).tolist() == [NO_OP]


def joined(weight: list[int], most_weight: int, site: list[int] | None = None) -> list[int]:
    """Classes of ops 0 and 1 (forward) and 2, 3 and 4 (gradients of 0, 0 and 1), each its own class at first."""
    joined_classes = join_gradients(
        np.arange(5, dtype=np.int32),
        np.array([NO_OP, NO_OP, 0, 0, 1]),
        np.arange(5),
        np.array(weight),
        np.array(site or [0] * 5),
        most_weight,
    )
    return [int(number) for number in joined_classes]


def test_gradients_join_as_far_as_the_weight_allows() -> None:
    assert joined([5, 5, 5, 5, 5], most_weight=10) == [0, 1, 0, 0, 1]
    assert joined([5, 5, 5, 5, 5], most_weight=9) == [0, 1, 0, 2, 1]  # the heaviest is free
    assert joined([5, 5, 5, 1, 9], most_weight=4) == [0, 1, 2, 0, 3]


def test_gradients_that_may_not_go_where_the_forward_op_goes_stay_apart() -> None:
    assert joined([1] * 5, most_weight=10, site=[0, 0, 1, 0, 0]) == [0, 1, 2, 0, 1]


def test_the_layers_of_a_training_step_are_in_the_forward_order() -> None:
    layers = [f"layer_{index}" for index in range(6)]
    gradients = [f"gradients/{name}_grad/MatMul" for name in layers]
    forward = list(itertools.pairwise(["input", *layers, "loss"]))
    backward = list(itertools.pairwise(["loss", *reversed(gradients)]))
    saved = list(zip(["input", *layers], gradients, strict=False))
    graph = make_graph(["input", *layers, "loss", *gradients], forward + backward + saved)
    grouping = group_ops(graph, make_costs(14), 6)
    assert_consistent(graph, grouping)
    assert len(grouping.feedback_edges) > 0
    for part in members(graph, grouping.group_of_op):
        for name in part & set(gradients):
            assert name.removeprefix("gradients/").removesuffix("_grad/MatMul") in part
    group_of = dict(zip(graph.op_names, grouping.group_of_op.tolist(), strict=True))
    assert [group_of[name] for name in layers] == sorted(group_of[name] for name in layers)
