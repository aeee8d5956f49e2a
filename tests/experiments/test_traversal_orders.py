"""Unseen orders on a small problem: every policy tries every order, and the page shows gap and spread."""

from pathlib import Path

import pytest

from experiments import traversal_orders
from experiments.traversal_orders import TESTED, TRAINED, Placed
from tests.engine.placeto.problems import random_problem
from tests.engine.small_runs import prepared_graph
from tests.experiments.small_experiments import children_in


def test_each_policy_tries_all_orders() -> None:
    placed = traversal_orders.placed_in_orders("drawn", random_problem(3, evaluations=40), 0)
    assert len(placed) == len(TRAINED) * len(traversal_orders.PASSES) * sum(TESTED.values())
    assert all(0 < each.best_of <= each.greedy for each in placed)
    assert placed == traversal_orders.placed_in_orders("drawn", random_problem(3, evaluations=40), 0)


def test_the_page_shows_gap_and_spread() -> None:
    placed = [
        Placed("drawn", seed, trained, passes, traversal, 1.0 + 0.1 * index, 1.0 + 0.05 * index)
        for seed in (0, 1)
        for trained in TRAINED
        for passes in traversal_orders.PASSES
        for index, traversal in enumerate(TESTED)
    ]
    line = traversal_orders.page(placed, "code x").splitlines()[-1]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    assert cells[:4] == ["all", "mixed", "2", "best of 17"]
    assert cells[4:] == ["0.0%", "5.0%", "10.0%", "15.0%", "20.0%", "10.0%", "20.0%", "20.0%"]


def test_the_spread_is_of_one_graph_and_seed() -> None:
    own = [
        Placed("drawn", 0, "random", 1, "random", 1.1, 1.0),
        Placed("drawn", 0, "random", 1, "reversed", 1.32, 1.0),
        Placed("drawn", 1, "random", 1, "reversed", 5.0, 1.0),
    ]
    assert traversal_orders.spread(own, "greedy", ("drawn", 0)) == pytest.approx(0.2)


def test_a_second_call_takes_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.grid.run_in_child", children_in(tmp_path))
    monkeypatch.setattr(traversal_orders, "kept_zoo_graph", lambda *_: prepared_graph(8))
    small = {"GRAPHS": ("nmt",), "SEEDS": (0,), "EVALUATIONS": 40}
    for name, value in small.items():
        monkeypatch.setattr(traversal_orders, name, value)
    text = traversal_orders.run(tmp_path, lambda _: None)
    assert text == (tmp_path / "traversal_orders.md").read_text() and "; code " in text
    monkeypatch.setattr("experiments.grid.run_in_child", lambda *_, **__: pytest.fail("again"))
    assert traversal_orders.run(tmp_path, lambda _: None) == text
