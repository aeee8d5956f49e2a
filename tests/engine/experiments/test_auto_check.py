"""The comparison of auto with every method, at a size for tests."""

import json
from pathlib import Path

import pytest

from engine.experiments import auto_check
from engine.experiments.auto_check import Row, ratio_to_auto


def test_it_writes_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_check, "RANDOM_GRAPHS", 4)
    monkeypatch.setattr(auto_check, "SIZES", (15,))
    monkeypatch.setattr(auto_check, "EVALUATIONS", 100)
    monkeypatch.setattr(auto_check, "SEEDS", (0,))
    monkeypatch.setattr(auto_check, "METHODS", ("single_device", "heft", "human_expert"))
    monkeypatch.setattr(auto_check, "SHARED", tmp_path / "not here")
    monkeypatch.setattr(auto_check, "ZOO", ())
    monkeypatch.setattr(auto_check, "SECONDS", 0.2)
    monkeypatch.setattr(auto_check, "RANDOM_GRAPHS_IN_SECONDS", 1)
    told: list[str] = []
    text = auto_check.run(tmp_path, told.append)
    kept = json.loads((tmp_path / "auto_check.json").read_text())
    rows = kept["evaluations"]
    assert [row["method"] for row in kept["seconds"]] == ["auto", "single_device", "heft", "human_expert"]
    assert "In the same seconds: 1 graphs, 0.2 s on one thread" in text
    assert (tmp_path / "auto_check.md").read_text() == text
    assert len({row["name"] for row in rows}) == 4
    assert all(row["step_time_us"] <= row["one_device_us"] for row in rows if row["method"] == "auto")
    assert "| single_device | 4 |" in text and "human_expert" not in text
    assert "the shared graphs are not here" in told


@pytest.mark.parametrize(
    ("auto", "other", "ratio"), [(90.0, 100.0, 0.9), (100.0, None, None), (None, 5.0, float("inf"))]
)
def test_the_ratio_is_above_one_where_auto_is_behind(
    auto: float | None, other: float | None, ratio: float | None
) -> None:
    rows = [Row("tree", "a", "auto", auto, 100.0), Row("tree", "b", "auto", 1.0, 100.0)]
    rows.append(Row("tree", "a", "heft", other, 100.0))
    assert ratio_to_auto(rows[-1], rows) == ratio
