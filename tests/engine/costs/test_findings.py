"""What is found beside the costs: loops' trips, conditions, sizes that depend on data, what a batch size helps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child
from engine.costs.costs import CostSource
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from tests.engine.costs.function_texts import relu, with_library
from tests.engine.costs.graph_texts import (
    BOOL,
    FLOAT,
    INT32,
    INT64,
    constant,
    loop,
    op,
    placeholder,
    shaped,
    typed,
)

LIMITS = Limits(memory_bytes=4 * 1024**3, seconds=120.0)
DATA = placeholder("data", 4, 8)
FED_BOUND = placeholder("bound", dtype=INT32)


@dataclass(frozen=True, slots=True)
class Found:
    """A file, how it is read, and what is to be found."""

    text: str
    options: ReadingOptions = field(default_factory=ReadingOptions)
    loops: tuple[tuple[str, int, str], ...] = ()
    """name, trips, source"""
    branches: tuple[tuple[str, str, int, int], ...] = ()
    """name, side that is taken, ops of all sides, ops that are not taken"""
    sizes: tuple[tuple[str, int | None, str], ...] = ()
    """name, length, source"""
    trips: Mapping[str, int] = field(default_factory=dict)
    """of some ops"""
    bytes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """of the outputs of some ops"""
    sources: Mapping[str, CostSource] = field(default_factory=dict)
    """of some ops"""
    batch_helps: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    """how each begins"""


def fed_loop(test: str = "Less") -> str:
    """`while i TEST bound`, of a bound that is fed."""
    text = DATA + loop("loop", test)
    return text.replace(constant("loop_bound", 10), placeholder("loop_bound", dtype=INT32))


def bounded_by_length() -> str:
    """As many trips as the data has rows."""
    rows = (
        op("shape", "Shape", "data", T=typed(FLOAT), out_type=typed(INT32))
        + constant("first", 0)
        + constant("axis", 0)
        + op(
            "loop_bound",
            "GatherV2",
            "shape",
            "first",
            "axis",
            Tparams=typed(INT32),
            Tindices=typed(INT32),
            Taxis=typed(INT32),
        )
    )
    return DATA + loop("loop", "Less").replace(constant("loop_bound", 10), rows)


def data_beside_bound() -> str:
    """A loop that a fed flag may end before its ten trips."""
    flag = placeholder("flag", dtype=BOOL) + op(
        "flag_enter", "Enter", "flag", T=typed(BOOL), is_constant="b: true", frame_name='s: "loop"'
    )
    both = op("both", "LogicalAnd", "loop_test", "flag_enter")
    text = loop("loop", "Less").replace('op: "LoopCond" input: "loop_test"', 'op: "LoopCond" input: "both"')
    return DATA + flag + both + text


def switched(name: str, source: str, flag: str) -> str:
    return op(name, "Switch", source, flag, T=typed(FLOAT))


def merged(name: str, *ends: str) -> str:
    return op(name, "Merge", *ends, T=typed(FLOAT), N=f"i: {len(ends)}")


def one_condition(flag: str) -> str:
    """`then` has two ops, `else` one."""
    return (
        DATA
        + flag
        + switched("switch", "data", "flag")
        + relu("then_0", "switch:1")
        + relu("then_1", "then_0")
        + relu("else_0", "switch")
        + merged("merge", "else_0", "then_1")
        + relu("behind", "merge")
    )


INNER = (
    DATA
    + placeholder("flag", dtype=BOOL)
    + placeholder("inner", dtype=BOOL)
    + switched("switch", "data", "flag")
    + switched("inner_switch", "switch:1", "inner")
    + relu("inner_then", "inner_switch:1")
    + relu("inner_else_0", "inner_switch")
    + relu("inner_else_1", "inner_else_0")
    + merged("inner_merge", "inner_else_1", "inner_then")
    + relu("then_0", "inner_merge")
    + relu("else_0", "switch")
    + merged("merge", "else_0", "then_0")
    + relu("behind", "merge")
)


def cases(index: str) -> str:
    """Three cases of one, two and three ops."""
    text = DATA + index + op("switch", "_SwitchN", "data", "index", T=typed(FLOAT), num_outs="i: 3")
    ends = []
    for side in range(3):
        for step in range(side + 1):
            text += relu(f"case{side}_{step}", f"case{side}_{step - 1}" if step else f"switch:{side}")
        ends.append(f"case{side}_{side}")
    return text + merged("merge", *ends) + relu("behind", "merge")


WHERE = (
    placeholder("mask", 5, 3, dtype=BOOL)
    + op("where", "Where", "mask", T=typed(BOOL))
    + op("cast", "Cast", "where", SrcT=typed(INT64), DstT=typed(FLOAT))
)
PARTITION = (
    DATA
    + placeholder("groups", 4, dtype=INT32)
    + op("parts", "DynamicPartition", "data", "groups", T=typed(FLOAT), num_partitions="i: 2")
)
SLICED = (
    DATA
    + placeholder("end", 2, dtype=INT32)
    + constant("begin", [0, 0])
    + constant("strides", [1, 1])
    + op(
        "slice",
        "StridedSlice",
        "data",
        "begin",
        "end",
        "strides",
        T=typed(FLOAT),
        Index=typed(INT32),
        begin_mask="i: 2",
        end_mask="i: 2",
    )
    + relu("relu", "slice")
)
OPEN_BATCH = placeholder("batch", -1, 8) + constant("k", 3) + op("top", "TopKV2", "batch", "k", T=typed(FLOAT))
SUPPRESSED = (
    placeholder("boxes", 50, 4)
    + placeholder("scores", 50)
    + constant("most", 7)
    + constant("overlap", 0.5, FLOAT)
    + op("kept", "NonMaxSuppressionV3", "boxes", "scores", "most", "overlap", "overlap", T=typed(FLOAT))
)
UNIQUE = (
    placeholder("numbers", 9, dtype=INT32)
    + op("unique", "Unique", "numbers", T=typed(INT32), out_idx=typed(INT32))
    + placeholder("rows", 6, 5)
    + constant("axis", [0])
    + op("different", "UniqueV2", "rows", "axis", T=typed(FLOAT), Taxis=typed(INT32), out_idx=typed(INT32))
)
DECODED = (
    placeholder("lengths", 2, dtype=INT32)
    + constant("one", 1.0, FLOAT)
    + op("filled", "Fill", "lengths", "one", T=typed(FLOAT), index_type=typed(INT32))
)
READS = (
    op("handle", "Placeholder", dtype=typed("DT_RESOURCE"), shape=shaped())
    + op("read", "ReadVariableOp", "handle", dtype=typed(FLOAT))
    + relu("relu", "read")
)
DECIDED = (
    DATA
    + WHERE
    + op("rows", "Shape", "where", T=typed(INT64), out_type=typed(INT32))
    + constant("first", 0)
    + constant("axis", 0)
    + loop("loop", "Less").replace(
        constant("loop_bound", 10),
        op(
            "loop_bound",
            "GatherV2",
            "rows",
            "first",
            "axis",
            Tparams=typed(INT32),
            Tindices=typed(INT32),
            Taxis=typed(INT32),
        ),
    )
)
BODY = {"loop_relu": 1, "loop_data_enter": 1, "loop_data_out": 1}


def body(trips: int) -> dict[str, int]:
    """Trips of an op of the body; what comes in and out does so once."""
    return {**BODY, "loop_relu": trips}


FOUND: Mapping[str, Found] = {
    "a bound in the file": Found(DATA + loop("loop", "Less"), loops=(("loop", 10, "constant"),), trips=body(10)),
    "no trips": Found(
        DATA + loop("loop", "Less", bound=0),
        loops=(("loop", 0, "constant"),),
        trips=body(0) | {"loop_data_merge": 1, "loop_data_switch": 1},
    ),
    "as many as rows": Found(bounded_by_length(), loops=(("loop", 4, "length"),), trips=body(4)),
    "data may end it": Found(data_beside_bound(), loops=(("loop", 10, "at most"),), trips=body(10)),
    "data may end it, and a person says when": Found(
        data_beside_bound(), ReadingOptions(trips={"loop": 3}), (("loop", 3, "given"),), trips=body(3)
    ),
    "rows that depend on data": Found(
        DECIDED, loops=(("loop", 15, "at most"),), sizes=(("where", 15, "bound"),), trips=body(15)
    ),
    "a bound that is fed": Found(
        fed_loop(),
        loops=(("loop", 1, "assumed"),),
        trips=body(1),
        notes=("The file leaves open how often a step runs the body of a loop",),
    ),
    "a bound that is fed, and a person says": Found(
        fed_loop(), ReadingOptions(trips={"loop": 6}), (("loop", 6, "given"),), trips=body(6)
    ),
    "what the file says, said again": Found(
        DATA + loop("loop", "Less"), ReadingOptions(trips={"loop": 10}), (("loop", 10, "constant"),), trips=body(10)
    ),
    "the costlier side": Found(
        one_condition(placeholder("flag", dtype=BOOL)),
        branches=(("flag", "then", 3, 1),),
        trips={"then_1": 1, "else_0": 0, "behind": 1, "switch": 1},
    ),
    "the side that the file picks": Found(
        one_condition(constant("flag", "false", BOOL)),
        branches=(("flag", "else", 3, 2),),
        trips={"then_0": 0, "then_1": 0, "else_0": 1, "behind": 1},
    ),
    "a condition in a condition": Found(
        INNER,
        branches=(("inner", "else", 3, 1), ("flag", "then", 7, 1)),
        trips={"inner_then": 0, "inner_else_1": 1, "then_0": 1, "else_0": 0, "behind": 1},
    ),
    "the costliest case": Found(
        cases(placeholder("index", dtype=INT32)),
        branches=(("index", "case 2", 6, 3),),
        trips={"case0_0": 0, "case1_1": 0, "case2_2": 1, "behind": 1},
    ),
    "the case that the file picks": Found(
        cases(constant("index", 1)),
        branches=(("index", "case 1", 6, 4),),
        trips={"case0_0": 0, "case1_1": 1, "case2_2": 0, "behind": 1},
    ),
    "a case that there is not": Found(
        cases(constant("index", -4)), branches=(("index", "case 2", 6, 3),), trips={"case2_2": 1, "case0_0": 0}
    ),
    "a filter": Found(
        WHERE,
        sizes=(("where", 15, "bound"),),
        bytes={"where": (15 * 2 * 8,), "cast": (15 * 2 * 4,)},
        sources={"where": CostSource.BOUNDED, "cast": CostSource.BOUNDED},
    ),
    "a filter of which a person knows more": Found(
        WHERE,
        ReadingOptions(sizes={"where": 4}),
        sizes=(("where", 4, "given"),),
        bytes={"where": (4 * 2 * 8,), "cast": (4 * 2 * 4,)},
    ),
    "a partition": Found(PARTITION, sizes=(("parts", 4, "bound"),), bytes={"parts": (128, 128)}),
    "a slice": Found(
        SLICED,
        sizes=(("slice", 4, "bound"),),
        bytes={"slice": (128,)},
        sources={"slice": CostSource.BOUNDED, "relu": CostSource.BOUNDED},
    ),
    "a slice of which a person knows more": Found(
        SLICED, ReadingOptions(sizes={"slice": 2}), sizes=(("slice", 2, "given"),), bytes={"slice": (64,)}
    ),
    "boxes": Found(SUPPRESSED, sizes=(("kept", 7, "bound"),), bytes={"kept": (28,)}),
    "different numbers and rows": Found(
        UNIQUE,
        sizes=(("unique", 9, "bound"), ("different", 6, "bound")),
        bytes={"unique": (36, 36), "different": (120, 24)},
    ),
    "a length of which nobody knows": Found(
        DECODED, sizes=(("filled", None, "unknown"),), sources={"filled": CostSource.UNKNOWN}
    ),
    "a length of which a person knows": Found(
        DECODED, ReadingOptions(sizes={"filled": 5}), sizes=(("filled", 5, "given"),), bytes={"filled": (100,)}
    ),
    "an open batch is no size that depends on data": Found(
        OPEN_BATCH, bytes={"top": (12, 12)}, sources={"top": CostSource.UNKNOWN}, batch_helps=(2, 2)
    ),
    "a batch size is given": Found(
        OPEN_BATCH, ReadingOptions(batch_size=2), bytes={"top": (24, 24)}, sources={"top": CostSource.ESTIMATED}
    ),
    "a batch size does not help": Found(DECODED, sizes=(("filled", None, "unknown"),)),
    "shapes that are lost": Found(
        READS, notes=("The file lacks the shape of a variable",), sources={"read": CostSource.UNKNOWN}
    ),
}
REFUSED: Mapping[str, tuple[str, ReadingOptions, str]] = {
    "trips that contradict the file": (
        DATA + loop("loop", "Less"),
        ReadingOptions(trips={"loop": 3}),
        "SettingsError: loop: 3 trips contradict the file; allowed: 10",
    ),
    "no such loop": (
        DATA + loop("loop", "Less"),
        ReadingOptions(trips={"other": 3}),
        "SettingsError: other: the graph has no such loop; allowed: loop",
    ),
    "no loop at all": (
        DATA,
        ReadingOptions(trips={"other": 3}),
        "SettingsError: other: the graph has no such loop; allowed: none; the graph has none",
    ),
    "a size that does not depend on data": (
        WHERE,
        ReadingOptions(sizes={"cast": 3}),
        "SettingsError: cast: the graph has no op of this name whose length depends on data; allowed: where",
    ),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    """What one child says of all of them."""
    folder = tmp_path_factory.mktemp("found")
    jobs: dict[str, Any] = {}
    read = {name: (each.text, each.options) for name, each in FOUND.items()}
    read |= {name: (text, options) for name, (text, options, _) in REFUSED.items()}
    for index, (name, (text, options)) in enumerate(read.items()):
        path = folder / f"{index}.pbtxt"
        path.write_text(with_library(text))
        jobs[name] = {"path": str(path), "options": options.to_json()}
    function = "tests.engine.costs.estimating:estimate_all_in_child"
    arrays, texts = run_in_child(function, jobs, LIMITS, task="estimating", is_warm=True)
    return dict(arrays), dict(texts)


@pytest.mark.parametrize("name", FOUND)
def test_what_is_found(name: str, answers: tuple[dict[str, Any], dict[str, Any]]) -> None:
    arrays, texts = answers
    expected = FOUND[name]
    names = cast(list[str], texts[name])
    assert isinstance(names, list), names
    said = texts[f"{name}.said"]
    assert [(each["name"], each["trips"], each["source"]) for each in said["loops"]] == list(expected.loops)
    assert [(each["name"], each["taken"], each["ops"], each["ops_not_taken"]) for each in said["branches"]] == list(
        expected.branches
    )
    assert [(each["name"], each["length"], each["source"]) for each in said["sizes"]] == list(expected.sizes)
    assert tuple(said["batch_helps"]) == expected.batch_helps
    own = {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}
    found = {op: int(own["trips"][names.index(op)]) for op in expected.trips}
    assert found == dict(expected.trips)
    for each, sizes in expected.bytes.items():
        start, end = own["output_offset"][names.index(each) : names.index(each) + 2]
        assert tuple(own["output_bytes"][start:end].tolist()) == sizes
    assert {op: CostSource(int(own["source"][names.index(op)])) for op in expected.sources} == dict(expected.sources)
    notes = said["notes"]
    assert len(notes) == len(expected.notes)
    assert all(note.startswith(start) for note, start in zip(notes, expected.notes, strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_what_contradicts_the_file_is_refused(name: str, answers: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert answers[1][name] == REFUSED[name][2]


def test_options_that_were_stored_before_there_were_trips_are_read() -> None:
    stored = {key: value for key, value in ReadingOptions().to_json().items() if key not in ("trips", "sizes")}
    assert ReadingOptions.from_json(stored) == ReadingOptions()


def test_where_nobody_has_looked_nothing_is_said() -> None:
    origin = Origin()
    assert (origin.loops, origin.branches, origin.sizes, origin.batch_helps) == (None, None, None, ())
