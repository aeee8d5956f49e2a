"""Runs whose objective is the throughput of a stream: what they answer, what they say, what they refuse."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.cli.main import main
from engine.clusters.parsing import parse_cluster
from engine.errors import InfeasibleError, PlacementError, SettingsError
from engine.placers.registry import PLACERS
from engine.prepared import PreparedGraph
from engine.simulator import Simulator
from engine.simulator.streams.passes import require_stream
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.simulator.cases import Op, graph_of

pytestmark = pytest.mark.slow  # graphs are read in a child
LAYERS = 6
FORWARD_US, BACKWARD_US, UPDATE_US = 100.0, 200.0, 10.0
STREAM = Stream(8, Pipeline.ONE_F_ONE_B)


def training_chain(activation_bytes: int = 1000, weight_bytes: int = 1000) -> dict[str, Any]:
    """Layers in a row with their backward pass and updates, as node-link JSON."""
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for layer in range(LAYERS):
        nodes.append(_node(f"l{layer}/forward", "forward", FORWARD_US, [activation_bytes], weight_bytes))
        edges += [{"source": f"l{layer - 1}/forward", "target": f"l{layer}/forward", "output": 0}] * (layer > 0)
    for layer in reversed(range(LAYERS)):
        nodes.append(_node(f"l{layer}/backward", "backward", BACKWARD_US, [activation_bytes, 8], 0))
        edges.append({"source": f"l{layer}/forward", "target": f"l{layer}/backward", "output": 0})
        if layer + 1 < LAYERS:
            edges.append({"source": f"l{layer + 1}/backward", "target": f"l{layer}/backward", "output": 0})
    for layer in range(LAYERS):
        nodes.append(_node(f"l{layer}/update", "optimizer", UPDATE_US, [], 0))
        edges.append({"source": f"l{layer}/backward", "target": f"l{layer}/update", "output": 1})
    return {"directed": True, "multigraph": False, "graph": {"name": "chain"}, "nodes": nodes, "edges": edges}


def _node(name: str, phase: str, time_us: float, output_bytes: list[int], persistent_bytes: int) -> dict[str, Any]:
    sizes = {"output_bytes": output_bytes, "persistent_bytes": persistent_bytes}
    return {"id": name, "type": "op", "phase": phase, "time_us": time_us, "colocation": name.partition("/")[0], **sizes}


@pytest.fixture
def prepared(tmp_path: Path) -> Callable[..., PreparedGraph]:
    def make(**sizes: int) -> PreparedGraph:
        path = tmp_path / "chain.json"
        path.write_text(json.dumps(training_chain(**sizes)))
        return api.prepare(path, ".json", lambda *_: None, api.Limits())

    return make


def cluster(devices: int, memory_bytes: int = 10**9) -> api.Cluster:
    made = parse_cluster(f"{devices}xV100")
    smaller = tuple(dataclasses.replace(device, memory_bytes=memory_bytes) for device in made.devices)
    return dataclasses.replace(made, devices=smaller, op_rest_us=0.0, op_rest_of_kind={}, link_rest_us=0.0)


def placed(graph: PreparedGraph, on: api.Cluster, method: str = "auto", stream: Stream = STREAM) -> dict[str, Any]:
    request = api.RunRequest(on, method, api.Budget(3000), 0, stream=stream)
    report: dict[str, Any] = api.place(graph, request, lambda _: None, lambda: False)
    return report


def test_equal_layers_are_split_evenly(prepared: Callable[..., PreparedGraph]) -> None:
    """On a chain a second device gains nothing in a step, and nearly all in a stream: by closed form."""
    graph, on = prepared(), cluster(3)
    report = placed(graph, on)
    stage_us = LAYERS / 3 * (FORWARD_US + BACKWARD_US)
    assert report["period_us"] == pytest.approx(stage_us, rel=1e-3)
    assert report["batch_time_us"] == pytest.approx((8 + 3 - 1) * stage_us + LAYERS / 3 * UPDATE_US, rel=0.02)
    assert report["micro_batches_per_second"] == pytest.approx(8e6 / report["batch_time_us"])
    assert report["step_time_us"] == report["period_us"]
    assert report["stream"] == STREAM.to_json()
    assert (report["objective"], report["feasible"], report["is_contiguous"]) == ("throughput", True, True)
    assert report["verdict"]["kind"] == "split"
    one_device_us = LAYERS * (8 * (FORWARD_US + BACKWARD_US) + UPDATE_US)
    assert report["verdict"]["one_device_us"] == pytest.approx(one_device_us)
    assert report["verdict"]["sentence"].startswith("Split over 3 devices: ")
    assert max(report["device_load_us"]) == report["period_us"]


def test_a_graph_that_knows_its_samples_tells_them_a_second(
    prepared: Callable[..., PreparedGraph], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "samples_per_second" not in placed(prepared(), cluster(2), "pipeline_dp")
    path, report = tmp_path / "of_four.json", tmp_path / "report.json"
    path.write_text(json.dumps(training_chain() | {"graph": {"name": "chain", "batch": 4}}))
    asked = ["place", str(path), "--cluster", "2xV100", "--method", "pipeline_dp", "--report", str(report)]
    assert main([*asked, "--objective", "throughput"]) == 0
    found = json.loads(report.read_text())
    assert found["samples_per_second"] == pytest.approx(4 * found["micro_batches_per_second"])
    assert "samples a second, in " in found["verdict"]["sentence"]
    assert " micro-batches a second, " in capsys.readouterr().err


@pytest.mark.parametrize("method", [name for name, row in PLACERS.items() if row.keeps_contiguous])
def test_contiguous_answers_are_contiguous(prepared: Callable[..., PreparedGraph], method: str) -> None:
    graph, on, stream = prepared(), parse_cluster("3xV100+cpu"), dataclasses.replace(STREAM, contiguous=True)
    report = placed(graph, on, method, stream)
    assert report["is_contiguous"]
    assert np.isfinite(report["period_us"])


def test_methods_that_cannot_keep_stages_contiguous_are_refused() -> None:
    stream = dataclasses.replace(STREAM, contiguous=True)
    with pytest.raises(SettingsError, match=r"^method: heft cannot keep stages contiguous; allowed: auto, "):
        api.RunRequest(cluster(2), "heft", api.Budget(10), 0, stream=stream)


def test_methods_for_streams_alone_are_refused_for_a_step() -> None:
    with pytest.raises(SettingsError, match=r"^method: pipeline_dp splits a stream of micro-batches; allowed: "):
        api.RunRequest(cluster(2), "pipeline_dp", api.Budget(10), 0)


def test_a_start_that_is_not_contiguous_is_refused(prepared: Callable[..., PreparedGraph]) -> None:
    """GPU 0, GPU 1, then GPU 0 again."""
    graph, stream = prepared(), dataclasses.replace(STREAM, contiguous=True)
    of_layer = {f"l{layer}": layer % 2 for layer in range(LAYERS)}
    devices = np.array([of_layer[name.partition("/")[0]] for name in graph.graph.op_names], np.int32)
    request = api.RunRequest(cluster(2), "auto", api.Budget(100), 0, start=graph.by_groups(devices), stream=stream)
    with pytest.raises(PlacementError, match=r"^start: its stages are not contiguous"):
        api.place(graph, request, lambda _: None, lambda: False)


def test_what_only_a_step_has_is_refused_for_a_stream() -> None:
    with pytest.raises(SettingsError, match=r"^robust: the regret of steps says nothing of a stream; allowed: "):
        api.RunRequest(cluster(2), "auto", api.Budget(100), 0, robust=True, stream=STREAM)


def test_a_pass_that_the_graph_lacks_is_refused(prepared: Callable[..., PreparedGraph]) -> None:
    with pytest.raises(SettingsError, match=r"^pipeline: inference, and the graph has a backward pass; allowed: gpipe"):
        placed(prepared(), cluster(2), stream=Stream(4, Pipeline.INFERENCE))


@pytest.mark.parametrize("micro_batches", [0, -1, 1025])
def test_odd_numbers_of_micro_batches_are_refused(micro_batches: int) -> None:
    with pytest.raises(SettingsError, match=rf"^micro_batches: {micro_batches} micro-batches; allowed: 1 to 1024"):
        Stream(micro_batches, Pipeline.GPIPE)


def test_contiguous_stages_on_too_many_devices_are_refused(prepared: Callable[..., PreparedGraph]) -> None:
    with pytest.raises(SettingsError, match=r"^contiguous: contiguous stages on 65 devices; allowed: at most 64 "):
        placed(prepared(), cluster(65), stream=dataclasses.replace(STREAM, contiguous=True))


def test_a_batch_that_is_too_large_is_refused() -> None:
    """A chain of 5,000 ops, 1,024 times."""
    graph, _ = graph_of([Op(f"op{op}", [f"op{op - 1}"] * (op > 0), 1.0) for op in range(5000)])
    with pytest.raises(SettingsError, match=r"^micro_batches: 1024 micro-batches of 9,999 ops and edges; .*here 800 "):
        require_stream(graph, Stream(1024, Pipeline.INFERENCE))


def test_whole_batches_choose_the_answer(prepared: Callable[..., PreparedGraph]) -> None:
    """No placement that the run reported has a shorter batch than its answer."""
    graph, on, seen = prepared(), cluster(3), []

    def hear(emitted: api.Emitted) -> None:
        if isinstance(emitted, api.NumberedEvent) and isinstance(emitted.event, api.Episode):
            seen.append(emitted.event.placement)

    request = api.RunRequest(on, "random", api.Budget(200), 0, stream=STREAM)
    report: dict[str, Any] = api.place(graph, request, hear, lambda: False)
    simulator = Simulator(graph.graph, graph.costs, on, graph.grouping.group_of_op, STREAM)
    batches = [simulator.batch(np.array(placement, np.int32)).batch_time_us for placement in seen]
    assert report["batch_time_us"] <= min(batches) * (1 + 1e-9)


def test_memory_counts_what_is_in_flight(prepared: Callable[..., PreparedGraph]) -> None:
    """GPipe keeps every micro-batch's activations, 1F1B as many as stages follow."""
    graph, on = prepared(activation_bytes=1_000_000), cluster(2)
    peaks = {
        pipeline: max(placed(graph, on, stream=Stream(16, pipeline))["peak_bytes"])
        for pipeline in (Pipeline.GPIPE, Pipeline.ONE_F_ONE_B)
    }
    assert peaks[Pipeline.GPIPE] > 3 * peaks[Pipeline.ONE_F_ONE_B]


def test_a_stream_that_does_not_fit_is_said(prepared: Callable[..., PreparedGraph]) -> None:
    graph = prepared(activation_bytes=1_000_000)
    with pytest.raises(InfeasibleError, match=r"^no batch fits in memory \(.*GPU "):
        placed(graph, cluster(2, memory_bytes=6_000_000), stream=Stream(64, Pipeline.GPIPE))


def test_the_request_survives_json() -> None:
    request = api.RunRequest(cluster(2), "auto", api.Budget(10), 0, stream=dataclasses.replace(STREAM, contiguous=True))
    assert api.RunRequest.from_json(request.to_json()).stream == request.stream
    assert "stream" not in api.RunRequest(cluster(2), "auto", api.Budget(10), 0).to_json(), "as it was before"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--micro-batches", "4"], "--micro-batches: there is no stream; allowed: --objective throughput"),
        (["--contiguous"], "--contiguous: there is no stream; allowed: --objective throughput"),
        (["--objective", "throughput", "--pipeline", "zigzag"], "pipeline: 'zigzag' is not known; allowed: gpipe, "),
    ],
)
def test_the_command_line_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    path = tmp_path / "chain.json"
    path.write_text(json.dumps(training_chain()))
    assert main(["place", str(path), "--cluster", "2xV100", *options]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(says)


def test_simulate_says_what_a_batch_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, placement = tmp_path / "chain.json", tmp_path / "placement.json"
    graph = training_chain()
    path.write_text(json.dumps(graph))
    devices = {node["id"]: f"/device:GPU:{int(node['id'][1]) // 3}" for node in graph["nodes"]}
    placement.write_text(json.dumps(devices))
    arguments = ["simulate", str(path), "--cluster", "2xV100", "--placement", str(placement)]
    assert main([*arguments, "--objective", "throughput", "--pipeline", "gpipe", "--micro-batches", "5"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["stream"] == {"micro_batches": 5, "pipeline": "gpipe", "contiguous": False}
    assert report["batch_time_us"] > 5 * report["period_us"] > 5 * 900
    assert (report["stages"], report["is_contiguous"]) == (4, True)
