"""The comparison of auto with every method, at a size for tests."""

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest

from engine.placers.registry import PLACERS
from engine.problem import Budget
from engine.zoo.families.family import PreparedFamily
from engine.zoo.random_graphs import random_graph
from experiments.auto_check import cases as auto_check_cases
from experiments.auto_check import table as auto_check
from experiments.auto_check import worst_runs
from experiments.auto_check.cases import Case
from experiments.auto_check.comparing import PairedComparison, compared, verdict
from experiments.auto_check.measuring import Reached, key
from experiments.auto_check.table import LEFT_OUT, SEEDS_TO_BE_SURE, SLOW, more_seeds, seeds_for
from experiments.grid import KeptResults
from experiments.keeping.yardstick import YARDSTICK, FoundBy, Yardstick
from tests.experiments.small_experiments import children_in


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four graphs and four methods; returns the folder of the results."""
    for name, value in {"RANDOM_GRAPHS": 4, "SIZES": (15,), "SHARED": tmp_path / "not here", "ZOO": ()}.items():
        monkeypatch.setattr(auto_check_cases, name, value)
    monkeypatch.setattr(auto_check_cases, "RANDOM_GRAPHS_TIMED", 1)
    compared = {"auto": 2, "single_device": 1, "random": 2, "human_expert": 1}
    monkeypatch.setattr(auto_check, "seeds_for", lambda _case: compared)
    for name, value in {"EVALUATIONS": 100, "SECONDS": 0.2, "SEEDS_TO_BE_SURE": 3}.items():
        monkeypatch.setattr(auto_check, name, value)
    monkeypatch.setattr(auto_check, "SEEDS_IN_SECONDS", {"auto": 1, "random": 1})
    return tmp_path


def test_it_writes_its_tables_and_measures_nothing_twice(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr("experiments.grid.run_in_child", children_in(small))
    text = auto_check.run(small, lines.append)
    kept = json.loads((small / "auto_check.json").read_text())
    rows = kept["evaluations"]
    assert [(row["method"], len(row["step_times_us"])) for row in rows[:4]] == [
        *(("auto", 2), ("single_device", 1), ("random", 2), ("human_expert", 1)),
    ]
    assert [row["method"] for row in kept["seconds"]] == ["auto", "random"]
    assert (small / "auto_check.md").read_text() == text
    assert len({row["name"] for row in rows}) == 4
    assert "| single_device | 1, deterministic | 4 |" in text and "human_expert" not in text
    assert "In the same seconds: 1 graphs, 0.2 s of one processor" in text
    assert "the shared graphs are not here" in lines
    monkeypatch.setattr("experiments.grid.run_in_child", lambda *_, **__: pytest.fail("again"))
    assert auto_check.run(small, lines.append) == text


def test_all_methods_are_compared_the_slow_ones_on_some_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto_check_cases, "ZOO", ())
    first, *_, last = auto_check_cases.cases(lambda _: None)
    assert {*seeds_for(first), *LEFT_OUT} == set(PLACERS)
    assert {*seeds_for(last), *SLOW, *LEFT_OUT} == set(PLACERS)
    for method in PLACERS.values():
        assert not method.deterministic or method.name in LEFT_OUT or seeds_for(first)[method.name] == 1
    assert next(iter(seeds_for(first))) == "auto"


def test_graphs_of_another_seed_are_other_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    def digests() -> set[str]:
        return {case.digest for case in auto_check_cases.cases(lambda _: None)}

    for name, value in {"RANDOM_GRAPHS": 8, "SHARED": Path("not here"), "ZOO": ()}.items():
        monkeypatch.setattr(auto_check_cases, name, value)
    final = digests()
    assert digests() == final and len(final) == 8
    monkeypatch.setattr(auto_check_cases, "GRAPHS_SEED", 3)
    assert not final & digests()


def reached(method: str, *step_times_us: float | None) -> list[Reached]:
    return [Reached(method, seed, step_time_us) for seed, step_time_us in enumerate(step_times_us)]


def test_differences_are_paired_by_seed_over_the_other_methods_mean() -> None:
    of_auto = reached("auto", 90.0, 120.0, 100.0)
    others = [*reached("brkga", 100.0, 100.0), *reached("heft", 50.0), *reached("post", 1.0, None)]
    by_method = {one.method: one for one in compared({"a": of_auto + others})}
    assert by_method["brkga"].differences == pytest.approx((-0.1, 0.2))
    assert by_method["heft"].differences == pytest.approx((0.8, 1.4, 1.0))
    assert "post" not in by_method


def test_where_auto_alone_finds_nothing_it_is_surely_behind() -> None:
    (one,) = compared({"a": [*reached("auto", 90.0, None), *reached("random", 100.0, 100.0)]})
    assert one.differences == (-0.1, inf) and one.interval.mean == inf
    of_method = verdict([one])
    assert of_method.surely == of_method.behind == (one,)


def of_graph(name: str, *differences: float, method: str = "local_search") -> PairedComparison:
    return PairedComparison(name, method, len(differences), differences)


def test_scatter_is_not_taken_for_being_behind() -> None:
    level = of_graph("level", -0.01, 0.02, 0.005, 0.004)
    scattered = of_graph("scattered", -0.03, 0.08, 0.06, -0.02)
    above_zero = of_graph("above zero", 0.014, 0.012, 0.009, 0.010)
    above_tolerance = of_graph("above the tolerance", 0.030, 0.031, 0.029, 0.030)
    of_method = verdict([level, scattered, above_zero, above_tolerance])
    assert of_method.behind == (scattered, above_zero, above_tolerance)
    assert of_method.slower == (above_zero, above_tolerance)
    assert of_method.surely == (above_tolerance,)
    assert of_method.worst == above_tolerance


def test_one_graph_of_many_must_differ_more() -> None:
    differs = of_graph("differs", 0.02, 0.05, 0.03, 0.06)
    assert verdict([differs]).surely == (differs,)
    assert verdict([differs, *(of_graph(str(index), -0.01, 0.01, 0.02) for index in range(49))]).surely == ()


def test_methods_ahead_of_auto_get_more_seeds() -> None:
    ahead, level = of_graph("a", 0.02, 0.03), of_graph("a", 0.009, 0.01, method="brkga")
    slow, fixed = of_graph("b", 0.02, method="rnn"), of_graph("c", 0.02, 0.03, method="heft")
    counts = {"auto": 8, "local_search": 8, "brkga": 8, "rnn": 3, "heft": 1}
    changed = more_seeds({"a": counts, "b": counts, "c": counts}, [ahead, level, slow, fixed])
    assert changed == {
        "a": counts | {"auto": SEEDS_TO_BE_SURE, "local_search": SEEDS_TO_BE_SURE},
        "b": counts,
        "c": counts | {"auto": SEEDS_TO_BE_SURE},
    }


def test_a_worst_run_is_judged_by_the_best_of_all_runs() -> None:
    row = worst_runs.worst_run("a", [102.0, 100.0, 103.0], [90.0, 98.0], [101.0, 99.0])
    assert row.best_us == 99.0 and row.worst == pytest.approx(103 / 99 - 1)
    assert row.worst_beside_any == pytest.approx(98 / 90 - 1)
    behind = worst_runs.worst_run("b", [100.0, 101.0], [101.0, 104.0], [100.0])
    assert behind.worst_beside_any == pytest.approx(0.04)
    text = worst_runs.page([row, behind], "code x")
    assert "In 128 groups: 2 of 5 runs, on 1 of 2 problems, are behind by more; the worst by 4.04 % (a)." in text
    assert "Through all levels: 1 of 4 runs, on 1 of 2 problems, are behind by more; the worst by 4.00 % (b)." in text
    assert "| b | 0.0001 | 0.50 % | 1.00 % | +2.50 % | +4.00 % | 4.00 % |" in text


def test_its_graphs_are_a_zoo_graph_and_the_familys_test_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph("tree", 12, np.random.default_rng(0))
    family = PreparedFamily("cifar10", (), (graph, graph))
    monkeypatch.setattr(worst_runs, "prepared_family", lambda *_: family)
    monkeypatch.setattr(worst_runs, "prepared_zoo_graph", lambda *_: graph)
    monkeypatch.setattr(worst_runs, "FAMILY_COUNT", 6)
    names = [case.name for case in worst_runs.cases(lambda _: None)]
    graphs = ("inception_v3", "cifar10-02, seed 1", "cifar10-05, seed 1")
    assert names == [f"{graph}, {cluster}" for graph in graphs for cluster in worst_runs.CLUSTERS]


def test_the_yardstick_counts_as_best_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph("tree", 12, np.random.default_rng(0))
    case = Case("", "tree", graph, "2xK80", with_all=False, timed=False)
    problem, placement = case.problem(Budget(1)), np.zeros(12, np.int32)
    one_device_us = float(problem.simulator.evaluate(placement[None]).step_time_us[0])
    Yardstick(tmp_path / YARDSTICK.name).offer(problem, placement, FoundBy("single_device", 0, 0.0), "tree")
    kept = KeptResults(tmp_path / "kept" / "worst_runs.jsonl")
    monkeypatch.setattr(worst_runs, "cases", lambda _report: [case])
    monkeypatch.setattr(worst_runs, "SEEDS", 2)
    for evaluations in (worst_runs.EVALUATIONS, worst_runs.LONG_EVALUATIONS):
        for seed in range(2):
            kept.add(key(case, "auto", seed, Budget(evaluations)), 2 * one_device_us)
            kept.add(key(replace(case, levels=True), "auto", seed, Budget(evaluations)), one_device_us / 2)
    worst_runs.run(tmp_path, lambda _: None)
    (row,) = json.loads((tmp_path / "worst_runs.json").read_text())
    assert row["best_us"] == one_device_us and row["gaps"] == [1.0, 1.0] and row["level_gaps"] == [-0.5, -0.5]
