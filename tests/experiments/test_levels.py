"""Searching at every level compared with one: what a child measures, the list, the table's figures, and resuming."""

from pathlib import Path
from typing import Any

import pytest

from experiments import leveled, levels
from experiments.keeping.code_state import code_state
from experiments.keeping.kept_results import KeptResults, Measurement
from experiments.leveled import LEVELS, GraphOnCluster
from experiments.levels import BUDGETS, MORE, OTHER_SEEDS, SEEDS, SINGLE, key_of
from tests.engine.small_runs import prepared_graph

PLACES = [GraphOnCluster("one", "2xK80"), GraphOnCluster("two", "2xV100+2xK80")]


@pytest.fixture(autouse=True)
def small_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "problems", lambda: PLACES)
    monkeypatch.setattr(leveled, "graph_named", lambda *_: prepared_graph(80))
    monkeypatch.setattr(levels, "EVALUATIONS", 40)
    monkeypatch.setattr(levels, "SECONDS", 0.05)
    monkeypatch.setattr(levels, "MORE_SECONDS", 0.1)
    monkeypatch.setattr(levels, "LONG", (1,))


@pytest.mark.parametrize("budget", [*BUDGETS, MORE])
@pytest.mark.parametrize("column", [*SINGLE, LEVELS])
def test_a_step_time_a_seed(column: str, budget: str, tmp_path: Path) -> None:
    found: Any = leveled.in_child(dict(key_of(PLACES[1], column, budget)), tmp_path, lambda *_: None)[1]
    assert len(found["result"]) == 3 and min(found["result"]) > 0


def test_every_graph_is_on_a_cluster_in_turn() -> None:
    assert len(levels.GRAPHS) == 24
    assert {place.cluster for place in PLACES} <= set(levels.CLUSTERS)


def test_eight_problems_have_more_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    names = {levels.GRAPHS[number] for number in levels.LONG}
    assert len(names) == 8 and sum(name.startswith("zoo/") for name in names) == 4


def kept_of(path: Path, *, with_levels: bool) -> KeptResults:
    """Step times of 2 s in 128 groups; on the first problem 512 is 10 % faster, on the second all is 2 % slower."""
    factors = {"one": {"512": 0.9, LEVELS: 0.8}, "two": {"all": 1.02, LEVELS: 1.25}}
    kept = KeptResults(path)
    for place in PLACES:
        kept.add(levels.check_of(place), [2e6])
        for column in (*SINGLE, *[LEVELS] * with_levels):
            time_us = 2e6 * factors[place.graph].get(column, 1.0)
            for budget in ("evaluations", "seconds"):
                kept.add(key_of(place, column, budget), [time_us] * 3)
                kept.add(key_of(place, column, budget, OTHER_SEEDS), [time_us / 2] * 3)
    return kept


def test_the_best_single_level_is_chosen_on_some_seeds_and_compared_on_others(tmp_path: Path) -> None:
    kept = kept_of(tmp_path / "kept.jsonl", with_levels=True)
    assert [levels.best_single(kept, place, "seconds") for place in PLACES] == ["512", "128"]
    kept.add(key_of(PLACES[0], "512", "seconds", OTHER_SEEDS), [1e6] * 3)
    text = levels.page(kept)
    assert "| one, 2xK80 | 512 | -11.1 % (-11.1 to -11.1) |" in text, "with evaluations"
    assert "| one, 2xK80 | 512 | -20.0 % (-20.0 to -20.0) |" in text, "in seconds, where other seeds differ"


def test_the_list_is_there_before_the_levels_are_searched(tmp_path: Path) -> None:
    text = levels.page(kept_of(tmp_path / "kept.jsonl", with_levels=False))
    assert text.count("A single level is at least 3% ahead of 128 groups on 1 of 2 problems:\n\n- one, 2xK80\n") == 2
    assert "| one, 2xK80 | 2.0000 | -10.0 % | +0.0 % | – |" in text


def test_figures_are_relative_to_128_groups_and_their_mean_is_geometric(tmp_path: Path) -> None:
    text = levels.page(kept_of(tmp_path / "kept.jsonl", with_levels=True))
    assert "| two, 2xV100+2xK80 | 2.0000 | +0.0 % | +2.0 % | +25.0 % (+25.0 to +25.0) |" in text
    mean = next(line for line in text.splitlines() if line.startswith("| mean"))
    assert abs(float(mean.split("|")[5].split("%")[0])) == 0.0


def test_single_levels_come_first_and_a_second_call_measures_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(kept: KeptResults, _graph: str, orders: dict[str, Measurement], *_: object) -> None:
        for key in orders.values():
            if key not in kept:
                told.append((str(key["column"]), key["seeds"] == list(SEEDS), key.get("seconds") == 0.1))
                kept.add(key, [1.0] * 3)

    told: list[tuple[str, bool, bool]] = []
    monkeypatch.setattr(levels, "measure_rounds", measured)
    text = levels.run(tmp_path, lambda _: None)
    single = [(column, True, False) for _ in PLACES for column in SINGLE for _ in BUDGETS]
    checked = [(levels.CHECKED, False, False)] * len(PLACES)
    through = [(LEVELS, True, False)] * 2 * len(PLACES)
    compared = [(column, False, False) for _ in PLACES for _ in BUDGETS for column in (SINGLE[0], LEVELS)]
    assert told == single + checked + through + compared + [(column, True, True) for column in (*SINGLE, LEVELS)]
    assert levels.run(tmp_path, lambda _: None) == text and len(told) == 30


def test_single_levels_of_an_earlier_state_count_and_the_page_says_whether_they_still_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kept").mkdir()
    path = tmp_path / "kept" / "levels.jsonl"
    before = kept_of(path, with_levels=True)
    path.write_text(path.read_text().replace(code_state(), levels.STATE_OF_SINGLE))
    kept = levels.kept_in(tmp_path)
    assert key_of(PLACES[0], "128", "seconds") in kept and key_of(PLACES[0], LEVELS, "seconds") in before
    assert key_of(PLACES[0], LEVELS, "seconds") not in kept and levels.check_of(PLACES[0]) not in kept
    for place in PLACES:
        kept.add(levels.check_of(place), [2e6])
    assert "1 of 2 problems\ngive the same step" in levels.page(kept)


def test_the_engine_is_compiled_before_a_second_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    monkeypatch.setattr(leveled, "compile_all", lambda _: done.append("compiled"))
    monkeypatch.setattr(leveled, "measure_missing", lambda *_: done.append("measured"))
    kept = KeptResults(tmp_path / "kept.jsonl")
    leveled.measure_rounds(kept, "any", {"one": {"seconds": 1.0}}, lambda _: None)
    kept.add({"seconds": 1.0}, [1.0])
    leveled.measure_rounds(kept, "any", {"one": {"seconds": 1.0}}, lambda _: None)
    assert done == ["compiled", "measured", "measured"]  # the second finds nothing to measure
