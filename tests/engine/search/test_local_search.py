"""The search in compiled code: counted to the last evaluation, optimal on small problems, the same when resumed."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import api
from engine.errors import SettingsError
from engine.events import Episode, FromPlacer, PlacerState
from engine.placers.exhaustive import Exhaustive
from engine.placers.local_search import LocalSearchPlacer
from engine.placers.random import random_placements
from engine.problem import Budget, BudgetSpentError, PlacementProblem, RunContext
from engine.search.annealer import Annealer
from engine.search.cooling import CoolingSchedule, cycles_for
from tests.engine.placers.small_problems import small_problem
from tests.engine.search.searches import one_by_one

SHARED = Path(__file__).parents[4] / "shared" / "graphs"
Heard = list[FromPlacer]


def search(problem: PlacementProblem, seed: int = 0, **changes: float) -> Heard:
    heard: Heard = []
    placer = LocalSearchPlacer(**changes)
    problem = problem.reporting_to(heard.append)
    placer.place(problem, np.random.default_rng(seed), lambda: False)
    return heard


def best_of_all_us(problem: PlacementProblem) -> float | None:
    """Of all placements that fit."""
    oracle = problem.with_budget(Budget(100_000))
    Exhaustive().place(oracle, np.random.default_rng(0), lambda: False)
    return oracle.ledger.best_step_time_us


@pytest.mark.parametrize("memory_bytes", [10**9, 9_000_000, 1000])
def test_what_compiled_code_says_of_a_placement_is_what_the_simulator_says(memory_bytes: int) -> None:
    problem = small_problem(5, ops=12, devices=3, memory_bytes=memory_bytes)
    start = random_placements(problem.allowed, 1, np.random.default_rng(0))[0]
    walked = one_by_one(problem, start, 200, heat_us=500.0)
    assert np.array_equal(walked[0].placement, start)
    evaluations = problem.simulator.evaluate(np.stack([best.placement for best in walked]))
    assert [best.step_time_us for best in walked] == evaluations.step_time_us.tolist()
    assert [best.sum_us for best in walked] == evaluations.step_time_us.tolist()
    assert [best.missing_bytes for best in walked] == problem.missing_bytes(evaluations).tolist()
    assert {(best.evaluations, best.at) for best in walked} == {(1, 1)}


def test_without_heat_it_goes_downhill_only() -> None:
    problem = small_problem(5, ops=12, devices=3)
    start = random_placements(problem.allowed, 1, np.random.default_rng(0))[0]
    annealer = Annealer(problem, np.random.default_rng(0))
    annealer.go_to(start, 1000.0)
    here = np.inf
    for _ in range(100):
        annealer.evaluate(3, 1e-9, 1e-9)
        now = problem.simulator.evaluate(annealer.placement[None, :]).step_time_us[0]
        assert now <= here
        here = now


def test_the_ledger_counts_what_compiled_code_makes() -> None:
    problem = small_problem(5, ops=12, evaluations=60)
    annealer = Annealer(problem, np.random.default_rng(0))
    annealer.go_to(np.zeros(12, np.int32), 1000.0)
    first = problem.evaluate_compiled(25, lambda count: annealer.evaluate(count, 10.0, 1.0))
    assert problem.ledger.used == first.evaluations == 25
    assert problem.ledger.best_step_time_us == first.step_time_us
    assert problem.ledger.mean_step_time_us == first.sum_us / 25
    with pytest.raises(BudgetSpentError):
        problem.evaluate_compiled(36, lambda count: annealer.evaluate(count, 10.0, 1.0))
    assert problem.ledger.used == 25
    with pytest.raises(AssertionError, match="another number"):
        problem.evaluate_compiled(25, lambda count: annealer.evaluate(count - 1, 10.0, 1.0))


@settings(max_examples=15)
@given(st.integers(0, 1000), st.booleans())
def test_it_finds_the_optimum_of_small_problems(seed: int, pins: bool) -> None:
    problem = small_problem(seed, ops=6, devices=2, evaluations=3000, pins=pins)
    search(problem)
    assert problem.ledger.best_step_time_us == best_of_all_us(problem)


@pytest.mark.parametrize("seed", range(6))
def test_it_finds_room_where_there_is_some(seed: int) -> None:
    problem = small_problem(seed, ops=8, devices=2, cpu=False, evaluations=4000, memory_bytes=14_000_000)
    search(problem)
    assert problem.ledger.best_step_time_us == best_of_all_us(problem)


def test_some_of_these_have_room_on_no_single_device_but_on_two() -> None:
    problems = [small_problem(seed, ops=8, devices=2, cpu=False, memory_bytes=14_000_000) for seed in range(6)]
    alone = [problem.feasible(problem.simulator.evaluate(np.zeros((1, 8), np.int32)))[0] for problem in problems]
    together = [best_of_all_us(problem) is not None for problem in problems]
    assert any(not one and two for one, two in zip(alone, together, strict=True))


def test_it_ends_early_where_its_answer_is_proven_or_nothing_can_move() -> None:
    proven = small_problem(5, ops=1, devices=2, cpu=False, evaluations=1000)
    search(proven)
    assert proven.ledger.used < 20
    fixed = small_problem(5, ops=6, devices=2, evaluations=1000)
    fixed.allowed[:] = False
    fixed.allowed[:, 1] = True
    search(fixed)
    assert fixed.ledger.used < 20


@pytest.mark.parametrize("seed", [0, 1])
def test_a_search_that_goes_on_gives_the_same_as_one_that_never_stopped(seed: int) -> None:
    whole, cut = (small_problem(7, ops=25, devices=3, evaluations=3000) for _ in range(2))
    for problem in (whole, cut):
        problem.evaluate(np.zeros((1, 25), np.int32))
    uncut = search(whole, seed, moves_of_shortest_cycle=1.0)
    heard: Heard = []
    first = LocalSearchPlacer(moves_of_shortest_cycle=1.0, checkpoint_seconds=0.0)
    rng = np.random.default_rng(seed)
    cut = cut.reporting_to(heard.append)
    first.place(cut, rng, lambda: cut.ledger.used > 1100)
    snapshot = cut.ledger.state()
    state = next(event.state for event in reversed(heard) if isinstance(event, PlacerState))
    again = small_problem(7, ops=25, devices=3, evaluations=3000)
    again.ledger.restore(snapshot)
    second = LocalSearchPlacer(moves_of_shortest_cycle=1.0)
    second.resume(state)
    again = again.reporting_to(heard.append)
    second.place(again, np.random.default_rng(99), lambda: False)
    assert again.ledger.used == whole.ledger.used == 3000
    rows = [[without_time(event) for event in reported if isinstance(event, Episode)] for reported in (heard, uncut)]
    assert rows[0] == rows[1]


def without_time(event: Episode) -> Episode:
    return dataclasses.replace(event, elapsed_seconds=0.0)


def test_a_budget_of_seconds_ends_it() -> None:
    problem = small_problem(7, ops=25, devices=3, evaluations=1)
    problem = problem.with_budget(Budget(100_000_000, 0.3))
    search(problem)
    assert problem.ledger.elapsed_seconds >= 0.3
    assert problem.ledger.used < 100_000_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hot": 0}, "local_search hot: 0; allowed: a number from 1e-06 to 10"),
        ({"cold": "low"}, "local_search cold: 'low'; allowed: a number from 1e-09 to 10"),
        ({"hot": 0.1, "cold": 0.2}, "local_search cold: 0.2; allowed: at most hot, 0.1"),
        ({"checkpoint_seconds": -1}, "local_search checkpoint_seconds: -1; allowed: a number from 0 to 3600"),
        ({"cool": 1}, "settings: local_search has no setting 'cool'; allowed: hot, cold"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, float | str], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        LocalSearchPlacer(**changes)
    assert str(caught.value).startswith(message)


def test_each_cycle_is_as_long_as_all_before_it() -> None:
    schedule = CoolingSchedule(cycles=4, hot=0.01, cold=0.0001, length=8.0)
    assert [schedule.end_of(cycle) for cycle in range(4)] == [0.125, 0.25, 0.5, 1.0]
    assert [schedule.cycle_at(progress) for progress in (0, 0.124, 0.125, 0.3, 0.5, 0.99, 1.0)] == [0, 0, 1, 2, 3, 3, 3]
    assert schedule.heat_at(0.0, 0) == schedule.heat_at(0.125, 1) == pytest.approx(0.01)
    assert schedule.heat_at(0.5, 3) == pytest.approx(0.02)
    assert schedule.heat_at(0.75, 3) == pytest.approx((0.02 * 0.0001) ** 0.5)
    assert schedule.heat_at(1.0, 3) == schedule.heat_at(0.6, 2) == pytest.approx(0.0001)


@given(st.integers(1, 10**8), st.floats(1, 1e7))
def test_the_first_cycle_is_as_long_as_asked(evaluations: int, shortest: float) -> None:
    first = CoolingSchedule(cycles_for(evaluations, shortest), 1.0, 0.1, 1.0).end_of(0) * evaluations
    assert first >= min(shortest, evaluations) * (1 - 1e-9)


def shared_problem(name: str, budget: Budget) -> PlacementProblem:
    path = SHARED / f"{name}.json"
    prepared = api.prepare(path, path.suffix, lambda *_: None, api.Limits(), None)
    cluster = api.parse_cluster((SHARED / f"{name}.cluster.json").read_text())
    allowed = np.ones((prepared.grouping.group_count, cluster.device_count), dtype=bool)
    return PlacementProblem(prepared.graph, prepared.costs, prepared.grouping, cluster, allowed, RunContext.of(budget))


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the benchmark graphs are not at {SHARED}")
@pytest.mark.parametrize(("name", "evaluations", "known_us"), [("chain_mm", 100_000, 1200.1), ("ffnn", 100_000, 63.2)])
def test_known_step_times_are_reached(name: str, evaluations: int, known_us: float) -> None:
    problem = shared_problem(name, Budget(evaluations))
    search(problem)
    assert problem.ledger.best_step_time_us is not None
    assert round(problem.ledger.best_step_time_us, 1) <= known_us


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the benchmark graphs are not at {SHARED}")
def test_a_model_too_large_for_one_device_is_split() -> None:
    """Of BERT's devices none holds its largest op, whose output alone is 2 GB: on larger ones it must be split."""
    small = shared_problem("bert_l-3_inference_ops", Budget(2000))
    search(small)
    largest = int((small.costs.bytes_of_op() + small.costs.persistent_bytes).max())
    assert small.ledger.best_step_time_us is None
    assert (small.ledger.missing_bytes or 0) >= largest - int(small.memory_bytes.max()) > 0
    devices = tuple(dataclasses.replace(device, memory_bytes=3 * 10**9) for device in small.cluster.devices)
    cluster = dataclasses.replace(small.cluster, devices=devices)
    larger = PlacementProblem(
        small.graph, small.costs, small.grouping, cluster, small.allowed, RunContext.of(Budget(2000))
    )
    alone = larger.simulator.evaluate(np.zeros((1, larger.group_count), np.int32))
    search(larger)
    assert not larger.feasible(alone)[0]
    assert larger.ledger.best_step_time_us is not None
    assert larger.ledger.best_step_time_us <= 1.1 * alone.step_time_us[0]
