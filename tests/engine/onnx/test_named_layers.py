"""Placements by parts of node names: written, read back, and what ONNX Runtime itself says of the rules."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from engine.clusters.parsing import parse_cluster
from engine.errors import PlacementError
from engine.formats.modules.files import devices_of_modules, module_file_of, module_file_text
from engine.formats.onnx.named_layers import BY_ANNOTATION, OPTION
from engine.graphs.colocation import colocation_classes
from engine.graphs.onnx.own_types import INITIALIZER, INPUT
from engine.placement_files import simulate
from engine.prepared import PreparedGraph
from tests.engine.onnx import models
from tests.engine.onnx.building import stored
from tests.engine.onnx.reading import read_here

CLUSTER = parse_cluster("2xRTX4090+cpu")
BAD = {
    "gpu:0": "gpu:0: this is no rule; allowed: gpu:0(part of a name, another); cpu(another)",
    "gpu:0(a": "gpu:0(a: this is no rule; allowed: gpu:0(part of a name, another); cpu(another)",
    "gpu:0)a(": "gpu:0)a(: this is no rule; allowed: gpu:0(part of a name, another); cpu(another)",
    "(a)": "a rule: no such device; allowed: gpu:0, gpu:1, cpu",
    "gpu:0(=a)": "gpu:0(=a): `=` asks for a whole name, and parts have none; allowed: parts of names",
    "gpu:0(a, a)": "a: it stands in two rules; allowed: one",
    "gpu:0(a); cpu(a)": "a: it stands in two rules; allowed: one",
}
"""rules that ONNX Runtime refuses too"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored(
        models.bert(layers=3, hidden=32, heads=2, words=64, seed=0), tmp_path_factory.mktemp("model") / "bert.onnx"
    )


@pytest.fixture(scope="module")
def graph(model: Path) -> PreparedGraph:
    return read_here(model)


def test_what_is_written_is_read_back(graph: PreparedGraph) -> None:
    row = module_file_of("model.layers.json")
    assert row is not None and row.is_of_onnx
    together = colocation_classes(graph.graph)
    is_node = np.array([each not in (INPUT, INITIALIZER) for each in graph.graph.op_types])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        layer = np.array([hash(name.split("/")[0]) % 97 if seed % 2 else 0 for name in graph.graph.op_names])
        devices = (rng.integers(3, size=together.max() + 1)[together] + layer) % 3 if seed % 3 else layer % 3
        names = {name: CLUSTER.devices[at].name for name, at in zip(graph.graph.op_names, devices, strict=True)}
        if len(np.unique(np.stack([together, devices]), axis=1).T) > together.max() + 1:
            continue  # layers that split what must share a device
        text = module_file_text(row, graph, CLUSTER, names)
        read = devices_of_modules(graph, CLUSTER, json.loads(text))
        assert read is not None and np.array_equal(read[is_node], devices[is_node])
    assert seed == 19


def test_scopes_are_said_once(graph: PreparedGraph) -> None:
    row = module_file_of("model.layers.json")
    assert row is not None
    names = dict.fromkeys(graph.graph.op_names, CLUSTER.devices[1].name)
    rules = json.loads(module_file_text(row, graph, CLUSTER, names))[OPTION]
    scopes = {name.split("/")[0] for name in graph.graph.op_names}
    assert rules.startswith("gpu:1(") and rules.count(",") < len(scopes) + 5 < graph.graph.op_count


def test_the_longest_part_counts_and_the_rest_is_where_the_runtime_puts_it(graph: PreparedGraph) -> None:
    names = graph.graph.op_names
    scope = next(name for name in names if "/" in name).split("/")[0] + "/"
    inner = next(name for name in names if name.startswith(scope))
    found = devices_of_modules(graph, CLUSTER, {OPTION: f" cpu({inner}) ; GPU:1( {scope} );"})
    assert found is not None
    for name, op_type, device in zip(names, graph.graph.op_types, found.tolist(), strict=True):
        if op_type not in (INPUT, INITIALIZER):
            expected = 2 if inner in name else 1 if scope in name else 0
            assert device == expected, name
    [report] = simulate(graph, CLUSTER, [{OPTION: f"gpu(a); gpu:1({scope})"}])
    assert isinstance(report, dict) and isinstance(report["step_time_us"], float) and report["step_time_us"] > 0


@pytest.mark.parametrize(("rules", "sentence"), BAD.items())
def test_what_the_runtime_refuses_is_refused_in_one_sentence(
    graph: PreparedGraph, model: Path, rules: str, sentence: str
) -> None:
    with pytest.raises(PlacementError) as caught:
        devices_of_modules(graph, CLUSTER, {OPTION: rules})
    assert str(caught.value) == sentence
    with pytest.raises(Exception, match=r"layer|Layer"):
        session_of(model, rules)


def test_the_runtime_takes_the_rules_that_are_written(graph: PreparedGraph, model: Path) -> None:
    row = module_file_of("model.layers.json")
    assert row is not None
    names = dict.fromkeys(graph.graph.op_names, CLUSTER.devices[2].name)
    rules = json.loads(module_file_text(row, graph, CLUSTER, names))[OPTION]
    assert session_of(model, rules).get_providers() == ["CPUExecutionProvider"]


def session_of(model: Path, rules: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry(OPTION, rules)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {BY_ANNOTATION: "gpu:0(=gpu0)"},
            f"{BY_ANNOTATION}: its layers stand in the annotations of a model, which are not read; allowed: {OPTION}",
        ),
        ({OPTION: 3}, f"{OPTION}: it is 3; allowed: a text"),
        ({OPTION: " ; "}, f"{OPTION}: it has no rule; allowed: gpu:0(part of a name)"),
        ({OPTION: "gpu:0(a,,b)"}, "gpu:0(a,,b): a part of a name is empty; allowed: parts of names"),
        ({OPTION: "gpu:7(a)"}, "gpu:7: no such device; allowed: gpu:0, gpu:1, cpu"),
        ({OPTION: "tpu(a)"}, "tpu: no such device; allowed: gpu:0, gpu:1, cpu"),
        (
            {OPTION: "gpu:0(nobody/)"},
            "nobody/: no node's name contains a part of a name; allowed: parts of the names of nodes",
        ),
        ({OPTION: "gpu:0(" + ",".join(map(str, range(2_000_000))) + ")"}, None),
    ],
)
def test_mistakes(graph: PreparedGraph, given: dict[str, object], sentence: str | None) -> None:
    with pytest.raises(PlacementError) as caught:
        devices_of_modules(graph, CLUSTER, given)  # type: ignore[arg-type]  # as a person may write it
    text = str(caught.value)
    assert text == sentence if sentence else text.startswith(f"{OPTION}: 2000000 parts of names for ")
