"""The folder of `plan --out`, as a person asks for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine import api
from engine.cli.main import main
from engine.errors import GraphError
from tests.engine.formats.modules.recorded_chain import SIZE, nodes_and_edges
from tests.engine.plans.layered_step import files

pytestmark = pytest.mark.slow


def cluster(folder: Path, memory_bytes: int, devices: int = 2) -> str:
    """The file of a cluster of GPUs of so much memory."""
    rows = [
        {"name": f"/device:GPU:{number}", "kind": "V100", "memory_bytes": memory_bytes} for number in range(devices)
    ]
    path = folder / "cluster.json"
    path.write_text(json.dumps({"devices": rows, "links": {"bandwidth_bytes_per_us": 100000, "rest_us": 0}}))
    return str(path)


def recording(folder: Path, layers: int) -> str:
    """The file of a recorded chain of layers, a step of two samples."""
    nodes, edges = nodes_and_edges(layers)
    about = {"name": "chain", "framework": "torch", "batch": 2}
    path = folder / "chain.json"
    path.write_text(json.dumps({"graph": about, "nodes": nodes, "edges": edges}))
    return str(path)


def folder_of(*command: str) -> dict[str, Any]:
    """Run `plan` and read the JSON files of its folder."""
    assert main(["plan", *command, "--seconds", "3"]) == 0
    out = Path(command[command.index("--out") + 1])
    return {path.name: json.loads(path.read_text()) for path in sorted(out.iterdir())}


def test_a_replica_of_one_device_has_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = files(tmp_path)
    command = [str(one), "--second", str(two), "--cluster", "2xV100", "--batch", "32", "--out", str(tmp_path / "out")]
    found = folder_of(*command)
    assert [*found] == ["plan.json"] and len(found["plan.json"]["plans"][0]["replicas"]) == 2
    assert "replica 1, on GPU 1: one device, nothing to split" in capsys.readouterr().err


def test_a_recording_gets_split_points_of_contiguous_stages(tmp_path: Path) -> None:
    graph, out = recording(tmp_path, 8), tmp_path / "out"
    command = [graph, "--cluster", cluster(tmp_path, 16 * SIZE), "--batch", "2", "--out", str(out), "--contiguous"]
    found = folder_of(*command)
    assert [*found] == ["plan.json", "replica_0.split_spec.json"]
    [replica] = found["plan.json"]["plans"][0]["replicas"]
    stages = found["replica_0.split_spec.json"]["stages"]
    assert found["plan.json"]["rules"]["contiguous"] is True
    assert [stage["device"] for stage in stages] in (
        ["/device:GPU:0", "/device:GPU:1"],
        ["/device:GPU:1", "/device:GPU:0"],
    )
    assert sum(len(stage["modules"]) for stage in stages) >= 2 and set(replica["device_of_group"]) == {0, 1}
    placement = tmp_path / "out" / "replica_0.split_spec.json"
    assert main(["simulate", graph, "--cluster", str(tmp_path / "cluster.json"), "--placement", str(placement)]) == 0


def test_a_recording_gets_a_device_map_where_its_devices_do_not_follow_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = recording(tmp_path, 3)
    prepared = api.prepare(Path(graph), ".json", lambda *_: None, api.Limits(), None)
    two = api.parse_cluster("2xV100")
    of_group = [int("layers.1" in name.replace("/", ".")) for name in prepared.grouping.names]
    plan: dict[str, Any] = {"replicas": [{"devices": [0, 1], "device_of_group": of_group, "turns": []}]}
    source = api.PlacedSource(Path(graph), ".json", api.ReadingOptions(), api.Limits(), "")
    [line] = api.write_replica_files(plan, prepared, two, source, tmp_path)
    assert line.startswith("replica 0, on GPU 0, GPU 1: replica_0.device_map.json; no .split_spec.json: ")
    assert "returns to a device that the step has left" in line
    found = json.loads((tmp_path / "replica_0.device_map.json").read_text())
    assert found["layers.1"] == 1 and found["embed"] == found["head"] == 0


def test_stages_that_devices_take_in_turn_have_no_file(tmp_path: Path) -> None:
    graph = recording(tmp_path, 3)
    prepared = api.prepare(Path(graph), ".json", lambda *_: None, api.Limits(), None)
    row = {"devices": [0, 1], "device_of_group": [0] * prepared.grouping.group_count, "turns": [[0, 1]]}
    source = api.PlacedSource(Path(graph), ".json", api.ReadingOptions(), api.Limits(), "")
    [line] = api.write_replica_files({"replicas": [row]}, prepared, api.parse_cluster("2xV100"), source, tmp_path)
    assert (
        line == "replica 0, on GPU 0, GPU 1: devices take its micro-batches in turn, which no file of a placement says"
    )


def test_another_graph_gets_the_placement_by_ops(tmp_path: Path) -> None:
    step = {
        "graph": {"name": "wide", "batch": 1},
        "nodes": [
            {"id": name, "time_us": 50, "output_bytes": [10], "persistent_bytes": 600} for name in ("a", "b", "c")
        ],
        "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}],
    }
    graph = tmp_path / "wide.json"
    graph.write_text(json.dumps(step))
    command = [str(graph), "--cluster", cluster(tmp_path, 1500), "--batch", "4", "--out", str(tmp_path / "out")]
    found = folder_of(*command, "--groups", "all")
    assert [*found] == ["plan.json", "replica_0.json"]
    assert {*found["replica_0.json"]} == {"a", "b", "c"}
    assert {*found["replica_0.json"].values()} == {"/device:GPU:0", "/device:GPU:1"}


def test_a_graph_of_tensorflow_is_written_placed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, out = tmp_path / "model.pb", tmp_path / "out"
    assert main(["build", "tiny_cnn", "--set", "batch=8", "--out", str(model)]) == 0
    command = ["plan", str(model), "--batch-size", "8", "--cluster", "2xV100", "--batch", "8", "--seconds", "2"]
    assert main([*command, "--out", str(out)]) == 0
    assert {path.name for path in out.iterdir()} == {"plan.json", "replica_0.pb"}
    report = json.loads((out / "plan.json").read_text())
    [replica] = report["plans"][0]["replicas"]
    words = "a replica has several devices, and TensorFlow's strategies have one device a replica"
    assert report["strategy"] == {"file": None, "words": words, "plan": None}
    assert capsys.readouterr().err.strip().endswith(f"no strategy.py: {words}")
    placed = api.prepare(out / "replica_0.pb", ".pb", lambda *_: None, api.Limits())
    assert set(placed.graph.devices) == {f"/device:GPU:{device}" for device in set(replica["device_of_group"])}


@pytest.mark.parametrize("kind", ["file", "full", "nowhere"])
def test_a_folder_that_cannot_be_made_is_refused_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    one, _ = files(tmp_path)
    out = tmp_path / "out"
    if kind == "file":
        out.write_text("kept")
    elif kind == "full":
        out.mkdir()
        (out / "kept").write_text("kept")
    else:
        out = tmp_path / "not" / "there"
    assert main(["plan", str(one), "--cluster", "2xV100", "--batch", "4", "--out", str(out)]) == 2
    error = capsys.readouterr().err.strip()
    assert error.endswith("allowed: a new or an empty folder, in one that is there") and "\n" not in error


def test_a_report_inside_the_folder_is_refused_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = files(tmp_path)
    out = tmp_path / "out"
    command = ["plan", str(one), "--cluster", "2xV100", "--batch", "4", "--seconds", "1", "--out", str(out)]
    assert main([*command, "--report", str(out)]) == 2
    out.mkdir()
    assert main([*command, "--report", str(out / "report.json")]) == 2
    assert not any(out.iterdir())
    for error in capsys.readouterr().err.splitlines():
        assert error.startswith("--report: ") and error.endswith("outside of the folder of --out, which has it too")


def test_nothing_is_left_where_a_file_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> list[str]:
        raise GraphError("it cannot be placed", where="x", allowed="y")

    monkeypatch.setattr(api, "write_replica_files", refuse)
    one, _ = files(tmp_path)
    before = {*tmp_path.iterdir()}
    out = str(tmp_path / "out")
    assert main(["plan", str(one), "--cluster", "2xV100", "--batch", "4", "--seconds", "1", "--out", out]) == 2
    assert {*tmp_path.iterdir()} == before and "it cannot be placed" in capsys.readouterr().err
