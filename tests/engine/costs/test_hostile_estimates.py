"""Loops and shapes that no honest file has: each is costed or listed as unknown, and none ends a file or takes long."""

from dataclasses import dataclass
from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child
from engine.costs.costs import STEP_BUFFER
from engine.costs.unknown import Unknown
from engine.graphs.reading_options import MOST_TRIPS
from tests.engine.costs.function_texts import call
from tests.engine.costs.graph_texts import (
    BOOL,
    FLOAT,
    INT32,
    INT64,
    VARIANT,
    constant,
    loop,
    op,
    placeholder,
    shaped,
    typed,
    variable_of_loop,
)

LIMITS = Limits(memory_bytes=4 * 1024**3, seconds=120.0)
DATA = placeholder("data", 4, 8)
KNOWN = Unknown.NOT_SAID


@dataclass(frozen=True, slots=True)
class Bad:
    """A file, and what is to be said of it."""

    text: str
    op: str = ""
    unknown: Unknown = KNOWN
    """of `op`"""
    loops: tuple[tuple[int, str], ...] = ()
    """trips and source of each loop"""
    trips: int = 1
    """of `op`"""
    refused: str = ""
    """what TensorFlow says itself when it sees the file; empty where it takes it"""


def filled(*lengths: int) -> str:
    """A Fill of so many ones."""
    return (
        constant("lengths", list(lengths), INT64)
        + constant("one", 1.0, FLOAT)
        + op("filled", "Fill", "lengths", "one", T=typed(FLOAT), index_type=typed(INT64))
        + op("relu", "Relu", "filled", T=typed(FLOAT))
    )


def a_loop(test: str = "Less", **settings: Any) -> str:
    return DATA + loop("loop", test, **settings)


def nested(levels: int, trips: int) -> str:
    """Loops in each other's bodies; `relu` is in the innermost."""
    text, inner = DATA, "data"
    for level in range(levels):
        frame = f"loop{level}"
        text += constant(f"{frame}_start", 0) + constant(f"{frame}_bound", trips) + constant(f"{frame}_step", 1)
        start, step, bound = f"{frame}_start", f"{frame}_step", f"{frame}_bound"
        for above in range(level):
            for name in (start, step, bound):
                entered = f"{name}_in_{above}"
                text += op(
                    entered,
                    "Enter",
                    name if above == 0 else f"{name}_in_{above - 1}",
                    T=typed(INT32),
                    is_constant="b: true",
                    frame_name=f's: "loop{above}"',
                )
        suffix = f"_in_{level - 1}" if level else ""
        start, step, bound = start + suffix, step + suffix, bound + suffix
        text += op(
            f"{frame}_bound_here", "Enter", bound, T=typed(INT32), is_constant="b: true", frame_name=f's: "{frame}"'
        )
        text += op(
            f"{frame}_step_here", "Enter", step, T=typed(INT32), is_constant="b: true", frame_name=f's: "{frame}"'
        )
        text += variable_of_loop(f"{frame}_i", frame, start, f"{frame}_more", INT32)
        text += op(f"{frame}_test", "Less", f"{frame}_i_merge", f"{frame}_bound_here", T=typed(INT32))
        text += op(f"{frame}_holds", "LoopCond", f"{frame}_test")
        text += op(f"{frame}_more", "AddV2", f"{frame}_i", f"{frame}_step_here", T=typed(INT32))
        after = f"loop{level + 1}_data_out" if level + 1 < levels else "relu"
        text += variable_of_loop(f"{frame}_data", frame, inner, after, FLOAT)
        inner = f"{frame}_data"
    return text + op("relu", "Relu", inner, T=typed(FLOAT))


def doubled(times: int) -> str:
    """A shape that is joined with itself again and again."""
    text = constant("part0", [1, 1]) + constant("axis", 0)
    for index in range(times):
        text += op(
            f"part{index + 1}",
            "ConcatV2",
            f"part{index}",
            f"part{index}",
            "axis",
            T=typed(INT32),
            N="i: 2",
            Tidx=typed(INT32),
        )
    return text + constant("one", 1.0, FLOAT) + op("relu", "Fill", f"part{times}", "one", T=typed(FLOAT))


def tiled(multiples: int, times: int = 1) -> str:
    """A number that is tiled, and tiled again."""
    text = constant("tile0", [1], INT64) + constant("multiples", [multiples], INT64)
    for index in range(times):
        text += op(f"tile{index + 1}", "Tile", f"tile{index}", "multiples", T=typed(INT64), Tmultiples=typed(INT64))
    return text + op("relu", "Relu", f"tile{times}", T=typed(INT64))


def a_list(count: int, *lengths: int) -> str:
    return (
        constant("shape", list(lengths))
        + constant("count", count)
        + op("relu", "TensorListReserve", "shape", "count", element_dtype=typed(FLOAT), shape_type=typed(INT32))
    )


def own_condition(text: str, holds: str) -> str:
    """A loop with a condition of its own."""
    return (
        DATA
        + variable_of_loop("data_of", "loop", "data", "relu", FLOAT)
        + op("relu", "Relu", "data_of", T=typed(FLOAT))
        + text
        + op("loop_holds", "LoopCond", holds)
    )


GROWING_BOUND = (
    DATA
    + constant("zero", 0)
    + constant("ten", 10)
    + constant("one", 1)
    + op("one_here", "Enter", "one", T=typed(INT32), is_constant="b: true", frame_name='s: "loop"')
    + variable_of_loop("i", "loop", "zero", "i_more", INT32)
    + variable_of_loop("n", "loop", "ten", "n_more", INT32)
    + op("test", "Less", "i_merge", "n_merge", T=typed(INT32))
    + op("loop_holds", "LoopCond", "test")
    + op("i_more", "AddV2", "i", "one_here", T=typed(INT32))
    + op("n_more", "AddV2", "n", "one_here", T=typed(INT32))
    + variable_of_loop("data_of", "loop", "data", "relu", FLOAT)
    + op("relu", "Relu", "data_of", T=typed(FLOAT))
)
SQUARED_BOUND = GROWING_BOUND.replace(
    '"n_more" op: "AddV2" input: "n" input: "one_here"', '"n_more" op: "Mul" input: "n" input: "n"'
)
CONSTANT_TRUE = op(
    "true",
    "Const",
    "^data_of_merge",
    dtype=typed(BOOL),
    value="tensor { dtype: DT_BOOL tensor_shape { } bool_val: true }",
)
LONG_CONDITION = constant("true", "true", BOOL) + "".join(
    op(f"and{index}", "LogicalAnd", f"and{index - 1}" if index else "true", "true") for index in range(5000)
)
SWITCHES = (
    DATA
    + placeholder("flag", dtype=BOOL)
    + "".join(
        op(f"switch{index}", "Switch", f"switch{index - 1}:1" if index else "data", f"flag{index}", T=typed(FLOAT))
        + placeholder(f"flag{index}", dtype=BOOL)
        for index in range(2000)
    )
    + op("relu", "Relu", "switch1999:1", T=typed(FLOAT))
)
PUSHED = (
    constant("shape", [1024, 1024])
    + op("count", "Const", dtype=typed(INT32), value="tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 }")
    + op("list", "EmptyTensorList", "shape", "count", element_dtype=typed(FLOAT), shape_type=typed(INT32))
    + DATA
    + loop("loop", "Less", bound=10**9)
    + variable_of_loop("list_of", "loop", "list", "relu", VARIANT)
    + placeholder("element", 1024, 1024)
    + op("element_here", "Enter", "element", T=typed(FLOAT), is_constant="b: true", frame_name='s: "loop"')
    + op("relu", "TensorListPushBack", "list_of", "element_here", element_dtype=typed(FLOAT))
)
HUGE_FILTER = op("huge", "Placeholder", dtype=typed(BOOL), shape=shaped(2**31, 2**31)) + op(
    "relu", "Where", "huge", T=typed(BOOL)
)

LOOPS_IN_LOOPS = DATA + "".join(
    op(f"enter{level}", "Enter", f"enter{level - 1}" if level else "data", T=typed(FLOAT), frame_name=f's: "f{level}"')
    for level in range(1_000)
)
DOUBLED_COUNTER = (
    GROWING_BOUND.replace('"test" op: "Less" input: "i_merge"', '"test" op: "Less" input: "sum59"')
    + op("sum0", "AddV2", "i_merge", "i_merge", T=typed(INT32))
    + "".join(
        op(f"sum{index}", "AddV2", f"sum{index - 1}", f"sum{index - 1}", T=typed(INT32)) for index in range(1, 60)
    )
)
"""2**60 ways from the condition to the counter"""
MANY_VARIABLES = (
    DATA
    + loop("loop", "Less")
    + "".join(variable_of_loop(f"data{index}", "loop", "data", f"data{index}", FLOAT) for index in range(300))
)
SIDE_BY_SIDE = "".join(
    placeholder(f"flag{index}", dtype=BOOL)
    + op(f"switch{index}", "Switch", "data", f"flag{index}", T=typed(FLOAT))
    + op(f"sum{index}", "AddV2", f"switch{index}", f"sum{index - 1}" if index else "data", T=typed(FLOAT))
    for index in range(300)
)
"""conditions that never end, one more for each op"""

BAD: dict[str, Bad] = {
    "a claimed trip count of 10**18": Bad(a_loop(bound=10**18, dtype=INT64), "loop_relu", loops=((1, "assumed"),)),
    "just too many trips": Bad(a_loop(bound=MOST_TRIPS + 1, dtype=INT64), "loop_relu", loops=((1, "assumed"),)),
    "as many trips as may be": Bad(
        a_loop(bound=MOST_TRIPS), "loop_relu", KNOWN, ((MOST_TRIPS, "constant"),), MOST_TRIPS
    ),
    "a bound that grows with the counter": Bad(GROWING_BOUND, "relu", loops=((1, "assumed"),)),
    "a bound that is squared": Bad(SQUARED_BOUND, "relu", loops=((1, "assumed"),)),
    "a call of a function that is not there": Bad(DATA + call("call", "gone", "data"), "call", Unknown.FUNCTION),
    "a step of 0": Bad(a_loop(step=0), "loop_relu", loops=((1, "assumed"),)),
    "a step back": Bad(a_loop(step=-1), "loop_relu", loops=((1, "assumed"),)),
    "a bound below the start": Bad(a_loop(bound=-5), "loop_relu", KNOWN, ((0, "constant"),), 0),
    "never equal": Bad(a_loop("NotEqual", bound=5, step=3), "loop_relu", loops=((1, "assumed"),)),
    "a bound that is no number": Bad(
        a_loop(start=0.0, bound="nan", step=1.0, dtype=FLOAT), "loop_relu", loops=((1, "assumed"),)
    ),
    "an infinite bound": Bad(
        a_loop(start=0.0, bound="inf", step=1.0, dtype=FLOAT), "loop_relu", loops=((1, "assumed"),)
    ),
    "the least start and the largest bound": Bad(
        a_loop(start=-(2**63), bound=2**63 - 1, dtype=INT64), "loop_relu", loops=((1, "assumed"),)
    ),
    "loops in loops of 10**5 trips each": Bad(nested(4, 10**5), "relu", KNOWN, ((10**5, "constant"),) * 4, MOST_TRIPS),
    "1,000 loops in each other": Bad(LOOPS_IN_LOOPS, "enter999", loops=((1, "assumed"),) * 64),
    "a counter in 2**60 ways": Bad(DOUBLED_COUNTER, "relu", loops=((1, "constant"),)),
    "a loop of 300 variables": Bad(MANY_VARIABLES, "loop_relu", loops=((10, "constant"),), trips=10),
    "300 conditions side by side": Bad(DATA + SIDE_BY_SIDE, "switch299"),
    "a condition that always holds": Bad(own_condition(CONSTANT_TRUE, "true"), "relu", loops=((1, "assumed"),)),
    "a condition of 5,000 parts": Bad(own_condition(LONG_CONDITION, "and4999"), "relu", loops=((1, "assumed"),)),
    "2,000 conditions in each other": Bad(SWITCHES, "relu"),
    "a length of 2**63 - 1": Bad(filled(2**63 - 1), "relu", Unknown.INPUT_SHAPE),
    "lengths whose product overflows": Bad(filled(2**31, 2**31, 2**31), "relu", Unknown.INPUT_SHAPE),
    "more bytes than are counted": Bad(filled(2**40, 2**20), "filled", Unknown.OVERFLOW),
    "a tile bomb": Bad(tiled(2**40, 1), "tile1", KNOWN),
    "a tile bomb in stages": Bad(
        tiled(1000, 30), refused="tile7: TensorFlow refuses the graph: Negative dimension size caused by overflow"
    ),
    "a shape of 2**41 lengths": Bad(
        doubled(40), refused="relu: TensorFlow refuses the graph: Cannot create a tensor with 2199023255552 dimensions"
    ),
    "a list of 10**9 large tensors": Bad(a_list(10**9, 2**20, 2**10), "relu", Unknown.OVERFLOW),
    "10**9 tensors pushed onto a list": Bad(PUSHED, "relu", Unknown.INPUT_SHAPE, ((10**9, "constant"),), 10**9),
    "a filter over 2**62 elements": Bad(HUGE_FILTER, "relu", Unknown.INPUT_SHAPE),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What one child says of all of them."""
    folder = tmp_path_factory.mktemp("hostile")
    jobs: dict[str, Any] = {}
    for index, (name, bad) in enumerate(BAD.items()):
        path = folder / f"{index}.pbtxt"
        path.write_text(bad.text)
        jobs[name] = {"path": str(path)}
    function = "tests.engine.costs.estimating:estimate_all_in_child"
    arrays, texts = run_in_child(function, jobs, LIMITS, task="estimating", is_warm=True)
    return dict(arrays), dict(texts)


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_file_is_costed_as_far_as_it_goes(name: str, answers: tuple[dict[str, Any], dict[str, Any]]) -> None:
    arrays, texts = answers
    bad = BAD[name]
    if bad.refused:
        assert str(texts[name]).startswith(f"CostError: {bad.refused}")
        return
    names = cast(list[str], texts[name])
    assert isinstance(names, list), names
    row = names.index(bad.op)
    assert Unknown(int(arrays[f"{name}.unknown"][row])) == bad.unknown
    assert int(arrays[f"{name}.trips"][row]) == bad.trips
    found = texts[f"{name}.said"]
    assert [(each["trips"], each["source"]) for each in found["loops"]] == list(bad.loops)


def test_no_number_is_negative(answers: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for key, array in answers[0].items():
        assert (array >= (STEP_BUFFER if key.endswith("buffer_of_output") else 0)).all(), key
