"""`profile`, `measure` and `calibrate` refuse at once what they would ignore, or could not write in the end."""

import json
from pathlib import Path
from typing import NoReturn

import pytest

from engine import api
from engine.cli.main import main


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> NoReturn:
        pytest.fail("it runs")

    for name in ("profile", "measure", "measure_many", "calibrate"):
        monkeypatch.setattr(api, name, run)


@pytest.fixture
def many(tmp_path: Path) -> list[str]:
    """The command for a list of placements."""
    path = tmp_path / "placements.json"
    path.write_text(json.dumps([{"a": "/device:CPU:0"}, {"a": "/device:CPU:1"}]))
    return ["measure", "graph.pb", "--placement", str(path), "--cluster", "2xCPU"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--timelines", "t.json"], "--timelines: 2 placements; allowed: one placement"),
        (["--threads", "1"], "--threads: 2 placements; allowed: one placement: of a list each CPU has one thread"),
        (["--processes"], "--processes: 2 placements; allowed: one placement: of a list each CPU is a process anyway"),
    ],
)
def test_an_option_of_one_placement_is_refused_for_a_list(
    options: list[str], line: str, many: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*many, *options]) == 2
    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.parametrize("options", [["--rounds", "3"], ["--kept", "rounds.json"]])
def test_an_option_of_a_list_is_refused_for_one_placement(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "placement.json"
    path.write_text(json.dumps({"a": "/device:CPU:0"}))
    assert main(["measure", "graph.pb", "--placement", str(path), *options]) == 2
    assert capsys.readouterr().err == f"{options[0]}: one placement; allowed: a list of placements\n"


def test_the_usual_file_of_rounds_has_to_be_writable_too(
    many: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = tmp_path / "placements.rounds.json"
    usual.mkdir()
    assert main(many) == 2
    assert capsys.readouterr().err == f"--kept: {usual} cannot be written; allowed: a file in a folder that is there\n"


@pytest.mark.parametrize(
    ("command", "option"), [(["calibrate"], "--out"), (["profile", "graph.pb"], "--out"), (None, "--kept")]
)
def test_a_file_that_cannot_be_written_is_refused(
    command: list[str] | None, option: str, many: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "result"
    assert main([*(command or many), option, str(path)]) == 2
    assert capsys.readouterr().err == f"{option}: {path} cannot be written; allowed: a file in a folder that is there\n"


def test_notes_on_a_measurement_are_reported_beside_the_file_too(
    many: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api, "measure_many", lambda *_, **__: {"notes": ["It is another machine.", "It was busy."]})
    assert main([*many, "--report", str(tmp_path / "report.json")]) == 0
    assert capsys.readouterr().err == "note: It is another machine.\nnote: It was busy.\n"
