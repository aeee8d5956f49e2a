"""The table of streams: each row is measured once, every way has a row, and ours is behind none."""

import json
from pathlib import Path

import pytest

from engine import api
from experiments.stream_splits import table
from experiments.stream_splits.models import MODELS, TRAINING, StreamedModel
from experiments.stream_splits.table import OURS, SPLITTERS
from experiments.stream_splits.unet import WIDTHS, UNet, training_step
from tests.engine.formats.modules.recorded_chain import recorded_chain

CLUSTER = "A100+K80"


@pytest.fixture
def chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a chain by hand in the place of the models."""
    model = StreamedModel("chain", TRAINING, 2, (CLUSTER,), lambda: recorded_chain(6))
    monkeypatch.setattr(table, "MODELS", (model,))
    monkeypatch.setattr(table, "EVALUATIONS", 200)


@pytest.mark.usefixtures("chain")
def test_a_second_call_measures_nothing_and_ours_is_behind_no_rule(tmp_path: Path) -> None:
    page = table.run(tmp_path, lambda _: None)
    assert table.run(tmp_path, lambda _: None) == page == (tmp_path / "stream_splits.md").read_text()
    rows = {row["split"]: row for row in json.loads((tmp_path / "stream_splits.json").read_text())}
    assert rows.keys() == SPLITTERS.keys()
    ours = max(rows[name]["samples_per_second"] for name in OURS)
    for name, row in rows.items():
        expected = 2 * table.MICRO_BATCHES * 1e6 / row["batch_time_us"]
        assert row["samples_per_second"] == pytest.approx(expected)
        assert row["batch_time_us"] >= table.MICRO_BATCHES * row["period_us"] * (1 - 1e-9)
        if row["fits"]:
            assert row["samples_per_second"] <= ours * (1 + 1e-9), name
    assert rows["one_device"]["devices_used"] == 1 and rows["pipeline_dp"]["is_contiguous"]
    assert "- torchtitan: 0 of 1 do not fit; where they do, ours has " in page


def test_models_stand_on_two_to_eight_devices_equal_and_unequal() -> None:
    kinds = [{device.kind for device in api.parse_cluster(name).devices} for model in MODELS for name in model.clusters]
    assert {len(each) for each in kinds} == {1, 2}
    assert all(2 <= len(api.parse_cluster(name).devices) <= 8 for model in MODELS for name in model.clusters)


def test_the_u_net_has_the_published_number_of_parameters() -> None:
    """By hand: two 3 × 3 convolutions a block, 2 × 2 transposed ones between, and the head."""
    before = (1, *WIDTHS)
    down = sum(9 * a * b + b + 9 * b * b + b for a, b in zip(before, WIDTHS, strict=False))
    up = sum(4 * wide * narrow + narrow + 9 * wide * narrow + narrow + 9 * narrow**2 + narrow
             for wide, narrow in zip(WIDTHS[::-1], WIDTHS[-2::-1], strict=False))  # fmt: skip
    assert sum(parameter.numel() for parameter in UNet().parameters()) == down + up + WIDTHS[0] * 2 + 2 == 31_030_658
    model, inputs, loss, _ = training_step(1)
    assert isinstance(model, UNet) and isinstance(inputs, tuple) and callable(loss)
