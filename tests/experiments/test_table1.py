"""The paper's table on a small graph: the paper's figures under ours, ranges, what does not fit, a second call."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.comparing import child
from engine.comparing.report import LABELS
from engine.zoo.random_graphs import random_graph
from experiments import table1
from experiments.children_here import children_here
from experiments.outcomes import Column, column_of
from experiments.table1 import STATE_BEFORE_BUFFERS, STATES_SINCE, counts_too

PRIOR = "From one shared prior: shares of one device"
PAPER = ("1", "2", "OOM", "4", "5", "6")


def lines_of(text: str, words: str) -> list[list[str]]:
    """The cells of the lines below the last heading `words`."""
    table = text.rpartition(f"### {words}\n")[2].partition("\n#")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if "|" in line][2:]


def test_the_table_has_lines_of_ours_and_the_papers_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random_graph("layered", 20, np.random.default_rng(0))
    monkeypatch.setattr(table1, "prepared_zoo_graph", lambda *_: drawn)
    row = table1.Table1Row("drawn", 2, PAPER)
    monkeypatch.setattr(table1, "ROWS", (row,))
    monkeypatch.setattr(table1, "FITTED_ROWS", (dataclasses.replace(row, kind="K80-measured", batch=4),))
    monkeypatch.setattr(table1, "PAPER_SECONDS", {"drawn": 2.0})
    frozen = Column("Local search, frozen", "local_search", {"list_starts": False})
    others = map(column_of, ("single_device", "heft", "random", "local_search"))
    monkeypatch.setattr(table1, "COLUMNS", (*others, frozen))
    monkeypatch.setattr(table1, "OTHERS", (column_of("m_etf"),))
    monkeypatch.setattr(table1, "SHARED_PRIOR", (Column("BRKGA, shared prior", "brkga", {"prior": "best_trivial"}),))
    monkeypatch.setattr(table1, "EVALUATIONS", 20)
    monkeypatch.setattr(table1, "SEEDS", 2)
    with children_here(child, tmp_path):
        text = table1.run(tmp_path / "out", lambda _: None)
    bus, pair, papers = lines_of(text, "Seconds")
    assert (bus[:3], pair[:3]) == (["drawn", "2", "bus"], ["", "", "pair"])
    single, heft = (float(cell) for cell in bus[4:6])
    assert pair[4] == bus[4], "one device sends nothing"
    assert papers == ["", "", "paper", *PAPER]
    bus, _, papers = lines_of(text, "Shares of one device")
    assert float(bus[5]) == pytest.approx(heft / single, rel=0.01)
    assert papers[3:] == ["0.500", "1.000", "OOM", "2.000", "2.500", "3.000"]
    assert len(lines_of(text, "Other methods: seconds")) == len(lines_of(text, PRIOR)) == 1
    fitted = next(line for line in text.splitlines() if line.startswith("| drawn, batch 4 |")).split("|")
    assert float(fitted[5].strip().removesuffix(" (fitted)")) > single
    rows = json.loads((tmp_path / "out" / "table1.json").read_text())
    assert [each["seed"] for each in rows if each["method"] == "random"] == [0, 1] * 4
    assert [each["seed"] for each in rows if each["method"] == "m_etf"] == [0] * 2
    assert {str(each["settings"]) for each in rows if each["method"] == "local_search"} == {
        "{'list_starts': False}",
        "{}",
    }
    monkeypatch.setattr(table1, "prepared_zoo_graph", None)  # a second call measures nothing
    assert table1.run(tmp_path / "out", lambda _: None) == text


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
    assert table1.seconds_cell(outcomes) == cell


def test_a_share_has_its_interval_and_a_dash_without_one_device() -> None:
    outcomes = [
        api.Outcome("post", seed, time_us, feasible=True, one_device_us=2.0) for seed, time_us in ((0, 1.0), (1, 1.2))
    ]
    assert table1.share_cell(outcomes) == "0.550 (-0.085–1.185)"
    assert table1.share_cell(outcomes[:1]) == "0.500"
    assert table1.share_cell([dataclasses.replace(outcomes[0], one_device_us=None)]) == "–"
    assert table1.share_cell([api.Outcome("post", 0, 2e6)]) == "none fits"


def test_every_method_with_a_prior_has_its_column_from_the_shared_one() -> None:
    with_prior = {name for name, make in api.what_has_settings().items() if name in LABELS and "prior" in dir(make({}))}
    assert {column.method for column in table1.SHARED_PRIOR} == with_prior
    learned = {column.method for column in (*table1.COLUMNS, *table1.OTHERS)}
    assert with_prior <= learned


def test_outcomes_of_earlier_states_count_where_memory_decides_nothing() -> None:
    assert counts_too({"graph": "nmt"}, STATE_BEFORE_BUFFERS)
    assert not counts_too({"graph": "nmt, batch 1,184"}, STATE_BEFORE_BUFFERS)
    assert counts_too({"graph": "nmt, batch 1,184"}, STATES_SINCE[0])
    assert not counts_too({"graph": "nmt"}, "another")
