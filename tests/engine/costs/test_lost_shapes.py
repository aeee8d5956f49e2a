"""Variables whose shapes the file has lost: those who take them say how large they are, where they leave no choice."""

from typing import Any, cast

import numpy as np
import pytest

from engine.child.parent import Limits, run_in_child
from engine.costs.unknown import Unknown
from tests.engine.costs.function_texts import call, function, with_library
from tests.engine.costs.graph_texts import FLOAT, INT32, constant, op, placeholder, typed

LIMITS = Limits(memory_bytes=4 * 1024**3, seconds=120.0)


def variable(name: str) -> str:
    """A captured variable that is read as `NAME`."""
    return op(f"{name}_handle", "Placeholder", dtype="type: DT_RESOURCE") + op(
        name, "ReadVariableOp", f"{name}_handle", dtype=typed(FLOAT)
    )


def product(text: str) -> str:
    """`net`, 6 × 4, by the variable `matrix`."""
    attributes = {"T": typed(FLOAT), "transpose_a": "b: false", "transpose_b": "b: false"}
    return placeholder("net", 6, 4) + variable("matrix") + op("product", "MatMul", "net", "matrix", **attributes) + text


def reshaped(what: str, *lengths: int) -> str:
    """`back`, the same numbers in another shape."""
    return constant("lengths", list(lengths)) + op(
        "back", "Reshape", what, "lengths", T=typed(FLOAT), Tshape=typed(INT32)
    )


RESOURCE = "DT_RESOURCE"
READ = op(
    "read",
    "ReadVariableOp",
    "v",
    dtype=typed(FLOAT),
    _output_shapes="list { shape { dim { size: 4 } dim { size: 5 } } }",
)
PRODUCT = op("p", "MatMul", "x", "read:value:0", T=typed(FLOAT), transpose_a="b: false", transpose_b="b: false")
READ_IN_A_CALL = with_library(
    placeholder("net", 6, 4)
    + op("matrix_handle", "Placeholder", dtype=typed(RESOURCE))
    + function("f", {"x": FLOAT, "v": RESOURCE}, {"y": (FLOAT, "p:product:0")}, READ, PRODUCT)
    + call("call", "f", "net", "matrix_handle", taken=(FLOAT, RESOURCE))
)
"""a call that stays one op, and reads the variable whose handle it takes"""
IDLE = op("never", "Placeholder", dtype=typed(FLOAT), shape="shape { unknown_rank: true }")

GRAPHS = {
    "read in a call": READ_IN_A_CALL,
    "an input that nobody takes": IDLE + placeholder("net", 6, 4) + op("relu", "Relu", "net", T=typed(FLOAT)),
    "reshaped": variable("scale") + reshaped("scale", 1, 1, 24),
    "cast and reshaped": variable("scale")
    + op("as_double", "Cast", "scale", SrcT=typed(FLOAT), DstT="type: DT_DOUBLE")
    + constant("lengths", [1, 24])
    + op("back", "Reshape", "as_double", "lengths", T="type: DT_DOUBLE", Tshape=typed(INT32)),
    "a product that is reshaped": product(reshaped("product", 2, 3, 5)),
    "a bias": placeholder("net", 6, 4) + variable("bias") + op("sum", "BiasAdd", "net", "bias", T=typed(FLOAT)),
    "nobody tells": variable("scale") + op("twice", "AddV2", "scale", "scale", T=typed(FLOAT)),
    "reshaped to the rest": variable("scale") + reshaped("scale", -1, 3),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    folder = tmp_path_factory.mktemp("lost")
    jobs: dict[str, Any] = {}
    for index, (name, text) in enumerate(GRAPHS.items()):
        path = folder / f"{index}.pbtxt"
        path.write_text(text)
        jobs[name] = {"path": str(path)}
    arrays, texts = run_in_child(
        "tests.engine.costs.estimating:estimate_all_in_child", jobs, LIMITS, task="estimating", is_warm=True
    )
    return dict(arrays), dict(texts)


def bytes_of(answers: tuple[dict[str, Any], dict[str, Any]], name: str, op_name: str) -> int:
    arrays, texts = answers
    row = cast(list[str], texts[name]).index(op_name)
    offset = arrays[f"{name}.output_offset"]
    return int(arrays[f"{name}.output_bytes"][offset[row]])


@pytest.mark.parametrize(
    ("name", "read", "size"),
    [
        ("reshaped", "scale", 24 * 4),
        ("cast and reshaped", "scale", 24 * 4),
        ("a product that is reshaped", "matrix", 4 * 5 * 4),
        ("a bias", "bias", 4 * 4),
    ],
)
def test_who_takes_a_variable_says_how_large_it_is(
    name: str, read: str, size: int, answers: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    arrays, texts = answers
    assert bytes_of(answers, name, read) == size
    assert int(arrays[f"{name}.persistent_bytes"].sum()) == size
    assert not arrays[f"{name}.unknown"].any()
    assert texts[f"{name}.said"]["notes"] == []


def test_a_call_says_how_large_the_variables_are_that_it_reads(
    answers: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    arrays, texts = answers
    name = "read in a call"
    assert not arrays[f"{name}.unknown"].any()
    handle, product = (cast(list[str], texts[name]).index(op_name) for op_name in ("matrix_handle", "call"))
    assert int(arrays[f"{name}.flops"][product]) == 2 * 6 * 4 * 5
    assert int(arrays[f"{name}.persistent_bytes"][handle]) == 4 * 5 * 4


def test_an_input_that_nobody_takes_is_no_unknown(answers: tuple[dict[str, Any], dict[str, Any]]) -> None:
    arrays, _ = answers
    assert not arrays["an input that nobody takes.unknown"].any()


def test_the_product_is_costed_then(answers: tuple[dict[str, Any], dict[str, Any]]) -> None:
    arrays, texts = answers
    name = "a product that is reshaped"
    row = cast(list[str], texts[name]).index("product")
    assert int(arrays[f"{name}.flops"][row]) == 2 * 6 * 4 * 5


@pytest.mark.parametrize("name", ["nobody tells", "reshaped to the rest"])
def test_what_leaves_a_choice_is_reported_as_lost(name: str, answers: tuple[dict[str, Any], dict[str, Any]]) -> None:
    arrays, texts = answers
    reads = [index for index, op_name in enumerate(cast(list[str], texts[name])) if op_name == "scale"]
    assert np.all(arrays[f"{name}.unknown"][reads] == Unknown.LOST_SHAPE)
    [note] = texts[f"{name}.said"]["notes"]
    assert note.startswith("The file lacks the shape of a variable")
