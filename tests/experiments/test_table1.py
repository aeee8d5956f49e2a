"""The paper's table on a small graph: the paper's figures under ours, ranges, what does not fit, a second call."""

import tempfile
from pathlib import Path

import pytest

from engine import api
from experiments import table1


def test_the_table_has_a_line_of_ours_and_the_papers_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(table1, "ROWS", (table1.Table1Row("tiny_cnn", 2, ("1", "2", "OOM", "4", "5", "6")),))
    fitted = table1.Table1Row("tiny_cnn", 2, ("1", "2", "OOM", "4", "5", "6"), kind="K80-measured", batch=4)
    monkeypatch.setattr(table1, "FITTED_ROWS", (fitted,))
    monkeypatch.setattr(table1, "PAPER_SECONDS", {"tiny_cnn": 2.0})
    monkeypatch.setattr(table1, "METHODS", ("single_device", "human_expert"))
    monkeypatch.setattr(table1, "EVALUATIONS", 20)
    monkeypatch.setattr(table1, "SEEDS", 1)
    text = table1.run(tmp_path / "out", lambda _: None)
    ours, papers = text.splitlines()[-2:]
    cpu, single, expert = (float(cell) for cell in ours.split("|")[4:7])
    assert 0 < expert <= single <= cpu
    assert papers.startswith("| | | paper | 1 | 2 | OOM |")
    slower = next(line for line in text.splitlines() if line.startswith("| tiny_cnn, batch 4 |")).split("|")
    assert slower[5].endswith(" (fitted) ")
    assert float(slower[5].removesuffix(" (fitted) ")) > single
    assert (tmp_path / "out" / "table1.md").read_text() == text
    assert table1.run(tmp_path / "out", lambda _: None) == text  # finished runs are kept


@pytest.mark.parametrize(
    ("outcomes", "cell"),
    [
        (
            [api.Outcome("post", 0, 2e6, feasible=True), api.Outcome("post", 1, 1e6, feasible=True)],
            "1.5 (1–2)",
        ),
        ([api.Outcome("post", 0, 2e6, feasible=True), api.Outcome("post", 1, 1e6)], "2, 1 of 2 without"),
        ([api.Outcome("scotch", 0, 1e6, feasible=True, own_best_us=3e6)], "3"),
        ([api.Outcome("post", 0, 2e6)], "none fits"),
        ([api.Outcome("human_expert", 0, reason="it has no rule")], "no answer"),
    ],
)
def test_a_cell_shows_the_range_and_the_missing_seeds(outcomes: list[api.Outcome], cell: str) -> None:
    assert table1._cell(outcomes) == cell
