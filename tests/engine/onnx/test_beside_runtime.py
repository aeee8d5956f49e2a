"""Bytes of outputs, trips and sides of branches beside what ONNX Runtime says of a run, node by node."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto

from engine.graphs.reading_options import ReadingOptions
from tests.engine.onnx import more_models
from tests.engine.onnx.building import stored
from tests.engine.onnx.reading import read_here
from tests.engine.onnx.test_placed import CASES, normal, tokens

Arrays = dict[str, NDArray[Any]]
Case = tuple[Callable[[], ModelProto], ReadingOptions, Callable[[], Arrays]]


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
