"""The experiment on orders of visiting: its page, from results by hand and from a small run of its own."""

from pathlib import Path
from typing import Any

import pytest

from engine.policies.trained_policy import TrainedPolicy
from experiments import grid
from experiments.policies import shipped_orders
from experiments.policies.known_optima import small_problem
from experiments.policies.shipped import FILE, MeasuredPart, ShippedScope
from experiments.policies.shipped_orders import USUAL, page, run, times_by_order
from experiments.traversal_orders import TESTED
from tests.experiments.small_experiments import children_in


def cells(text: str, row: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| {row} |")]
    return [cell.strip() for cell in line.split("|")[2:-1]]


def test_gaps_are_to_the_pass_in_the_usual_order() -> None:
    times: dict[str, list[float | None]] = {traversal: [110.0] * count for traversal, count in TESTED.items()}
    times |= {USUAL: [100.0], "random": [90.0, 120.0, None]}
    text = page(
        {"nmt": [{"a": times}], "zoo": [{"b": {name: [50.0] for name in TESTED}}]}, ShippedScope(), "", "digest"
    )
    assert [cell.split()[0] for cell in cells(text, USUAL)] == ["+0.0", "+0.0"]
    assert [cell.split()[0] for cell in cells(text, "reversed")] == ["+10.0", "+0.0"]
    assert [cell.split()[0] for cell in cells(text, "random")] == ["+5.0", "+0.0"]
    assert cells(text, "spread: the mean") == ["33.3%", "0.0%"]
    assert cells(text, "problems with a pass that does not fit") == ["1 of 1", "0 of 1"]


def test_passes_are_made_in_every_order() -> None:
    problem = small_problem(0)
    found = times_by_order(TrainedPolicy.from_bytes(FILE.read_bytes(), FILE.name), problem)
    assert {traversal: len(times) for traversal, times in found.items()} == TESTED
    assert all(us is None or us > 0 for times in found.values() for us in times)


def test_a_second_call_measures_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "run_in_child", children_in(tmp_path))
    monkeypatch.setattr(shipped_orders, "parts", lambda _scope: [MeasuredPart("drawn", "0")])
    reported: list[str] = []
    settings: dict[str, Any] = {"drawn": 2}
    text = run(tmp_path, reported.append, settings)
    assert reported == ["1 of 1: drawn, 0"] and cells(text, USUAL)[0].startswith("+0.0")
    assert run(tmp_path, reported.append, settings) == text and len(reported) == 1
