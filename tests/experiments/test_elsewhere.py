"""The table of what other tools do: each row is measured once, what does not fit is marked, and gains are counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine import api
from experiments import elsewhere
from experiments.elsewhere import METHODS, OURS, TRAINING, Recorded
from tests.engine.formats.modules.recorded_chain import recorded_chain

SMALL = '{"name": "/device:GPU:0", "kind": "A100", "memory_bytes": 6500000}'
TIGHT = f'{{"devices": [{SMALL}, {{"name": "/device:GPU:1", "kind": "A100"}}]}}'


@pytest.fixture
def chains(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Puts a chain by hand in the place of a recorded model; the models that were read."""
    read: list[str] = []

    def prepare(step: Recorded) -> api.PreparedGraph:
        read.append(step.model)
        return recorded_chain(4)

    step = Recorded("chain", TRAINING, 1, ("2xA100", TIGHT))
    monkeypatch.setattr(Recorded, "prepare", prepare)
    monkeypatch.setattr(elsewhere, "STEPS", (step,))
    monkeypatch.setattr(elsewhere, "EVALUATIONS", 60)
    return read


def test_a_second_call_measures_nothing_and_no_rule_is_faster_than_auto(chains: list[str], tmp_path: Path) -> None:
    page = elsewhere.run(tmp_path, lambda _: None)
    assert elsewhere.run(tmp_path, lambda _: None) == page == (tmp_path / "elsewhere.md").read_text()
    assert chains == ["chain"]
    rows = json.loads((tmp_path / "elsewhere.json").read_text())
    assert len(rows) == 2 * len(METHODS)
    for cluster in ("2xA100", TIGHT):
        own = {row["method"]: row for row in rows if row["cluster"] == cluster}
        assert own[OURS]["fits"]
        for row in own.values():
            assert not row["fits"] or row["step_time_us"] >= own[OURS]["step_time_us"] - 1e-6
    even = next(row for row in rows if row["cluster"] == TIGHT and row["method"] == "even_layers")
    assert not even["fits"] and f"{even['step_time_us'] / 1e3:.1f}*" in page
    assert "- Even layers: 1 of 2 placements do not fit; where they do, Auto takes " in page


def test_the_steps_name_models_with_sizes_and_clusters_that_exist() -> None:
    for step in elsewhere.STEPS:
        assert step.model in elsewhere.SIZES
        for cluster in step.clusters:
            assert 2 <= len(api.parse_cluster(cluster).devices) <= 8


def test_a_cell_without_a_placement_says_so() -> None:
    row: dict[str, Any] = {"fits": False, "reason": "too large"}
    assert elsewhere._cell(row) == "none fits" and elsewhere._cell(None) == "–"
