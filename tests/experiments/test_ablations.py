"""Ablations on a small problem: each variant is trained within its budget, and the page shows how much worse it is."""

from pathlib import Path

import numpy as np
import pytest

from engine.bench.random_graphs import random_graph
from experiments import ablations
from experiments.ablations import VARIANTS, Trained, Variant
from tests.engine.placeto.problems import random_problem


@pytest.mark.parametrize("variant", VARIANTS, ids=[f"{variant.label} {variant.evaluations}" for variant in VARIANTS])
def test_each_variant_is_trained(variant: Variant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablations, "EARLY", 30)
    problem = random_problem(3, groups=8, evaluations=60)
    trained = ablations.train("drawn", problem, variant, 1)
    assert trained.best <= trained.early
    assert problem.ledger.used == 60 and trained.episodes >= 1


def test_a_seed_is_an_answer() -> None:
    first, second = (
        ablations.train("drawn", random_problem(3, groups=8, evaluations=40), VARIANTS[0], 1) for _ in range(2)
    )
    assert first == second


def test_a_child_trains_every_variant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random_graph("layered", 20, np.random.default_rng(0))
    variants = (Variant("first", {}, 20), Variant("second", {"reward": "intermediate"}, 30))
    monkeypatch.setattr(ablations, "_graphs", lambda _: [drawn])
    monkeypatch.setattr(ablations, "VARIANTS", variants)
    _, texts = ablations.train_in_child({"seed": 2, "cache": str(tmp_path)}, tmp_path, lambda *_: None)
    rows = texts["trained"]
    assert isinstance(rows, list)
    trained = [Trained(**row) for row in rows]  # type: ignore[arg-type]  # as `ablations` reads it
    assert [(each.variant, each.seed) for each in trained] == [("first", 2), ("second", 2)]


def test_the_page_shows_how_much_worse_with_as_many_evaluations() -> None:
    found = [
        Trained("drawn", seed, variant.label, variant.evaluations, 0.9, 0.5 + 0.05 * index, 1, 1, 9)
        for seed in (0, 1)
        for index, variant in enumerate(VARIANTS)
    ]
    lines = ablations.page(found).splitlines()[-len(VARIANTS) :]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert [(row[1], row[7]) for row in cells[:4]] == [
        ("20,000", ""),
        ("20,000", "+10.0%"),
        ("20,000", "+20.0%"),
        ("20,000", "+30.0%"),
    ]
    assert (cells[5][1], cells[5][7], cells[6][7]) == ("4,000", "", "+6.7%")
    assert cells[-1][1:3] == ["1,000", "2"] and cells[-1][7] == "+4.8%"
