"""The comparison of auto with every method, at a size for tests."""

import json
from pathlib import Path

import pytest

from engine.placers.registry import PLACERS
from experiments.auto_check import cases as auto_check_cases
from experiments.auto_check import table as auto_check
from experiments.auto_check.table import LEFT_OUT, SEEDS_TO_BE_SURE, SLOW, MethodRow, more_seeds, ratios, seeds_for


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four graphs and four methods; returns the folder of the results."""
    for name, value in {"RANDOM_GRAPHS": 4, "SIZES": (15,), "SHARED": tmp_path / "not here", "ZOO": ()}.items():
        monkeypatch.setattr(auto_check_cases, name, value)
    monkeypatch.setattr(auto_check_cases, "RANDOM_GRAPHS_WITH_ALL", 1)
    compared = {"auto": 2, "single_device": 1, "random": 2, "human_expert": 1}
    monkeypatch.setattr(auto_check, "seeds_for", lambda _case: compared)
    for name, value in {"EVALUATIONS": 100, "SECONDS": 0.2, "WORK": tmp_path / "work"}.items():
        monkeypatch.setattr(auto_check, name, value)
    monkeypatch.setattr(auto_check, "SEEDS_IN_SECONDS", {"auto": 1, "random": 1})
    return tmp_path


def test_it_writes_its_tables_and_measures_nothing_twice(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    text = auto_check.run(small, lines.append)
    kept = json.loads((small / "auto_check.json").read_text())
    rows = kept["evaluations"]
    assert [(row["method"], row["seeds"]) for row in rows[:4]] == [
        *(("auto", 2), ("single_device", 1), ("random", 2), ("human_expert", 1)),
    ]
    assert [row["method"] for row in kept["seconds"]] == ["auto", "random"]
    assert (small / "auto_check.md").read_text() == text
    assert len({row["name"] for row in rows}) == 4
    assert "| single_device | 1, deterministic | 4 |" in text and "human_expert" not in text
    assert "In the same seconds: 1 graphs, 0.2 s of one processor" in text
    assert "the shared graphs are not here" in lines
    monkeypatch.setattr("experiments.auto_check.measuring.run_in_child", lambda *_, **__: pytest.fail("again"))
    assert auto_check.run(small, lines.append) == text


def test_all_methods_are_compared_the_slow_ones_on_some_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_check_cases, "ZOO", ())
    first, *_, last = auto_check_cases.cases(lambda _: None)
    assert {*seeds_for(first), *LEFT_OUT} == set(PLACERS)
    assert {*seeds_for(last), *SLOW, *LEFT_OUT} == set(PLACERS)
    for method in PLACERS.values():
        assert not method.deterministic or method.name in LEFT_OUT or seeds_for(first)[method.name] == 1
    assert next(iter(seeds_for(first))) == "auto"


def row(method: str, step_time_us: float | None, error: float = 0.0) -> MethodRow:
    return MethodRow("tree", "a", method, 3, step_time_us, error)


@pytest.mark.parametrize(
    ("auto", "other", "value"), [(90.0, 100.0, 0.9), (100.0, None, None), (None, 5.0, float("inf"))]
)
def test_the_ratio_is_above_one_where_auto_is_behind(
    auto: float | None, other: float | None, value: float | None
) -> None:
    found = ratios([row("heft", other), row("auto", auto)])
    assert [ratio.value for ratio in found] == ([] if value is None else [value])


@pytest.mark.parametrize(
    ("auto_us", "error", "behind", "surely"),
    [(101.0, 0.0, False, False), (102.0, 0.0, True, True), (102.0, 0.004, True, True), (102.0, 0.006, True, False)],
)
def test_scatter_is_not_taken_for_being_behind(auto_us: float, error: float, behind: bool, surely: bool) -> None:
    (ratio,) = ratios([row("auto", auto_us, error * 0.6), row("local_search", 100.0, error * 0.8)])
    assert ratio.error == pytest.approx(error)
    assert (ratio.behind, ratio.surely_behind) == (behind, surely)


def test_methods_ahead_of_auto_get_more_seeds() -> None:
    rows = [row("auto", 102.0), row("local_search", 100.0), row("brkga", 101.9)]
    seeds = {"a": {"auto": 8, "local_search": 8, "brkga": 3}, "b": {"auto": 8}}
    assert more_seeds(seeds, rows) == {
        "a": {"auto": SEEDS_TO_BE_SURE, "local_search": SEEDS_TO_BE_SURE, "brkga": 3},
        "b": {"auto": 8},
    }
