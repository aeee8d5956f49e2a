"""Placed ONNX models, run by ONNX Runtime on its CPU provider: the same outputs, and each node where it says."""

import json
import runpy
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from engine.errors import PlacementError
from engine.graphs.colocation import colocation_classes
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph
from tests.engine.onnx import models
from tests.engine.onnx.building import stored
from tests.engine.onnx.cases import CASES, Arrays
from tests.engine.onnx.placing import DEVICES, ON_THE_CPU, outputs_of, written
from tests.engine.onnx.reading import read_here


def placements(graph: PreparedGraph, seed: int) -> dict[str, str]:
    """A random device for each op, one for those that must share it."""
    rng = np.random.default_rng(seed)
    together = colocation_classes(graph.graph)
    device = rng.integers(len(DEVICES), size=together.max() + 1)
    return {name: DEVICES[device[each]] for name, each in zip(graph.graph.op_names, together.tolist(), strict=True)}


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, ReadingOptions, Arrays]:
    """A model's file, the options of its reading, its inputs."""
    build, options, inputs = CASES[request.param]
    return stored(build(), tmp_path / "model.onnx"), options, inputs()


def test_each_node_says_its_device_and_the_model_gives_the_same(
    case: tuple[Path, ReadingOptions, Arrays],
) -> None:
    """Nothing but metadata is new."""
    path, options, inputs = case
    graph = read_here(path, options)
    placement = placements(graph, 3)
    placed = onnx.load(written(path, placement, ".onnx", options))
    [settings] = [each.value for each in placed.metadata_props if each.key == "placeto.layer_assignment_settings"]
    rules = dict(zip(DEVICES, ("gpu:0(=gpu0)", "gpu:1(=gpu1)", "cpu(=cpu0)"), strict=True))
    assert set(settings.split("; ")) == {rules[device] for device in placement.values()}
    for node in placed.graph.node:
        if node.op_type != "Constant":
            [layer] = [each.value for each in node.metadata_props if each.key == "layer_ann"]
            device = placement[node.name]
            assert f"/device:{layer[:3].upper()}:{layer[3:]}" == device
    expected = outputs_of(path, inputs)
    for some in ("", settings, "cpu(=cpu0); cpu(=gpu0); cpu(=gpu1)"):
        for one, other in zip(outputs_of(stored(placed, path.parent / "p.onnx"), inputs, some), expected, strict=True):
            np.testing.assert_array_equal(one, other)
    original = onnx.load(path)
    _strip(placed)
    assert placed == original


def _strip(model: ModelProto) -> None:
    del model.metadata_props[:]
    waiting = list(model.graph.node)
    while waiting:
        node = waiting.pop()
        del node.metadata_props[:]
        waiting += [inner for each in node.attribute for inner in each.g.node]


def test_stages_give_the_same(case: tuple[Path, ReadingOptions, Arrays]) -> None:
    """The scripts in the archive run the stages, and find nodes that are not where they should be."""
    path, options, inputs = case
    placement = placements(read_here(path, options), 5)
    folder = path.parent / "unpacked"
    with zipfile.ZipFile(written(path, placement, ".zip", options)) as archive:
        archive.extractall(folder)
    rows = json.loads((folder / "stages.json").read_text())["stages"]
    assert {row["device"] for row in rows} == set(placement.values())
    assert [row["level"] for row in rows] == sorted(row["level"] for row in rows)
    for row in rows:
        model = onnx.load(folder / row["file"])
        assert {placement[node.name] for node in model.graph.node if node.op_type != "Constant"} == {row["device"]}
    runner = runpy.run_path(str(folder / "run_stages.py"))
    found = runner["run"](runner["load"](ON_THE_CPU), inputs)
    for one, other in zip(found.values(), outputs_of(path, inputs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    with (
        pytest.warns(UserWarning),
        pytest.raises(SystemExit, match="needs CUDAExecutionProvider, which this machine does not have"),
    ):
        runner["load"]()


def test_the_check_finds_nodes_on_another_device(
    case: tuple[Path, ReadingOptions, Arrays], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a GPU all nodes of its layers run on the CPU, which ONNX Runtime itself does not say."""
    path, options, _ = case
    monkeypatch.setattr("sys.argv", ["check_placement.py"])
    graph = read_here(path, options)
    for device, status in (("/device:GPU:0", 1), ("/device:CPU:0", 0)):
        folder = path.parent / device[-5:-2]
        with zipfile.ZipFile(written(path, dict.fromkeys(graph.graph.op_names, device), ".zip", options)) as archive:
            archive.extractall(folder)
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(folder / "check_placement.py"))
        assert ended.value.code == status
        assert ("WRONG" in capfd.readouterr().out) == bool(status)


def test_wrong_placements(tmp_path: Path) -> None:
    """Each error is one sentence."""
    path = stored(models.branches(), tmp_path / "model.onnx")
    graph = read_here(path)
    good = dict.fromkeys(graph.graph.op_names, "/device:GPU:0")
    for placement, sentence in (
        ({**good, "Tanh": "x"}, "Tanh: no such op in the graph; allowed: 12 ops"),
        ({name: good[name] for name in list(good)[1:]}, "data: it is not placed; allowed: a device for every op of"),
        ({**good, "If/then/same": "/device:GPU:1"}, "must share its device"),
        ({**good, "step": "/job:a/task:1/device:GPU:0"}, "placement: the placement has devices of several machines"),
    ):
        with pytest.raises(PlacementError, match=sentence):
            written(path, placement, ".onnx", ReadingOptions())
