"""Answers of problems whose groups must be apart: which methods keep them so, and that exact ones lose nothing."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.errors import InfeasibleError, SettingsError
from engine.graphs.apart import Apart
from engine.graphs.constraints import Constraints
from engine.placers.registry import PLACERS, make_placer
from engine.problem import Budget, PlacementProblem
from engine.run.request import RunRequest
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.placers.small_problems import leveled_problem, small_cluster, small_problem

pytestmark = pytest.mark.slow  # auto starts a child for Scotch
KEEPING = [name for name, row in PLACERS.items() if row.keeps_apart]
OTHERS = [name for name, row in PLACERS.items() if not row.keeps_apart and not row.streams_only]
RULES = Constraints(apart=(("a", "b"),))
STREAM = Stream(4, Pipeline.INFERENCE)


def apart_of(rng: np.random.Generator, groups: int, devices: int) -> Apart:
    """One or two rules of two to three parts of few groups."""
    rules = []
    for _ in range(rng.integers(1, 3)):
        members = rng.permutation(groups)[: rng.integers(2, groups + 1)]
        cuts = 1 + rng.permutation(len(members) - 1)[: rng.integers(1, max(2, devices))]
        rules.append(np.split(members, np.sort(cuts)))
    return Apart.of(rules)


def drawn_problem(seed: int, **asked: Any) -> PlacementProblem:
    rng = np.random.default_rng(seed)
    problem = small_problem(seed, **asked)
    return dataclasses.replace(problem, apart_ops=apart_of(rng, problem.group_count, problem.device_count))


def placed(method: str, problem: PlacementProblem) -> PlacementProblem:
    make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
    return problem


def best_of_all(problem: PlacementProblem) -> float:
    """Of all placements that obey the rules, pair by pair, and fit: the least step time; infinite if there is none."""
    relaxed = dataclasses.replace(problem, apart_ops=Apart.of([]))
    everything = np.array(list(itertools.product(range(problem.device_count), repeat=problem.group_count)), np.int32)
    everything = everything[problem.allowed[np.arange(problem.group_count), everything].all(axis=1)]
    rule, part, member = problem.apart_ops.rule, problem.apart_ops.part, problem.apart_ops.member
    for one, other in itertools.combinations(range(len(rule)), 2):
        if rule[one] == rule[other] and part[one] != part[other]:
            everything = everything[everything[:, member[one]] != everything[:, member[other]]]
    if not len(everything):
        return np.inf
    evaluations = relaxed.simulator.evaluate(everything)
    return float(evaluations.step_time_us[relaxed.feasible(evaluations)].min(initial=np.inf))


def test_a_placement_that_puts_them_together_takes_for_ever() -> None:
    problem = dataclasses.replace(small_problem(1), apart_ops=Apart.of([[np.array([0]), np.array([3])]]))
    together, alone = np.zeros((1, problem.group_count), np.int32), np.zeros((1, problem.group_count), np.int32)
    alone[0, 3] = 1
    assert problem.simulator.evaluate(together).step_time_us[0] == np.inf
    assert np.isfinite(problem.simulator.evaluate(alone).step_time_us[0])
    assert problem.respects(np.concatenate([together, alone])).tolist() == [False, True]


@pytest.mark.parametrize("method", KEEPING)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_methods_that_can_keep_groups_apart(method: str, seed: int) -> None:
    """Every evaluated placement: the ledger refuses others."""
    problem = drawn_problem(seed, devices=3, evaluations=20_000 if method == "exhaustive" else 300)
    answer = placed(method, problem).ledger.answer()
    assert problem.respects(answer[None, :])[0]


@pytest.mark.parametrize("method", OTHERS)
def test_methods_that_cannot_are_refused(method: str) -> None:
    with pytest.raises(SettingsError) as refused:
        RunRequest(small_cluster(2), method, Budget(100), 0, constraints=RULES)
    said = f"constraints: {method} cannot keep ops apart, as `apart a b` says; allowed: the methods auto, "
    assert str(refused.value).startswith(said)
    assert refused.value.field == "method"
    RunRequest(small_cluster(2), method, Budget(100), 0, constraints=Constraints(together=(("a", "b"),)))


@pytest.mark.parametrize("seed", range(60))
def test_exact_methods_find_the_best_of_all(seed: int) -> None:
    """Against all placements, filtered by the rules; where none obeys them, every method says so."""
    rng = np.random.default_rng([seed, 1])
    asked = {"devices": int(rng.integers(1, 4)), "cpu": bool(rng.integers(2)), "ops": int(rng.integers(2, 7))}
    problem = drawn_problem(seed, evaluations=20_000, pins=asked["ops"] > 2 and bool(rng.integers(2)), **asked)
    require_best(problem, 1e-9)


def require_best(problem: PlacementProblem, tolerance: float) -> None:
    best_us = best_of_all(problem)
    if best_us == np.inf:
        with pytest.raises(InfeasibleError, match="keeps apart"):
            placed("single_device", problem)
        return
    for method in ("exhaustive", "auto", "milp"):
        found = placed(method, problem.with_budget(problem.ledger.budget)).ledger
        assert found.best_step_time_us == pytest.approx(best_us, rel=tolerance), method


@pytest.mark.parametrize("seed", range(20))
def test_exact_methods_find_the_best_period_of_all(seed: int) -> None:
    """The same of streams, whose model is exact."""
    problem = dataclasses.replace(drawn_problem(seed, ops=5, devices=2, evaluations=5000), stream=STREAM)
    require_best(problem, 1e-6)


def test_a_search_through_levels_keeps_ops_apart() -> None:
    problem = leveled_problem(3, devices=3, evaluations=2000)
    ops = np.arange(problem.group_count)
    rule: list[NDArray[np.int64]] = [ops[:5], ops[20:25], ops[35:]]
    apart = Apart.of([rule])
    whole = tuple(level for level in problem.coarser if not list(apart.clashes(level.group_of_op)))
    problem = dataclasses.replace(problem, apart_ops=apart, coarser=whole)
    for method in ("local_search", "auto"):
        fresh = problem.with_budget(Budget(2000))
        assert problem.respects(placed(method, fresh).ledger.answer()[None, :])[0]
