"""Each bad file has its own sentence. A row is a suffix, the file's bytes and the message; the table grows."""

from pathlib import Path
from typing import cast

import pytest

from engine.child.parent import Limits, run_in_child
from engine.errors import GraphError, LimitError
from engine.events import Json
from engine.formats.reading import check_upload
from engine.graphs.tensorflow.wire import bytes_field
from tests.engine.formats.graphdef_samples import (
    attribute,
    colocated_with,
    constant,
    identity,
    node,
    text,
    total,
    type_attribute,
)
from tests.engine.formats.reading import read_graph

LIMITS = Limits(memory_bytes=2 * 1024**3, seconds=60.0)
GRAPH = constant("a") + constant("b") + total("c", "a", "b")
BINARY, TEXT = "; allowed: a GraphDef in binary form", "; allowed: a GraphDef as text"
NAME_RULE = "; allowed: a letter, digit or dot, then letters, digits and . _ - / >"
DEVICES = "; allowed: /device:TYPE:N, with /job:, /replica: and /task: where there are any"
LOOPS = "; allowed: cycles through NextIteration and Merge alone"
NO_GRAPH = "the file is not a GraphDef, or it is cut short or damaged: "
NO_TEXT = "the text is not a GraphDef, or it is cut short: "


def meta_graph(graph: bytes) -> bytes:
    """A MetaGraphDef with its usual first field, the version of TensorFlow among it."""
    return bytes_field(1, text(5, "2.21.0")) + bytes_field(2, graph)


def run_metadata() -> bytes:
    """Step stats of one device with one node."""
    stats = text(1, "/job:localhost/replica:0/task:0/device:CPU:0") + bytes_field(2, text(1, "MatMul") + b"\x10\x05")
    return bytes_field(1, bytes_field(1, stats))


def nested(levels: int) -> bytes:
    """A function attribute in a function attribute, and so on."""
    value = b"\x18\x01"
    for _ in range(levels):
        value = bytes_field(10, text(1, "f") + bytes_field(2, text(1, "k") + bytes_field(2, value)))
    return value


BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    # other formats
    "empty": (".pb", b"", f"the file is empty{BINARY}"),
    "empty text": (".pbtxt", b"", f"the file is empty{TEXT}"),
    "blank text": (".pbtxt", b"\n\n", "the graph has no ops; allowed: at least one op"),
    "PNG": (".pb", b"\x89PNG\r\n\x1a\n" + bytes(50), f"this is a PNG picture{BINARY}"),
    "PNG as text": (".pbtxt", b"\x89PNG\r\n\x1a\n", f"this is a PNG picture{TEXT}"),
    "HTML": (".pb", b"\n<!DOCTYPE html><html></html>", f"this is a page of HTML or XML{BINARY}"),
    "pickle": (
        ".pb",
        b"\x80\x04\x95\x0a\x00\x00\x00\x00\x00\x00\x00]\x94.",
        f"this is a pickle, which is never read{BINARY}",
    ),
    "LFS pointer": (
        ".pb",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        f"this is a Git LFS pointer: the file itself has not been fetched{BINARY}",
    ),
    "zip": (".pb", b"PK\x03\x04" + bytes(30), f"this is a zip archive{BINARY}"),
    "gzip": (".pb", b"\x1f\x8b\x08" + bytes(30), f"this is a gzip archive{BINARY}"),
    "JSON": (".pb", b'{"nodes": []}', f"this is JSON{BINARY}"),
    "text as binary": (".pb", b'node {\n  name: "a"\n}', f"this is a GraphDef as text, whose suffix is .pbtxt{BINARY}"),
    "prose": (".pb", b"It was a dark night.", f"{NO_GRAPH}byte 9 begins no field{BINARY}"),
    "SavedModel": (
        ".pb",
        b"\x08\x01" + bytes_field(2, meta_graph(GRAPH)),
        f"this is a SavedModel (saved_model.pb){BINARY}",
    ),
    "MetaGraphDef": (".pb", meta_graph(GRAPH), f"this is a MetaGraphDef (.meta){BINARY}"),
    "RunMetadata": (".pb", run_metadata(), f"this is RunMetadata (step stats of a run){BINARY}"),
    # damage
    "cut in a node": (".pb", GRAPH[:-1], f"{NO_GRAPH}the field at byte 50 needs 33 bytes, 32 are left{BINARY}"),
    "cut in a length": (".pb", GRAPH[:51], f"{NO_GRAPH}the number at byte 51 does not end{BINARY}"),
    "a group": (".pb", GRAPH + b"\x0b", f"{NO_GRAPH}byte 85 begins no field{BINARY}"),
    "field 0": (".pb", GRAPH + b"\x02\x00", f"{NO_GRAPH}byte 85 begins no field{BINARY}"),
    "a number as node": (".pb", b"\x08\x05", f"{NO_GRAPH}byte 0 begins no field of a graph{BINARY}"),
    "an endless number": (".pb", b"\x0a" + b"\xff" * 20, f"{NO_GRAPH}the number at byte 1 does not end{BINARY}"),
    "a length of 2 GB": (
        ".pb",
        b"\x0a\xff\xff\xff\xff\x07" + b"abc",
        f"{NO_GRAPH}the field at byte 0 needs 2147483647 bytes, 3 are left{BINARY}",
    ),
    "an attribute cut short": (
        ".pb",
        node("a", attributes=bytes_field(5, b"\x0a\x09k")),
        "op 0: the op is damaged or nested deeper than 100 levels; allowed: a NodeDef",
    ),
    "a library cut short": (
        ".pb",
        GRAPH + bytes_field(2, b"\x0a\x09f"),
        "the function library is damaged or nested deeper than 100 levels; allowed: a FunctionDefLibrary",
    ),
    "nested attributes": (
        ".pb",
        node("a", attributes=attribute("k", nested(60))),
        "op 0: the op is damaged or nested deeper than 100 levels; allowed: a NodeDef",
    ),
    "5 million empty nodes": (".pb", b"\x0a\x00" * 5_000_000, "op 0: the op is empty; allowed: a name and a type"),
    "a million and one nodes": (".pb", node("a") * 1_000_001, "more than 1000000 ops; allowed: at most 1000000 ops"),
    # names and types
    "no nodes": (".pb", bytes_field(4, b"\x08\x01"), "the graph has no ops; allowed: at least one op"),
    "no name": (".pb", node("", "NoOp"), f"op 0: the op has no name{NAME_RULE}"),
    "no type": (".pb", constant("a") + node("b", ""), "op 1 (b): the op has no type; allowed: a type"),
    "name not UTF-8": (".pb", node(b"\xff\xfe"), "op 0: a text is not UTF-8: b'\\xff\\xfe'; allowed: UTF-8"),
    "long name": (
        ".pb",
        node("x" * 10**6),
        f"op 0 ({'x' * 79}…): the op's name has 1000000 characters; allowed: at most 4096",
    ),
    "NUL in a name": (".pb", node("a\0b"), f"op 0 (a\ufffdb): TensorFlow does not allow this name{NAME_RULE}"),
    "newline in a name": (
        ".pb",
        node("a\nb"),
        f"op 0 (a\ufffdb): TensorFlow does not allow this name{NAME_RULE}",
    ),
    "newline behind a name": (
        ".pb",
        node("a\n"),
        f"op 0 (a\ufffd): TensorFlow does not allow this name{NAME_RULE}",
    ),
    "bidi override": (
        ".pb",
        node("a\u202eb"),
        f"op 0 (a\ufffdb): TensorFlow does not allow this name{NAME_RULE}",
    ),
    "__proto__": (
        ".pb",
        node("__proto__"),
        f"op 0 (__proto__): TensorFlow does not allow this name{NAME_RULE}",
    ),
    "HTML in a name": (
        ".pb",
        node("<img src=x onerror=alert(1)>"),
        f"op 0 (<img src=x onerror=alert(1)>): TensorFlow does not allow this name{NAME_RULE}",
    ),
    "HTML in a type": (
        ".pb",
        node("a", "<b>"),
        "op 0 (a): the op's type is not a type's name: <b>; allowed: letters, digits and _",
    ),
    "two of one name": (
        ".pb",
        constant("a") + constant("b") + constant("a"),
        "op 2 (a): op 0 has the same name; allowed: unique names",
    ),
    # inputs
    "missing input": (
        ".pb",
        identity("b", "a"),
        "op 0 (b): its input a is not in the graph; allowed: the name of an op",
    ),
    "missing control input": (
        ".pb",
        node("b", "NoOp", "^a"),
        "op 0 (b): its input ^a is not in the graph; allowed: the name of an op",
    ),
    "odd input": (
        ".pb",
        constant("a") + identity("b", "a:x"),
        "op 1 (b): a:x is not an input; allowed: name, name:output or ^name",
    ),
    "control input with an output": (
        ".pb",
        constant("a") + node("b", "NoOp", "^a:0"),
        "op 1 (b): ^a:0 is not an input; allowed: name, name:output or ^name",
    ),
    "output out of range": (
        ".pb",
        constant("a") + identity("b", "a:1"),
        "op 1 (b): its input a:1 does not exist; allowed: outputs of Const from 0 to 0",
    ),
    "output of an op without any": (
        ".pb",
        node("a") + identity("b", "a"),
        "op 1 (b): its input a:0 does not exist; allowed: NoOp has no output",
    ),
    "too few inputs": (
        ".pb",
        constant("a") + node("b", "MatMul", "a", attributes=type_attribute("T", 1)),
        "op 1 (b): the op has 1 data inputs; allowed: MatMul takes 2",
    ),
    "control before data": (
        ".pb",
        constant("a") + node("b", "Identity", "^a", "a", attributes=type_attribute("T", 1)),
        "op 1 (b): data input a comes after a control input; allowed: data inputs first",
    ),
    "self loop": (".pb", identity("a", "a"), "op 0 (a): the op is its own input; allowed: inputs from other ops"),
    "cycle": (
        ".pb",
        identity("a", "c") + identity("b", "a") + identity("c", "b"),
        f"3 ops form a cycle that is not a while loop: a → b → c → a{LOOPS}",
    ),
    "long cycle": (
        ".pb",
        b"".join(identity(f"n{index}", f"n{(index - 1) % 9}") for index in range(9)),
        f"9 ops form a cycle that is not a while loop: n0 → n1 → n2 → n3 → n4 → … → n0{LOOPS}",
    ),
    "cycle of control edges": (
        ".pb",
        node("a", "NoOp", "^b") + node("b", "NoOp", "^a"),
        f"2 ops form a cycle that is not a while loop: a → b → a{LOOPS}",
    ),
    # devices and co-location
    "odd device": (".pb", constant("a", device="foo"), f"a: foo is not a device{DEVICES}"),
    "device without a number": (
        ".pb",
        constant("a", device="/device:CPU:"),
        f"a: /device:CPU: is not a device{DEVICES}",
    ),
    "device with letters": (
        ".pb",
        constant("a", device="/device:GPU:abc"),
        f"a: /device:GPU:abc is not a device{DEVICES}",
    ),
    "colocation with nothing": (
        ".pb",
        constant("a", attributes=colocated_with("x")),
        "op 0 (a): it is colocated with x, which is not in the graph; allowed: loc:@ and the name of an op",
    ),
    # text
    "UTF-16": (".pbtxt", 'node { name: "a" }'.encode("utf-16"), f"this is a text in UTF-16{TEXT}"),
    "bad UTF-8": (".pbtxt", b'node { name: "\xff" }', f"byte 14 is not UTF-8{TEXT}"),
    "unknown field": (
        ".pbtxt",
        b'node { nome: "a" }',
        f'line 1, column 8: {NO_TEXT}Message type "tensorflow.NodeDef" has no field named "nome".{TEXT}',
    ),
    "text cut short": (".pbtxt", b'node {\n  name: "a"\n', f'line 2, column 9: {NO_TEXT}Expected "}}".{TEXT}'),
    "a type that no field can hold": (
        ".pbtxt",
        b'node { name: "a" op: "NoOp" attr { key: "T" value { type: 99999999999 } } }',
        f"{NO_TEXT}Value out of range: 99999999999{TEXT}",
    ),
    "nested text": (".pbtxt", b"node { " * 300, f"nested deeper than 100 levels{TEXT}"),
    "binary as text": (
        ".pbtxt",
        GRAPH,
        f"line 2, column 1: {NO_TEXT}'\ufffd': Expected identifier or number, got \ufffd.{TEXT}",
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the reader says to each bad file, all read in one child."""
    folder = tmp_path_factory.mktemp("bad")
    order: dict[str, Json] = {}
    for index, (name, (suffix, content, _)) in enumerate(BAD_FILES.items()):
        path = folder / f"{index}{suffix}"
        path.write_bytes(content)
        order[name] = [str(path), suffix]
    _, texts = run_in_child(
        "tests.engine.formats.reading_in_child:read_all_in_child", order, LIMITS, task="reading", is_warm=True
    )
    return cast(dict[str, str], texts)


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_has_its_own_sentence(said: dict[str, str], name: str) -> None:
    assert said[name] == BAD_FILES[name][2]


def test_the_sentence_comes_out_of_the_child_as_a_typed_error(tmp_path: Path) -> None:
    path = tmp_path / "upload.pb"
    path.write_bytes(BAD_FILES["cycle"][1])
    for read in (check_upload, read_graph):
        with pytest.raises(GraphError) as caught:
            read(path, ".pb", LIMITS)
        assert str(caught.value) == BAD_FILES["cycle"][2]
        assert caught.value.field == "file"


def test_a_file_over_the_limit_is_not_even_opened(tmp_path: Path) -> None:
    path = tmp_path / "upload.pb"
    path.write_bytes(GRAPH)
    with pytest.raises(LimitError, match=r"\Athe file is too large: 85 B; allowed: at most 84 B\Z"):
        check_upload(path, ".pb", Limits(file_bytes=84))


def test_an_unknown_suffix_is_reported(tmp_path: Path) -> None:
    with pytest.raises(
        GraphError,
        match=r"\Aa file ending in .h5; load it .*; allowed: .pb, .pbtxt, .meta, .zip, .onnx, .json, .json.gz\Z",
    ):
        check_upload(tmp_path / "upload.h5", ".h5", LIMITS)


def test_a_text_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "upload.pbtxt"
    path.write_bytes(b"".join(b'node { name: "n%d" op: "NoOp" }\n' % index for index in range(900_000)))
    with pytest.raises(LimitError, match=r"\Areading the graph took too long; allowed: at most 3 seconds\Z"):
        check_upload(path, ".pbtxt", Limits(seconds=3.0))


def test_a_check_reads_for_some_seconds_and_leaves_the_rest_to_the_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.formats.reading.CHECK_SECONDS", 1.0)
    path = tmp_path / "upload.pbtxt"
    path.write_bytes(b"".join(b'node { name: "n%d" op: "NoOp" }\n' % index for index in range(400_000)))
    check_upload(path, ".pbtxt", LIMITS)
    path.write_bytes(b'node { name: "%s" op: "NoOp" }\n' % (b"a" * 2_000_000))
    monkeypatch.setattr("engine.formats.reading.CHECK_SECONDS", 60.0)
    with pytest.raises(GraphError, match=r"the op's name has 2000000 characters; allowed: at most 4096"):
        check_upload(path, ".pbtxt", LIMITS)


def test_a_check_of_a_large_text_loads_no_tensorflow(tmp_path: Path) -> None:
    """A process with TensorFlow needs far more memory than this."""
    path = tmp_path / "upload.pbtxt"
    path.write_bytes(b'node { name: "a" op: "Const" attr { key: "k" value { s: "%s" } } }' % (b"a" * 2_000_000))
    check_upload(path, ".pbtxt", Limits(memory_bytes=600 * 1024**2))


def test_a_small_file_that_claims_much_memory_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "upload.pb"
    functions = bytes_field(1, b"\x4a\x00" * 8_000_000)  # empty functions in a list, each far larger in memory
    path.write_bytes(node("a", attributes=attribute("k", functions)))
    with pytest.raises(LimitError, match=r"\Areading the graph took too much memory; allowed: at most 400 MiB\Z"):
        check_upload(path, ".pb", Limits(memory_bytes=400 * 1024**2))


def test_whatever_bytes_come_only_typed_errors_leave(tmp_path: Path) -> None:
    path = tmp_path / "whole.pb"
    path.write_bytes(GRAPH + identity("d", "c", "^b") + bytes_field(4, b"\x08\x01"))
    _, texts = run_in_child(
        "tests.engine.formats.reading_in_child:damage_in_child",
        {"path": str(path)},
        LIMITS,
        task="reading",
        is_warm=True,
    )
    assert texts["others"] == []
    assert cast(int, texts["refused"]) > 1000
