"""What is read of real SavedModels, MetaGraphDefs and graphs with functions; that it does what the whole file does."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from engine.child.parent import Limits, ReportProgress, Results, run_in_child
from engine.costs.costs import CostSource
from engine.errors import GraphError, SettingsError
from engine.events import Json
from engine.files.archive import from_fields
from engine.formats.reading import order_of, prepare, source_of
from engine.formats.registry import FORMATS, function
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import ComputationGraph
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import read_messages
from engine.graphs.tensorflow.graphdef_nodes import graph_of_messages
from engine.graphs.tensorflow.op_types import FUNCTION_CALLS, FUNCTIONAL_CONTROL_FLOW
from tests.engine.formats.graphdef_samples import CALL_IN_TEXT, constant, identity
from tests.engine.formats.reading import OPENED_FILE, open_in_child, opened, read_graph

SAMPLES = "tests.engine.formats.function_samples"
OURS = Limits(memory_bytes=8 * 1024**3, seconds=300.0)
"""for the samples, which are ours; what is under test has the usual limits"""
CASES: dict[str, tuple[str, str]] = {
    "loop": ("module.zip", "loop"),
    "train": ("module.zip", "train"),
    "keras": ("keras.zip", ""),
    "training": ("training.meta", ""),
    "calls": ("calls.pb", ""),
    "dataset": ("dataset.pb", ""),
    "compiled": ("compiled.pb", ""),
    "captured": ("captured.pb", ""),
    "branches": ("branches.pb", ""),
    "pruned": ("pruned.pb", ""),
    "not inlined": ("not inlined.pb", ""),
}
"""file and signature"""
LEFT = {"compiled": ["PartitionedCall"], "not inlined": ["StatefulPartitionedCall"]}
"""file → the calls that stay one op"""


class Case(NamedTuple):
    """An opened file; its GraphDef is kept where `path` says."""

    path: Path
    said: Origin
    graph: ComputationGraph


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("samples")
    run_in_child(f"{SAMPLES}:build_in_child", {"folder": str(folder)}, OURS, task="building samples", is_warm=True)
    for name in ("module", "keras"):
        shutil.make_archive(str(folder / name), "zip", folder, name)
    return folder


@pytest.fixture(scope="module")
def cases(folder: Path) -> dict[str, Case]:
    """Opened in one child, since each that inlines functions loads TensorFlow."""
    order: dict[str, Json] = {name: [file, signature] for name, (file, signature) in CASES.items()}
    _, texts = run_in_child(
        f"{__name__}:open_cases_in_child", order | {"folder": str(folder)}, OURS, task="opening", is_warm=True
    )
    found = {}
    for name in CASES:
        said = from_fields(Origin, {}, cast(dict[str, Json], texts[name]))
        path = folder / f"opened_{name}.pb"
        graph = graph_of_messages(read_messages(path.read_bytes(), ".pb"), name)
        found[name] = Case(path, said, graph)
    return found


def open_cases_in_child(order: dict[str, Json], own: Path, report_progress: ReportProgress) -> Results:
    """Name → what is said of the opened file; its GraphDef is left beside the samples."""
    folder, texts = Path(cast(str, order.pop("folder"))), {}
    for name, case in order.items():
        file, signature = cast(list[str], case)
        source = folder / file
        asked = order_of(source, source.suffix, ReadingOptions(signature), Limits())
        _, texts[name] = open_in_child(asked, own, report_progress)
        (own / OPENED_FILE).rename(folder / f"opened_{name}.pb")
    return {}, cast(dict[str, Json], texts)


@pytest.fixture(scope="module")
def results(folder: Path, cases: Mapping[str, Case]) -> dict[str, Any]:
    """What two steps give: [of the file's whole graph, of what was read], each [values, variables]."""
    jobs: dict[str, Json] = {}
    for name, (file, _) in CASES.items():
        if name != "captured":  # its variables would have to be fed
            whole = folder / f"{Path(file).stem}.pb"
            jobs[name] = [[str(whole), str(cases[name].path)], list(cases[name].said.fetches) or ["loss"]]
    _, texts = run_in_child(f"{SAMPLES}:run_in_child", jobs, OURS, task="running samples", is_warm=True)
    return texts


def ops_of(graph: ComputationGraph, op_type: str) -> list[int]:
    return [op for op, each in enumerate(graph.op_types) if each == op_type]


@pytest.mark.parametrize("name", [name for name in CASES if name != "captured"])
def test_what_is_read_gives_what_the_file_gives(results: dict[str, Any], name: str) -> None:
    (values, variables), (read_values, read_variables) = results[name]
    assert read_values == values
    assert read_variables.items() <= variables.items()
    assert values[0] or name == "training"


def test_side_effects_of_functions_stay(results: dict[str, Any]) -> None:
    for name, variable in [
        ("loop", "count"),
        ("train", "weights"),
        ("calls", "weights"),
        ("training", "weights"),
        ("pruned", "count"),
    ]:
        assert variable in results[name][1][1]
    first, second = results["train"][1][0]
    assert first != second


@pytest.mark.parametrize("name", CASES)
def test_no_call_is_left_that_can_be_inlined(cases: dict[str, Case], name: str) -> None:
    left = [op_type for op_type in cases[name].graph.op_types if op_type in FUNCTION_CALLS | FUNCTIONAL_CONTROL_FLOW]
    assert left == LEFT.get(name, [])


def test_a_call_that_is_left_is_the_file_s_own(folder: Path, cases: dict[str, Case]) -> None:
    before, after = (
        next(node for node in read_messages(path.read_bytes(), ".pb").nodes if node.op == "StatefulPartitionedCall")
        for path in (folder / "not inlined.pb", cases["not inlined"].path)
    )
    assert before == after
    assert len(before.input) == 4


def test_a_loop_s_variables_stay_together_and_its_back_edges_make_no_cycle(cases: dict[str, Case]) -> None:
    for name in ("loop", "calls", "captured"):
        graph = cases[name].graph
        assert len(graph.back_edges) == len(ops_of(graph, "NextIteration")) >= 2
        class_of_op = colocation_classes(graph)
        following, merge = class_of_op[graph.back_edges].T
        assert following.tolist() == merge.tolist()
        assert len(set(merge.tolist())) > 1, "each variable by itself"


@pytest.mark.parametrize("name", ["loop", "train", "keras", "training"])
def test_only_what_the_step_needs_is_read(cases: dict[str, Case], name: str) -> None:
    graph, said = cases[name].graph, cases[name].said
    assert set(said.fetches) <= set(graph.op_names)
    assert set(said.feeds) <= set(graph.op_names)
    assert {"SaveV2", "RestoreV2", "MergeV2Checkpoints", "ScalarSummary"}.isdisjoint(graph.op_types)
    consumed = {graph.op_names[op] for op in [*graph.edge_source.tolist(), *graph.back_edges[:, 0].tolist()]}
    assert set(graph.op_names) - consumed <= set(said.fetches)


def test_what_the_containers_say(cases: dict[str, Case]) -> None:
    assert cases["loop"].said.signatures == ("loop", "train")
    assert cases["loop"].said.feeds == ("loop_x",)
    assert cases["keras"].said.signatures == ("serve", "serving_default")
    assert cases["keras"].said.feeds == ("serving_default_images",)
    assert cases["training"].said.fetches == ("train_step",)
    assert cases["calls"].said.fetches == ()


def test_notes_say_what_was_done(cases: dict[str, Case]) -> None:
    meta, pruned, inlined, compiled = (cases[name].said.notes for name in ("training", "keras", "branches", "compiled"))
    ops = {name: cases[name].graph.op_count for name in cases}
    assert meta == (f"{ops['training']} of the file's 97 ops were read: those that collection train_op needs.",)
    assert pruned[0] == "10 of the file's 81 ops were read: those that signature serving_default needs."
    assert inlined == (
        "Calls of functions are replaced by the functions' ops, as TensorFlow's inliner does it (1 StatelessCase, "
        f"1 StatelessIf): 16 ops became {ops['branches']}. The placed graph is written in this form.",
    )
    says = "TensorFlow does not inline these calls, so each stays one op, whose cost is that of all ops in it"
    assert compiled[-1] == f"{says}: 1 PartitionedCall."


def test_functions_of_a_data_pipeline_stay_functions(cases: dict[str, Case]) -> None:
    graph = cases["dataset"].graph
    reasons = dict(zip(graph.op_types, graph.cpu_reason, strict=True))
    for op_type in ("MapDataset", "FilterDataset", "OneShotIterator"):
        if op_type in reasons:
            assert reasons[op_type] == "it belongs to a data pipeline"
    assert "OneShotIterator" in reasons
    assert reasons["Sum"] == reasons["Sqrt"] == ""


def test_variables_of_a_saved_model_keep_their_shapes(folder: Path) -> None:
    path = folder / "keras.zip"
    prepared = prepare(path, ".zip", lambda *_: None, Limits(), options=ReadingOptions(batch_size=8))
    graph, costs = prepared.graph, prepared.costs
    for op in [*ops_of(graph, "Conv2D"), *ops_of(graph, "MatMul")]:
        assert costs.source[op] == CostSource.ESTIMATED
        assert (costs.time_us[:, op] > 0).all()
    floats = 3 * 3 * 3 * 4 + 4 + 4 * 4 + 14 * 14 * 4 * 10 + 10
    assert costs.persistent_bytes.sum() == 4 * floats
    summary = prepared.summary()
    assert (summary["name"], summary["format"], summary["unknown_ops"]) == ("keras", ".zip", 0)
    assert summary["signatures"] == ["serve", "serving_default"]
    assert len(cast(list[str], summary["notes"])) == 2


def test_the_same_file_gives_the_same_bytes(folder: Path, cases: dict[str, Case]) -> None:
    file, signature = CASES["loop"]
    source = folder / file
    with opened(source, ReadingOptions(signature), Limits()) as said:
        assert said.path.read_bytes() == cases["loop"].path.read_bytes()


def test_a_plain_graph_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "plain.pb"
    path.write_bytes(constant("a") + identity("b", "a"))
    with opened(path, ReadingOptions(), Limits()) as said:
        assert said.origin == Origin(".pb", ReadingOptions().to_json())
        assert said.path.read_bytes() == path.read_bytes()


def test_functions_of_a_text_graph_are_inlined_too(tmp_path: Path) -> None:
    path = tmp_path / "graph.pbtxt"
    path.write_text(CALL_IN_TEXT)
    with opened(path, ReadingOptions(), Limits()) as said:
        graph = read_graph(said.path, ".pb", Limits())
    assert graph.op_types.count("Neg") == 1
    assert graph.op_types[graph.op_names.index("c")] == "IdentityN"


def test_what_tensorflow_refuses_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "graph.pbtxt"
    path.write_text(CALL_IN_TEXT.replace("n:y:0", "absent:y:0"))
    with pytest.raises(GraphError) as caught, opened(path, ReadingOptions(), Limits()):
        pass
    assert str(caught.value).startswith("TensorFlow cannot inline the functions: Return y -> absent:y:0")
    assert caught.value.field == "file"
    assert "\n" not in str(caught.value)


def loaded_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """Whether a child has loaded TensorFlow after a check, and after reading what calls no functions."""
    import sys

    source, texts = source_of(order), {}
    for step, path in (("checked", FORMATS[source.suffix].check), ("read", FORMATS[source.suffix].read)):
        function(path)(source, report_progress)
        texts[step] = "tensorflow.python" in sys.modules
    return {}, cast(dict[str, Json], texts)


@pytest.mark.parametrize(
    ("file", "is_loaded_to_read"), [("training.meta", False), ("training.pb", False), ("module.zip", True)]
)
def test_no_tensorflow_is_loaded_to_check_and_for_what_calls_no_functions(
    folder: Path, file: str, is_loaded_to_read: bool
) -> None:
    path = folder / file
    options = ReadingOptions("loop" if path.suffix == ".zip" else "")
    order = order_of(path, path.suffix, options, Limits())
    _, texts = run_in_child(f"{__name__}:loaded_in_child", order, Limits())
    assert texts == {"checked": False, "read": is_loaded_to_read}


@pytest.mark.parametrize(
    ("file", "signature", "message"),
    [
        ("module.zip", "", "signature: there is no signature serving_default; allowed: loop, train"),
        ("module.zip", "no such", "signature: there is no signature no such; allowed: loop, train"),
        ("training.meta", "loop", "signature: there is no signature loop; allowed: none"),
        ("calls.pb", "loop", "signature: a GraphDef has no signature loop; allowed: none"),
    ],
)
def test_a_signature_that_is_not_there_is_reported_with_those_that_are(
    folder: Path, file: str, signature: str, message: str
) -> None:
    path = folder / file
    with (
        pytest.raises(SettingsError) as caught,
        opened(path, ReadingOptions(signature), Limits()),
    ):
        pass
    assert str(caught.value) == message
    assert caught.value.field == "signature"
