"""What of a file is the step: its collections, a person's fetches, or all but what only initialises and saves.

Also that text forms and sets of tags lead to the same graph, and that a placed file keeps every op and runs.
"""

import shutil
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from engine.child.parent import Limits, no_progress, run_in_child
from engine.errors import GraphError, PlacementError, SettingsError
from engine.formats.format import SourceFile
from engine.formats.reading import AS_IT_IS, prepare
from engine.formats.registry import FORMATS, function
from engine.formats.writing import write_placed
from engine.graphs.colocation import colocation_classes
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.wire import bytes_field
from engine.prepared import PreparedGraph
from tests.engine.formats.container_samples import archive, meta_graph, saved_model, signature
from tests.engine.formats.graphdef_samples import (
    attribute,
    colocated_with,
    constant,
    devices,
    identity,
    node,
    total,
    type_attribute,
)

SAMPLES = "tests.engine.formats.step_samples"
OURS = Limits(memory_bytes=8 * 1024**3, seconds=300.0)
BATCH = 4
IMAGES, OUTPUTS = 8 * 8, 3 * 3 * 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    run_in_child(f"{SAMPLES}:build_in_child", {"folder": str(folder)}, OURS, task="building samples", is_warm=True)
    for name in ("text", "hub"):
        shutil.make_archive(str(folder / name), "zip", folder, name)
    return folder


def check(path: Path, options: ReadingOptions = AS_IT_IS) -> None:
    """What an upload is checked for, without a child: the bytes are ours."""
    source = SourceFile(path, path.suffix, 2**20, options)
    function(FORMATS[path.suffix].check)(source, no_progress)


def read(path: Path, **options: Any) -> PreparedGraph:
    """The file, read for batches of BATCH."""
    return prepare(path, path.suffix, no_progress, Limits(), options=ReadingOptions(batch_size=BATCH, **options))


@pytest.fixture(scope="module")
def training(folder: Path) -> dict[str, PreparedGraph]:
    """File → what is read of it."""
    names = ("training.meta", "training.pb", "plain.meta", "large_training.pbtxt", "large_text.meta")
    return {name: read(folder / name) for name in names}


def summary_of(prepared: PreparedGraph) -> dict[str, Any]:
    return cast(dict[str, Any], prepared.summary())


def test_a_graphdef_s_step_is_that_of_the_collection_train_op(training: dict[str, PreparedGraph]) -> None:
    named = summary_of(training["training.meta"])
    for name in ("training.pb", "plain.meta", "large_training.pbtxt", "large_text.meta"):
        assert training[name].graph.op_names == training["training.meta"].graph.op_names
        assert summary_of(training[name])["flops"] == named["flops"] > 0
        assert summary_of(training[name])["persistent_bytes"] == named["persistent_bytes"]
    assert {"SaveV2", "Assign", "ScalarSummary"}.isdisjoint(dict(named["types"]))


def test_a_note_says_how_many_ops_are_beside_the_step_and_of_which_kinds(training: dict[str, PreparedGraph]) -> None:
    prepared = training["training.pb"]
    [note] = prepared.origin.notes
    assert "set variables or tables to their start" in note
    assert "save or restore variables" in note
    assert "write summaries" in note
    assert note.endswith("name what it fetches (--fetch NAME, the field Fetches).")
    whole, beside = _two_numbers(note)
    assert whole - beside == prepared.graph.op_count


def _two_numbers(note: str) -> tuple[int, int]:
    """The number of the file's ops and of those beside the step."""
    words = note.split()
    return int(words[3]), int(words[5])


def test_parameters_leave_out_what_the_optimiser_keeps(training: dict[str, PreparedGraph]) -> None:
    rows, width, classes = 2000, 16, 4
    summary = summary_of(training["training.pb"])
    assert sum(layer["parameters"] for layer in summary["layers"]) == rows * width + width * classes
    assert summary["persistent_bytes"] == 2 * 4 * (rows * width + width * classes), "accumulators, too"
    assert sum(layer["flops"] for layer in summary["layers"]) == summary["flops"]
    assert sum(layer["ops"] for layer in summary["layers"]) == summary["ops"]


def test_fetches_choose_the_step(folder: Path) -> None:
    for name in ("training.pb", "training.meta"):
        prepared = read(folder / name, fetches=("logits:0",))
        assert summary_of(prepared)["options"]["fetches"] == ["logits:0"]
        assert prepared.origin.fetches == ("logits",)
        assert {"logits", "embedding", "dense"} <= set(prepared.graph.op_names)
        assert not any("Adagrad" in each or "SaveV2" in each for each in prepared.graph.op_names)
        assert "ops were read: those that what the step fetches needs." in prepared.origin.notes[0]


PLAIN = constant("a") + identity("b", "a") + node("end", "NoOp", "^b")
META = meta_graph(PLAIN, more=signature("serve", "b:0"))
FETCHED = "fetches: "
ALLOWED = "allowed: the name of an op, or of its output as NAME:0; nothing takes end"
WRONG: dict[str, tuple[str, bytes, ReadingOptions, str]] = {
    "a name that is not there": (
        ".pb",
        PLAIN,
        ReadingOptions(fetches=("b", "c")),
        f"{FETCHED}c is not in the graph; {ALLOWED}",
    ),
    "an output that is not there": (
        ".meta",
        META,
        ReadingOptions(fetches=("b:1",)),
        f"{FETCHED}b:1 does not exist; allowed: outputs of Identity from 0 to 0",
    ),
    "an output of an op without any": (
        ".pb",
        PLAIN,
        ReadingOptions(fetches=("end:0",)),
        f"{FETCHED}end:0 does not exist; allowed: end: NoOp has no output",
    ),
    "no name at all": (
        ".zip",
        archive(("saved_model.pb", saved_model(META))),
        ReadingOptions(fetches=("a:b:c",)),
        f"{FETCHED}a:b:c is not in the graph; {ALLOWED}",
    ),
    "tags of a GraphDef": (
        ".pb",
        PLAIN,
        ReadingOptions(tags=("serve",)),
        "tags: a GraphDef has no tags; allowed: none",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_choice_that_the_file_cannot_meet_is_one_sentence_before_it_is_read(tmp_path: Path, name: str) -> None:
    suffix, content, options, sentence = WRONG[name]
    path = tmp_path / f"upload{suffix}"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        check(path, options)
    assert str(caught.value) == sentence
    assert caught.value.field == sentence.partition(":")[0]


def test_fetches_and_a_signature_exclude_each_other() -> None:
    with pytest.raises(SettingsError) as caught:
        ReadingOptions("serve", fetches=("b",))
    assert str(caught.value) == (
        "fetches: both fetches and the signature serve are given; allowed: one of them: fetches take the place of a "
        "signature's outputs"
    )


def test_node_link_json_takes_no_fetches(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        prepare(tmp_path / "tree.json", ".json", no_progress, Limits(), options=ReadingOptions(fetches=("a",)))
    assert str(caught.value) == (
        "tree.json: node-link JSON is one step with its costs, so it takes no fetches; allowed: no such options"
    )


def placement_of(prepared: PreparedGraph, seed: int) -> dict[str, str]:
    """A random device for each op, the same for ops that share one; ops that no GPU can run are on the CPU."""
    rng = np.random.default_rng(seed)
    classes = colocation_classes(prepared.graph)
    chosen = rng.integers(2, size=classes.max() + 1)
    on_cpu = {int(of) for of, reason in zip(classes, prepared.graph.cpu_reason, strict=True) if reason}
    names = ["/device:CPU:0" if of in on_cpu else f"/device:GPU:{chosen[of]}" for of in classes.tolist()]
    return dict(zip(prepared.graph.op_names, names, strict=True))


@pytest.mark.parametrize("name", ["training.pb", "training.meta"])
def test_a_placed_file_has_every_op_and_trains_saves_and_restores_as_before(
    folder: Path, training: dict[str, PreparedGraph], tmp_path: Path, name: str
) -> None:
    source, placed = folder / name, tmp_path / "placed.pb"
    prepared = training[name]
    placement = placement_of(prepared, 0)
    options = ReadingOptions(batch_size=BATCH)
    write_placed(source, source.suffix, placement, placed, Limits(), options)
    written, file = (read_messages(path.read_bytes(), ".pb").nodes for path in (placed, folder / "training.pb"))
    assert [each.name for each in written] == [each.name for each in file]
    device_of = {each.name: each.device for each in written}
    assert {each: device_of[each] for each in placement} == placement
    assert device_of["dense/Assign"] == device_of["dense"], "the start of a variable is where the variable is"
    assert device_of["save/SaveV2"] == "/device:CPU:0"
    order: dict[str, Any] = {"placed": str(placed), "reference": str(folder / "training.pb")}
    _, texts = run_in_child(f"{SAMPLES}:run_in_child", order, OURS, task="running", is_warm=True)
    found = cast(dict[str, Any], texts)
    first, second = found["placed"]
    assert first != second
    assert found["placed restored"] == first
    np.testing.assert_allclose(found["placed"], found["reference"], rtol=1e-6)
    np.testing.assert_allclose(found["placed restored"], found["reference restored"], rtol=1e-6)


def test_ops_beside_the_step_tie_ops_of_it_as_in_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "tied.pb"
    variable = type_attribute("dtype", 1) + attribute("shape", bytes_field(7, b""))
    value = attribute("value", bytes_field(8, b"\x08\x01"))
    ties = b"".join(
        [
            node("v", "VariableV2", attributes=variable),
            node("w", "VariableV2", attributes=variable),
            constant("start", device="/job:ps/task:1", attributes=value),
            node("set", "Assign", "v", "start", attributes=type_attribute("T", 1) + colocated_with("w")),
            total("sum", "v", "w"),
        ]
    )
    path.write_bytes(ties)
    prepared = prepare(path, ".pb", no_progress, Limits(), None)
    assert "set" not in prepared.graph.op_names
    classes = dict(zip(prepared.graph.op_names, colocation_classes(prepared.graph).tolist(), strict=True))
    assert classes["v"] == classes["w"] != classes["sum"]
    whole = graph_of_messages(read_messages(ties, ".pb"), "whole")
    class_of = dict(zip(whole.op_names, colocation_classes(whole).tolist(), strict=True))
    assert class_of["v"] == class_of["w"] == class_of["set"]
    placement = dict.fromkeys(prepared.graph.op_names, "/device:GPU:1") | {"sum": "/device:GPU:0"}
    placed = tmp_path / "placed.pb"
    write_placed(path, ".pb", placement, placed, Limits())
    written = {name: device for name, [device] in zip(whole.op_names, devices(placed.read_bytes()), strict=True)}
    assert written["set"] == "/device:GPU:1"
    assert written["start"] == "/job:ps/task:1/device:CPU:0"
    write_placed(path, ".pb", placement | {"start": "/device:GPU:3", "set": "/device:GPU:1"}, placed, Limits())
    assert devices(placed.read_bytes())[2] == ["/job:ps/task:1/device:GPU:3"]
    with pytest.raises(PlacementError) as caught:
        write_placed(path, ".pb", placement | {"set": "/device:GPU:0"}, placed, Limits())
    assert str(caught.value) == (
        "set: it is on /device:GPU:0, but v is on /device:GPU:1; allowed: one device for ops that are co-located"
    )


def test_an_op_beside_the_step_that_needs_a_gpu_is_on_one_with_what_it_ties(tmp_path: Path) -> None:
    path, placed = tmp_path / "rounded.pb", tmp_path / "placed.pb"
    half = type_attribute("T", 19)
    ops = [
        node("x", "Placeholder", device="/device:CPU:0", attributes=type_attribute("dtype", 19)),
        node("y", "Identity", "x", attributes=half),
        node("tied", "Rint", "x", attributes=half + colocated_with("x")),
        node("alone", "Rint", "x", attributes=half),
    ]
    path.write_bytes(b"".join(ops))
    options = ReadingOptions(fetches=("y",), batch_size=BATCH)
    prepared = prepare(path, ".pb", no_progress, Limits(), None, options=options)
    assert prepared.graph.op_names == ("x", "y")
    assert prepared.graph.devices == ("", "")
    assert prepared.graph.gpu_reason == ("TensorFlow has no CPU kernel for it on half", "")
    placement = {"x": "/device:GPU:1", "y": "/device:CPU:0"}
    for keep_pins in (False, True):
        write_placed(path, ".pb", placement, placed, Limits(), options, keep_pins=keep_pins)
        written = [device for [device] in devices(placed.read_bytes())]
        assert written == ["/device:GPU:1", "/device:CPU:0", "/device:GPU:1", "/device:GPU:0"]
    with pytest.raises(PlacementError, match=r"^x: it is on /device:CPU:0, but TensorFlow has no CPU kernel for it"):
        write_placed(path, ".pb", placement | {"x": "/device:CPU:0"}, placed, Limits(), options)


@pytest.mark.parametrize("suffix", [".zip", ".pbtxt"])
def test_a_saved_model_as_text_is_read_and_placed(folder: Path, tmp_path: Path, suffix: str) -> None:
    path = folder / "text.zip" if suffix == ".zip" else folder / "text" / "saved_model.pbtxt"
    check(path)
    prepared = read(path, signature="default")
    channels = 4
    summary = summary_of(prepared)
    assert summary["unknown_ops"] == 0
    assert summary["persistent_bytes"] == 4 * OUTPUTS * channels
    convolution = 2 * BATCH * IMAGES * OUTPUTS * channels
    assert summary["flops"] == pytest.approx(convolution + BATCH * IMAGES * channels, rel=0.001)
    assert prepared.origin.variables_stored is (suffix == ".zip")
    options = ReadingOptions("default", BATCH)
    placement = dict.fromkeys(prepared.graph.op_names, "/device:GPU:0")
    write_placed(path, suffix, placement, tmp_path / "placed.pbtxt", Limits(), options)
    assert (tmp_path / "placed.pbtxt").read_text().count("/device:GPU:0") == len(placement)
    if suffix == ".zip":
        write_placed(path, suffix, placement, tmp_path / "placed.zip", Limits(), options)
        again = read(tmp_path / "placed.zip")
        assert set(again.graph.op_names) == set(prepared.graph.op_names)
        assert again.origin.signatures == ("default",)
    else:
        assert prepared.origin.notes[-1] == (
            "A SavedModel's text has no values of its variables, whose files lie beside it in the SavedModel's folder, "
            "so a placed GraphDef can be written, but a placed SavedModel only from the zipped folder."
        )
        with pytest.raises(GraphError, match="a placed SavedModel can only be written from a SavedModel"):
            write_placed(path, suffix, placement, tmp_path / "placed.zip", Limits(), options)


def test_tags_choose_one_graph_of_several(folder: Path, tmp_path: Path) -> None:
    path = folder / "hub.zip"
    for tags, channels in (((), 2), (("train",), 4)):
        prepared = read(path, signature="default", tags=tags)
        assert prepared.origin.notes[0] == (
            'Of the file\'s 2 graphs, with the tags ""; train, the one with the tags '
            f"{','.join(tags) or chr(34) * 2} was read."
        )
        assert summary_of(prepared)["persistent_bytes"] == 4 * OUTPUTS * channels
        placement = dict.fromkeys(prepared.graph.op_names, "/device:GPU:0")
        options = ReadingOptions("default", BATCH, tags=tags)
        if not tags:  # only these variables are stored
            write_placed(path, ".zip", placement, tmp_path / "placed.zip", Limits(), options)
            assert read(tmp_path / "placed.zip").graph.op_count == len(placement)
    with pytest.raises(SettingsError, match=r"the tags \"\"; train; allowed: the tags of one of them \(--tags"):
        read(path, signature="default")


TEXTS = {
    "graph": b'node { name: "a" op: "NoOp" }',
    "meta graph": b'# by hand\nmeta_info_def { tags: "serve" }\ngraph_def { node { name: "a" op: "NoOp" } }',
    "saved model": b'saved_model_schema_version: 1\nmeta_graphs { graph_def { node { name: "a" op: "NoOp" } } }',
}
SAVED_TEXT = "this is a SavedModel as text, whose suffix is .pbtxt"
OTHER_SUFFIX: list[tuple[str, str, str]] = [
    ("graph", ".pb", "this is a GraphDef as text, whose suffix is .pbtxt; allowed: a GraphDef in binary form"),
    ("graph", ".meta", "this is a GraphDef as text, whose suffix is .pbtxt; allowed: a MetaGraphDef in binary form"),
    (
        "meta graph",
        ".pb",
        "this is a MetaGraphDef as text, whose suffix is .meta or .pbtxt; allowed: a GraphDef in binary form",
    ),
    ("saved model", ".pb", f"{SAVED_TEXT}; allowed: a GraphDef in binary form"),
    ("saved model", ".meta", f"{SAVED_TEXT}; allowed: a MetaGraphDef in binary form"),
    ("saved model", ".zip", f"{SAVED_TEXT}; allowed: a zip archive of a SavedModel's folder"),
]


@pytest.mark.parametrize(("text", "suffix", "sentence"), OTHER_SUFFIX)
def test_a_text_under_a_suffix_of_another_form_is_named(tmp_path: Path, text: str, suffix: str, sentence: str) -> None:
    path = tmp_path / f"upload{suffix}"
    path.write_bytes(TEXTS[text])
    with pytest.raises(GraphError) as caught:
        check(path)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("suffix", "content", "sentence"),
    [
        (".meta", TEXTS["meta graph"][:-2], "line 3, column 41: the text is not a MetaGraphDef, or it is cut short: "),
        (
            ".pbtxt",
            b"meta_graphs { nonsense: 1 }",
            "line 1, column 15: the text is not a SavedModel, or it is cut short: ",
        ),
        (".pbtxt", b"graph_def { " * 101, "nested deeper than 100 levels; allowed: a MetaGraphDef as text"),
        (".meta", b'meta_info_def { tags: "\xff" }', "byte 23 is not UTF-8; allowed: a MetaGraphDef as text"),
        (".pbtxt", b'meta_info_def { tags: "serve" }', "the file holds no graph; allowed: a MetaGraphDef"),
    ],
)
def test_a_bad_text_says_where(tmp_path: Path, suffix: str, content: bytes, sentence: str) -> None:
    path = tmp_path / f"upload{suffix}"
    path.write_bytes(content)
    with pytest.raises(GraphError) as caught:
        check(path)
    assert str(caught.value).startswith(sentence)
