"""Temporary bytes from the memory of nodes that ONNX Runtime measured."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from engine.child.parent import Limits, no_progress
from engine.costs.costs import Costs, CostSource
from engine.costs.onnx.node_memory import HEADER
from engine.costs.onnx.runtime_profile import stats_of_runtime
from engine.errors import GraphError
from engine.files.archive import from_fields
from engine.formats.reading import order_of, read_in_child
from engine.graphs.graph import ComputationGraph
from engine.graphs.origin import Origin
from engine.graphs.reading_options import ReadingOptions
from tests.engine.onnx.building import stored
from tests.engine.onnx.cases import CASES

TITLE = HEADER.decode() + "\n"


def read(model: Path, memory: Path, kind: str | None = None) -> tuple[ComputationGraph, Costs, Origin]:
    """The model read beside the file of memory."""
    order = order_of(model, ".onnx", ReadingOptions(batch_size=2), Limits())
    order |= {"run_metadata": str(memory), "profile_kind": kind}
    found = read_in_child(order, model.parent, no_progress)
    return from_fields(ComputationGraph, *found), from_fields(Costs, *found), from_fields(Origin, *found)


def test_the_memory_of_a_real_run_becomes_temporary_bytes(tmp_path: Path) -> None:
    build, _, inputs = CASES["resnet"]
    path, memory = Path(stored(build(), tmp_path / "model.onnx")), tmp_path / "memory.csv"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.collect_node_memory_stats_to_file", str(memory))
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, inputs())
    del session  # writes the file
    rows = [line.rsplit(",", 4) for line in memory.read_text().splitlines()[1:]]
    asked = {name.rpartition("_")[0]: int(size) for name, *_, size in rows}
    graph, costs, origin = read(path, memory)
    held = dict(zip(graph.op_names, costs.temporary_bytes.tolist(), strict=True))
    assert {name: held[name] for name in asked} == asked
    assert max(asked.values()) > 0
    assert not (costs.source == CostSource.MEASURED).any(), "times stay estimates"
    words = f"{len(asked)} of {graph.op_count} ops have measured temporary bytes; their times are estimates."
    assert words in origin.notes
    with pytest.raises(GraphError, match="nothing in it was measured on a GPU; allowed: a kind of none"):
        read(path, memory, "K80")


def test_names_may_have_commas_and_underlines() -> None:
    stats = stats_of_runtime(f"{TITLE}a_b,c_1_77,1,2,3,400\r\nd_8,0,0,0,0\n".encode())
    assert stats.names == ("a_b,c_1", "d")
    assert stats.temporary_bytes.tolist() == [400, 0]
    assert np.isnan(stats.time_us).all()


NODE = "allowed: a name with _ and a number, and four integers"
BAD = {
    "other columns": ("#name,input_sizes\na_1,2", f"its first line names other columns; allowed: {HEADER.decode()}"),
    "no nodes": (TITLE, "there is no memory of nodes; allowed: a file of session.collect_node_memory_stats_to_file"),
    "a row that is cut": (f"{TITLE}a_1,2,3\n", f"line 2: a_1,2,3 is no node with its bytes; {NODE}"),
    "no number of the node": (f"{TITLE}a,1,2,3,4", f"line 2: a,1,2,3,4 is no node with its bytes; {NODE}"),
    "negative": (f"{TITLE}b_1,0,0,0,0\na_1,1,2,3,-4", f"line 3: a_1,1,2,3,-4 is no node with its bytes; {NODE}"),
    "10^30 bytes": (
        f"{TITLE}a_1,1,2,3,1{'0' * 30}",
        f"line 2: a_1,1,2,3,1{'0' * 30} is no node with its bytes; {NODE}",
    ),
    "too many bytes": (
        f"{TITLE}a_1,1,2,3,{2**60}",
        f"a: its temporary memory has {2**60} bytes; allowed: 0 to {2**50}",
    ),
    "too many nodes": (
        TITLE + "a_1,1,2,3,4\n" * 1_000_001,
        "memory of more than 1000000 nodes; allowed: at most 1000000",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_each_bad_file_has_its_own_sentence(name: str) -> None:
    content, sentence = BAD[name]
    with pytest.raises(GraphError) as refused:
        stats_of_runtime(content.encode())
    assert str(refused.value) == sentence
    assert refused.value.field == "run_metadata"
