"""A recording of the corpus: its batch by the rule, and a small model in both modes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from experiments.architectures.forked import ROW, STEP
from experiments.corpus import recording
from experiments.corpus.cached import path_in
from experiments.corpus.recording import MOST_BATCH, MOST_BYTES, activation_bytes, largest_batch
from experiments.corpus.recording_words import MODE


def test_the_batch_is_the_largest_power_of_two_that_fits() -> None:
    assert largest_batch(0, 1) == MOST_BATCH
    assert largest_batch(0, MOST_BYTES / 64) == 64
    assert largest_batch(1, MOST_BYTES / 64) == 32
    assert largest_batch(2 * MOST_BYTES, 1) == 1


def test_an_output_in_the_memory_of_another_counts_once() -> None:
    view: dict[str, Any] = {"output_bytes": [8], "buffers": [["a", 0]]}
    weights: dict[str, Any] = {"output_bytes": [100], "buffers": ["persistent"]}
    assert activation_bytes([{"output_bytes": [8, 4]}, view, weights, {"output_bytes": [1], "buffers": [None]}]) == 13


def test_a_model_is_recorded_in_both_modes_and_what_fails_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(case: Any, batch: int) -> tuple[nn.Module, torch.Tensor]:
        frozen = case["architecture"] == "frozen"
        model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3)).requires_grad_(not frozen)
        return model, torch.zeros(batch, 8)

    monkeypatch.setattr(recording, "MODELS", {"plain": made})
    for name in ("layers", "frozen"):
        told: list[Any] = []
        case = {"library": "plain", "architecture": name, "cache": str(tmp_path), "no_split": None}
        recording.record_case(case, told.append)
        rows = {message[MODE]: message[ROW] for message in told if ROW in message}
        inference, training = rows["inference"], rows["training"]
        assert inference["batch"] == MOST_BATCH
        assert inference["flops"] >= 2 * MOST_BATCH * (8 * 8 + 8 * 3)
        assert inference["parameter_bytes"] == 4 * (8 * 8 + 8 + 8 * 3 + 3)
        assert path_in(tmp_path, "graphs", "plain", name, "inference").is_file()
        assert [message[STEP] for message in told if STEP in message][:4] == ["build", "size", "build", "record"]
        if name == "layers":
            assert training["ops"] > inference["ops"] and training["digest"] != inference["digest"]
        else:
            assert training["failed"] == "record"
