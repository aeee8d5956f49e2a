"""Custom ops beside functions: the graph is read, costed and written as with TensorFlow's own ops in their places."""

import zipfile
from pathlib import Path
from typing import Any, cast

import pytest

from engine.child.parent import Limits, run_in_child
from engine.errors import GraphError
from engine.events import Json
from engine.formats.meta_graph import messages_of, meta_graph_of_saved_model
from engine.formats.reading import prepare
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import GraphMessages, read_messages
from engine.graphs.tensorflow.op_types import FUNCTIONAL_CONTROL_FLOW
from tests.engine.formats.graphdef_samples import CALL_IN_TEXT
from tests.engine.formats.reading import opened

SAMPLES = "tests.engine.formats.custom_op_samples"
OURS = Limits(memory_bytes=8 * 1024**3, seconds=300.0)
CUSTOM = "OwnLibrary>"
READ = ("defined", "undefined", "unused", "without an order")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("custom")


@pytest.fixture(scope="module")
def notes(folder: Path) -> dict[str, list[str]]:
    """What the reader says of the samples, which lie in the folder as it read and wrote them."""
    order: dict[str, Json] = {"folder": str(folder)}
    _, said = run_in_child(f"{SAMPLES}:read_in_child", order, OURS, task="reading samples", is_warm=True)
    return cast(dict[str, list[str]], said)


def read(path: Path) -> GraphMessages:
    return read_messages(path.read_bytes(), ".pb")


def placed(path: Path) -> GraphMessages:
    """The graph of a placed SavedModel."""
    with zipfile.ZipFile(path) as archive:
        return messages_of(meta_graph_of_saved_model(archive.read("saved_model.pb"), None)[0])


def test_functions_stay_calls_where_nothing_states_the_order_of_an_op_s_outputs(
    notes: dict[str, list[str]], folder: Path
) -> None:
    assert notes["without an order"][-2:] == [
        "TensorFlow does not inline these calls, so each stays one op, whose cost is that of all ops in it: 1 If.",
        "The file does not define these custom ops, so the order of their outputs is unknown, and their functions are "
        "not inlined: OwnLibrary>TopKV2.",
    ]
    for messages in (read(folder / "without an order.pb"), placed(folder / "without an order-placed.zip")):
        left = [node for node in messages.nodes if node.op in FUNCTIONAL_CONTROL_FLOW]
        assert [node.op for node in left] == ["If"]
        assert left[0].attr["_lower_using_switch_merge"].b
        inner = [node for each in messages.rest.library.function for node in each.node_def]
        assert [node.op for node in inner if node.op.startswith(CUSTOM)] == ["OwnLibrary>TopKV2"]
        assert "OwnLibrary" not in str([node for node in inner if not node.op.startswith(CUSTOM)])
    assert all("order" not in note for name in READ[:3] for note in notes[name])


@pytest.mark.parametrize("name", ["defined", "undefined"])
def test_the_graph_is_that_of_tensorflow_s_own_ops(notes: dict[str, list[str]], folder: Path, name: str) -> None:
    assert name in notes
    expected = {node.name: node for node in read(folder / "own-back.pb").nodes}
    found = {node.name: node for node in read(folder / f"{name}-back.pb").nodes}
    assert found.keys() == expected.keys()
    assert [node.name for node in found.values() if node != expected[node.name]] == []


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        (
            "defined",
            {
                "AssignAddVariableOp": 3,
                "Relu": 3,
                "ResourceGather": 2,
                "LookupTableFindV2": 2,
                "Assert": 1,
                "TopKV2": 1,
                "Pack": 1,
                "Minimum": 1,
                "SplitV": 1,
            },
        ),
        (
            "undefined",
            {"AssignAddVariableOp": 3, "Relu": 3, "Square": 2, "ResourceGather": 2, "Tanh": 1, "SplitV": 1},
        ),
        ("unused", {"RandomUniform": 1}),
    ],
)
def test_each_custom_op_is_there_as_often_as_it_runs(
    notes: dict[str, list[str]], folder: Path, name: str, counts: dict[str, int]
) -> None:
    assert name in notes
    types = [node.op for node in read(folder / f"{name}.pb").nodes if node.op.startswith(CUSTOM)]
    assert {op_type.removeprefix(CUSTOM): types.count(op_type) for op_type in types} == counts


@pytest.mark.parametrize("name", READ[:3])
def test_a_custom_op_is_written_as_it_was_read(notes: dict[str, list[str]], folder: Path, name: str) -> None:
    assert name in notes
    custom = [node for node in read(folder / f"{name}.pb").nodes if node.op.startswith(CUSTOM)]
    written = {node.name: node for node in placed(folder / f"{name}-placed.zip").nodes}
    assert custom
    for node in custom:
        assert node.op == written[node.name].op
        assert node.attr == written[node.name].attr
        assert not any("custom" in key for key in node.attr)
        assert len(node.input) == len(written[node.name].input)


def test_placed_files_serve_what_the_original_serves(notes: dict[str, list[str]], folder: Path) -> None:
    order: dict[str, Json] = {name: str(folder / f"{name}-placed.zip") for name in notes}
    _, given = run_in_child(f"{SAMPLES}:served_in_child", order, OURS, task="serving samples", is_warm=True)
    assert given.keys() == {"own", *READ}
    for name in READ:
        assert given[name] == given["own"]
    first, second = cast(list[dict[str, Any]], given["own"])
    assert (first["count"], second["count"]) == (2.0, 4.0), "side effects happen once a call"


def test_the_cost_of_a_custom_op_is_unknown_and_the_reason_is_given(notes: dict[str, list[str]], folder: Path) -> None:
    assert "undefined" in notes
    prepared = prepare(folder / "undefined.zip", ".zip", lambda *_: None, Limits(), options=ReadingOptions())
    graph, costs = prepared.graph, prepared.costs
    reasons = {
        graph.op_types[op]: costs.why_unknown(op)
        for op in range(graph.op_count)
        if graph.op_types[op].startswith(CUSTOM)
    }
    assert len(reasons) == 6
    assert set(reasons.values()) == {"TensorFlow does not know ops of this type"}


def test_an_input_without_a_type_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "graph.pbtxt"
    custom = 'node_def { name: "m" op: "Mine" input: "o:y:0" } node_def { name: "o" op: "Neg" input: "x" }'
    path.write_text(CALL_IN_TEXT.replace("  ret {", f"  {custom}\n  ret {{"))
    with pytest.raises(GraphError) as caught, opened(path, ReadingOptions(), Limits()):
        pass
    assert str(caught.value).startswith(
        "op 1 (m) of function f: its type Mine is not TensorFlow's own, and the type of its input o:y:0 is unknown, so "
        "functions cannot be inlined; allowed: a SavedModel with the definitions of its custom ops, "
    )
