"""Auto: an answer at once, never behind what it begins with, exhaustive where that can be, the same when resumed."""

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.cli.main import main
from engine.errors import SettingsError
from engine.events import Episode, FromPlacer, PlacerState, Progress
from engine.placers import auto
from engine.placers.auto import Auto
from engine.placers.quick_starts import evaluate_methods
from engine.placers.registry import PLACERS, make_placer
from engine.problem import Budget, PlacementProblem
from engine.search.halving import Halving, Start
from tests.engine.placers.small_problems import small_problem
from tests.engine.policies.small_policies import small_policy

Heard = list[FromPlacer]


def place(problem: PlacementProblem, placer: Auto, seed: int = 0, stop_at: int = 10**9) -> Heard:
    heard: Heard = []
    rng = np.random.default_rng(seed)
    problem = problem.reporting_to(heard.append)
    placer.place(problem, rng, lambda: problem.ledger.used >= stop_at)
    return heard


def episodes_of(heard: Heard) -> list[Episode]:
    """Without what depends on the clock."""
    return [dataclasses.replace(event, elapsed_seconds=0.0) for event in heard if isinstance(event, Episode)]


def test_it_is_offered_first_and_taken_where_no_method_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert next(iter(PLACERS)) == "auto"
    with pytest.raises(SystemExit):
        main(["place", "--help"])
    assert "(default auto;" in " ".join(capsys.readouterr().out.split())


def test_what_was_evaluated_before_is_reported_before_anything_else_is_done() -> None:
    problem = small_problem(3, ops=20, evaluations=500)
    problem.evaluate(np.zeros((1, 20), np.int32))
    first = episodes_of(place(problem, Auto()))[0]
    assert (first.episode, first.evaluations, first.placement) == (1, 1, [0] * 20)
    assert first.step_time_us == problem.simulator.evaluate(np.zeros((1, 20), np.int32)).step_time_us[0]


@pytest.mark.parametrize("seed", range(4))
def test_it_is_not_behind_a_simple_method_with_as_many_evaluations(seed: int) -> None:
    problem = small_problem(seed, ops=20, devices=3, evaluations=300)
    place(problem, Auto())
    assert problem.ledger.best_step_time_us is not None
    for method in ("single_device", "random", "heft", "m_etf", "m_sct", "m_topo", "scotch"):
        other = problem.with_budget(Budget(300))
        rng = np.random.default_rng(0)
        make_placer(method, {}).place(other, rng, lambda: False)
        assert other.ledger.best_step_time_us is not None
        assert problem.ledger.best_step_time_us <= other.ledger.best_step_time_us


def test_a_method_that_cannot_help_is_reported_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placers.auto.LIST_METHODS", ("cpu_only", "heft"))
    problem = small_problem(3, ops=20, cpu=False, evaluations=60)
    heard = place(problem, Auto())
    (reported,) = [event.stage for event in heard if isinstance(event, Progress) and "without" in event.stage]
    assert reported.startswith("without CPU only: the cluster has no CPU")
    assert problem.ledger.used == 60


def test_under_a_short_budget_of_seconds_no_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def evaluate_methods(_: PlacementProblem, methods: list[str], *_rest: object) -> list[Start]:
        asked.extend(methods)
        return []

    monkeypatch.setattr("engine.placers.quick_starts.evaluate_methods", evaluate_methods)
    for seconds in (9.0, 10.0, None):
        problem = small_problem(3, ops=20).with_budget(Budget(30, seconds))
        place(problem, Auto())
        asked.append(str(seconds))
    assert ("scotch" in asked[: asked.index("9.0")], asked.count("scotch")) == (False, 2)


def test_methods_that_give_starts_have_a_tenth_of_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now, asked = [0.0], []

    def evaluate_methods(_problem: PlacementProblem, methods: list[str], *rest: Any) -> list[Start]:
        asked.append((*methods, round(rest[-2], 3)))
        now[0] += 0.6
        return []

    monkeypatch.setattr("engine.placers.quick_starts.evaluate_methods", evaluate_methods)
    problem = small_problem(3, ops=20).with_budget(Budget(30, 20.0), clock=lambda: now[0])
    place(problem, Auto())
    assert [seconds for _, seconds in asked] == [2.0, 1.4, 0.8, 0.2]
    assert asked[0][0] == "human_expert" and problem.ledger.used == 30


def test_with_enough_evaluations_it_gives_the_optimum_of_a_small_graph() -> None:
    problem, oracle = (small_problem(1, evaluations=3000) for _ in range(2))
    place(problem, Auto())
    make_placer("exhaustive", {}).place(oracle, np.random.default_rng(0), lambda: False)
    assert problem.ledger.best_step_time_us == oracle.ledger.best_step_time_us
    assert problem.ledger.used > oracle.ledger.used


@pytest.mark.parametrize(("ops", "stop_at"), [(7, 1000), (30, 400), (30, 2000)])
def test_it_goes_on_as_if_never_stopped(ops: int, stop_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placers.exhaustive.chunk_size", lambda _: 200)
    whole, cut, again = (small_problem(1, ops=ops, evaluations=3000) for _ in range(3))
    uncut = place(whole, Auto())
    heard = place(cut, Auto(checkpoint_seconds=0.0), stop_at=stop_at)
    state = next(event.state for event in reversed(heard) if isinstance(event, PlacerState))
    again.ledger.restore(cut.ledger.state())
    placer = Auto()
    placer.resume(state)
    heard += place(again, placer, seed=5)
    assert episodes_of(heard) == episodes_of(uncut)
    assert again.ledger.used == whole.ledger.used
    assert again.ledger.answer().tolist() == whole.ledger.answer().tolist()


def starts_heard(monkeypatch: pytest.MonkeyPatch) -> list[Start]:
    """Filled with what Auto's search starts from."""
    heard: list[Start] = []

    def halving(problem: PlacementProblem, starts: list[Start], *rest: Any) -> Halving:
        heard[:] = [dataclasses.replace(start) for start in starts]
        return Halving(problem, starts, *rest)

    monkeypatch.setattr("engine.placers.auto.Halving", halving)
    return heard


def between(problem: PlacementProblem, starts: list[Start]) -> NDArray[np.int32]:
    """A placement that is behind the best of `starts` and ahead of all others."""
    first, second = sorted(starts, key=lambda start: start.rank)[:2]
    groups, devices = np.indices((problem.group_count, problem.device_count)).reshape(2, -1)
    moved = np.repeat(first.placement[None], len(groups), axis=0)
    moved[np.arange(len(groups)), groups] = devices
    times_us = problem.simulator.evaluate(moved).step_time_us
    fits = np.flatnonzero((times_us > first.step_time_us) & (times_us < second.step_time_us))
    found: NDArray[np.int32] = moved[fits[0]]
    return found


def test_a_policy_behind_what_is_had_at_once_costs_its_evaluations_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = starts_heard(monkeypatch)
    without, beside = (small_problem(1, ops=30, evaluations=evaluations) for evaluations in (3000, 3017))
    place(without, Auto())
    own, pass_ = list(starts), between(without, starts)
    monkeypatch.setattr("engine.placers.policy_passes.proposals", lambda *_: drawn(pass_, _[2]))
    placer = Auto()
    placer.use_policy(small_policy())
    place(beside, placer)
    assert [start.rank for start in starts] == [start.rank for start in own]
    assert beside.ledger.answer().tolist() == without.ledger.answer().tolist()


def test_a_policy_whose_training_was_far_costs_nothing() -> None:
    without, beside = (small_problem(1, ops=30, evaluations=600) for _ in range(2))
    place(without, Auto())
    policy, placer = small_policy(), Auto()
    far = dataclasses.replace(policy.card, ranges={"devices": (64.0, 64.0)})
    placer.use_policy(dataclasses.replace(policy, card=far))
    place(beside, placer)
    assert beside.ledger.answer().tolist() == without.ledger.answer().tolist()
    assert beside.ledger.used == without.ledger.used


def drawn(placement: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
    """As many passes as a policy makes, all alike, and some random numbers used."""
    rng.integers(9)
    return np.repeat(placement[None], 17, axis=0)


def test_a_policy_ahead_of_what_is_had_at_once_is_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = starts_heard(monkeypatch)
    long, problem = small_problem(1, ops=30, evaluations=3000), small_problem(1, ops=30, evaluations=600)
    place(long, Auto())
    best = long.ledger.answer()
    monkeypatch.setattr("engine.placers.policy_passes.proposals", lambda *_: drawn(best, _[2]))
    placer = Auto()
    placer.use_policy(small_policy())
    place(problem, placer)
    assert best.tolist() in [start.placement.tolist() for start in starts]


@pytest.mark.parametrize("seconds", [9.0, 10.0, None])
@pytest.mark.parametrize("good", [True, False])
def test_in_a_hurry_slower_methods_are_left_out_where_a_policy_is_ahead_of_the_quickest(
    seconds: float | None, good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def note(problem: PlacementProblem, methods: list[str], *rest: Any) -> list[Start]:
        asked.extend(methods)
        return evaluate_methods(problem, methods, *rest)

    monkeypatch.setattr("engine.placers.quick_starts.evaluate_methods", note)
    long, problem = small_problem(1, ops=30, evaluations=3000), small_problem(1, ops=30, evaluations=200)
    place(long, Auto())
    best, all_methods = long.ledger.answer(), set(asked)
    asked.clear()
    placement = best if good else np.roll(best, 7)
    monkeypatch.setattr("engine.placers.policy_passes.proposals", lambda *_: drawn(placement, _[2]))
    placer = Auto()
    placer.use_policy(small_policy())
    place(problem.with_budget(Budget(200, seconds), clock=lambda: 0.0), placer)
    hurried = seconds == 9.0
    if good and hurried:
        assert asked == list(auto.QUICKEST)
    else:
        assert set(asked) == all_methods - ({"scotch"} if hurried else set())
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"checkpoint_seconds": -1}, "auto checkpoint_seconds: -1; allowed: a number from 0 to 3600"),
        ({"effort": 2}, "settings: auto has no setting 'effort'; allowed: checkpoint_seconds"),
    ],
)
def test_bad_settings_are_refused(changes: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Auto(**changes)
    assert str(caught.value) == message
