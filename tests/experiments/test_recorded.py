"""Architectures drawn at random: a small model goes the whole way, failures have step and sentence, rows are kept."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from experiments.recorded import child, drawing, table
from experiments.recorded.child import INFERENCE, STEPS, TRAINING


class Chooses(nn.Module):
    """Its way depends on a value."""

    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum().item() > 0 else -x


def of_layers() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))


def case(name: str, mode: str = INFERENCE) -> dict[str, Any]:
    return {"library": "plain", "name": name, "mode": mode, "changes": {}}


BUILDERS: Mapping[str, Callable[[], nn.Module]] = {"layers": of_layers, "chooses": Chooses}


def row_of_plain(case: Mapping[str, Any], begins: Callable[[str], None]) -> dict[str, Any]:
    """What a child runs: the chain of steps with models of plain PyTorch in place of the libraries'."""

    def made(name: str, _changes: Mapping[str, Any]) -> tuple[nn.Module, Tensor]:
        return BUILDERS[name](), torch.zeros(2, 8)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child, "MODELS", {"plain": made})
        return child.row_of(case, begins)


@pytest.mark.parametrize("mode", [INFERENCE, TRAINING])
def test_a_model_is_recorded_placed_and_mapped(mode: str) -> None:
    steps: list[str] = []
    row = row_of_plain(case("layers", mode), steps.append)
    assert "failed" not in row, row
    assert steps == list(STEPS) == list(row["seconds"])
    assert row["parameters"] == row["parameters_recorded"] == 8 * 8 + 8 + 8 * 3 + 3
    assert row["without_formula"] == {} and row["entries"] >= 1 <= row["devices"] <= 3
    products = 2 * 2 * (8 * 8 + 8 * 3)
    assert row["flops"] >= products * (1 if mode == INFERENCE else 2)


def test_what_cannot_be_recorded_fails_with_its_step_and_sentence() -> None:
    row = row_of_plain(case("chooses"), lambda _: None)
    assert row["failed"] == "record"
    assert "depends on the values of the data, and a recording has shapes alone" in row["sentence"]
    unknown = row_of_plain(case("unknown"), lambda _: None)
    assert (unknown["failed"], unknown["sentence"]) == ("build", "KeyError: 'unknown'")


def test_rows_are_kept_and_what_failed_is_tried_again_by_another_recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []

    def measure(cases: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for each in cases:
            measured.append(each["name"])
            yield row_of_plain(each, lambda _: None)

    cases = [case("layers", TRAINING), case("chooses")]
    population = {"timm": 1, "torchvision": 1, "transformers": 1}
    listed = {"seed": 1, "population": population, "passed_over": {"old": "ValueError: it requires x"}, "cases": cases}
    (tmp_path / "list.json").write_text(json.dumps(listed))
    monkeypatch.setattr(table, "LIST", tmp_path / "list.json")
    monkeypatch.setattr(table, "measured", measure)
    monkeypatch.setattr(table, "steps_state", lambda: "first")
    page = table.run(tmp_path, lambda _: None)
    assert page.startswith("# Architectures drawn at random: 1 of 2 get a device map\n\nFor those who")
    assert "| plain | 2 | 1 | 1 |" in page and "| plain | chooses | inference | record |" in page
    assert "(test_recorded.py:" in page and str(Path(__file__).parent) not in page
    assert "1 types were passed over" not in page and "1 type was passed over" in page
    assert table.run(tmp_path, lambda _: None) == page and measured == ["layers", "chooses"]
    monkeypatch.setattr(table, "steps_state", lambda: "second")
    monkeypatch.setitem(BUILDERS, "chooses", of_layers)
    page = table.run(tmp_path, lambda _: None)
    assert measured == ["layers", "chooses", "chooses"]
    assert "2 of 2 get a device map" in page and "## Those that get none" not in page
    assert len(json.loads((tmp_path / "recorded.json").read_text())) == 2


def test_the_list_is_one_of_220_architectures_each_once() -> None:
    listed = json.loads(table.LIST.read_text())
    assert listed["seed"] == drawing.SEED
    drawn = [(each["library"], each["name"]) for each in listed["cases"]]
    assert len(set(drawn)) == len(drawn) == sum(drawing.COUNTS.values()) == 220
    assert {each["mode"] for each in listed["cases"]} == {INFERENCE, TRAINING}
    for library, count in drawing.COUNTS.items():
        assert sum(own == library for own, _ in drawn) == count
