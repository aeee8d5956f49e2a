"""The table of plans: each row is measured once, has all plans, and ours is behind no other plan."""

import json
from pathlib import Path

import pytest

from engine import api
from engine.plans.usual import SHARDED, WORDS
from experiments import plan_table
from experiments.elsewhere import TRAINING
from experiments.plan_table import CLUSTERS, COLUMNS, MODELS, OURS, PlannedModel, ahead_of_others
from tests.engine.plans.layered_step import layered_model


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a chain by hand in the place of the models, on two clusters."""
    read = dict(zip(layered_model().samples, layered_model().readings, strict=True))
    model = PlannedModel("chain", TRAINING, (1, 2), read.__getitem__)
    monkeypatch.setattr(plan_table, "MODELS", (model,))
    monkeypatch.setattr(plan_table, "CLUSTERS", {"A100+K80": "unequal", "2xK80": "equal"})
    monkeypatch.setattr(plan_table, "SECONDS", 2.0)
    monkeypatch.setattr(plan_table, "BATCH", 8)


@pytest.mark.usefixtures("chain")
def test_a_second_call_measures_nothing_and_ours_is_behind_no_plan(tmp_path: Path) -> None:
    page = plan_table.run(tmp_path, lambda _: None)
    assert plan_table.run(tmp_path, lambda _: None) == page == (tmp_path / "plan_table.md").read_text()
    rows = json.loads((tmp_path / "plan_table.json").read_text())
    assert [row["cluster"] for row in rows] == ["A100+K80", "2xK80"]
    for row in rows:
        plans = row["plans"]
        assert plans.keys() == COLUMNS.keys() == {*WORDS, OURS}
        ours = plans[OURS]["samples_per_second"]
        assert all(plan["samples_per_second"] <= ours for name, plan in plans.items() if plan and name != SHARDED)
        assert sum(count * size for _, count, size, _ in plans[OURS]["replicas"]) == 8
        assert ahead_of_others(row) == pytest.approx(
            100 * (ours / max(plan["samples_per_second"] for name, plan in plans.items() if plan and name in
                              ("data_parallel", "equal_layers", "pipedream")) - 1)
        )  # fmt: skip
    assert "- PipeDream: fits in " in page and "- 2xK80, equal: " in page


def test_a_model_that_fits_nowhere_has_a_row_that_says_so() -> None:
    row = {"model": "m", "step": TRAINING, "cluster": "L4+T4", "plans": None, "reason": "no plan fits in memory"}
    assert "| m | training | L4+T4 | – | – | – | – | – | none fits | – | – |" in plan_table.page([row], "today")


def test_models_and_clusters_are_those_of_the_claim() -> None:
    assert len([model for model in MODELS if model.name not in ("Inception-V3", "NMT")]) == 7 and len(MODELS) == 9
    assert len(CLUSTERS) == 6
    assert all(len(api.parse_cluster(cluster).devices) >= 2 for cluster in CLUSTERS)
