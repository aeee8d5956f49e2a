"""Short names: what a person calls an op, told apart, with the op's own end."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.graphs.grouping.grouping import group_ops
from engine.graphs.short_names import ShortNames
from engine.prepared import PreparedGraph
from tests.engine.graphs.graph_samples import make_costs, make_graph

CALL = "StatefulPartitionedCall_1/StatefulPartitionedCall"
KERAS = f"{CALL}/functional_1"

LOOPS = {"while", "while_1"}


def short_of(names: Sequence[str], types: dict[str, str] | None = None) -> dict[str, str]:
    """Name → short name; ops are MatMuls unless `types` has another type."""
    types = types or {}
    return dict(zip(names, ShortNames(names, [types.get(name, "MatMul") for name in names]).of_op, strict=True))


def test_an_exported_model_shows_its_layers() -> None:
    body = f"{KERAS}/lstm_1/while/body/_27/functional_1/lstm_1/while"
    expected = {
        f"{KERAS}/dense_1/Tensordot/MatMul": "dense_1/Tensordot/MatMul",
        f"{KERAS}/lstm_1/while/merge/_40": "lstm_1/while/merge/_40",
        f"{body}/lstm_cell_1/MatMul": "lstm_1/while/lstm_cell_1/MatMul",
        f"{KERAS}/lstm_1/while/{CALL}/functional_1/lstm_1/zeros_switch/_51": "lstm_1/while/zeros_switch/_51",
        f"Func/{CALL}/input/_104": "input/_104",
        "dense/kernel": "dense/kernel",
        f"{CALL}/Identity": "Identity",
    }
    outside = {"dense/kernel": "VarHandleOp", f"{CALL}/Identity": "Identity", f"Func/{CALL}/input/_104": "Identity"}
    assert short_of(list(expected), outside) == expected


def test_a_training_step_shows_layers_too_with_the_optimiser_outside() -> None:
    for root in ("functional_1", "sequential_3", "my_transformer"):
        expected = {
            f"{CALL}/{root}/dense_1/MatMul": "dense_1/MatMul",
            f"{CALL}/adam/Mul_1": "adam/Mul_1",
            f"{CALL}/adam/Cast/x": "adam/Cast/x",
            f"{CALL}/compile_loss/mean/Sum": "compile_loss/mean/Sum",
            f"{CALL}/gradient_tape/compile_loss/mean/Tile": "gradient_tape/compile_loss/mean/Tile",
            f"{CALL}/gradient_tape/{root}/dense_1/MatMul/MatMul_1": "gradient_tape/dense_1/MatMul/MatMul_1",
            f"{CALL}/gradient_tape/{root}/lstm/while/{root}/lstm/while_grad/x": "gradient_tape/lstm/while/while_grad/x",
        }
        assert short_of(list(expected)) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        # the root goes whole, up to what tells ops apart
        (["net/tower/a/x", "net/tower/b/x"], ["a/x", "b/x"]),
        (["net/dense/x", "net/dense/y"], ["dense/x", "dense/y"]),
        (["net/a/x", "net/y"], ["a/x", "y"]),
        (["a/x", "b/x"], ["a/x", "b/x"]),
        (["x"], ["x"]),
        # two models, or one and work beside it, have no one root
        (["functional_1/a/x", "functional_2/a/x"], ["functional_1/a/x", "functional_2/a/x"]),
        (["encoder/a/x", "encoder/b/x", "decoder/c/x"], ["encoder/a/x", "encoder/b/x", "decoder/c/x"]),
        # a loop is never left out
        (["net/while/a/x", "net/while/b/x"], ["while/a/x", "while/b/x"]),
        (["while/while/x", "while/y"], ["while/while/x", "while/y"]),
        (["while/body/_1/while/while/body/_2/while/while/x", "y"], ["while/while/x", "y"]),
        # branches keep their side
        (["cond/then/_4/cond/x", "cond/else/_5/cond/x", "y"], ["cond/then/x", "cond/else/x", "y"]),
        # the parts in which ops differ come back
        (["PartitionedCall/a/x", "PartitionedCall_1/a/x"], ["PartitionedCall/a/x", "PartitionedCall_1/a/x"]),
        (["PartitionedCall/net/a/x", "a/x", "b/x"], ["net/a/x", "a/x", "b/x"]),
        (
            ["while/body/_1/while/Less", "while/cond/_2/while/Less", "while/body/_1/while/add", "y"],
            ["while/body/Less", "while/cond/Less", "while/add", "y"],
        ),
        # an op may itself be called like a wrapper, and names need not be paths
        (["a/PartitionedCall", "b/PartitionedCall", "c"], ["a/PartitionedCall", "b/PartitionedCall", "c"]),
        (["jit_step/net/a/x", "jit_step/net/b/x"], ["a/x", "b/x"]),
        (["PartitionedCall/", "/", "", "//x"], ["PartitionedCall/", "/", "", "x"]),
        # exporters to ONNX write a slash first
        (["/encoder/a/x", "/decoder/b/x", "ids"], ["encoder/a/x", "decoder/b/x", "ids"]),
        (["/a/x", "a/x"], ["/a/x", "a/x"]),
    ],
)
def test_rules(names: list[str], expected: list[str]) -> None:
    assert list(short_of(names).values()) == expected


def test_scopes_are_called_as_their_ops_are() -> None:
    names = ShortNames([f"{KERAS}/lstm_1/while/merge/_40", f"{KERAS}/dense_1/MatMul"], ["Merge", "MatMul"])
    assert names.of_scope(f"{KERAS}/lstm_1/while") == "lstm_1/while"
    assert names.of_scope(f"{KERAS}/dense_1") == "dense_1"
    assert names.of_scope(KERAS) == "functional_1" and names.of_scope(CALL) == "StatefulPartitionedCall"


def test_a_summary_and_a_view_have_the_short_names_of_what_they_name() -> None:
    names = ["PartitionedCall/net/a/x", "PartitionedCall/net/b/x", "PartitionedCall/net/b/y"]
    graph = replace(make_graph(names, [(names[0], names[1]), (names[1], names[2])]), cpu_reason=("why", "", "why"))
    costs = make_costs(3)
    prepared = PreparedGraph(graph, costs, group_ops(graph, costs, None))
    assert prepared.summary()["short_names"] == {names[0]: "a/x", names[2]: "b/y"}
    groups: Any = prepared.view()["groups"]
    assert [(group["name"], group["short_name"]) for group in groups] == [
        *zip(names, ("a/x", "b/x", "b/y"), strict=True)
    ]
    graph = replace(graph, cpu_reason=())
    one = PreparedGraph(graph, costs, group_ops(graph, costs, 1))
    assert one.scope_view(0, "PartitionedCall/net/b")["short_scopes"] == {
        "PartitionedCall": "PartitionedCall",
        "PartitionedCall/net": "net",
        "PartitionedCall/net/b": "b",
    }
    opened: Any = one.scope_view(0, "")["groups"]
    assert {(item["name"], item["short_name"]) for item in opened} == {
        (names[0], "a/x"),
        ("PartitionedCall/net/b", "b"),
    }


PARTS = [
    *("a", "b", "net", "functional_1", "functional_2", "while", "while_1", "cond", "body", "then", "else", "_1", "_27"),
    *("PartitionedCall", "StatefulPartitionedCall_1", "Func", "jit_f", "gradient_tape", "gradients", "replica_1", ""),
]
GRAPHS = st.dictionaries(
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=9).map("/".join),
    st.sampled_from(["Const", "Add", ""]),
    min_size=1,
)


@given(types=GRAPHS, order=st.randoms(use_true_random=False))
def test_ops_are_told_apart_keep_their_ends_and_do_not_depend_on_the_order(
    types: dict[str, str], order: Random
) -> None:
    found = short_of(list(types), types)
    assert len(set(found.values())) == len(found)
    for name, short in found.items():
        whole, parts = iter(name.split("/")), short.split("/")
        assert all(part in whole for part in parts), "parts are left out, and no others come in"
        assert parts[-1] == name.split("/")[-1]
        assert any(map(LOOPS.__contains__, parts)) == any(map(LOOPS.__contains__, name.split("/"))), "loops stay"
    shuffled = order.sample(sorted(types), len(types))
    assert short_of(shuffled, types) == found


@given(types=GRAPHS)
def test_short_names_of_short_names_are_told_apart_again(types: dict[str, str]) -> None:
    once = short_of(list(types), types)
    kinds = {short: types[name] for name, short in once.items()}
    assert len(set(short_of(list(kinds), kinds).values())) == len(types)


@pytest.mark.parametrize(
    "part",
    ["while/x", "body/_1/PartitionedCall", "gradients", "PartitionedCall", "a/while/a", "body/_1/a", "cond/_1/while"],
)
def test_endless_names_of_strangers_take_linear_time(part: str) -> None:
    long = "/".join([part] * 50_000)
    names = [f"{long}/{index}" for index in range(3)] + [f"b/{long}/0"]
    assert len(set(short_of(names).values())) == 4
