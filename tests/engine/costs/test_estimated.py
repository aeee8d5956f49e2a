"""Estimated costs of odd graphs: in proportion, and honest about what is not known."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from engine.child.parent import Limits, run_in_child
from engine.clusters.device_kinds import CATALOGUE
from engine.costs.costs import Costs, CostSource
from engine.costs.tensorflow.estimable import OF_UNKNOWN_ARITHMETIC
from engine.costs.unknown import SENTENCES, Unknown
from engine.errors import ChildError, CostError
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.wire import bytes_field
from engine.prepared import PreparedGraph
from tests.engine.costs.in_child import estimated
from tests.engine.formats.graphdef_samples import attribute, node, text, total, type_attribute
from tests.engine.graphs.graph_samples import make_costs, make_graph


@dataclass(frozen=True, slots=True)
class Costed:
    """A graph with its costs."""

    path: Path
    graph: ComputationGraph
    costs: Costs

    def op(self, name: str) -> int:
        return self.graph.op_names.index(name)

    def outputs(self, name: str) -> list[int]:
        """Bytes of each output of op `name`."""
        start, end = self.costs.output_offset[self.op(name) : self.op(name) + 2]
        return cast(list[int], self.costs.output_bytes[start:end].tolist())

    def why_unknown(self, name: str) -> Unknown:
        """`NOT_SAID` if and only if it is known."""
        why = Unknown(int(self.costs.unknown[self.op(name)]))
        assert (why == Unknown.NOT_SAID) == (self.costs.source[self.op(name)] == CostSource.ESTIMATED)
        return why

    def time(self, name: str, kind: str) -> float:
        return float(self.costs.time_us[self.costs.kinds.index(kind), self.op(name)])


def costed(path: Path, content: bytes | None = None, kinds: tuple[str, ...] = ("K80",)) -> Costed:
    if content is not None:
        path.write_bytes(content)
    return Costed(path, *estimated(path, kinds, Limits()))


MIXED = """
node { name: "batch" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 8 } } } } }
node { name: "fixed" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 4 } dim { size: 8 } } } } device: "/device:GPU:7" }
node { name: "huge" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 8589934592 } } } } }
node { name: "beyond" op: "Relu" input: "huge" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "claim" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2500000000 } } float_val: 1 } } } }
node { name: "free" op: "Relu" input: "batch" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "bound" op: "Relu" input: "fixed" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "default" op: "PlaceholderWithDefault" input: "fixed" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 8 } } } } }
node { name: "mystery" op: "Mystery" input: "bound" input: "^free" }
node { name: "told" op: "Mystery" input: "mystery:1" attr { key: "_output_shapes" value { list {
  shape { dim { size: 2 } } shape { dim { size: 3 } } } } } }
node { name: "behind" op: "Relu" input: "told:1" attr { key: "T" value { type: DT_DOUBLE } } }
node { name: "one" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 100 } } } } attr { key: "shared_name" value { s: "x" } } }
node { name: "other" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 100 } } } } attr { key: "shared_name" value { s: "x" } } }
node { name: "lost" op: "VarHandleOp" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { unknown_rank: true } } } }
node { name: "read" op: "ReadVariableOp" input: "other" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "ref" op: "VariableV2" attr { key: "dtype" value { type: DT_HALF } }
  attr { key: "shape" value { shape { dim { size: 10 } } } } }
node { name: "path" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape {} string_val: "FOLDER/read" } } } }
node { name: "written" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
  attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape {} string_val: "FOLDER/written" } } } }
node { name: "contents" op: "ReadFile" input: "path" }
node { name: "write" op: "WriteFile" input: "written" input: "contents" }
node { name: "after" op: "NoOp" input: "^write" }
node { name: "volume" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape {
    dim { size: 1 } dim { size: 4 } dim { size: 4 } dim { size: 4 } dim { size: 2 } } } } }
node { name: "filter" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape {
    dim { size: 1 } dim { size: 1 } dim { size: 1 } dim { size: 2 } dim { size: 3 } } } } }
node { name: "conv" op: "Conv3D" input: "volume" input: "filter" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "strides" value { list { i: 1 i: 1 i: 1 i: 1 i: 1 } } } attr { key: "padding" value { s: "SAME" } } }
node { name: "call" op: "StatelessIf" input: "flag" input: "bound" attr { key: "Tcond" value { type: DT_BOOL } }
  attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "then_branch" value { func { name: "same" } } }
  attr { key: "else_branch" value { func { name: "same" } } }
  attr { key: "output_shapes" value { list { shape { dim { size: 4 } dim { size: 8 } } } } } }
node { name: "flag" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
  attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape {} bool_val: true } } } }
library { function { signature { name: "same"
    input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } } ret { key: "b" value: "a" } } }
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Costed:
    """A graph of all that is hard to estimate, with a constant of a megabyte."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "read").write_text("secret")
    value = bytes_field(
        8, bytes([0x08, 1]) + bytes_field(2, bytes_field(2, b"\x08\x80\x80\x10")) + text(4, bytes(2**20))
    )
    constant = node("large", "Const", attributes=type_attribute("dtype", 1) + attribute("value", value))
    to_binary = folder / "mixed.pbtxt"
    to_binary.write_text(MIXED.replace("FOLDER", str(folder)))
    order: dict[str, Json] = {"path": str(to_binary), "target": str(folder / "mixed.pb")}
    run_in_child(
        "tests.engine.formats.reading_in_child:text_to_binary_in_child", order, Limits(), task="writing", is_warm=True
    )
    content = (folder / "mixed.pb").read_bytes() + constant + total("sum", "large")
    return costed(folder / "mixed.pb", content, ("K80", "CPU"))


KNOWN = Unknown.NOT_SAID


@pytest.mark.parametrize(
    ("name", "why_unknown", "outputs"),
    [
        ("batch", Unknown.OUTPUT_SHAPE, [32]),  # the least that it can be: one row
        ("free", Unknown.INPUT_SHAPE, [32]),
        ("beyond", KNOWN, [2**35]),  # more than any device has
        ("claim", KNOWN, [10**10]),  # one value for all elements
        ("fixed", KNOWN, [128]),
        ("bound", KNOWN, [128]),
        ("default", KNOWN, [128]),
        ("mystery", Unknown.TYPE, [4, 4]),
        ("told", Unknown.TYPE, [8, 24]),
        ("behind", KNOWN, [24]),
        ("one", KNOWN, [0]),
        ("lost", Unknown.OUTPUT_SHAPE, [0]),
        ("read", KNOWN, [400]),
        ("ref", KNOWN, [20]),
        ("contents", Unknown.TEXT, [0]),
        ("write", Unknown.INPUT_SHAPE, []),
        ("after", KNOWN, []),
        ("conv", Unknown.NOT_SAID, [768]),
        ("call", Unknown.FUNCTION, [128]),
        ("large", KNOWN, [2**20]),
        ("sum", KNOWN, [2**20]),
    ],
)
def test_what_is_known_of_each_op(mixed: Costed, name: str, why_unknown: Unknown, outputs: list[int]) -> None:
    assert (mixed.why_unknown(name), mixed.outputs(name)) == (why_unknown, outputs)


def test_each_reason_has_a_sentence_of_its_own() -> None:
    assert set(SENTENCES) == set(Unknown)
    assert len(set(SENTENCES.values())) == len(Unknown)


def test_the_summary_lists_what_is_unknown_causes_first(mixed: Costed) -> None:
    prepared = PreparedGraph(mixed.graph, mixed.costs, group_ops(mixed.graph, mixed.costs, None))
    for each in (prepared, PreparedGraph.from_bytes(prepared.to_bytes())):
        summary = each.summary()
        listed = cast(list[list[str]], summary["unknown"])
        assert summary["unknown_ops"] == len(listed)
        assert [name for name, _, _ in listed] == [
            *("batch", "mystery", "told", "lost", "contents", "call", "free", "write")
        ]
        assert listed[0] == ["batch", "Placeholder", "the shape of an output is unknown"]
        assert listed[-1] == ["write", "WriteFile", "the shape of an input is unknown"]


def test_the_summary_lists_two_hundred_at_most(tmp_path: Path) -> None:
    count = 250
    ops = count + 1
    unknown = np.full(ops, Unknown.TYPE, dtype=np.uint8)
    unknown[count] = Unknown.NOT_SAID
    graph = make_graph([f"op{index:03}" for index in range(ops)])
    source = np.where(unknown > 0, CostSource.UNKNOWN, CostSource.ESTIMATED).astype(np.uint8)
    costs = dataclasses.replace(make_costs(ops), source=source, unknown=unknown)
    summary = PreparedGraph(graph, costs, group_ops(graph, costs, None)).summary()
    assert summary["unknown_ops"] == count
    assert summary["unknown"] == [[f"op{index:03}", "", SENTENCES[Unknown.TYPE]] for index in range(200)]


def test_one_variable_of_two_handles_counts_once(mixed: Costed) -> None:
    held = {name: int(mixed.costs.persistent_bytes[mixed.op(name)]) for name in mixed.graph.op_names}
    assert {name: size for name, size in held.items() if size} == {"one": 400, "ref": 20, "lost": 4}


def test_times_are_finer_than_a_microsecond_and_in_proportion(mixed: Costed) -> None:
    """Relu of 32 floats: 32 operations and 256 bytes."""
    for kind in ("K80", "CPU"):
        device = CATALOGUE[kind]
        expected = 32 / (device.peak_gflops * 1e3) + 256 / device.memory_bandwidth_bytes_per_us
        assert mixed.time("bound", kind) == pytest.approx(expected, rel=1e-12)
    assert mixed.time("sum", "K80") == pytest.approx(2**21 / CATALOGUE["K80"].memory_bandwidth_bytes_per_us, rel=0.1)


def test_an_op_of_too_much_arithmetic_is_unknown_and_ends_no_file(tmp_path: Path) -> None:
    content = HUGE_PRODUCT.replace("LENGTH", str(2**22)).encode()
    found = costed(tmp_path / "graph.pbtxt", content)
    assert found.costs.why_unknown(found.op("product")) == SENTENCES[Unknown.OVERFLOW]
    assert found.time("product", "K80") == 0


def test_nothing_of_the_graph_is_run(mixed: Costed) -> None:
    assert not (mixed.path.parent / "written").exists()


def test_what_tensorflow_refuses_is_reported(tmp_path: Path) -> None:
    content = node("a", "Const") + node("b", "Identity", "a", attributes=type_attribute("T", 1))
    with pytest.raises(CostError) as caught:
        costed(tmp_path / "graph.pb", content)
    assert str(caught.value).startswith(
        "a: TensorFlow refuses the graph: NodeDef missing attrs 'dtype', 'value' from Op<name="
    )
    assert len(str(caught.value)) < 400


HUGE_PRODUCT = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: LENGTH } dim { size: LENGTH } } } } }
node { name: "product" op: "MatMul" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""

ENDLESS = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "call" op: "f" input: "x" }
library { function { signature { name: "f"
    input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } }
  node_def { name: "again" op: "f" input: "a" } ret { key: "b" value: "again:b:0" } } }
"""


def test_a_graph_that_crashes_tensorflow_is_one_sentence(tmp_path: Path) -> None:
    """A function that calls itself: the estimator follows it until its stack ends."""
    with pytest.raises(ChildError, match=r"\Aestimating the costs failed: the process ended with signal SIGSEGV\Z"):
        costed(tmp_path / "graph.pbtxt", ENDLESS.encode())


def test_a_kind_without_figures_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CostError, match=rf"\ATPU: no figures of this device kind; allowed: {', '.join(CATALOGUE)}\Z"):
        costed(tmp_path / "graph.pb", node("a"), ("TPU",))


def test_the_types_that_cannot_be_estimated_are_registered() -> None:
    assert registered_ops().keys() >= OF_UNKNOWN_ARITHMETIC
