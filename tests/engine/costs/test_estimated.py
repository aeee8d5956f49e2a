"""Estimated costs: right within the roofline's factor of two, whole, and honest about what is not known."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from engine.child import Limits, Results, run_in_child
from engine.clusters.catalogue import CATALOGUE
from engine.costs.costs import Costs, Source
from engine.costs.estimated import estimate_costs
from engine.errors import CostError, GraphError
from engine.events import Json
from engine.graphs.graph import ComputationGraph
from engine.graphs.graphdef_reader import read_graph
from engine.graphs.wire import bytes_field
from tests.engine.graphs.graphdef_samples import attribute, node, text, total, type_attribute

KINDS = tuple(CATALOGUE)


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

    def source(self, name: str) -> Source:
        return Source(int(self.costs.source[self.op(name)]))

    def time(self, name: str, kind: str) -> float:
        return float(self.costs.time_us[self.costs.kinds.index(kind), self.op(name)])


def costed(path: Path, content: bytes | None = None, kinds: tuple[str, ...] = ("K80",)) -> Costed:
    if content is not None:
        path.write_bytes(content)
    graph = read_graph(path, path.suffix, Limits())
    return Costed(path, graph, estimate_costs(path, path.suffix, graph, kinds, Limits()))


@pytest.fixture(scope="module")
def inception(inception_path: Path) -> Costed:
    return costed(inception_path, kinds=KINDS)


@pytest.fixture(scope="module")
def arithmetic(inception_path: Path) -> Results:
    """Operations and bytes of convolutions and products, by name."""
    order: dict[str, Json] = {"path": str(inception_path)}
    return run_in_child("tests.engine.costs.roofline:arithmetic_in_child", order, Limits(), task="counting")


@pytest.mark.parametrize("kind", KINDS)
def test_convolutions_and_products_are_within_twice_the_roofline(
    inception: Costed, arithmetic: Results, kind: str
) -> None:
    arrays, texts = arithmetic
    device = CATALOGUE[kind]
    arithmetic_us = arrays["operations"].astype(float) / (device.peak_gflops * 1e3)
    transfer_us = arrays["bytes"].astype(float) / device.memory_bandwidth_bytes_per_us
    roofline = np.maximum(arithmetic_us, transfer_us)
    times = np.array([inception.time(name, kind) for name in cast(list[str], texts["names"])])
    assert len(times) > 250
    assert times.min() > 0
    ratio = times / roofline
    assert ratio.min() >= 1.0
    assert ratio.max() <= 2.0


def test_everything_in_a_zoo_graph_is_known(inception: Costed) -> None:
    assert inception.costs.kinds == KINDS
    assert set(inception.costs.source.tolist()) == {Source.ESTIMATED}
    totals = dict(zip(KINDS, inception.costs.time_us.sum(axis=1), strict=True))
    assert sorted(totals, key=lambda kind: totals[kind]) == ["H100", "A100", "V100", "P100", "K80", "CPU"]


def test_variables_count_once_and_so_do_their_slots(inception: Costed) -> None:
    """RMSProp keeps two slots a weight; moving averages are no weights; the step counter takes 8 bytes."""
    variables = [op for op, op_type in enumerate(inception.graph.op_types) if op_type == "VarHandleOp"]
    held = inception.costs.persistent_bytes
    assert set(np.flatnonzero(held).tolist()) <= set(variables)
    names = inception.graph.op_names
    moving = sum(int(held[op]) for op in variables if "/moving_" in names[op] and "/RMSProp" not in names[op])
    weights = 27_161_264  # of Inception-V3 with its auxiliary classifier
    assert int(held.sum()) == 4 * 3 * weights + moving + 8


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
    run_in_child("tests.engine.graphs.reading_in_child:text_to_binary_in_child", order, Limits(), task="writing")
    content = (folder / "mixed.pb").read_bytes() + constant + total("sum", "large")
    return costed(folder / "mixed.pb", content, ("K80", "CPU"))


UNKNOWN, ESTIMATED = Source.UNKNOWN, Source.ESTIMATED


@pytest.mark.parametrize(
    ("name", "source", "outputs"),
    [
        ("batch", UNKNOWN, [32]),  # the least that it can be: one row
        ("free", UNKNOWN, [32]),
        ("beyond", ESTIMATED, [2**35]),  # more than any device has
        ("claim", ESTIMATED, [10**10]),  # one value for all elements
        ("fixed", ESTIMATED, [128]),
        ("bound", ESTIMATED, [128]),
        ("default", ESTIMATED, [128]),
        ("mystery", UNKNOWN, [4, 4]),
        ("told", UNKNOWN, [8, 24]),
        ("behind", ESTIMATED, [24]),
        ("one", ESTIMATED, [0]),
        ("lost", UNKNOWN, [0]),
        ("read", ESTIMATED, [400]),
        ("ref", ESTIMATED, [20]),
        ("contents", UNKNOWN, [0]),
        ("write", UNKNOWN, []),
        ("after", ESTIMATED, []),
        ("large", ESTIMATED, [2**20]),
        ("sum", ESTIMATED, [2**20]),
    ],
)
def test_what_is_known_of_each_op(mixed: Costed, name: str, source: Source, outputs: list[int]) -> None:
    assert (mixed.source(name), mixed.outputs(name)) == (source, outputs)


def test_one_variable_of_two_handles_counts_once(mixed: Costed) -> None:
    held = {name: int(mixed.costs.persistent_bytes[mixed.op(name)]) for name in mixed.graph.op_names}
    assert {name: size for name, size in held.items() if size} == {"one": 400, "ref": 20, "lost": 4}


def test_times_are_finer_than_a_microsecond_and_in_proportion(mixed: Costed) -> None:
    """Relu of 32 floats: 32 operations and 256 bytes."""
    k80, cpu = CATALOGUE["K80"], CATALOGUE["CPU"]
    for kind, device in (("K80", k80), ("CPU", cpu)):
        expected = 32 / (device.peak_gflops * 1e3) + 256 / device.memory_bandwidth_bytes_per_us
        assert mixed.time("bound", kind) == pytest.approx(expected, abs=0.02)
    expected = 2**21 / k80.memory_bandwidth_bytes_per_us
    assert mixed.time("sum", "K80") == pytest.approx(expected, rel=0.1)


def test_nothing_of_the_graph_is_run(mixed: Costed) -> None:
    assert not (mixed.path.parent / "written").exists()


def test_what_tensorflow_refuses_is_told(tmp_path: Path) -> None:
    content = node("a", "Const") + node("b", "Identity", "a", attributes=type_attribute("T", 1))
    with pytest.raises(CostError) as caught:
        costed(tmp_path / "graph.pb", content)
    assert str(caught.value).startswith(
        "TensorFlow refuses the graph: NodeDef missing attrs 'dtype', 'value' from Op<name="
    )
    assert len(str(caught.value)) < 400


ENDLESS = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "call" op: "f" input: "x" }
library { function { signature { name: "f"
    input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } }
  node_def { name: "again" op: "f" input: "a" } ret { key: "b" value: "again:b:0" } } }
"""


def test_a_graph_that_crashes_tensorflow_is_one_sentence(tmp_path: Path) -> None:
    """A function that calls itself: the estimator follows it until its stack ends."""
    with pytest.raises(GraphError, match=r"\Aestimating the costs failed: the process ended with signal SIGSEGV\Z"):
        costed(tmp_path / "graph.pbtxt", ENDLESS.encode())


def test_a_kind_without_figures_is_told(tmp_path: Path) -> None:
    with pytest.raises(
        CostError, match=r"\ATPU: no figures of this device kind; allowed: K80, P100, V100, A100, H100, CPU\Z"
    ):
        costed(tmp_path / "graph.pb", node("a"), ("TPU",))


def test_a_file_that_has_changed_since_it_was_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    path.write_bytes(node("a"))
    graph = read_graph(path, ".pb", Limits())
    path.write_bytes(node("b"))
    with pytest.raises(CostError, match=r"\Agraph.pb: the file has changed since it was read\Z"):
        estimate_costs(path, ".pb", graph, ["K80"], Limits())
