"""REGAL of a family on small graphs: what is measured, and what the page says of it."""

from engine.placers.regal.placer import Regal
from experiments.regal_family import FAMILIES, SEEDS, SharesByGraph, every_order, measured, page
from tests.engine.small_runs import prepared_graph


def test_every_method_gets_every_budget_on_each_held_out_graph() -> None:
    settings = Regal(population=10, episode_evaluations=20, width=8)
    train, test = (prepared_graph(8), prepared_graph(9)), {"one": prepared_graph(10), "other": prepared_graph(11)}
    found = measured(train, test, "2xK80", settings, 4, [20, 40], 0)
    assert list(found) == ["one", "other"]
    for shares in found.values():
        assert isinstance(shares, dict) and len(shares) == 6
        assert all(isinstance(share, float) and share > 0.0 for share in shares.values())
        for method in ("BRKGA", "REGAL of the family"):
            early, late = shares[f"{method}, 20"], shares[f"{method}, 40"]
            assert isinstance(early, float) and isinstance(late, float) and late <= early
    assert found == measured(train, test, "2xK80", settings, 4, [20, 40], 0)


def shares_of(gain: float) -> SharesByGraph:
    shares = {f"{method}, {budget}": 0.8 for method in ("BRKGA", "REGAL within a run") for budget in ("1,000", "5,000")}
    return {"graph": shares | {f"REGAL of the family, {budget}": 0.8 - gain for budget in ("1,000", "5,000")}}


def test_the_page_says_whether_training_shows() -> None:
    orders = every_order()
    assert len(orders) == len(FAMILIES) * 2 * len(SEEDS)
    gains = {shown: shares_of(0.08 + 0.001 * (number % 3)) for number, shown in enumerate(orders)}
    clear = page(orders, gains, "a test")
    assert "| nmt, 2xK80 | 0.800 (0.800 to 0.800) |" in clear and "0.719 (0.718 to 0.720)" in clear
    assert clear.count(": a difference.") == 2
    even = page(orders, {shown: shares_of(0.01 * (-1) ** number) for number, shown in enumerate(orders)}, "a test")
    assert even.count("no difference that these runs can show") == 2
