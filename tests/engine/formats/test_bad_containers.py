"""Each bad archive, SavedModel, MetaGraphDef and function library has its own sentence; the table grows."""

import re
import zipfile
from pathlib import Path
from typing import cast

import pytest

from engine.child.parent import Limits, run_in_child
from engine.errors import GraphError, LimitError
from engine.events import Json
from engine.formats.reading import check_upload
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.wire import bytes_field
from engine.number_words import bytes_words
from tests.engine.formats.container_samples import (
    GOOD,
    GRAPH,
    archive,
    call,
    caller,
    calling,
    claiming,
    collection,
    encrypted,
    function,
    library,
    meta_graph,
    packed_bytes,
    saved_model,
    signature,
)
from tests.engine.formats.graphdef_samples import attribute, constant, identity, node, text, type_attribute
from tests.engine.formats.reading import opened

LIMITS = Limits(memory_bytes=2 * 1024**3, seconds=60.0)
MODEL = "saved_model.pb"
ZIP = "; allowed: a zip archive of a SavedModel's folder"
ENTRIES = "; allowed: plain files and folders inside the archive"
SAVED = "; allowed: a SavedModel in binary form"
META = "; allowed: a MetaGraphDef in binary form"
DAMAGED = "the archive is damaged or cut short: "
NO_MODEL = "saved_model.pb is not a SavedModel, or it is cut short or damaged"
NO_META = "the file is not a MetaGraphDef, or it is cut short or damaged"
NODES = b"\x0a\x00" * 5_000_000
WHOLE = archive((MODEL, GOOD))
NO_TYPE, ODD_TYPE = attribute("dtype", b""), type_attribute("dtype", 99)
NO_SHAPE = attribute("shape", bytes_field(7, b"\x18\x01"))
ZEROS = bytes(32 * 1024**2)


def nested(levels: int) -> bytes:
    """A function attribute in a function attribute, and so on."""
    value = b"\x18\x01"
    for _ in range(levels):
        value = bytes_field(10, text(1, "f") + bytes_field(2, text(1, "k") + bytes_field(2, value)))
    return value


def doubling(levels: int) -> bytes:
    """Functions that each call the next one twice."""
    pairs = [
        function(f"f{level}", call("one", f"f{level + 1}"), call("two", f"f{level + 1}")) for level in range(levels)
    ]
    return library(*pairs, function(f"f{levels}", text(1, "n") + text(2, "NoOp")))


BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    # archives
    "empty": (".zip", b"", f"the file is empty{ZIP}"),
    "HTML": (".zip", b"<!DOCTYPE html><html></html>", f"this is a page of HTML or XML{ZIP}"),
    "gzip": (".zip", b"\x1f\x8b\x08" + bytes(30), f"this is a gzip archive{ZIP}"),
    "PNG": (".zip", b"\x89PNG\r\n\x1a\n" + bytes(50), f"this is a PNG picture{ZIP}"),
    "saved_model.pb itself": (".zip", GOOD, f"this is not a zip archive{ZIP}"),
    "LFS pointer": (
        ".zip",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        f"this is a Git LFS pointer: the file itself has not been fetched{ZIP}",
    ),
    "cut": (".zip", WHOLE[:-30], f"{DAMAGED}it has no end{ZIP}"),
    "cut at the front": (".zip", WHOLE[:4] + WHOLE[40:], f"{DAMAGED}its list gives wrong places of entries{ZIP}"),
    "no entries": (
        ".zip",
        archive(),
        f"the archive has no saved_model.pb, neither at its top nor in the one folder there{ZIP}",
    ),
    "no saved_model.pb": (
        ".zip",
        archive(("model/variables/variables.index", b"x"), ("a/b/saved_model.pb", GOOD)),
        f"the archive has no saved_model.pb, neither at its top nor in the one folder there{ZIP}",
    ),
    "an archive in the archive": (
        ".zip",
        archive(("inner.ZIP", WHOLE)),
        f"inner.ZIP: the archive has no saved_model.pb, but another archive in it{ZIP}",
    ),
    "two SavedModels": (
        ".zip",
        archive((f"one/{MODEL}", GOOD), (f"two/{MODEL}", GOOD)),
        "the archive has several SavedModels: one/saved_model.pb, two/saved_model.pb; allowed: one",
    ),
    "climbing": (
        ".zip",
        archive((MODEL, GOOD), ("assets/../../x", b"")),
        f"assets/../../x: the entry climbs out of the archive's folder{ENTRIES}",
    ),
    "climbing as on Windows": (
        ".zip",
        archive((MODEL, GOOD), ("assets\\..\\x", b"")),
        f"assets\\..\\x: the entry climbs out of the archive's folder{ENTRIES}",
    ),
    "absolute": (
        ".zip",
        archive((MODEL, GOOD), ("/etc/passwd", b"")),
        f"/etc/passwd: the entry has an absolute path{ENTRIES}",
    ),
    "absolute as on Windows": (
        ".zip",
        archive((MODEL, GOOD), ("C:x", b"")),
        f"C:x: the entry has an absolute path{ENTRIES}",
    ),
    "an entry without a name": (
        ".zip",
        archive((MODEL, GOOD), ("", b"")),
        f"the entry has no name{ENTRIES}",
    ),
    "link": (
        ".zip",
        archive((MODEL, b"/etc/passwd"), mode=0o120777),
        f"saved_model.pb: the entry is a link or no plain file{ENTRIES}",
    ),
    "device": (
        ".zip",
        archive((MODEL, GOOD), ("zero", b""), mode=0o020666),
        f"zero: the entry is a link or no plain file{ENTRIES}",
    ),
    "encrypted": (".zip", encrypted(WHOLE), f"saved_model.pb: the entry is encrypted{ENTRIES}"),
    "there twice": (
        ".zip",
        archive((MODEL, GOOD), (MODEL, GOOD)),
        f"saved_model.pb: the archive has two entries of this name{ENTRIES}",
    ),
    "too many entries": (
        ".zip",
        archive(*((f"{index}", b"") for index in range(10_001))),
        "the archive has 10001 entries; allowed: at most 10000",
    ),
    "a long list of entries": (
        ".zip",
        archive(*((f"{'x' * 60_000}{index}", b"") for index in range(150))),
        "the archive's list of entries is too large: 8.59 MiB; allowed: at most 8.00 MiB",
    ),
    "bomb": (
        ".zip",
        archive((MODEL, ZEROS)),
        f"saved_model.pb: the entry packs {bytes_words(len(ZEROS))} into "
        f"{bytes_words(packed_bytes(archive((MODEL, ZEROS))))}; "
        "allowed: at most 200 times as many",
    ),
    "2 GB claimed": (
        ".zip",
        claiming(WHOLE, 2**31),
        "saved_model.pb: the entry is too large: 2.00 GiB; allowed: at most 256 MiB",
    ),
    "20 GB claimed by all": (
        ".zip",
        claiming(archive(*((f"{index}", b"x") for index in range(5))), 2**32 - 2),
        "the archive claims to hold 20.0 GiB; allowed: at most 16.0 GiB",
    ),
    "more claimed than there is": (
        ".zip",
        claiming(WHOLE, len(GOOD) + 1),
        f"{DAMAGED}saved_model.pb has {len(GOOD)} bytes and claims {len(GOOD) + 1}{ZIP}",
    ),
    "packed by another method": (
        ".zip",
        archive((MODEL, GOOD), method=zipfile.ZIP_LZMA),
        "saved_model.pb: the entry is packed by method 14; allowed: stored, or deflated",
    ),
    # SavedModels
    "empty model": (".zip", archive((MODEL, b"")), f"saved_model.pb: the file is empty{SAVED}"),
    "text model": (".zip", archive((MODEL, b"{}")), f"saved_model.pb: this is JSON{SAVED}"),
    "archive as model": (".zip", archive((MODEL, WHOLE)), f"saved_model.pb: this is a zip archive{SAVED}"),
    "GraphDef as model": (".zip", archive((MODEL, GRAPH)), f"saved_model.pb: it holds no graph{SAVED}"),
    "cut model": (
        ".zip",
        archive((MODEL, GOOD[:-1])),
        f"{NO_MODEL}: the field at byte 2 needs {len(GOOD) - 5} bytes, {len(GOOD) - 6} are left{SAVED}",
    ),
    "no graphs": (".zip", archive((MODEL, saved_model())), f"saved_model.pb: it holds no graph{SAVED}"),
    "two tag sets": (
        ".zip",
        archive((MODEL, saved_model(meta_graph(tags=("serve", "gpu")), meta_graph(tags=("serve", "tpu"))))),
        "saved_model.pb: it holds 2 graphs, with the tags serve,gpu; serve,tpu; allowed: the tags of one of them "
        "(--tags, the field Tags)",
    ),
    "one tag set twice": (
        ".zip",
        archive((MODEL, saved_model(meta_graph(), meta_graph()))),
        "saved_model.pb: 2 of its graphs have the tags serve; allowed: one graph for each set of tags",
    ),
    "no signatures": (
        ".zip",
        archive((MODEL, saved_model(meta_graph()))),
        "signature: there is no signature serving_default; allowed: none",
    ),
    "two signatures": (
        ".zip",
        archive((MODEL, saved_model(meta_graph(more=signature("one", "sum:0") + signature("two", "a"))))),
        "signature: there is no signature serving_default; allowed: one, two",
    ),
    "signature of nothing": (
        ".zip",
        archive((MODEL, saved_model(meta_graph(more=signature("serve", "absent:0"))))),
        "the step fetches absent, which is not in the graph; allowed: the name of an op",
    ),
    "broken signature": (
        ".zip",
        archive((MODEL, saved_model(meta_graph(more=bytes_field(5, b"\x0a\x05x"))))),
        f"{NO_MODEL}{SAVED}",
    ),
    "bad graph in a model": (
        ".zip",
        archive((MODEL, saved_model(meta_graph(identity("b", "a"), more=signature("serve", "b"))))),
        "op 0 (b): its input a is not in the graph; allowed: the name of an op",
    ),
    "5 million empty nodes in a model": (
        ".zip",
        archive((MODEL, saved_model(meta_graph(NODES))), method=zipfile.ZIP_STORED),
        "op 0: the op is empty; allowed: a name and a type",
    ),
    # MetaGraphDefs
    "empty meta": (".meta", b"", f"the file is empty{META}"),
    "pickle as meta": (".meta", b"\x80\x04\x95]\x94.", f"this is a pickle, which is never read{META}"),
    "GraphDef as meta": (".meta", GRAPH, f"this is a GraphDef, whose suffix is .pb{META}"),
    "SavedModel as meta": (".meta", GOOD, f"this is a SavedModel (saved_model.pb){META}"),
    "text as meta": (".meta", b"meta_info_def {\n}\n", f"the file holds no graph{META}"),
    "cut meta": (
        ".meta",
        meta_graph()[:-1],
        f"{NO_META}: the field at byte 17 needs {len(GRAPH)} bytes, {len(GRAPH) - 1} are left{META}",
    ),
    "meta without a graph": (".meta", bytes_field(1, text(5, "2.21.0")), f"the file holds no graph{META}"),
    "meta with an empty op": (
        ".meta",
        meta_graph(constant("a") + b"\x0a\x00"),
        "op 1: the op is empty; allowed: a name and a type",
    ),
    "5 million empty nodes in meta": (
        ".meta",
        meta_graph(NODES),
        "op 0: the op is empty; allowed: a name and a type",
    ),
    "training op that is not there": (
        ".meta",
        meta_graph(more=collection("train_op", "absent")),
        "the step fetches absent, which is not in the graph; allowed: the name of an op",
    ),
    # functions
    "a function that calls itself": (
        ".pb",
        caller("c", "f") + library(function("f", call("n", "f"))),
        "f: a function calls itself: f → f; allowed: functions without recursion",
    ),
    "functions that call each other": (
        ".pb",
        caller("c", "f0")
        + library(*(function(f"f{index}", call("n", f"f{(index + 1) % 7}", "If")) for index in range(7))),
        "f0: a function calls itself: f0 → f1 → f2 → f3 → f4 → … → f0; allowed: functions without recursion",
    ),
    "a function that is not there": (
        ".pb",
        caller("ok", "f") + caller("c", "g") + library(function("f")),
        "op 1 (c): it calls g, which is not in the function library; allowed: a function of the library",
    ),
    "a loop without a body": (
        ".pb",
        node("l", "While", attributes=calling("f", "cond")) + library(function("f")),
        "op 0 (l): its attribute body names no function; allowed: a function of the library",
    ),
    "a condition in a function without its other side": (
        ".pb",
        caller("c", "f") + library(function("f", call("n", "g", "StatelessIf", "then_branch")), function("g")),
        "op 0 (n) of function f: its attribute else_branch names no function; allowed: a function of the library",
    ),
    "two functions of one name": (
        ".pb",
        caller("c", "f") + library(function("f"), function("g"), function("f")),
        "f: two functions have this name; allowed: unique names",
    ),
    "an input without a type beside a call": (
        ".pb",
        caller("c", "f") + node("x", "Placeholder", attributes=NO_TYPE + NO_SHAPE) + library(function("f")),
        "op 1 (x): its dtype is 0; allowed: the number of a type of TensorFlow's",
    ),
    "an input of a type that there is not beside a call": (
        ".pb",
        caller("c", "f") + node("x", "PlaceholderV2", attributes=ODD_TYPE + NO_SHAPE) + library(function("f")),
        "op 1 (x): its dtype is 99; allowed: the number of a type of TensorFlow's",
    ),
    "a cycle beside a call": (
        ".pb",
        caller("c", "f") + identity("a", "b") + identity("b", "a") + library(function("f")),
        "2 ops form a cycle that is not a while loop: a → b → a; allowed: cycles through NextIteration and Merge alone",
    ),
    "an odd device at a call": (
        ".pb",
        node("c", "StatefulPartitionedCall", device="/gpu:x", attributes=calling("f")) + library(function("f")),
        "c: /gpu:x is not a device; allowed: /device:TYPE:N, with /job:, /replica: and /task: where there are any",
    ),
    "functions that grow without end": (
        ".pb",
        caller("c", "f0") + doubling(60),
        f"with its functions inlined the graph has {3 * 2**60 - 1} ops; allowed: at most 1000000 ops",
    ),
    "nested function attributes": (
        ".pb",
        node("a", "PartitionedCall", attributes=attribute("f", nested(100))) + library(function("f")),
        "op 0: the op is damaged or nested deeper than 100 levels; allowed: a NodeDef",
    ),
    "nested attributes in a function": (
        ".pb",
        caller("c", "f") + library(function("f", text(1, "n") + text(2, "NoOp") + attribute("k", nested(100)))),
        "the function library is damaged or nested deeper than 100 levels; allowed: a FunctionDefLibrary",
    ),
}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said to each bad file, all opened in one child."""
    folder = tmp_path_factory.mktemp("bad")
    order: dict[str, Json] = {}
    for index, (name, (suffix, content, _)) in enumerate(BAD_FILES.items()):
        path = folder / f"{index}{suffix}"
        path.write_bytes(content)
        order[name] = [str(path), suffix]
    _, texts = run_in_child(
        "tests.engine.formats.reading_in_child:unpack_all_in_child", order, LIMITS, task="opening", is_warm=True
    )
    return cast(dict[str, str], texts)


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_container_has_its_own_sentence(said: dict[str, str], name: str) -> None:
    assert said[name] == BAD_FILES[name][2]


def test_the_good_ones_that_the_bad_ones_are_made_of_are_read(tmp_path: Path) -> None:
    for index, (suffix, content) in enumerate(
        [
            (".zip", WHOLE),
            (".zip", archive(("model/", b""), (f"model/{MODEL}", GOOD), ("model/assets/inner.zip", WHOLE))),
            (".zip", archive((MODEL, GOOD), method=zipfile.ZIP_STORED)),
            (".meta", meta_graph(more=collection("train_op", "sum"))),
            (".meta", meta_graph()),
        ]
    ):
        path = tmp_path / f"{index}{suffix}"
        path.write_bytes(content)
        check_upload(path, suffix, LIMITS)
        with opened(path, ReadingOptions(), LIMITS) as graph:
            assert graph.origin.fetches == (() if index == 4 else ("sum",))


def test_of_several_graphs_the_one_to_serve_is_read_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    serving = meta_graph(more=signature("main", "sum:0"))
    path.write_bytes(archive((MODEL, saved_model(meta_graph(tags=("serve", "tpu")), serving))))
    with opened(path, ReadingOptions(), LIMITS) as graph:
        assert graph.origin.notes == (
            "Of the file's 2 graphs, with the tags serve,tpu; serve, the one with the tags serve was read.",
            "3 of the file's 4 ops were read: those that signature main needs.",
        )


def test_the_sentence_comes_out_of_the_child_and_nothing_stays_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    for name in ("bomb", "climbing", "GraphDef as meta"):
        suffix, content, message = BAD_FILES[name]
        path = tmp_path / f"upload{suffix}"
        path.write_bytes(content)
        with pytest.raises((GraphError, LimitError)) as caught:
            check_upload(path, suffix, LIMITS)
        assert (str(caught.value), caught.value.field) == (message, "file")
        refused = pytest.raises((GraphError, LimitError), match=re.escape(message))
        with refused, opened(path, ReadingOptions(), LIMITS):
            pass
    assert list(temporary.iterdir()) == []


def test_an_archive_that_needs_much_memory_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    functions = bytes_field(1, b"\x4a\x00" * 8_000_000)  # empty functions in a list, each far larger in memory
    graph = meta_graph(constant("a") + node("b", attributes=attribute("k", functions)))
    path.write_bytes(archive((MODEL, saved_model(graph)), method=zipfile.ZIP_STORED))
    with pytest.raises(LimitError, match=r"\Aopening the file took too much memory; allowed: at most 400 MiB\Z"):
        check_upload(path, ".zip", Limits(memory_bytes=400 * 1024**2))


def test_whatever_bytes_come_only_typed_errors_leave(tmp_path: Path) -> None:
    order: dict[str, Json] = {}
    for name, (suffix, content) in {
        "zip": (".zip", archive((f"model/{MODEL}", GOOD), ("model/assets/x", b"abc"))),
        "meta": (".meta", meta_graph(more=collection("train_op", "sum") + signature("s", "a"))),
        "functions": (".pb", caller("c", "f") + library(function("f", call("n", "g")), function("g"))),
    }.items():
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(content)
        order[name] = str(path)
    _, texts = run_in_child(
        "tests.engine.formats.reading_in_child:damage_containers_in_child", order, LIMITS, task="opening", is_warm=True
    )
    assert texts["others"] == []
    assert cast(int, texts["refused"]) > 1000
