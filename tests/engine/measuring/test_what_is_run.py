"""What a profile runs of a graph, and the line that each graph gets that cannot be run or must not be."""

from typing import Any, cast

import pytest

from engine.child.parent import run_in_child
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions
from tests.engine.measuring.conftest import LIMITS
from tests.engine.measuring.graphs_to_run import (
    FLOAT,
    INT,
    RESOURCE,
    TEXT,
    node,
    number,
    placeholder,
    relu,
    shape,
    variable,
    words,
)

RUNNING = "tests.engine.measuring.running"
NUMBERS = "; allowed: ops that work on numbers in memory"
SHAPES = "; allowed: a batch size, or its shape among the input shapes"
SAVES, INITIALISES = "it saves or restores variables", "it sets variables to their start"
READ_FILE = words("path", "/etc/hostname") + node("content", "ReadFile", "path")
MATRIX = variable("weights", 3, 3)
ASSIGN = node("set", "Assign", "weights", "start", T=FLOAT)
START = node("wide", "Const", dtype=INT, value="tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 3 }")
START += node("start", "RandomStandardNormal", "wide", dtype=FLOAT, T=INT)
PRODUCT = placeholder("x", 2, 3) + node("y", "MatMul", "x", "weights", T=FLOAT)
SAVE = words("file", "/tmp/never") + node(
    "names", "Const", dtype=TEXT, value='tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: "w" }'
)
SAVE += node("save", "SaveV2", "file", "names", "names", "weights", dtypes="list { type: DT_FLOAT }")
QUEUE = node("queue", "FIFOQueueV2", component_types="list { type: DT_FLOAT }")
QUEUE += node("next", "QueueDequeueV2", "queue", component_types="list { type: DT_FLOAT }")
FUNCTION = """library { function { signature { name: "read" output_arg { name: "out" type: DT_STRING } }
  node_def { name: "inner" op: "ReadFile" input: "path:output:0" } ret { key: "out" value: "inner:contents:0" } } }
"""
CALL = node(
    "call",
    "StatefulPartitionedCall",
    Tin="list { }",
    Tout="list { type: DT_STRING }",
    f='func { name: "read" }',
    _XlaMustCompile="b: true",
)
"""one that stays a call: TensorFlow does not inline what is compiled whole"""

RUN: dict[str, tuple[str, ReadingOptions, list[str], list[list[str]]]] = {
    "a batch size": (
        placeholder("x", -1, 4) + relu("y", "x"),
        ReadingOptions(batch_size=3),
        ["y"],
        [],
    ),
    "a shape": (
        node("x", "Placeholder", dtype=FLOAT) + relu("y", "x"),
        ReadingOptions(input_shapes={"x": (2, 2)}),
        ["y"],
        [],
    ),
    "a variable that a function captures": (
        placeholder("w", dtype=RESOURCE)
        + node("passed", "Identity", "w", T=RESOURCE)
        + node("read", "ReadVariableOp", "passed", dtype="type: DT_HALF")
        + node("y", "Relu", "read", T="type: DT_HALF"),
        ReadingOptions(input_shapes={"w": (2, 3)}),
        ["y"],
        [],
    ),
    "a function that nothing calls": (FUNCTION + number("a") + relu("y", "a"), ReadingOptions(), ["y"], []),
    "initialisers are left out": (
        MATRIX + START + ASSIGN + node("init", "NoOp", "^set") + PRODUCT,
        ReadingOptions(),
        ["y"],
        [],
    ),
    "initialisers alone": (
        MATRIX + START + ASSIGN + node("init", "NoOp", "^set"),
        ReadingOptions(),
        ["init"],
        [],
    ),
    "savers are left out": (
        MATRIX + PRODUCT + SAVE,
        ReadingOptions(),
        ["y"],
        [],
    ),
    "an update of a variable is a step": (
        MATRIX + node("step", "AssignAdd", "weights", "weights", T=FLOAT),
        ReadingOptions(),
        ["step"],
        [],
    ),
    "an input that nothing takes": (
        placeholder("unused", -1) + number("a") + relu("y", "a"),
        ReadingOptions(),
        ["y"],
        [["unused", "nothing takes it"]],
    ),
    "a colocation with what is left out": (
        MATRIX
        + START
        + ASSIGN
        + PRODUCT.replace('op: "MatMul"', 'op: "MatMul" device: "/job:far/task:3/device:GPU:9"'),
        ReadingOptions(),
        ["y"],
        [],
    ),
}

REFUSED: dict[str, tuple[str, str]] = {
    "a file": (READ_FILE, f"content: its type ReadFile is not run: it touches files{NUMBERS}"),
    "a file written": (
        words("path", "/tmp/never") + node("done", "WriteFile", "path", "path"),
        f"done: its type WriteFile is not run: it touches files{NUMBERS}",
    ),
    "a file behind a harmless op": (
        READ_FILE + node("y", "Identity", "content", T=TEXT),
        f"content: its type ReadFile is not run: it touches files{NUMBERS}",
    ),
    "a file as memory": (
        node("x", "ImmutableConst", dtype=FLOAT, shape=shape(1), memory_region_name='s: "/etc/hostname"'),
        f"x: its type ImmutableConst is not run: it touches files{NUMBERS}",
    ),
    "a file in a function": (
        FUNCTION + CALL,
        f"inner of the function read: its type ReadFile is not run: it touches files{NUMBERS}",
    ),
    "Python": (
        node("x", "PyFunc", token='s: "f"', Tin="list { }", Tout="list { type: DT_FLOAT }"),
        f"x: its type PyFunc is not run: it calls Python{NUMBERS}",
    ),
    "a queue": (QUEUE, f"queue: its type FIFOQueueV2 is not run: it waits for a queue{NUMBERS}"),
    "another process": (
        node("x", "Recv", tensor_type=FLOAT, tensor_name='s: "a"', send_device='s: "b"', recv_device='s: "c"'),
        f"x: its type Recv is not run: it reaches other processes{NUMBERS}",
    ),
    "an address": (
        number("a") + node("y", "DebugIdentity", "a", T=FLOAT, debug_urls='list { s: "file:///tmp/never" }'),
        f"y: its type DebugIdentity is not run: it is TensorFlow's own{NUMBERS}",
    ),
    "a text of a picture": (
        words("a", "x") + node("y", "DecodeJpeg", "a"),
        f"y: its type DecodeJpeg is not run: it works on texts{NUMBERS}",
    ),
    "unknown type": (node("x", "Mystery"), f"x: its type Mystery is not run: it is not known to TensorFlow{NUMBERS}"),
    "unknown length": (
        placeholder("x", -1, 4) + relu("y", "x"),
        f"x: the shape of this input is not known: [?, 4]{SHAPES}",
    ),
    "unknown rank": (
        node("x", "Placeholder", dtype=FLOAT) + relu("y", "x"),
        f"x: the shape of this input is not known: any shape{SHAPES}",
    ),
    "an input of texts": (
        placeholder("x", 2, dtype=TEXT) + node("y", "Identity", "x", T=TEXT),
        "x: this input is of type string, for which there are no random values; allowed: inputs of numbers",
    ),
    "an input that is a handle": (
        placeholder("x", dtype=RESOURCE) + node("y", "ReadVariableOp", "x", dtype=FLOAT),
        "x: this input is the handle of a variable, whose shape is not known; allowed: the variable's shape among the "
        "input shapes",
    ),
    "an endless input": (
        placeholder("x", 2**31, 2**31) + relu("y", "x"),
        f"x: this input has {2**62} elements; allowed: at most {2**40}",
    ),
    "a variable without a shape": (
        variable("v", -1) + relu("y", "v"),
        "v: this variable is of type float32 and shape (None,); allowed: variables of numbers with known shapes",
    ),
    "shapes that do not fit": (
        placeholder("x", 2, 3) + placeholder("z", 2, 3) + node("y", "MatMul", "x", "z", T=FLOAT),
        "y: TensorFlow cannot run the graph: Dimensions must be equal, but are 3 and 2",
    ),
}


@pytest.fixture(scope="module")
def reported() -> dict[str, Any]:
    """What each graph of both tables was told."""
    graphs: dict[str, Json] = {name: [text, ReadingOptions().to_json()] for name, (text, _) in REFUSED.items()}
    graphs |= {name: [text, options.to_json()] for name, (text, options, _, _) in RUN.items()}
    _, texts = run_in_child(f"{RUNNING}:profiles_in_child", {"graphs": graphs}, LIMITS, task="profiling", is_warm=True)
    return cast(dict[str, Any], texts)


@pytest.mark.parametrize("name", RUN)
def test_what_is_run(reported: dict[str, Any], name: str) -> None:
    _, _, targets, left_out = RUN[name]
    assert isinstance(reported[name], dict), reported[name]
    assert reported[name]["targets"] == targets
    assert reported[name]["left_out"] == left_out
    assert reported[name]["measured_ops"] > 0


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_run_is_one_line(reported: dict[str, Any], name: str) -> None:
    assert reported[name] == REFUSED[name][1]


def test_no_type_that_reaches_outside_is_run() -> None:
    """Each for a way out that the rules must close: texts, attributes, state, functions, handles of others."""
    closed: list[Json] = [
        *("ReadFile", "WriteFile", "MatchingFiles", "SaveV2", "RestoreV2", "MergeV2Checkpoints", "ImmutableConst"),
        *("PyFunc", "PyFuncStateless", "EagerPyFunc", "DebugIdentity", "DebugIdentityV3", "CopyHost", "DumpTensor"),
        *("Print", "PrintV2", "TFRecordReaderV2", "TextLineDataset", "TFRecordDatasetV2", "SnapshotDataset"),
        *("IteratorGetNext", "LookupTableFindV2", "InitializeTableFromTextFileV2", "QueueDequeueV2", "FIFOQueueV2"),
        *("RpcCall", "RpcServerStart", "_Send", "_Recv", "Send", "Recv", "CollectiveReduceV2", "NcclAllReduce"),
        *("XlaLaunch", "XlaCustomCall", "TPUReplicate", "SymbolicGradient", "RemoteCall", "MapDefun", "DecodeJpeg"),
        *("SummaryWriter", "WriteSummary", "CreateSummaryFileWriter", "GetSessionHandleV2", "MlirPassthroughOp"),
        *("TemporaryFile", "BatchFunction", "LoadAndRemapMatrix", "GenerateVocabRemapping", "SleepDataset"),
    ]
    _, reasons = run_in_child(f"{RUNNING}:reasons_in_child", {"types": closed}, LIMITS, task="asking", is_warm=True)
    assert [op_type for op_type, reason in reasons.items() if not reason] == []
