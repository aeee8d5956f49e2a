"""`python -m engine inspect`: lines on stdout, the summary as JSON, one line for each mistake."""

import json
from pathlib import Path

import pytest

from engine import api
from engine.cli.main import main

TEXT = """
node { name: "images" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: -1 } dim { size: 4 } } } } }
node { name: "weights" op: "VariableV2" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 4 } dim { size: 5 } } } } }
node { name: "scores" op: "MatMul" input: "images" input: "weights" attr { key: "T" value { type: DT_FLOAT } } }
node { name: "odd" op: "Odd" }
versions { producer: 1087 }
"""


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "scores.pbtxt"
    path.write_text(TEXT)
    return path


def test_what_was_read_is_on_stdout_and_whole_in_the_report(
    graph: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.json"
    assert main(["inspect", str(graph), "--batch-size", "3", "--groups", "all", "--report", str(report)]) == 0
    reported = capsys.readouterr().out.splitlines()
    assert reported[1] == "4 ops, 4 types, 2 edges, 4 groups"
    assert "Read as: .pbtxt, batch size 3" in reported
    assert "Types of ops without a known cost: Odd × 1" in reported
    options = api.ReadingOptions(batch_size=3)
    prepared = api.prepare(graph, ".pbtxt", lambda *_: None, api.Limits(), None, options=options)
    assert json.loads(report.read_text()) == prepared.summary()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--trips", "while"], "--trips: while is no number of trips; allowed: NAME=N, such as while=40"),
        (["--trips", "while=0"], "while: 0 trips; allowed: an integer from 1 to 1000000000"),
        (["--size", "Where=-1"], "--size: Where=-1 is no size; allowed: NAME=N, such as Where=100"),
        (["--batch-size", "0"], "batch size: 0; allowed: an integer from 1 to 2147483647"),
        (["--report", "/"], "--report: / cannot be written; allowed: a file in a folder that is there"),
    ],
)
def test_a_mistake_is_one_line_and_exit_status_2(
    graph: Path, arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(graph), *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", line + "\n")


def test_a_file_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "nowhere.pb"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("nowhere.pb: there is no such file")
