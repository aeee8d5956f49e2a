"""Bad and odd ONNX files: one exact sentence each, or read with what is unknown listed; no other file is opened."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from engine.child.parent import Limits, no_progress
from engine.costs.costs import CostSource
from engine.errors import GraphError, SettingsError
from engine.formats import zipped
from engine.formats.format import PLACED_FILE, Placing, SourceFile
from engine.formats.onnx import writer
from engine.formats.reading import check_upload, prepare
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph
from tests.engine.formats.container_samples import archive
from tests.engine.onnx.bad_models import BAD, changed, good, weight
from tests.engine.onnx.building import Builder, without_data
from tests.engine.onnx.reading import check_here, read_here

LIMITS = Limits(memory_bytes=3 * 1024**3, seconds=30.0)
IN_A_CHILD = ("pickle", "bodies 60 deep", "functions that double", "a name of 10 MB")


@pytest.mark.parametrize("name", list(BAD))
def test_a_bad_file_is_refused_in_one_sentence(name: str, tmp_path: Path) -> None:
    """By the check of an upload, and by a reading."""
    make, sentence = BAD[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(make())
    for read in (check_here, read_here):
        with pytest.raises(GraphError) as refused:
            read(path)
        assert str(refused.value) == sentence
        assert refused.value.field == "file"


@pytest.mark.slow
def test_a_child_refuses_bad_files_too(tmp_path: Path) -> None:
    """Within its memory and time, and nothing is left behind."""
    for name in IN_A_CHILD:
        path = tmp_path / "model.onnx"
        path.write_bytes(BAD[name][0]())
        with pytest.raises(GraphError) as refused:
            check_upload(path, ".onnx", LIMITS)
        assert str(refused.value) == BAD[name][1]
        with pytest.raises(GraphError):
            prepare(path, ".onnx", no_progress, LIMITS)
    assert list(tmp_path.iterdir()) == [tmp_path / "model.onnx"]


def read(content: bytes | ModelProto, folder: Path, options: ReadingOptions | None = None) -> PreparedGraph:
    """The model, read in this process."""
    path = folder / "model.onnx"
    path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    return read_here(path, options or ReadingOptions())


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The paths that are opened meanwhile."""
    found: list[str] = []
    listening = [True]

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if listening[0] and event == "open":
            found.append(str(arguments[0]))

    sys.addaudithook(note)
    yield found
    listening[0] = False


@pytest.mark.parametrize("location", ["/etc/passwd", "../../../etc/passwd", "weights.bin", "model.onnx", "\0", ""])
def test_no_file_of_external_data_is_opened(location: str, tmp_path: Path) -> None:
    """Its place is a text among others; the weights count by their lengths."""
    (tmp_path / "weights.bin").write_bytes(b"secret")
    model = good()
    weight(model)
    model.graph.initializer[0].external_data[0].value = location
    model.graph.initializer[0].external_data.add(key="length", value="-1")
    with opened_files() as opened:
        found = read(model, tmp_path)
    assert {Path(path).name for path in opened if "etc" in path or "weights" in path} == set()
    assert found.costs.persistent_bytes.tolist() == [0, 64, 0]


def test_two_gigabytes_are_read_by_their_lengths(tmp_path: Path) -> None:
    """A weight of 2³¹ bytes, and one of 2⁴⁰, cost a few bytes of the file: the shapes behind them are known."""
    for rows in (2**27, 2**36):
        model = Builder()
        data = model.input("data", [1, rows])
        model.node("Relu", model.node("MatMul", data, model.weight(rows, 4)))
        found = read(model.model("Relu:0"), tmp_path)
        assert found.costs.persistent_bytes.tolist() == [0, 16 * rows, 0]
        assert found.costs.flops.tolist() == [0, 8 * rows, 4]
        assert not found.costs.unknown.any()


def test_too_many_operations_are_unknown(tmp_path: Path) -> None:
    """No number overflows."""
    model = Builder()
    data = model.input("data", [2**30, 2**30, 2**30])
    made = model.model(model.node("MatMul", data, data))
    found = read(made, tmp_path)
    why = "its operations or bytes are too many to count"
    assert found.summary()["unknown"] == [["data", "Input", why], ["MatMul", "MatMul", why]]


ODD_NAMES = (
    "<img src=x onerror=alert(1)>",
    "a,b;c(d)=e",
    "../../etc",
    "a//b/",
    "\N{RIGHT-TO-LEFT OVERRIDE}",
    "'; --",
    " ",
)


def test_names_are_kept_and_made_unique(tmp_path: Path) -> None:
    """An empty name is the type and the number of the node; a name that is taken gets a number."""
    model = Builder()
    data = model.input("x", [2])
    for name in ODD_NAMES:
        data = model.node("Neg", data, name=name)
    made = model.model(data)
    for name in ("", "", "x", " "):
        made.graph.node.append(helper.make_node("Abs", ["x"], [f"abs{len(made.graph.node)}"], name=name))
    found = read(made, tmp_path)
    assert found.graph.op_names == ("x", *ODD_NAMES, "Abs_7", "Abs_8", "x_1", " _1")


def test_ops_of_other_domains_are_listed(tmp_path: Path) -> None:
    """The op itself lacks a formula; what follows it lacks a shape, unless the file says it."""
    model = Builder()
    data = model.input("x", [2, 3])
    own = model.node("Secret", data, domain="com.example")
    known = model.node("Secret", data, domain="com.example", name="said")
    model.node("Relu", own)
    made = model.model(model.node("Relu", known, name="fine"), opsets={"": 17, "com.example": 1})
    made.graph.value_info.append(helper.make_tensor_value_info(known, TensorProto.FLOAT, [2, 5]))
    found = read(made, tmp_path)
    assert found.summary()["unknown"] == [
        ["Secret", "Secret", "there is no formula for the operations of this op"],
        ["said", "Secret", "there is no formula for the operations of this op"],
        ["Relu", "Relu", "the shape of an input is unknown"],
    ]
    assert found.costs.flops.tolist()[-1] == 10
    assert found.summary()["heavy_unknown"] == [["Secret", 2], ["Relu", 1]]


def misfits() -> dict[str, Callable[[Builder], str]]:
    """Ops whose inputs or attributes do not fit."""

    def node(op_type: str, *shapes: tuple[int, ...], **attributes: Any) -> Callable[[Builder], str]:
        def build(model: Builder) -> str:
            inputs = [model.input(f"i{index}", shape) for index, shape in enumerate(shapes)]
            return model.node(op_type, *inputs, **attributes)

        return build

    return {
        "ranks": node("Conv", (1, 3, 8), (4, 3, 3, 3)),
        "strides of zero": node("Conv", (1, 3, 8, 8), (4, 3, 3, 3), strides=[0, 0]),
        "negative strides": node("Conv", (1, 3, 8, 8), (4, 3, 3, 3), strides=[-1, -1]),
        "huge pads": node("Conv", (1, 3, 8, 8), (4, 3, 3, 3), pads=[2**62] * 4),
        "group of zero": node("Conv", (1, 3, 8, 8), (4, 3, 3, 3), group=0),
        "inner lengths": node("MatMul", (2, 3), (4, 5)),
        "axis": node("Softmax", (2, 3), axis=7),
        "concatenation": node("Concat", (2, 3), (4, 5), axis=0),
        "an axis of concatenation": node("Concat", (2, 3), (2, 3), axis=-9),
        "permutation": node("Transpose", (2, 3), perm=[5, 5]),
        "window": node("MaxPool", (1, 1, 8, 8), kernel_shape=[0, -1]),
        "equation": node("Einsum", (2, 3), (3, 4), equation="ij,jk,kl->il"),
        "equation of nonsense": node("Einsum", (2, 3), equation="...->->,"),
        "recurrence": node("LSTM", (5, 1, 8), (1, 15, 8), (1, 16, 4), hidden_size=4),
        "no inputs": node("MatMul"),
        "blocks": node("DepthToSpace", (1, 4, 2, 2), blocksize=0),
        "split": node("Split", (2, 3), axis=9, num_outputs=2),
        "reduction": node("ReduceSum", (2, 3), (1,)),
        "attribute of another type": node("Softmax", (2, 3), axis="last"),
        "cast": node("Cast", (2, 3), to=99),
        "size of Loop": node("Loop", (1,), (1,), body=helper.make_graph([], "b", [], [])),
        "scan": node("Scan", (3,), body=helper.make_graph([], "b", [], []), num_scan_inputs=-5),
    }


@pytest.mark.parametrize("name", list(misfits()))
def test_ops_that_do_not_fit_are_never_free(name: str, tmp_path: Path) -> None:
    """They are unknown, with a reason, or have a cost; the model is read."""
    model = Builder()
    output = misfits()[name](model)
    found = read(model.model(output, opsets={"": 18}), tmp_path)
    [op] = [op for op, found_type in enumerate(found.graph.op_types) if found_type != "Input"]
    is_known = found.costs.source[op] != CostSource.UNKNOWN
    assert not is_known or found.costs.flops[op] or found.costs.moved_bytes[op]
    assert np.isfinite(found.costs.time_us).all()


def test_texts_sequences_and_optional_values(tmp_path: Path) -> None:
    """Their bytes are unknown, and they say so."""
    model = Builder()
    text = model.input("text", [3], TensorProto.STRING)
    data = model.input("data", [3])
    sequence = model.node("SequenceConstruct", data, data)
    model.node("SequenceAt", sequence, model.integers([0]))
    made = model.model(model.node("StringNormalizer", text), model.node("SequenceLength", sequence))
    rows = cast(list[list[str]], read(made, tmp_path).summary()["unknown"])
    reasons = {name: why for name, _, why in rows}
    assert reasons["text"] == "its output is text, whose length is unknown"
    assert reasons["StringNormalizer"] == "its output is text, whose length is unknown"
    assert reasons["SequenceConstruct"] == "its output is a list or another value of unknown size"


def test_nodes_in_any_order_are_read(tmp_path: Path) -> None:
    """As ONNX Runtime reads them; and inputs that are initialised are no inputs."""
    made = good()
    nodes = list(made.graph.node)
    del made.graph.node[:]
    made.graph.node.extend(reversed(nodes))
    made.graph.input.append(helper.make_tensor_value_info("weight", TensorProto.FLOAT, [4, 4]))
    found = read(made, tmp_path)
    assert found.graph.op_names == ("data", "MatMul", "Relu")
    assert found.graph.edge_source.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sizes": {"no": 3}}, "no: the graph has no dimension or length of this name; allowed: rows, columns"),
        ({"trips": {"no": 3}}, "no: the graph has no such loop; allowed: none: it has none"),
        ({"input_shapes": {"no": (3,)}}, "no: the op is not an input; allowed: x, y"),
        ({"input_shapes": {"x": (3,)}}, "x: the shape [3] contradicts the file; allowed: 3 lengths"),
        (
            {"input_shapes": {"x": (3, 4, 9)}},
            "x: the shape [3,4,9] contradicts the file, or another option: 9 is 5; allowed: 5",
        ),
        (
            {"sizes": {"rows": 2}, "input_shapes": {"y": (3, -1)}},
            "y: the shape [3,?] contradicts the file, or another option: 3 is 2; allowed: 2",
        ),
    ],
)
def test_options_that_do_not_fit(options: dict[str, object], sentence: str, tmp_path: Path) -> None:
    model = Builder()
    model.node("Relu", model.input("x", ["rows", "columns", 5]))
    model.node("Relu", model.input("y", ["rows", None]))
    made = model.model("Relu:0", "Relu_1:0")
    with pytest.raises(SettingsError) as refused:
        read(made, tmp_path, ReadingOptions(**options))  # type: ignore[arg-type]
    assert str(refused.value) == sentence


def test_open_lengths_are_asked_for_and_given(tmp_path: Path) -> None:
    """By the names of dimensions, a batch size, or shapes; what stays open is said."""
    model = Builder()
    model.node("Relu", model.input("x", ["rows", "columns", -1]))
    model.node("Relu", model.input("y", [None, "columns"]))
    made = model.model("Relu:0", "Relu_1:0")
    path = tmp_path / "model.onnx"
    path.write_bytes(made.SerializeToString())
    asked = [
        {"name": "x", "shape": [-1, -1, -1], "dimensions": ["rows", "columns", ""]},
        {"name": "y", "shape": [-1, -1], "dimensions": ["", "columns"]},
    ]
    assert check_here(path) == {"open_inputs": asked}
    found = read_here(path)
    assert found.summary()["sizes"] == [
        {"name": "rows", "type": "dimension", "length": None, "source": "unknown"},
        {"name": "columns", "type": "dimension", "length": None, "source": "unknown"},
    ]
    options = ReadingOptions(batch_size=2, sizes={"columns": 3}, input_shapes={"x": (-1, -1, 7)})
    assert check_here(path, options) == {"open_inputs": []}
    assert read_here(path, options).costs.output_bytes.tolist() == [168, 24, 168, 24]


def test_a_changed_weight_is_read(tmp_path: Path) -> None:
    """The file of which most bad ones are made is good."""
    assert read(changed(lambda model: weight(model)), tmp_path).graph.op_count == 3
    assert without_data("w", 1, [2]).dims == [2]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (["a.onnx", "b/c.onnx"], "the archive has several ONNX models: a.onnx, b/c.onnx; allowed: one"),
        (["../model.onnx"], "../model.onnx: the entry climbs out of the archive's folder; allowed: plain files"),
        (["/etc/model.onnx"], "/etc/model.onnx: the entry has an absolute path; allowed: plain files"),
        (
            ["weights.bin"],
            "the archive has no saved_model.pb, neither at its top nor in the one folder there",
        ),
        (["bad.onnx"], "the file is not an ONNX model, or it is cut short or damaged; allowed: an ONNX model"),
    ],
)
def test_archives_that_are_refused(entries: list[str], sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    content = good().SerializeToString()
    path.write_bytes(archive(*((name, b"bad" if name.startswith("bad") else content) for name in entries)))
    for attempt in (check_here, read_here):
        with pytest.raises(GraphError) as refused:
            attempt(path)
        assert str(refused.value).startswith(sentence)


def test_a_model_zipped_with_its_weights_is_read_and_written(tmp_path: Path) -> None:
    """Its weights are not read, whatever they are; it goes out as the model alone does."""
    model = good()
    weight(model)
    path = tmp_path / "model.zip"
    path.write_bytes(archive(("m/model.onnx", model.SerializeToString()), ("m/weights.bin", b"\0" * 10**6)))
    assert check_here(path) == {"open_inputs": []}
    found = read_here(path)
    assert (found.origin.format, found.graph.op_names) == (".onnx", ("data", "MatMul", "Relu"))
    alone = tmp_path / "model.onnx"
    alone.write_bytes(model.SerializeToString())
    placement = dict.fromkeys(found.graph.op_names, "/device:GPU:0")
    contents = []
    for source, written in ((path, zipped.write), (alone, writer.write)):
        file = SourceFile(source, source.suffix, 2**28)
        written(file, Placing(placement, ".onnx", short=False, keep_pins=False), tmp_path, no_progress)
        contents.append((tmp_path / PLACED_FILE).read_bytes())
    assert contents[0] == contents[1]
    with pytest.raises(GraphError, match=r"an ONNX model holds no GraphDef, so no \.pb can be written"):
        file = SourceFile(path, ".zip", 2**28)
        zipped.write(file, Placing(placement, ".pb", short=False, keep_pins=False), tmp_path, no_progress)


@pytest.mark.parametrize("options", [{"signature": "s"}, {"tags": ("serve",)}, {"fetches": ("Relu",)}])
def test_options_of_other_formats_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    [field] = options
    with pytest.raises(SettingsError) as refused:
        read(good(), tmp_path, ReadingOptions(**options))
    assert str(refused.value) == f"{field}: an ONNX model has no {field}; allowed: none"
