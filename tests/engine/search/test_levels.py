"""A search over levels: from coarse to fine, never behind what its levels' methods find."""

import numpy as np
import pytest

from engine.graphs.grouping.levels import coarser_group_of_each
from engine.placers.auto import Auto
from engine.placers.local_search import LocalSearchPlacer
from engine.placers.registry import make_placer
from engine.problem import Budget, PlacementProblem
from engine.problem.trivial import one_device_placements
from engine.search import levels
from engine.search.annealer import Annealer
from engine.search.levels import level_shares, searched
from tests.engine.placers.small_problems import leveled_problem, small_problem
from tests.engine.small_runs import AUTO


@pytest.fixture(autouse=True)
def _small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "COARSEST_SEARCHED", 4)


def test_moves_go_from_coarse_to_fine() -> None:
    for share, most in ((0.0, 0), (0.5, 2), (1.0, 4)):
        frequencies = np.diff(level_shares(5, share), prepend=0.0)
        assert int(frequencies.argmax()) == most
        assert frequencies.min() > 0, "a coarse move is possible late, a fine one early"
    assert level_shares(1, 0.3).shape == (1,)


def test_a_level_with_too_few_groups_is_not_searched() -> None:
    problem = leveled_problem(1, coarsest=2)
    assert [level.group_count for level in problem.coarser] == [2, 4, 8, 16, 30]
    assert [level.group_count for level in searched(problem, through_levels=True)] == [4, 8, 16, 30, 40]


def test_without_levels_it_moves_only_groups_of_the_level_of_other_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "GROUPS_WITHOUT_LEVELS", 8)
    problem = leveled_problem(2, devices=3)
    LocalSearchPlacer(levels=False).place(problem, np.random.default_rng(0), lambda: False)
    eight = next(level for level in problem.coarser if level.group_count == 8)
    alone = problem.at_level(eight).with_budget(problem.ledger.budget)
    assert problem.ledger.best_step_time_us is not None
    assert problem.ledger.best_step_time_us < min(alone.evaluate(one_device_placements(alone)).step_time_us)
    inside = coarser_group_of_each(eight, problem.grouping)
    devices = [np.unique(problem.ledger.answer()[inside == group]) for group in range(8)]
    assert all(len(together) == 1 for together in devices)
    assert Annealer(problem, np.random.default_rng(0), through_levels=False).moves == 2 * 8


def test_without_coarser_groups_the_switch_of_levels_changes_nothing() -> None:
    answers = []
    for switch in (True, False):
        problem = small_problem(3, ops=20)
        LocalSearchPlacer(levels=switch).place(problem, np.random.default_rng(0), lambda: False)
        answers.append(problem.ledger.answer().tolist())
    assert answers[0] == answers[1]


def test_the_unit_of_a_cycle_is_a_level_of_a_certain_size(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = leveled_problem(1, devices=3)
    for level in (*problem.coarser[1:], problem.grouping):
        monkeypatch.setattr("engine.search.annealer.GROUPS_OF_A_CYCLE", level.group_count)
        assert Annealer(problem, np.random.default_rng(0)).moves == 2 * level.group_count
    alone = small_problem(1, ops=9, devices=3, cpu=False)
    assert Annealer(alone, np.random.default_rng(0)).moves == 2 * 9


@pytest.mark.parametrize("method", ["local_search", AUTO])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_not_behind_the_list_schedulers_and_one_device(method: str, seed: int) -> None:
    problem = leveled_problem(seed, evaluations=600)
    make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
    best_us = problem.ledger.best_step_time_us
    assert best_us is not None and 576 <= problem.ledger.used <= 600
    assert best_us == problem.simulator.evaluate(problem.ledger.answer()[None, :]).step_time_us[0]
    for level in problem.coarser:
        for name in ("single_device", "heft", "m_etf"):
            other = problem.at_level(level).with_budget(Budget(600))
            make_placer(name, {}).place(other, np.random.default_rng(0), lambda: False)
            assert other.ledger.best_step_time_us is not None
            assert best_us <= other.ledger.best_step_time_us


def test_it_splits_a_group_where_that_pays() -> None:
    problem = leveled_problem(2, ops=24, coarsest=4, evaluations=4000)
    LocalSearchPlacer().place(problem, np.random.default_rng(0), lambda: False)
    coarse = problem.at_level(problem.coarser[0]).with_budget(Budget(16))
    make_placer("exhaustive", {}).place(coarse, np.random.default_rng(0), lambda: False)
    assert problem.ledger.best_step_time_us is not None and coarse.ledger.best_step_time_us is not None
    assert problem.ledger.best_step_time_us < coarse.ledger.best_step_time_us


@pytest.mark.parametrize("method", ["local_search", AUTO])
def test_the_same_seed_gives_the_same_answer(method: str) -> None:
    answers = []
    for _ in range(2):
        problem = leveled_problem(4)
        make_placer(method, {}).place(problem, np.random.default_rng(7), lambda: False)
        answers.append(problem.ledger.answer().tolist())
    assert answers[0] == answers[1]


def test_a_walk_goes_on_from_its_state_as_if_never_stopped() -> None:
    problem = leveled_problem(6)
    one, other = Annealer(problem, np.random.default_rng(1)), Annealer(problem, np.random.default_rng(2))
    one.go_to(np.zeros(problem.group_count, np.int32), 1000.0)
    one.evaluate(50, 9.0, 5.0, 0.2)
    other.restore(one.state({}))
    first, second = (walk.evaluate(50, 5.0, 1.0, 0.6) for walk in (one, other))
    assert (first.step_time_us, first.at, first.sum_us) == (second.step_time_us, second.at, second.sum_us)
    assert np.array_equal(one.placement, other.placement)


def test_fine_starts_are_taken_beside_coarse_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def evaluate_methods(
        problem: PlacementProblem, methods: list[str], rng: object, should_stop: object, level: object, *_: object
    ) -> list[object]:
        asked.extend((method, level.group_count) for method in methods if level)  # type: ignore[attr-defined]
        return []

    monkeypatch.setattr("engine.placers.quick_starts.evaluate_methods", evaluate_methods)
    monkeypatch.setattr("engine.placers.quick_starts.FINE_START_GROUPS", 16)
    monkeypatch.setattr("engine.search.levels.GROUPS_WITHOUT_LEVELS", 4)
    Auto().place(leveled_problem(1), np.random.default_rng(0), lambda: False)
    assert asked[:4] == [("human_expert", 16), ("scotch", 16), ("heft", 16), ("m_etf", 16)]
    assert {level for _, level in asked[4:]} == {4}
    assert {"heft", "m_etf", "scotch"} < {method for method, _ in asked[4:]}
