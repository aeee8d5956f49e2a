"""Rules of merging compared: what a child measures, the table's figures, and resuming."""

from pathlib import Path
from typing import Any

import pytest

from engine.events import Json
from engine.graphs.grouping.rules import MERGING_RULES
from experiments import merging_rules
from experiments.keeping.kept_results import KeptResults, Measurement
from experiments.leveled import GraphOnCluster
from tests.engine.small_runs import prepared_graph

PROBLEMS = (GraphOnCluster("one", "2xK80"), GraphOnCluster("two", "4xK80"))


@pytest.fixture(autouse=True)
def small_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging_rules, "PROBLEMS", PROBLEMS)
    monkeypatch.setattr(merging_rules, "SECONDS", 0.02)
    monkeypatch.setattr(merging_rules, "graph_named", lambda *_: prepared_graph(80))


def test_a_step_time_a_level_and_seed(tmp_path: Path) -> None:
    found = merging_rules.in_child(dict(merging_rules.key_of(PROBLEMS[0], "published")), tmp_path, lambda *_: None)
    by_level: Any = found[1]["result"]
    assert list(by_level) == ["128", "512", "levels"]
    assert all(len(times) == 3 and min(times) > 0 for times in by_level.values())


def kept_of(path: Path, factor: dict[str, float]) -> KeptResults:
    """Step times by each rule: 2 s, times the factor of the graph for `published`."""
    kept = KeptResults(path)
    for place in PROBLEMS:
        for rule in MERGING_RULES:
            times: list[Json] = [2e6 * (factor[place.graph] if rule == "published" else 1.0)] * 3
            kept.add(merging_rules.key_of(place, rule), {"128": times, "512": times, "levels": times})
    return kept


def test_figures_are_relative_to_the_default_and_their_mean_is_geometric(tmp_path: Path) -> None:
    text = merging_rules.page(kept_of(tmp_path / "kept.jsonl", {"one": 0.5, "two": 2.0}))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    at = lines[0].index("`published`")
    assert [line[at] for line in lines[2:4]] == ["-50.0 %", "+100.0 %"]
    assert lines[2][1] == "2.0000"
    mean, _, bounds = lines[4][at].partition(" % ")
    assert abs(float(mean)) == 0.0 and bounds.startswith("(-100.0 to ")
    assert lines[5][at] == "no"


def test_a_rule_is_faster_that_is_so_on_every_graph(tmp_path: Path) -> None:
    text = merging_rules.page(kept_of(tmp_path / "kept.jsonl", {"one": 0.9, "two": 0.9}))
    rows = [line for line in text.splitlines() if line.startswith("| faster")]
    at = text[text.index("| graph") :].splitlines()[0].split("|").index(" `published` ")
    assert len(rows) == len(merging_rules.COLUMNS)
    assert all([cell.strip() for cell in row.split("|")].index("yes") == at and row.count("yes") == 1 for row in rows)


def test_a_second_call_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(kept: KeptResults, _graph: str, orders: dict[str, Measurement], *_: object) -> None:
        for shown, key in orders.items():
            if key not in kept:
                told.append(shown)
                kept.add(key, {"128": [1.0] * 3, "512": [1.0] * 3, "levels": [1.0] * 3})

    told: list[str] = []
    monkeypatch.setattr(merging_rules, "measure_rounds", measured)
    text = merging_rules.run(tmp_path, lambda _: None)
    assert len(told) == len(PROBLEMS) * len(MERGING_RULES) and "one on 2xK80: published" in told
    assert merging_rules.run(tmp_path, lambda _: None) == text == (tmp_path / "merging_rules.md").read_text()
    assert len(told) == len(PROBLEMS) * len(MERGING_RULES)
