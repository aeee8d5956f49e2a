"""Damaged, hostile and foreign traces beside a recorded step, each refused in one sentence."""

import gzip
import json
from pathlib import Path

import pytest

from engine.child.parent import Limits, no_progress
from engine.errors import GraphError, LimitError, PlacetoError
from engine.formats.reading import check_run_metadata, order_of, read_in_child
from engine.graphs.reading_options import ReadingOptions
from tests.engine.costs.profiler_traces import Json, costed, kernel, op, recording, span, trace

DIMS = [[4, 8], [8, 8]]
RECORDED = recording({"id": "mm", "type": "mm", "shapes": DIMS})
GOOD = trace(op("aten::mm", 1, 5, DIMS))
NODE_LINK = json.dumps({"nodes": [{"id": "a", "time_us": 1, "output_bytes": []}], "edges": []}).encode()
FILE = "a Chrome trace of torch.profiler, as export_chrome_trace writes it"
OF_TIME = "allowed: µs from 0 to 1e+12"
NO_LENGTHS = "aten::mm: its Input Dims are no lengths of tensors; allowed: lists of integers from 0 to 1000000000000000"


def changed(**values: object) -> bytes:
    """A trace of one op with other values in its event."""
    event: Json = {**op("aten::mm", 1, 5, DIMS), **values}
    return trace(event)


def raw(field: str, text: str) -> bytes:
    """A trace of one op where a field of its event has this text."""
    return changed(**{field: "HERE"}).replace(b'"HERE"', text.encode())


BAD = {
    "empty": (b"", "line 1, column 1: this is not JSON; allowed: one JSON value"),
    "cut": (GOOD[:-20], "this is not JSON; allowed: one JSON value"),
    "no JSON": (b"Name, Self CPU, CPU total\n", "line 1, column 1: this is not JSON; allowed: one JSON value"),
    "binary": (b"\n\x1f\x0a\x1d\x80\xff", "this is not UTF-8 text; allowed: JSON in UTF-8"),
    "a number": (b"3", f"there is no list of traceEvents; allowed: {FILE}"),
    "no events": (b'{"traceEvents": []}', f"there are no ops of PyTorch in it; allowed: {FILE}, of the CPU too"),
    "events that are no list": (b'{"traceEvents": {"a": 1}}', f"there is no list of traceEvents; allowed: {FILE}"),
    "events that are no objects": (b'[1, null, "a", [2]]', f"there are no ops of PyTorch in it; allowed: {FILE}"),
    "kernels alone": (trace(kernel(5, correlation=1)), "there are no ops of PyTorch in it"),
    "an op of negative time": (changed(dur=-1), f"aten::mm: its dur is no time; {OF_TIME}"),
    "an op of 10^30 µs": (raw("dur", "1e30"), f"aten::mm: its dur is no time; {OF_TIME}"),
    "an op of NaN": (raw("dur", "NaN"), f"aten::mm: its dur is no time; {OF_TIME}"),
    "an op of endless time": (raw("dur", "Infinity"), f"aten::mm: its dur is no time; {OF_TIME}"),
    "an op of no time": (changed(dur=None), f"aten::mm: its dur is no time; {OF_TIME}"),
    "a start that is a text": (changed(ts="now"), "aten::mm: its ts is no time; allowed: µs from 0 to 1e+17"),
    "a kernel of true": (trace(op("aten::mm", 1, 5), kernel(True, External_id=1)), "its dur is no time"),
    "a number of 5000 digits": (
        raw("dur", "9" * 5000),
        "a number is too long; allowed: numbers of at most 4300 digits",
    ),
    "one key twice": (b'{"traceEvents": [], "traceEvents": []}', "traceEvents: this key is there twice in one object"),
    "deep": (b"[" * 10_000 + b"]" * 10_000, "the JSON is nested 10000 levels deep; allowed: 32 levels"),
    "values without end": (b"[" + b"0," * 20_000_001 + b"0]", "allowed: 20000000 values"),
    "an op without a name": (changed(name=""), f"an op has no name of 1 to 4096 characters; allowed: {FILE}"),
    "a long name": (changed(name="a" * 5000), f"an op has no name of 1 to 4096 characters; allowed: {FILE}"),
    "shapes that are a text": (changed(args={"Input Dims": "[4, 8]"}), NO_LENGTHS),
    "a negative length": (changed(args={"Input Dims": [[-4]]}), NO_LENGTHS),
    "a length of 10^18": (changed(args={"Input Dims": [[10**18]]}), NO_LENGTHS),
    "a length of true": (changed(args={"Input Dims": [[True]]}), NO_LENGTHS),
    "shapes in shapes": (changed(args={"Input Dims": [[[[1]]]]}), NO_LENGTHS),
    "another model": (
        trace(op("aten::mm", 1, 5, [[9, 9], [9, 9]])),
        "the run is of another graph: ops that were recorded take 0 % of the time of its ops; allowed: a trace of the "
        "recorded step, with inputs of the same shapes",
    ),
    "all in no time": (changed(dur=0), f"its ops take no time; allowed: {FILE}"),
    "marks without end": (
        trace(
            op("aten::mm", 1, 5, DIMS), *(span("user_annotation", f"ProfilerStep#{at}", at, 1) for at in range(1001))
        ),
        "the trace has 1001 steps; allowed: at most 1000",
    ),
    "steps without end": (
        trace(*(op("aten::mm", 10 * at, 5, DIMS) for at in range(1001))),
        "the trace has 1001 steps; allowed: at most 1000",
    ),
    "cut gzip": (
        gzip.compress(GOOD)[:-12],
        "the file: the compressed file is cut or damaged; allowed: gzip of measured",
    ),
    "a profile of ONNX Runtime": (
        b'[{"cat": "Node", "name": "a_kernel_time", "ph": "X", "ts": 1, "dur": 1}]',
        "there are no ops of PyTorch in it",
    ),
}


def refusal(content: bytes, folder: Path, graph: bytes = RECORDED, most_bytes: int = 10**9) -> PlacetoError:
    """What a reading says to this file beside a recording."""
    (folder / "step.json").write_bytes(graph)
    (folder / "trace").write_bytes(content)
    order = order_of(folder / "step.json", ".json", ReadingOptions(), Limits(file_bytes=most_bytes))
    order |= {"run_metadata": str(folder / "trace"), "profile_kind": None}
    with pytest.raises(PlacetoError) as raised:
        read_in_child(order, folder, no_progress)
    return raised.value


@pytest.mark.parametrize("name", BAD)
def test_each_bad_trace_has_its_own_sentence(name: str, tmp_path: Path) -> None:
    content, sentence = BAD[name]
    found = refusal(content, tmp_path)
    assert sentence in str(found)
    assert "\n" not in str(found) and len(str(found)) < 400
    assert found.field == "run_metadata"


def test_a_graph_with_times_of_its_own_takes_no_trace(tmp_path: Path) -> None:
    sentence = (
        "node-link JSON that is no recording of PyTorch has its times in itself; allowed: no measured times beside it"
    )
    assert str(refusal(GOOD, tmp_path, NODE_LINK)) == sentence


def test_an_archive_that_grows_is_not_unpacked(tmp_path: Path) -> None:
    bomb = gzip.compress(b"[" + b" " * 50_000_000 + b"]")
    assert len(bomb) < 60_000
    found = refusal(bomb, tmp_path, most_bytes=1_000_000)
    assert isinstance(found, LimitError)
    assert str(found) == "the file is too large once unpacked; allowed: at most 977 KiB"


@pytest.mark.slow
@pytest.mark.parametrize("content", [GOOD, gzip.compress(GOOD)], ids=["plain", "compressed"])
def test_an_upload_is_checked_before_it_is_kept(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    check_run_metadata(path, ".json.gz", Limits())
    path.write_bytes(content[:-9])
    with pytest.raises(GraphError):
        check_run_metadata(path, ".json.gz", Limits())


def test_names_are_kept_as_they_are_and_bounded() -> None:
    """Pages escape them."""
    hostile = [op(f"aten::<script>alert({number})</script>{'x' * 900}", 10 * number, 1, DIMS) for number in range(4)]
    notes = costed(RECORDED, trace(*hostile, op("aten::mm", 90, 9, DIMS))).notes
    [line] = [note for note in notes if "not recorded" in note]
    assert "<script>alert(0)</script>x" in line
    assert len(line) < 1000


BAD_CALLS = [
    ({"input_shapes": 3}, "graph, input_shapes: 3; allowed: a list"),
    ({"input_shapes": [[4]]}, "graph, input_shapes[0]: a list; allowed: a list of shapes"),
    ({"input_shapes": [[[-1]]]}, "graph, input_shapes[0]: -1; allowed: an integer from 0 to 1000000000000000"),
    ({"input_shapes": []}, "node 0 (mm), input_shapes: 0; allowed: the number of an entry of input_shapes of graph"),
    ({"modules": []}, "graph, modules: an empty list; allowed: an object with the class of each path"),
    ({"modules": {"a": 1}}, "graph, modules, a: 1; allowed: a text"),
]


@pytest.mark.parametrize(("values", "sentence"), BAD_CALLS)
def test_what_a_recording_says_of_calls_is_checked(values: Json, sentence: str, tmp_path: Path) -> None:
    graph = json.loads(RECORDED)
    graph["graph"] |= values
    assert str(refusal(GOOD, tmp_path, json.dumps(graph).encode())) == sentence
