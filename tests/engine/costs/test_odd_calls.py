"""Functions that no honest file has: they are taken apart or not, and none raises or takes long."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child
from tests.engine.costs.function_texts import (
    call,
    case,
    condition,
    function,
    named,
    relu,
    relus,
    types,
    with_library,
)
from tests.engine.costs.graph_texts import FLOAT, op, typed

LIMITS = Limits(memory_bytes=4 * 1024**3, seconds=120.0)
LOOP = op("call", "StatelessWhile", "data", T=types(FLOAT), cond=named("cond"), body=named("one"))
ONE = relus("one", 1)
TWO_RESULTS = function("cond", {"x": FLOAT}, {"a": (FLOAT, "x"), "b": (FLOAT, "x")})
NO_RESULT = function("cond", {"x": FLOAT}, {})
DOUBLING = ONE + "".join(
    function(
        f"f{level}",
        {"x": FLOAT},
        {"y": (FLOAT, "b:output:0")},
        call("a", f"f{level - 1}" if level else "one", "x"),
        call("b", f"f{level - 1}" if level else "one", "a:output:0"),
    )
    for level in range(30)
)
"""2**30 ops"""
CHAIN = "".join(relu(f"r{index}", f"r{index - 1}:activations:0" if index else "x") for index in reversed(range(3_000)))
WIDE = relu("r", "x") + op("sum", "AddN", *["r:activations:0"] * 20_000, T=typed(FLOAT), N="i: 20000")
BODIES: Mapping[str, tuple[str, int | None]] = {
    "an op without inputs": (op("r", "Relu", T=typed(FLOAT)), 1),
    "an op of an unknown type": (op("r", "Nonsense", "x"), None),
    "an op without attributes": (op("r", "Relu", "x"), 1),
    "an op whose attribute is of another kind": (op("r", "Relu", "x", T="i: 3"), 1),
    "an Identity of nothing": (op("r0", "Identity", T=typed(FLOAT)) + relu("r", "r0:output:0"), 2),
    "a Switch of nothing": (op("r0", "Switch", T=typed(FLOAT)) + relu("r", "r0:output_false:0"), 2),
    "a Merge of nothing": (op("r0", "Merge", T=typed(FLOAT), N="i: 0") + relu("r", "r0:output:0"), 2),
    "an Exit, an Enter and a condition of nothing": (
        op("r0", "Enter", T=typed(FLOAT), frame_name='s: "g"')
        + op("r1", "LoopCond")
        + op("r2", "Exit", "r0:output:0", T=typed(FLOAT))
        + relu("r", "r2:output:0"),
        4,
    ),
    "a cycle": (relu("r", "r1:activations:0") + relu("r1", "r:activations:0"), None),
    "an input without a source": (relu("r", "none:activations:0"), None),
    "more outputs than there can be": (
        op("r0", "Split", "x", "x", T=typed(FLOAT), num_split="i: 1000000000000") + relu("r", "x"),
        None,
    ),
    "a number of outputs below 0": (
        op("r0", "Split", "x", "x", T=typed(FLOAT), num_split="i: -1") + relu("r", "x"),
        None,
    ),
    "a chain that is written backwards": (CHAIN.replace('"r2999"', '"r"'), 3_000),
    "an op of 20,000 inputs": (WIDE, 2),
    "a call of itself": (call("r", "f", "x").replace('"PartitionedCall"', '"f"'), None),
    "a condition without a condition": (condition("r", "x", then_side="one", else_side="one"), None),
    "a condition without sides": (op("r", "StatelessIf", "x", "x"), None),
    "a case without cases": (case("r", "x", "x"), None),
    "a loop without functions": (op("r", "StatelessWhile", "x", T=types(FLOAT)), None),
}
"""the body of a function whose result is `r`, and how many ops it is"""


def called(body: str) -> str:
    calls = ("StatelessIf", "StatelessCase", "StatelessWhile", '"f"')
    result = "r:output:0" if any(each in body for each in calls) else "r:activations:0"
    return function("f", {"x": FLOAT}, {"y": (FLOAT, result)}, body) + ONE + call("call", "f", "data")


TEXTS: Mapping[str, tuple[str, int | None]] = {
    "functions that call each other twice and twice again": (DOUBLING + call("call", "f29", "data"), None),
    "a loop whose condition gives two": (LOOP + ONE + TWO_RESULTS, None),
    "a loop whose condition gives none": (LOOP + ONE + NO_RESULT, None),
    "a loop of nothing": (LOOP.replace('input: "data"', "") + ONE + TWO_RESULTS, None),
    "a condition of nothing": (
        op("call", "StatelessIf", then_branch=named("one"), else_branch=named("one")) + ONE,
        None,
    ),
    "sides that give different numbers": (
        op("call", "StatelessIf", "flag", "data", then_branch=named("one"), else_branch=named("cond"))
        + ONE
        + TWO_RESULTS,
        None,
    ),
    "a function that is not there": (call("call", "f", "data"), None),
    "a call without a function": (op("call", "PartitionedCall", "data"), None),
}


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    texts: dict[str, Any] = {name: with_library(text) for name, (text, _) in TEXTS.items()}
    texts |= {name: with_library(called(body)) for name, (body, _) in BODIES.items()}
    order = {"texts": texts}
    _, found = run_in_child(
        "tests.engine.costs.odd_calls_in_child:take_apart_in_child", order, LIMITS, task="taking apart", is_warm=True
    )
    return cast(dict[str, Any], found)


@pytest.mark.parametrize("name", [*TEXTS, *BODIES])
def test_it_is_taken_apart_or_not(name: str, answers: dict[str, Any]) -> None:
    assert answers["ops"][name] == (TEXTS.get(name) or BODIES[name])[1]


def test_odd_lists_and_bounds_raise_nothing(answers: dict[str, Any]) -> None:
    assert answers["raised"] == []
