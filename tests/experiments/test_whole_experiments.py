"""The experiments with policies from end to end on small graphs, their children in this process."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import SettingsError
from engine.events import Json
from experiments.policies import cross_family, zero_shot
from experiments.policies import making as policy_making
from experiments.policies import measuring as policy_measuring
from experiments.policies import problems as policy_problems
from tests.engine.small_runs import prepared_graph
from tests.experiments.small_experiments import children_in, family_of


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Json]:
    """Of experiments of a few seconds."""
    monkeypatch.setattr("experiments.grid.run_in_child", children_in(tmp_path))
    monkeypatch.setattr(policy_problems, "prepared_family", family_of(lambda index: prepared_graph(8 + index % 3)))
    monkeypatch.setattr(policy_problems, "kept_zoo_graph", lambda *_: prepared_graph(9))
    for name in ("SHORT_SECONDS", "MIDDLE_SECONDS"):
        monkeypatch.setattr(policy_measuring, name, 0.05)
    return {
        "families": "nmt,ptb",
        "clusters": "2xK80",
        "seeds": 2,
        "train_graphs": 2,
        "graphs": 1,
        "train_seconds": 0.3,
        "search_seconds": 0.1,
        "rnn_seconds": 0.1,
        "processes": 1,
        "slow_methods": False,
        "yardstick": str(tmp_path / "best" / "yardstick.jsonl"),
        "work": str(tmp_path / "work"),
    }


def nothing_is_made_again(
    run: Callable[..., str], folder: Path, settings: dict[str, Json], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second call takes all that is kept and writes the same page."""
    text = run(folder, lambda _: None, settings)

    def made(*_: Any, **__: Any) -> None:
        raise AssertionError("something was made again")

    monkeypatch.setattr(policy_making, "train_policy", made)
    monkeypatch.setattr(policy_measuring, "_compared", made)
    monkeypatch.setattr(policy_measuring, "_proposed", made)
    assert run(folder, lambda _: None, settings) == text


def test_zero_shot(tmp_path: Path, settings: dict[str, Json], monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    for run in (zero_shot.run, cross_family.run):
        with pytest.raises(SettingsError, match="no setting"):
            run(tmp_path, lines.append, settings | {"variants": "no phases"})
    assert lines == [], "nothing was built before"
    text = zero_shot.run(tmp_path, lines.append, settings)
    rows = json.loads((tmp_path / "zero_shot.json").read_text())
    assert [len(rows[name]["compared"]) for name in ("nmt", "ptb", "ptb@1")] == [1, 1, 1]
    assert rows["ptb@1"]["compared"][0]["graph"] == "ptb-02@1"
    assert {(row["seed"], *row["families"]) for row in rows["ptb"]["proposed"]} == {(0, "ptb"), (1, "ptb")}
    assert "rnn" in rows["nmt"]["compared"][0]["reached"] and (tmp_path / "zero_shot.png").stat().st_size > 1000
    assert text == (tmp_path / "zero_shot.md").read_text() and "RNN, zero-shot" in text
    assert "4 of 4: trained on ptb, seed 1" in lines
    nothing_is_made_again(zero_shot.run, tmp_path, settings, monkeypatch)


def test_cross_family(tmp_path: Path, settings: dict[str, Json], monkeypatch: pytest.MonkeyPatch) -> None:
    cross_family.run(tmp_path, lambda _: None, settings)
    rows = json.loads((tmp_path / "cross_family.json").read_text())
    for name, of in rows.items():
        tested, trained = name.split(", trained on ")
        assert tested != trained and {tuple(row["families"]) for row in of["proposed"]} == {(trained,)}
    assert {name.split(",")[0] for name in rows} == {"nmt", "ptb", "zoo"}
    assert "| zoo, trained on ptb | nasnet | " in (tmp_path / "cross_family.md").read_text()
    nothing_is_made_again(cross_family.run, tmp_path, settings, monkeypatch)
