"""Shapes that a person gives, shapes that the file tells, and what both make known."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.child.parent import Limits, run_in_child
from engine.clusters.device_kinds import CATALOGUE, COSTED_KINDS
from engine.costs.unknown import Unknown
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions

BATCHES = """
versions { producer: 1882 }
node { name: "images" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 8 } } } } }
node { name: "free" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "default" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } dim { size: 8 } }
    float_val: 0 } } } }
node { name: "defaulted" op: "PlaceholderWithDefault" input: "default" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 8 } } } } }
node { name: "rate" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { } } } }
node { name: "told" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "_output_shapes" value { list { shape { dim { size: -1 } dim { size: 5 } } } } } }
node { name: "weights" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 8 } dim { size: 3 } }
    float_val: 0 } } } }
node { name: "product" op: "MatMul" input: "images" input: "weights" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_output_shapes" value { list { shape { dim { size: -1 } dim { size: 3 } } } } } }
node { name: "of_free" op: "Relu" input: "free" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "of_default" op: "Relu" input: "defaulted" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "of_rate" op: "Relu" input: "rate" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "of_told" op: "Relu" input: "told" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "files" op: "Placeholder" attr { key: "dtype" value { type: DT_RESOURCE } } }
node { name: "next" op: "IteratorGetNext" input: "files"
  attr { key: "output_types" value { list { type: DT_FLOAT type: DT_INT32 } } }
  attr { key: "output_shapes" value { list {
    shape { dim { size: -1 } dim { size: 6 } } shape { dim { size: 2 } } } } } }
node { name: "of_next" op: "Relu" input: "next" attr { key: "T" value { type: DT_FLOAT } } }
"""
LEGACY = """
versions { producer: 21 }
node { name: "input" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { } } } }
node { name: "relu" op: "Relu" input: "input" attr { key: "T" value { type: DT_FLOAT } } }
"""
NO_INPUTS = 'node { name: "nothing" op: "NoOp" }'
HINTS = """
node { name: "input" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "open" op: "Relu" input: "input" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_output_shapes" value { list { shape { dim { size: 2 } dim { size: 3 } } } } } }
node { name: "taken" op: "Exp" input: "open:0" input: "^input" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "wrong" op: "Relu" input: "taken" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_output_shapes" value { list { shape { dim { size: 7 } } } } } }
"""
LOOP = """
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
node { name: "lost" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "enter" op: "Enter" input: "x" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "frame_name" value { s: "loop" } } }
node { name: "enter_lost" op: "Enter" input: "lost" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "frame_name" value { s: "loop" } } attr { key: "is_constant" value { b: true } } }
node { name: "merge" op: "Merge" input: "enter" input: "next" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "N" value { i: 2 } } }
node { name: "true" op: "Const" input: "^merge" attr { key: "dtype" value { type: DT_BOOL } }
  attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } } } }
node { name: "cond" op: "LoopCond" input: "true" }
node { name: "switch" op: "Switch" input: "merge" input: "cond" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "product" op: "MatMul" input: "switch:1" input: "enter_lost" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "next" op: "NextIteration" input: "product" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_output_shapes" value { list { shape { dim { size: 2 } dim { size: 3 } } } } } }
node { name: "exit" op: "Exit" input: "switch" attr { key: "T" value { type: DT_FLOAT } }
  attr { key: "_output_shapes" value { list { shape { dim { size: 2 } dim { size: 3 } } } } } }
"""
PASSED_ON = """
node { name: "handle" op: "Placeholder" attr { key: "dtype" value { type: DT_RESOURCE } } }
node { name: "again" op: "Identity" input: "handle" attr { key: "T" value { type: DT_RESOURCE } } }
node { name: "within" op: "Enter" input: "again:0" attr { key: "T" value { type: DT_RESOURCE } }
  attr { key: "frame_name" value { s: "loop" } } attr { key: "is_constant" value { b: true } } }
node { name: "read" op: "ReadVariableOp" input: "within" attr { key: "dtype" value { type: DT_DOUBLE } } }
"""
GRAPHS = {
    "batches": BATCHES,
    "legacy": LEGACY,
    "no_inputs": NO_INPUTS,
    "hints": HINTS,
    "loop": LOOP,
    "passed_on": PASSED_ON,
}


def job(graph: str, batch_size: int | None = None, **shapes: tuple[int, ...]) -> tuple[str, ReadingOptions]:
    return graph, ReadingOptions(batch_size=batch_size, input_shapes=shapes)


JOBS = {
    "as it is": job("batches"),
    "batch": job("batches", 32),
    "shapes": job("batches", 32, images=(4, 8), free=(2, 2, 2), told=(7, 5)),
    "legacy": job("legacy"),
    "legacy batch": job("legacy", 32),
    "legacy shape": job("legacy", input=(3, 3)),
    "hints": job("hints"),
    "loop": job("loop"),
    "passed on": job("passed_on", handle=(5, 3)),
    "hints overruled": job("hints", input=(4, 4)),
}
MISTAKES = {
    "missing": (
        job("batches", image=(4, 8)),
        "SettingsError: image: there is no such op; allowed: images, free, defaulted, rate, told, files",
    ),
    "no input": (
        job("batches", product=(4, 8)),
        "SettingsError: product: the op is not an input but of type MatMul; "
        "allowed: images, free, defaulted, rate, told, files",
    ),
    "none at all": (
        job("no_inputs", x=(1,)),
        "SettingsError: x: there is no such op; allowed: none, since the graph has no inputs",
    ),
    "contradiction": (
        job("batches", images=(4, 9)),
        "SettingsError: images: the shape [4, 9] contradicts the file; allowed: [?, 8]",
    ),
    "rank": (
        job("batches", images=(4, 8, 1)),
        "SettingsError: images: the shape [4, 8, 1] contradicts the file; allowed: [?, 8]",
    ),
    "scalar": (job("batches", rate=(1,)), "SettingsError: rate: the shape [1] contradicts the file; allowed: []"),
    "told": (
        job("batches", told=(4, 4)),
        "SettingsError: told: the shape [4, 4] contradicts the file; allowed: [?, 5]",
    ),
}


class Answers:
    """What one child says of all jobs."""

    def __init__(self, folder: Path) -> None:
        order: dict[str, Json] = {}
        for name, text in GRAPHS.items():
            (folder / f"{name}.pbtxt").write_text(text)
        for name, (graph, options) in (JOBS | {name: of_it for name, (of_it, _) in MISTAKES.items()}).items():
            order[name] = {"path": str(folder / f"{graph}.pbtxt"), "options": options.to_json()}
        self._arrays, self.texts = run_in_child(
            "tests.engine.costs.estimating:estimate_all_in_child", order, Limits(), task="estimating", is_warm=True
        )

    def array(self, name: str, key: str) -> NDArray[np.int64]:
        return self._arrays[f"{name}.{key}"].astype(np.int64)

    def outputs(self, name: str) -> dict[str, list[int]]:
        """Op → bytes of its outputs, for the ops whose outputs are known."""
        offset, sizes = self.array(name, "output_offset"), self.array(name, "output_bytes")
        names, unknown = cast(list[str], self.texts[name]), self.array(name, "unknown")
        assert isinstance(names, list), names
        return {
            op: sizes[offset[index] : offset[index + 1]].tolist()
            for index, op in enumerate(names)
            if unknown[index] == Unknown.NOT_SAID
        }


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    return Answers(tmp_path_factory.mktemp("input_shapes"))


KNOWN = {
    "default": [32],
    "defaulted": [32],
    "rate": [4],
    "of_rate": [4],
    "of_default": [32],
    "weights": [96],
    "files": [0],
}


def test_without_options_what_is_open_is_unknown(answers: Answers) -> None:
    assert answers.outputs("as it is") == KNOWN


def test_a_batch_size_goes_where_a_first_length_is_open(answers: Answers) -> None:
    assert answers.outputs("batch") == KNOWN | {
        "images": [4 * 32 * 8],
        "product": [4 * 32 * 3],
        "defaulted": [4 * 32 * 8],
        "of_default": [4 * 32 * 8],
        "told": [4 * 32 * 5],
        "of_told": [4 * 32 * 5],
        "next": [4 * 32 * 6, 4 * 2],
        "of_next": [4 * 32 * 6],
    }


def test_a_given_shape_goes_before_the_batch_size(answers: Answers) -> None:
    found = answers.outputs("shapes")
    assert (found["images"], found["product"]) == ([4 * 4 * 8], [4 * 4 * 3])
    assert (found["free"], found["of_free"]) == ([32], [32])
    assert (found["told"], found["of_told"]) == ([4 * 7 * 5], [4 * 7 * 5])
    assert found["defaulted"] == [4 * 32 * 8]


def test_a_scalar_input_of_an_old_file_has_any_shape(answers: Answers) -> None:
    """TensorFlow wrote [] for unknown shapes up to version 21 of its graphs."""
    assert answers.outputs("legacy") == answers.outputs("legacy batch") == {}
    assert answers.outputs("legacy shape") == {"input": [36], "relu": [36]}


def test_what_the_file_reports_of_an_output_holds_around_it(answers: Answers) -> None:
    found = answers.outputs("hints")
    assert (found["input"], found["open"], found["taken"]) == ([24], [24], [24])


def test_what_the_file_reports_of_an_output_and_cannot_be_is_not_believed(answers: Answers) -> None:
    assert answers.outputs("hints")["wrong"] == [24]


def test_what_is_inferred_goes_before_what_the_file_reports(answers: Answers) -> None:
    assert answers.outputs("hints overruled") == {"input": [64], "open": [64], "taken": [64], "wrong": [64]}


def test_times_follow_the_shapes(answers: Answers) -> None:
    names = cast(list[str], answers.texts["batch"])
    time = answers._arrays["batch.time_us"].astype(float)[COSTED_KINDS.index("K80"), names.index("product")]
    k80 = CATALOGUE["K80"]
    moved = 4 * (32 * 8 + 8 * 3 + 32 * 3)
    expected = 2 * 32 * 8 * 3 / (k80.peak_gflops * 1e3) + moved / k80.memory_bandwidth_bytes_per_us
    assert time == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(answers: Answers, name: str) -> None:
    assert answers.texts[name] == MISTAKES[name][1]


def test_a_given_shape_does_not_come_between_the_ends_of_a_loop(answers: Answers) -> None:
    """A MetaGraphDef of a loop tells the shape of its NextIteration."""
    assert answers.outputs("loop")["exit"] == [24]


def test_the_shape_of_a_captured_variable_reaches_reads_of_what_passes_it_on(answers: Answers) -> None:
    assert answers.outputs("passed on")["read"] == [8 * 5 * 3]
    assert answers.array("passed on", "persistent_bytes").tolist() == [8 * 5 * 3, 0, 0, 0]
