"""Groups auto beside 128 groups: what is measured, and the page's figures."""

from pathlib import Path

import pytest

from experiments import default_groups, leveled
from experiments.default_groups import FIXED, PROBLEMS, SEEDS, key_of
from experiments.keeping.kept_results import KeptResults
from experiments.leveled import LEVELS
from tests.engine.small_runs import prepared_graph


def test_a_child_measures_a_seed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(leveled, "graph_named", lambda *_: prepared_graph(80))
    monkeypatch.setattr(default_groups, "SECONDS", 0.05)
    for column in (FIXED, LEVELS):
        found = leveled.in_child(dict(key_of(PROBLEMS[1], column, 3)), tmp_path, lambda *_: None)[1]
        assert isinstance(found["result"], list) and len(found["result"]) == 1


def test_differences_are_of_the_same_seeds(tmp_path: Path) -> None:
    kept = KeptResults(tmp_path / "kept.jsonl")
    for place in PROBLEMS:
        for seed in SEEDS:
            kept.add(key_of(place, FIXED, seed), [1e6 * (1 + seed)])
            kept.add(key_of(place, LEVELS, seed), [0.75e6 * (1 + seed)])
    text = default_groups.page(kept)
    assert text.count("| 3.0000 (1.0000 to 5.0000) | 2.2500 (0.7500 to 3.7500) | -25.0 % (-25.0 to -25.0) |") == 2
