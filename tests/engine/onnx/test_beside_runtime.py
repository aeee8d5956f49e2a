"""Bytes of outputs, trips and sides of branches beside what ONNX Runtime says of a run, node by node."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

from engine.child.parent import Limits, no_progress
from engine.costs.costs import Costs, CostSource
from engine.costs.onnx.runtime_profile import stats_of_profile
from engine.errors import GraphError
from engine.files.archive import from_fields
from engine.formats.reading import order_of, read_in_child
from engine.graphs.graph import ComputationGraph
from engine.graphs.reading_options import ReadingOptions
from tests.engine.onnx import more_models
from tests.engine.onnx.building import stored
from tests.engine.onnx.cases import CASES, Arrays, Case, normal, tokens
from tests.engine.onnx.reading import read_here


def llama_inputs() -> Arrays:
    past = {f"past.{layer}.{name}": normal(2, 2, 5, 16) for layer in range(2) for name in ("key", "value")}
    lengths = {"seqlens_k": np.full(2, 5, dtype=np.int32), "total_sequence_length": np.array(6, dtype=np.int32)}
    return {"input_ids": tokens(2, 1), **lengths, **past}


def llama(bits: int) -> Case:
    sizes = {"new": 1, "past": 5}
    return (
        lambda: more_models.llama(2, 64, 96, 4, 2, 50, bits=bits, most=32, element=TensorProto.FLOAT, seed=0),
        ReadingOptions(batch_size=2, sizes=sizes),
        llama_inputs,
    )


MORE: dict[str, Case] = {
    "llama": llama(16),
    "llama of 4 bits": llama(4),
    "quantised ops": (
        lambda: more_models.quantised(8, 6, in_place=True, seed=0),
        ReadingOptions(batch_size=2),
        lambda: {"data": normal(2, 8, 6, 6)},
    ),
    "quantised between ops": (
        lambda: more_models.quantised(8, 6, in_place=False, seed=0),
        ReadingOptions(batch_size=2),
        lambda: {"data": normal(2, 8, 6, 6)},
    ),
    "recurrent": (
        lambda: more_models.recurrent(8, 6, 10, seed=0),
        ReadingOptions(sizes={"length": 4, "batch": 3}),
        lambda: {"data": normal(4, 3, 8)},
    ),
    "U-Net": (
        lambda: more_models.u_net(4, 3, seed=0),
        ReadingOptions(batch_size=2),
        lambda: {"image": normal(2, 3, 32, 32)},
    ),
    "recommender": (
        lambda: more_models.recommender(3, 10, 8, seed=0),
        ReadingOptions(batch_size=4),
        lambda: {"numbers": normal(4, 13), **{f"index.{table}": tokens(4) % 10 for table in range(3)}},
    ),
    "experts": (
        lambda: more_models.experts(4, 16, 32, seed=0),
        ReadingOptions(sizes={"rows": 5}),
        lambda: {"data": normal(5, 16)},
    ),
}


@pytest.mark.parametrize("name", [name for name in (*CASES, *MORE) if name != "open"])
def test_bytes_of_outputs_are_those_of_a_run(name: str, tmp_path: Path) -> None:
    """Without ONNX Runtime's own changes of the graph, its profile names the nodes and the bytes that they make."""
    build, reading, inputs = {**CASES, **MORE}[name]
    model = build()
    path = stored(model, tmp_path / "model.onnx")
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, inputs())
    events = json.loads(Path(session.end_profiling()).read_text())
    found = read_here(path, reading)
    sizes = dict(zip(found.graph.op_names, found.costs.bytes_of_op().tolist(), strict=True))
    times = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    made = {event["name"].removesuffix("_kernel_time"): int(event["args"]["output_size"]) for event in times}
    beside = {op: (sizes[op], size) for op, size in made.items() if op in sizes}
    assert {op: pair for op, pair in beside.items() if pair[0] != pair[1]} == {}
    assert beside.keys() >= {node.name for node in model.graph.node if node.op_type != "Constant"}
    assert not found.costs.unknown.any()


def test_times_of_a_profile_take_the_place_of_estimates(tmp_path: Path) -> None:
    """Each node's mean over the runs after the first one; a node without a name is found by its type and number."""
    model = CASES["resnet"][0]()
    model.graph.node[3].name = ""
    path = stored(model, tmp_path / "model.onnx")
    profile = tmp_path / "profile.json"
    names = [node.name or f"{node.op_type}_3" for node in model.graph.node]
    events: list[dict[str, Any]] = [
        {"cat": "Session", "name": "model_run", "ts": 1000 * run, "dur": 900} for run in range(3)
    ]
    for run in range(3):
        for index, name in enumerate(names):
            times = {"ts": 1000 * run + 10 * index, "dur": index if run else 10**6}
            provider = {"args": {"provider": "CPUExecutionProvider"}}
            events.append({"cat": "Node", "name": f"{name}_kernel_time", **times, **provider})
    profile.write_text(json.dumps(events))
    order = order_of(path, ".onnx", ReadingOptions(batch_size=2), Limits())
    order |= {"run_metadata": str(profile), "profile_kind": None}
    arrays, texts = read_in_child(order, tmp_path, no_progress)
    costs, graph = from_fields(Costs, arrays, texts), from_fields(ComputationGraph, arrays, texts)
    on_cpu = costs.time_us[costs.kinds.index("CPU")]
    assert [on_cpu[graph.op_names.index(name)] for name in names] == list(range(len(names)))
    assert (costs.source == CostSource.MEASURED).sum() == len(names)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "line 1, column 1: this is not JSON"),
        (b"{}", "this is no list of events; allowed: a profile of ONNX Runtime"),
        (b"[]", "there are no times of nodes; allowed: a profile of ONNX Runtime"),
        (
            b'[{"cat": "Node", "name": "a_kernel_time", "ts": 1, "dur": -1}]',
            "a_kernel_time: its dur is no time",
        ),
        (b'[{"cat": "Node", "name": "a_kernel_time", "ts": "x"}]', "a_kernel_time: its ts is no time; allowed: "),
    ],
)
def test_bad_profiles(content: bytes, sentence: str) -> None:
    with pytest.raises(GraphError, match=sentence) as refused:
        stats_of_profile(content)
    assert refused.value.field == "run_metadata"
