"""The command `compare`: its report, table and figure; going on after a kill; mistakes."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import pytest

from engine.child.parent import Limits, Results, run_in_child
from engine.cli.main import main
from engine.comparing.comparison import Comparison
from engine.errors import ChildError, shortened
from engine.events import Json
from tests.engine.cli.small_files import GRAPH, SMALL_CLUSTER

OPTIONS = ["--cluster", "2xK80", "--groups", "all", "--methods", "random,m_topo", "--evaluations", "40", "--seeds", "2"]
SECONDS = ("wall_seconds", "seconds")


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("graph") / "five.json"
    path.write_text(json.dumps(GRAPH))
    return str(path)


@pytest.fixture(scope="module")
def whole(graph: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison that nobody interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    assert main(["compare", graph, *OPTIONS, "--out", str(folder), "--report", str(folder / "report.json")]) == 0
    return folder


def without_seconds(report: Any) -> Any:
    """All that is the same in every run."""
    if isinstance(report, dict):
        return {key: without_seconds(value) for key, value in report.items() if key not in SECONDS}
    return [without_seconds(item) for item in report] if isinstance(report, list) else report


def report_in(folder: Path) -> Any:
    return without_seconds(json.loads((folder / "comparison.json").read_text()))


def test_rows_are_reports_that_the_simulator_confirms(whole: Path, graph: str, tmp_path: Path) -> None:
    report = json.loads((whole / "report.json").read_text())
    rows = report["rows"]
    assert [(row["method"], row["seed"]) for row in rows] == [
        ("random", 0),
        ("random", 1),
        ("m_topo", 0),
    ]
    for row in rows:
        assert row["verdict"]["one_device_us"] == row["one_device_us"]
        assert row["verdict"]["gain"] == pytest.approx(1 - row["step_time_us"] / row["one_device_us"])
        assert row["simplest"]["step_time_us"] <= 1.01 * row["step_time_us"]
        assert row["simplest"]["crossing_edges"] <= row["crossing_edges"]
    placements, simulated = tmp_path / "placements.json", tmp_path / "simulated.json"
    placements.write_text(json.dumps([row["placement"] for row in rows]))
    command = ["simulate", graph, "--cluster", "2xK80", "--placement", str(placements), "--report", str(simulated)]
    assert main(command) == 0
    for row, again in zip(rows, json.loads(simulated.read_text()), strict=True):
        for key in ("step_time_us", "peak_bytes", "lower_bound_us"):
            assert row[key] == again[key]
        assert row["feasible"] is True
        assert row["own_best_us"] >= row["step_time_us"]
        assert 1 <= row["evaluations_to_best"] <= row["evaluations"] <= 40
        assert row["curve"][-1] == [row["evaluations"], row["step_time_us"]]
    assert rows[0]["evaluations"] == rows[1]["evaluations"] == 40
    assert [method["method"] for method in report["methods"]] == ["random", "m_topo"]
    assert report["one_device_us"] == pytest.approx(1500 + 5 * 5.7)


def test_a_row_is_what_place_gives_with_the_same_seed(whole: Path, graph: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    command = ["place", graph, "--cluster", "2xK80", "--groups", "all", "--method", "random", "--evaluations", "40"]
    assert main([*command, "--seed", "1", "--report", str(path)]) == 0
    placed, row = json.loads(path.read_text()), json.loads((whole / "report.json").read_text())["rows"][1]
    for key in ("method", "seed", "settings", "step_time_us", "evaluations", "placement", "feasible", "peak_bytes"):
        assert row[key] == placed[key]


def test_table_and_figure_are_there(whole: Path) -> None:
    table = (whole / "comparison.md").read_text()
    assert table.splitlines()[2].startswith("| Random | 2 | 1.")
    assert (whole / "comparison.png").read_bytes().startswith(b"\x89PNG")
    picture = (whole / "comparison.svg").read_text()
    assert "<svg" in picture
    assert "<!-- m-TOPO 1." in picture
    assert table.splitlines()[3].startswith("| m-TOPO | 1: deterministic | 1.")


def test_a_comparison_that_was_killed_goes_on_and_says_the_same(whole: Path, graph: str, tmp_path: Path) -> None:
    command = ["compare", graph, *OPTIONS, "--out", str(tmp_path), "--processes", "1"]
    started = subprocess.Popen([sys.executable, "-m", "engine", *command], stderr=subprocess.DEVNULL)
    while not list(tmp_path.glob("random-*.json")):
        assert started.poll() is None, "it ended before it was killed"
        time.sleep(0.02)
    started.send_signal(signal.SIGKILL)
    assert started.wait() == -signal.SIGKILL
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*-*-*.json")}
    assert 1 <= len(kept) < 3
    assert main(command) == 0
    assert report_in(tmp_path) == report_in(whole)
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items()), "what had ended ran again"


def test_what_has_ended_is_not_run_again(
    whole: Path, graph: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = report_in(whole)
    monkeypatch.setattr(Comparison, "_carry_out", lambda *_: pytest.fail("it ran again"))
    assert main(["compare", graph, *OPTIONS, "--out", str(whole)]) == 0
    assert report_in(whole) == before
    assert capsys.readouterr().out == (whole / "comparison.md").read_text()


def test_who_can_do_nothing_is_a_row_with_a_reason(
    graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = "cpu_only,single_device"
    command = ["compare", graph, "--cluster", SMALL_CLUSTER, "--methods", methods, "--evaluations", "5", "--seeds", "1"]
    assert main([*command, "--out", str(tmp_path)]) == 3
    told = capsys.readouterr()
    for label in ("CPU only", "Single device"):
        assert f"- {label}: the variables need 250 B, more than the 100 B of all devices together" in told.out
    assert "2/2 done" in told.err
    cpu_only, one = report_in(tmp_path)["rows"]
    for row in (cpu_only, one):
        assert not row["feasible"] and max(row["peak_bytes"]) > 100
        assert (row["verdict"]["kind"], row["simplest"]) == ("infeasible", None)
        sentence = "No placement fits in memory: the variables need 250 B, more than the 100 B of all devices together."
        assert row["verdict"]["sentence"] == sentence
        assert f"\nVerdict: {sentence}\n" in told.out


def test_a_method_that_crashes_is_a_row_and_is_tried_again(
    graph: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", graph, *OPTIONS, "--seeds", "1", "--out", str(tmp_path)]

    def run(function: str, arguments: dict[str, Json], limits: Limits, **options: Any) -> Results:
        if cast(dict[str, Json], arguments["request"])["method"] == "m_topo":
            raise ChildError("m_topo with seed 0 failed: the process ended with signal SIGSEGV")
        return run_in_child(function, arguments, limits, **options)

    with monkeypatch.context() as patch:
        patch.setattr("engine.comparing.child.run_in_child", run)
        assert main(command) == 0
    assert "- m-TOPO: m_topo with seed 0 failed: the process ended with signal SIGSEGV" in capsys.readouterr().out
    assert not list(tmp_path.glob("m_topo-*"))
    assert main(command) == 0
    assert [row["feasible"] for row in report_in(tmp_path)["rows"]] == [True, True]


def test_a_graph_that_no_method_could_place_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "fixed.json", tmp_path / "out"
    fixed: Any = json.loads(json.dumps(GRAPH))
    fixed["nodes"][3]["device"] = "/device:GPU:7"
    path.write_text(json.dumps(fixed))
    assert main(["compare", str(path), *OPTIONS, "--out", str(out)]) == 2
    line = "op_3: it is fixed to /device:GPU:7, which is not in the cluster; allowed: /device:GPU:0, /device:GPU:1"
    assert capsys.readouterr().err.splitlines()[-1] == f"{line}, or --drop-devices"
    assert not out.exists()


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (["--seeds", "0"], "seeds: 0; allowed: 1 to 1000"),
        (["--methods", ","], "methods: no method is given; allowed: at least one method"),
        (["--methods", "heft,heft"], "methods: heft is listed twice; allowed: each method once"),
        (["--methods", "heft,magic"], "method: there is no method 'magic'; allowed: auto, placeto"),
        (["--evaluations", "0"], "evaluations: 0 evaluations; allowed: 1 to 100000000"),
        (["--seconds", "0"], "seconds: 0.0 seconds; allowed: a number above 0"),
        (["--set", "preset=paper"], "--set: 'preset' names no method; allowed: METHOD.NAME=JSON"),
        (["--set", "heft.colour=1"], "settings: heft is not compared; allowed: random, m_topo"),
        (["--set", "random.colour=1"], "settings: random has no setting 'colour'; allowed: batch"),
        (["--processes", "-1"], "--processes: -1; allowed: an integer from 0"),
        (["--report", "/nowhere/a.json"], "--report: /nowhere/a.json cannot be written; allowed: a file in a folder"),
        (["--report", "/"], "--report: / cannot be written; allowed: a file in a folder that is there"),
        (["--out", "/dev/null/x"], "/dev/null/x: it cannot be made: Not a directory; allowed: a folder"),
    ],
)
def test_mistakes(
    graph: str, changes: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", graph, *OPTIONS, "--out", str(tmp_path), *changes]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(line)


def test_a_file_that_is_no_outcome_is_refused(
    whole: Path, graph: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = next(whole.glob("random-0-*.json")).name
    (tmp_path / name).write_text("{}")
    assert main(["compare", graph, *OPTIONS, "--out", str(tmp_path)]) == 2
    line = f"{shortened(str(tmp_path / name))}: this is not an outcome of a comparison; allowed: another folder"
    assert capsys.readouterr().err.splitlines()[-1].startswith(line)
    assert shortened(str(tmp_path / name)).endswith(name[-12:]), "the file is known by the end of its path"
