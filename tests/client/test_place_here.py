"""`placeto place --local`: the engine of a Python, with the same options."""

import json
import sys
from pathlib import Path

import pytest
from placeto.command_line import main

pytestmark = pytest.mark.slow
NODES = [{"id": f"op{number}", "type": "x", "time_us": 100.0, "output_bytes": [4]} for number in range(3)]
GRAPH = {"directed": True, "multigraph": False, "graph": {}, "nodes": NODES, "edges": []}


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A small graph's file."""
    path = tmp_path / "-graph.json"
    path.write_text(json.dumps(GRAPH))
    return path


def place(graph: Path, *more: str, cluster: str = "2xK80") -> int:
    return main(["place", "--local", "--cluster", cluster, "--method", "heft", "--evaluations", "9", *more, str(graph)])


def test_it_writes_what_a_server_gives(graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, report = tmp_path / "placement.json", tmp_path / "report.json"
    options = ["--seed", "3", "--seconds", "60", "--groups", "all", "--out", str(out), "--report", str(report)]
    assert place(graph, *options, "--engine", sys.executable) == 0
    written = json.loads(report.read_bytes())
    assert (written["method"], written["seed"], written["placement"]) == ("heft", 3, json.loads(out.read_bytes()))


def test_its_mistakes_are_the_engine_s(graph: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert place(graph, cluster="2xZZZ") == 2
    error = capfd.readouterr().err
    assert "ZZZ: this device kind is not known" in error and error.count("\n") == 1


MISTAKES = {
    "no such program": (["--local", "--engine", "/absent/placeto-engine"], "/absent/placeto-engine has no engine: "),
    "a program without it": (["--local", "--engine", "/bin/false"], "/bin/false has no engine: "),
    "a project": (["--local", "--project", "Mine"], "--project is of a server, and --local asks none"),
    "a name": (["--local", "--name", "mine"], "--name is of a server, and --local asks none"),
    "an engine beside a server": (["--engine", "python3"], "--engine goes with --local"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    options, sentence = MISTAKES[name]
    assert main(["place", "graph.pb", "--cluster", "2xK80", *options]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"placeto: {sentence}") and error.count("\n") == 1
