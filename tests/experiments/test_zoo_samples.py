"""Evaluations to pass: counted from the curve, with the seeds that never passed; the page on a small graph."""

from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.comparing import child
from engine.zoo.random_graphs import random_graph
from experiments import zoo_samples
from experiments.children_here import children_here
from experiments.outcomes import column_of
from experiments.table1 import Table1Row


def test_it_is_passed_where_the_best_is_better() -> None:
    outcome = api.Outcome("post", 0, 2e6, feasible=True, curve=((1, 5e6), (10, 3e6), (40, 2e6)))
    assert zoo_samples.evaluations_to_pass(outcome, 3.5e6) == 10
    assert zoo_samples.evaluations_to_pass(outcome, 3e6) == 40
    assert zoo_samples.evaluations_to_pass(outcome, 2e6) is None
    assert zoo_samples.evaluations_to_pass(outcome, None) is None


@pytest.mark.parametrize(
    ("evaluations", "cell"),
    [([10, 20], "15 (10–20)"), ([1500], "1,500"), ([10, None], "10, 1 of 2 never"), ([None, None], "never")],
)
def test_the_mean_and_who_never_passed(evaluations: list[int | None], cell: str) -> None:
    assert zoo_samples._needed(evaluations) == cell


def test_every_compared_method_has_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random_graph("layered", 20, np.random.default_rng(0))
    monkeypatch.setattr(zoo_samples, "prepared_zoo_graph", lambda *_, **__: drawn)
    monkeypatch.setattr(zoo_samples, "ROWS", (Table1Row("drawn", 2, ()),))
    monkeypatch.setattr(zoo_samples, "COMPARED", (column_of("random"), column_of("local_search")))
    monkeypatch.setattr(zoo_samples, "TO_PASS", (column_of("human_expert"), column_of("heft")))
    monkeypatch.setattr(zoo_samples, "EVALUATIONS", 20)
    monkeypatch.setattr(zoo_samples, "SEEDS", 1)
    with children_here(child, tmp_path):
        text = zoo_samples.run(tmp_path / "out", lambda _: None)
    first, second = text.splitlines()[-2:]
    assert first.startswith("| drawn | 2 | ")
    assert second.startswith("|  |  |  |  | Local search |")
    assert (tmp_path / "out" / "zoo_samples.md").read_text() == text
