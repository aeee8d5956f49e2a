"""Calls that stay one op: they cost what their bodies do, loops as often as they run, one side of a condition."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child
from engine.costs.unknown import Unknown
from tests.engine.costs.function_texts import (
    call,
    case,
    condition,
    counting,
    function,
    named,
    relu,
    relus,
    types,
    with_library,
)
from tests.engine.costs.graph_texts import BOOL, FLOAT, INT32, STRING, constant, op, placeholder, typed

LIMITS = Limits(memory_bytes=4 * 1024**3, seconds=120.0)
DATA = placeholder("data", 4, 8)
RELU = 32
"""operations of a Relu on `data`"""
SIDES = relus("one", 1) + relus("two", 2) + relus("three", 3)
FLAG = {"flag": BOOL, "x": FLOAT}


def conditional(flag: str, *nodes: str, result: str = "if:output:0") -> str:
    """A call `f(flag, data)`; the nodes are its body."""
    text = DATA + placeholder("flag", dtype=BOOL) if flag == "fed" else DATA + constant("flag", flag, BOOL)
    return (
        text
        + SIDES
        + function("f", FLAG, {"y": (FLOAT, result)}, *nodes)
        + call("call", "f", "flag", "data", taken=(BOOL, FLOAT))
    )


def on(source: str = "x", then_side: str = "three", else_side: str = "one") -> str:
    return condition("if", "flag", source, then_side=then_side, else_side=else_side)


def cased(index: str) -> str:
    """A call `f(index, data)` of three sides."""
    text = DATA + placeholder("index", dtype=INT32) if index == "fed" else DATA + constant("index", index)
    sides = case("case", "index", "x", "two", "three", "one")
    body = function("f", {"index": INT32, "x": FLOAT}, {"y": (FLOAT, "case:output:0")}, sides)
    return text + SIDES + body + call("call", "f", "index", "data", taken=(INT32, FLOAT))


FILLED = (
    constant("lengths", [4, 8])
    + constant("value", 1.0, FLOAT)
    + op("fill", "Fill", "lengths:output:0", "value:output:0", T=typed(FLOAT), index_type=typed(INT32))
    + relu("r", "fill:output:0")
)
"""of a function, without any of its arguments"""
FILLS = function("fills", {"x": FLOAT}, {"y": (FLOAT, "r:activations:0")}, FILLED)
ONES = op(
    "c",
    "Const",
    dtype=typed(FLOAT),
    value="tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4 } dim { size: 8 } } float_val: 1 }",
)
CONSTANT = function("constant", {"x": FLOAT}, {"y": (FLOAT, "c:output:0")}, ONES)

COUNTED: Mapping[str, tuple[str, int]] = {
    "a body": (DATA + relus("f", 3) + call("call", "f", "data"), 3 * RELU),
    "a body called by the function's name": (DATA + relus("f", 3) + op("call", "f", "data"), 3 * RELU),
    "calls in calls": (
        DATA
        + relus("g", 2)
        + function("f", {"x": FLOAT}, {"y": (FLOAT, "b:output:0")}, call("a", "g", "x"), call("b", "g", "a:output:0"))
        + call("call", "f", "data"),
        4 * RELU,
    ),
    "an op with the name that a call's inner op would have": (
        DATA
        + relus("g", 1)
        + function(
            "f",
            {"x": FLOAT},
            {"y": (FLOAT, "b:activations:0")},
            call("a", "g", "x"),
            relu("a/r0", "x"),
            relu("b", "a/r0:activations:0"),
        )
        + call("call", "f", "data"),
        3 * RELU,
    ),
    "the costlier side where nobody knows": (conditional("fed", on()), 3 * RELU),
    "the costlier side where it is the other": (conditional("fed", on(then_side="one", else_side="two")), 2 * RELU),
    "the side that is known": (conditional("false", on()), RELU),
    "the other side that is known": (conditional("true", on()), 3 * RELU),
    "what is behind a side that gives a constant": (
        conditional("false", on(else_side="constant"), relu("r", "if:output:0"), result="r:activations:0") + CONSTANT,
        RELU,
    ),
    "a side that takes nothing, not taken": (conditional("false", on(then_side="fills")) + FILLS, RELU),
    "a loop on a side is the costlier one": (
        conditional("fed", on(then_side="three", else_side="f5")) + counting("f5", 5, relu("r", "x")),
        5 * RELU,
    ),
    "the costliest of three": (cased("fed"), 3 * RELU),
    "the first of three": (cased("0"), 2 * RELU),
    "the last of three": (cased("2"), RELU),
    "the last of three for an index that is too large": (cased("7"), RELU),
    "the last of three for an index below 0": (cased("-1"), RELU),
    "a loop": (DATA + counting("f", 7, relu("r", "x")) + call("call", "f", "data"), 7 * RELU),
    "a loop whose body takes nothing": (DATA + counting("f", 7, FILLED) + call("call", "f", "data"), 7 * RELU),
    "a call on another device": (
        DATA
        + op("where", "Const", dtype=typed(STRING), value='tensor { dtype: DT_STRING tensor_shape { } string_val: "" }')
        + relus("f", 2)
        + op("call", "RemoteCall", "where", "data", Tin=types(FLOAT), Tout=types(FLOAT), f=named("f")),
        2 * RELU,
    ),
}
"""a call, and the operations of its Relus; there are a few more for counters and fills"""
MOST_BESIDE = RELU - 1
PYTHON = op("call", "PyFunc", "x", token='s: "t"', Tin=types(FLOAT), Tout=types(FLOAT))
UNKNOWN: Mapping[str, str] = {
    "a function of Python": function("f", {"x": FLOAT}, {"y": (FLOAT, "x")}, PYTHON) + call("call", "f", "data"),
    "a function that is not there": function(
        "f", {"x": FLOAT}, {"y": (FLOAT, "c:output:0")}, call("c", "one", "x").replace('"one"', '"none"')
    )
    + call("call", "f", "data"),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What one child says of all of them."""
    folder = tmp_path_factory.mktemp("calls")
    jobs: dict[str, Any] = {}
    texts = {name: text for name, (text, _) in COUNTED.items()} | {name: DATA + text for name, text in UNKNOWN.items()}
    for index, (name, text) in enumerate(texts.items()):
        path = folder / f"{index}.pbtxt"
        path.write_text(with_library(text))
        jobs[name] = {"path": str(path)}
    function = "tests.engine.costs.estimating:estimate_all_in_child"
    arrays, found = run_in_child(function, jobs, LIMITS, task="estimating", is_warm=True)
    return dict(arrays), dict(found)


def value(answers: tuple[dict[str, Any], dict[str, Any]], name: str, key: str) -> int:
    """Of the op `call`."""
    arrays, texts = answers
    assert isinstance(texts[name], list), texts[name]
    return int(arrays[f"{name}.{key}"][cast(list[str], texts[name]).index("call")])


@pytest.mark.parametrize("name", COUNTED)
def test_a_call_costs_what_its_body_does(name: str, answers: tuple[dict[str, Any], dict[str, Any]]) -> None:
    expected = COUNTED[name][1]
    assert Unknown(value(answers, name, "unknown")) == Unknown.NOT_SAID
    assert expected <= value(answers, name, "flops") <= expected + MOST_BESIDE
    assert value(answers, name, "trips") == 1


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_call_of_what_nobody_can_look_into_is_unknown(
    name: str, answers: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    assert Unknown(value(answers, name, "unknown")) == Unknown.FUNCTION
