"""Gathering: groups whose parts gain nothing by being apart are whole again, and nothing else gets worse."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import coarser_group_of_each
from engine.graphs.grouping.nesting import SPLIT, devices_of_groups
from engine.graphs.ordering import earliest_first
from engine.placers.registry import make_placer
from engine.problem import Budget, PlacementProblem
from engine.problem.good_placements import GoodPlacements
from engine.search import levels
from engine.search.gathering import Gathering
from engine.search.levels import level_of_methods
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.placers.small_problems import leveled_problem
from tests.engine.small_runs import AUTO


@pytest.fixture(autouse=True)
def _small_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "COARSEST_SEARCHED", 4)
    monkeypatch.setattr(levels, "GROUPS_WITHOUT_LEVELS", 8)


def rank(problem: PlacementProblem, placement: NDArray[np.int32]) -> tuple[int, float]:
    evaluations = problem.simulator.evaluate(placement[None, :])
    return int(problem.missing_bytes(evaluations)[0]), float(evaluations.step_time_us[0])


def split_groups(problem: PlacementProblem, level: Grouping, placement: NDArray[np.int32]) -> int:
    inside = coarser_group_of_each(level, problem.grouping).astype(np.int32)
    return int((devices_of_groups(inside, level.group_count, placement) == SPLIT).sum())


def anywhere(problem: PlacementProblem, rng: np.random.Generator) -> NDArray[np.int32]:
    return np.array([rng.choice(np.flatnonzero(row)) for row in problem.allowed], dtype=np.int32)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_gathered_is_no_worse_and_less_split(seed: int) -> None:
    problem = leveled_problem(seed, devices=3)
    before = anywhere(problem, np.random.default_rng(seed))
    problem.evaluate(before[None, :])
    Gathering(problem, lambda: False).run()
    after = problem.ledger.answer()
    assert rank(problem, after) <= rank(problem, before)
    assert rank(problem, after) == (problem.ledger.missing_bytes, problem.ledger.best_time_us)
    assert problem.respects(after[None, :]).all()
    finer = [level for level in problem.coarser if level.group_count >= 8]
    tried = sum(2 * split_groups(problem, level, before) for level in finer)
    assert 1 < problem.ledger.used <= 1 + tried
    for level in finer:
        assert split_groups(problem, level, after) <= split_groups(problem, level, before)


@pytest.mark.parametrize("seed", range(4))
def test_what_strays_from_whole_groups_for_nothing_comes_back(seed: int) -> None:
    problem = leveled_problem(seed, devices=2)
    shown = level_of_methods(problem)
    assert shown is not None
    coarse = problem.at_level(shown).with_budget(Budget(300))
    make_placer("local_search", {}).place(coarse, np.random.default_rng(0), lambda: False)
    inside = coarser_group_of_each(shown, problem.grouping)
    whole = coarse.ledger.answer()[inside].astype(np.int32)
    work_us = np.bincount(problem.grouping.group_of_op, problem.op_time_us.max(axis=0), problem.group_count)
    strayed = 0
    for unit in range(problem.group_count):
        astray = whole.copy()
        astray[unit] = 1 - astray[unit]
        mates = inside == inside[unit]
        if 2 * work_us[unit] >= work_us[mates].sum() or rank(problem, astray) < rank(problem, whole):
            continue
        strayed += 1
        alone = problem.with_budget(Budget(100))
        alone.evaluate(astray[None, :])
        Gathering(alone, lambda: False).run()
        assert alone.ledger.answer().tolist() == whole.tolist()
    assert strayed > 3


@pytest.mark.parametrize("seed", range(8))
def test_contiguous_stages_stay_contiguous(seed: int) -> None:
    """Stages cut the units in an order in which a pass can run, through groups that then cannot be whole again."""
    steps = leveled_problem(seed, devices=3)
    order = earliest_first(_unit_edges(steps), np.arange(steps.group_count))
    before = (3 * order // steps.group_count).astype(np.int32)
    stream = Stream(4, Pipeline.INFERENCE, contiguous=True)
    problem = dataclasses.replace(steps, stream=stream, allowed=np.ones_like(steps.allowed))
    if not problem.keeps_rules(before[None, :])[0]:
        pytest.skip("units that each need the other are on two devices")
    problem.evaluate(before[None, :])
    Gathering(problem, lambda: False).run()
    assert problem.keeps_rules(problem.ledger.answer()[None, :])[0]


def _unit_edges(problem: PlacementProblem) -> NDArray[np.int64]:
    """[edges, 2] between units."""
    graph, unit = problem.graph, problem.grouping.group_of_op.astype(np.int64)
    edges = np.stack([unit[graph.edge_source], unit[graph.edge_target]], axis=1)
    between: NDArray[np.int64] = edges[edges[:, 0] != edges[:, 1]]
    return between


def test_the_answer_and_the_best_of_the_good_placements_are_the_gathered_one() -> None:
    problem = leveled_problem(1, devices=3)
    part = problem.sub_problem()
    problem.ledger.good = GoodPlacements(np.arange(3, dtype=np.int32))
    part.evaluate(anywhere(part, np.random.default_rng(1))[None, :])
    Gathering(part, lambda: False).run()
    assert problem.ledger.answer().tolist() == part.ledger.answer().tolist()
    assert problem.ledger.good.placements()[0].tolist() == part.ledger.answer().tolist()


def test_an_answer_that_is_worse_than_the_best_is_not_taken() -> None:
    problem = leveled_problem(1, devices=3)
    placements = np.stack([anywhere(problem, np.random.default_rng(seed)) for seed in range(2)])
    evaluations = problem.evaluate(placements)
    best, worse = np.argsort(evaluations.step_time_us)
    problem.ledger.settle(placements[worse], float(evaluations.step_time_us[worse]), 0)
    assert problem.ledger.answer().tolist() == placements[best].tolist()


def test_it_ends_with_the_budget_and_when_it_is_stopped() -> None:
    for budget, stopped in ((3, False), (100, True)):
        problem = leveled_problem(2, devices=3).with_budget(Budget(budget))
        problem.evaluate(anywhere(problem, np.random.default_rng(0))[None, :])
        Gathering(problem, partial(bool, stopped)).run()
        assert problem.ledger.used == (1 if stopped else 3)


@pytest.mark.parametrize("method", ["local_search", AUTO])
def test_a_search_through_levels_ends_with_it(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[tuple[int, list[int]]] = []

    def run(self: Gathering) -> None:
        ends.append((problem.ledger.used, problem.ledger.answer().tolist()))

    monkeypatch.setattr(Gathering, "run", run)
    problem = leveled_problem(3, evaluations=500)
    make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
    assert len(ends) == 1 and 480 <= ends[0][0] < 500
