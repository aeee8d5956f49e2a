"""Whole trainings: the toy is solved, a seed is an answer, going on equals never stopped, the budget is kept."""

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.events import Episode, FromPlacer, Json, LearnedPolicy, PlacerState
from engine.placers.placeto import Placeto
from engine.placers.registry import make_placer
from engine.placeto.episodes import Episodes
from engine.placeto.learning.evaluation import EvaluatedEpisodes, Evaluator
from engine.placeto.learning.rewards import ReturnBaseline
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from tests.engine.placers.small_problems import clock_of_evaluations
from tests.engine.placeto.problems import random_problem, slower, two_chains

Heard = list[FromPlacer]
BOTH_PRESETS = pytest.mark.parametrize("preset", ["fast", "paper"])
BOTH_REWARDS = pytest.mark.parametrize("reward", ["terminal", "intermediate"])


def train(
    problem: PlacementProblem,
    settings: Mapping[str, Json] | None = None,
    *,
    seed: int = 0,
    state: bytes | None = None,
    should_stop: Callable[[Heard], bool] = lambda _: False,
) -> Heard:
    heard: Heard = []
    placer = make_placer("placeto", {"torch_device": "cpu", **(settings or {})})
    assert isinstance(placer, Placeto)
    if state is not None:
        placer.resume(state)
    rng = np.random.default_rng(seed)
    problem = problem.reporting_to(heard.append)
    placer.place(problem, rng, lambda: should_stop(heard))
    return heard


def episodes_in(heard: Heard) -> list[Episode]:
    return [event for event in heard if isinstance(event, Episode)]


def reported(heard: Heard) -> list[tuple[int, float, bool, float | None, int, list[int]]]:
    """All of the episodes but the clock."""
    return [
        (event.episode, event.step_time_us, event.feasible, event.best_step_time_us, event.evaluations, event.placement)
        for event in episodes_in(heard)
    ]


def optimum_us(problem: PlacementProblem) -> float:
    every = itertools.product(range(problem.device_count), repeat=problem.group_count)
    return float(problem.simulator.evaluate(np.array(list(every), dtype=np.int32)).step_time_us.min())


# the published rates are for many thousands of evaluations, and its rewards for steps of seconds
QUICK_PAPER: dict[str, Json] = {
    "preset": "paper",
    "learning_rate": 5e-3,
    "entropy_weight": 0.02,
    "reward_unit": "reference",
    "message_rounds": 2,
}


@pytest.mark.parametrize(
    ("settings", "evaluations"),
    [
        ({"reward": "terminal"}, 600),
        ({"reward": "intermediate"}, 1000),
        (QUICK_PAPER | {"reward": "terminal"}, 2500),
        (QUICK_PAPER | {"reward": "intermediate"}, 6000),
    ],
)
def test_the_toy_is_solved(settings: dict[str, Json], evaluations: int) -> None:
    """Two chains, two devices. The policy has learned it: its last episodes are good, not only the best of all."""
    problem = two_chains(evaluations=evaluations)
    heard = train(problem, settings)
    assert problem.ledger.best_step_time_us == optimum_us(problem)
    step_times_us = [event.step_time_us for event in episodes_in(heard)]
    one_device_us = problem.simulator.evaluate(np.zeros((1, 10), np.int32)).step_time_us[0]
    assert np.mean(step_times_us[-50:]) < 0.85 * one_device_us
    assert np.mean(step_times_us[-50:]) < np.mean(step_times_us[:50])


@BOTH_PRESETS
@BOTH_REWARDS
def test_the_same_seed_gives_the_same_episodes(preset: str, reward: str) -> None:
    settings: dict[str, Json] = {"preset": preset, "reward": reward, "traversal": "random"}
    heard = [reported(train(random_problem(1, evaluations=150), settings, seed=seed)) for seed in (7, 7, 8)]
    assert heard[0] == heard[1] != heard[2]


@BOTH_PRESETS
@BOTH_REWARDS
def test_seconds_are_spent_as_evaluations_are(preset: str, reward: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What falls with the budget falls alike: here each of 400 evaluations takes its share."""
    settings: dict[str, Json] = {"preset": preset, "reward": reward, "learning_rate": 0.05}
    clock_of_evaluations(monkeypatch, 400)
    counted = reported(train(random_problem(1, groups=6, evaluations=400), settings))
    problem = random_problem(1, groups=6)
    timed = reported(train(problem.with_budget(Budget(MOST_EVALUATIONS, 1.0)), settings))
    whole = len(counted) - 16
    assert whole >= 16 and timed[:whole] == counted[:whole]


@BOTH_PRESETS
@BOTH_REWARDS
def test_going_on_from_a_state_equals_never_having_stopped(preset: str, reward: str) -> None:
    settings: dict[str, Json] = {"preset": preset, "reward": reward, "checkpoint_seconds": 0.0, "traversal": "random"}
    evaluations = 150 if reward == "terminal" else 800
    problem = random_problem(2, evaluations=evaluations)
    snapshots = []
    heard: Heard = []

    def note(event: FromPlacer) -> None:
        heard.append(event)
        if isinstance(event, PlacerState):
            snapshots.append((len(episodes_in(heard)), problem.ledger.state(), event.state))

    never = make_placer("placeto", {"torch_device": "cpu", **settings})
    problem = problem.reporting_to(note)
    never.place(problem, np.random.default_rng(3), lambda: False)
    assert len(snapshots) >= 3
    for before, ledger, state in (snapshots[0], snapshots[len(snapshots) // 2]):
        other = random_problem(2, evaluations=evaluations)
        other.ledger.restore(ledger)
        # a resumed run makes its own generator: the state's counts
        rest = train(other, settings, seed=99, state=state)
        assert reported(rest) == reported(heard)[before:]
        kept, kept_again = ([event for event in events if isinstance(event, LearnedPolicy)] for events in (heard, rest))
        assert kept == kept_again
        states = [[event for event in events if isinstance(event, PlacerState)][-1].state for events in (heard, rest)]
        assert states[0] == states[1]


def test_a_state_of_other_settings_is_refused() -> None:
    heard = train(random_problem(2), {"checkpoint_seconds": 0.0}, should_stop=lambda heard: len(heard) > 20)
    state = next(event.state for event in heard if isinstance(event, PlacerState))
    with pytest.raises(SettingsError, match="made with other settings"):
        train(random_problem(2), {"checkpoint_seconds": 0.0, "epochs": 3}, state=state)


def test_a_broken_state_is_refused() -> None:
    with pytest.raises(SettingsError) as caught:
        train(random_problem(2), state=b"\x80\x04N.")
    assert str(caught.value) == "the saved state: this is not a file of Placeto; allowed: a file written by Placeto"


@BOTH_PRESETS
@BOTH_REWARDS
@pytest.mark.parametrize("evaluations", [1, 2, 17, 40, 163])
def test_every_evaluation_is_spent_and_none_more(preset: str, reward: str, evaluations: int) -> None:
    problem = random_problem(3, evaluations=evaluations)
    heard = train(problem, {"preset": preset, "reward": reward})
    assert problem.ledger.used == evaluations
    assert [event.episode for event in episodes_in(heard)] == list(range(1, len(episodes_in(heard)) + 1))


@BOTH_PRESETS
def test_pins_are_kept(preset: str) -> None:
    problem = random_problem(4, devices=2, cpu=True, evaluations=150)
    problem.allowed[0] = [False, False, True]
    problem.allowed[5] = [False, True, False]
    problem.allowed[6] = [True, False, True]
    for event in episodes_in(train(problem, {"preset": preset})):
        assert event.placement[0] == 2 and event.placement[5] == 1 and event.placement[6] != 1


def test_one_device_and_one_group_are_no_special_case() -> None:
    for problem in (random_problem(1, devices=1, evaluations=40), random_problem(1, groups=1, evaluations=40)):
        for preset in ("fast", "paper"):
            fresh = problem.with_budget(problem.ledger.budget)
            train(fresh, {"preset": preset})
            assert fresh.ledger.best_step_time_us == optimum_us(problem)


def test_memory_is_sought_where_nothing_fits_yet() -> None:
    problem = two_chains(evaluations=400)
    problem.memory_bytes[:] = 110_000_000
    train(problem)
    assert problem.ledger.best_step_time_us is not None


@BOTH_PRESETS
def test_asked_to_stop_before_it_began_it_still_has_an_answer(preset: str) -> None:
    problem = random_problem(5)
    heard = train(problem, {"preset": preset}, should_stop=lambda _: True)
    assert [event for event in heard if not isinstance(event, LearnedPolicy)] == []
    assert problem.ledger.used == 1


def test_a_long_batch_is_left_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.placeto.interruption.LOOK_SECONDS", 0.0)
    problem = random_problem(5, evaluations=10_000)
    asked = 0

    def stop_at_the_third(heard: Heard) -> bool:
        nonlocal asked
        asked += 1
        return asked >= 3

    heard = train(problem, {"preset": "paper"}, should_stop=stop_at_the_third)
    assert [event for event in heard if not isinstance(event, LearnedPolicy)] == []
    assert problem.ledger.used < 100


def test_states_are_reported_as_often_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.problem.reporter.FIRST_STATE_SECONDS", 3600.0)
    counts = []
    for seconds in (0.0, 3600.0):
        heard = train(random_problem(6, evaluations=160), {"checkpoint_seconds": seconds})
        counts.append(sum(isinstance(event, PlacerState) for event in heard))
    assert counts == [10, 0]


def test_the_global_state_of_torch_is_left_alone() -> None:
    torch.manual_seed(11)
    threads = torch.get_num_threads()
    expected = torch.rand(1)
    torch.manual_seed(11)
    train(random_problem(7, evaluations=17), {"torch_threads": threads + 1})
    assert torch.rand(1) == expected
    assert torch.get_num_threads() == threads


def test_the_same_answer_whatever_torch_was_seeded_with() -> None:
    answers = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        answers.append(reported(train(random_problem(7, evaluations=100))))
    assert answers[0] == answers[1]


@BOTH_PRESETS
def test_a_diverged_training_says_so(preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(self: ReturnBaseline, returns: NDArray[np.float64], *, normalise: bool) -> NDArray[np.float64]:
        return np.full_like(returns, np.inf)

    monkeypatch.setattr(ReturnBaseline, "advantages", endless)
    with pytest.raises(SettingsError) as caught:
        train(random_problem(8), {"preset": preset})
    assert str(caught.value).startswith("learning_rate: the training diverged: its gradient is not finite; allowed: ")
    assert caught.value.field == "learning_rate"


@pytest.mark.parametrize("batch_episodes", [1, 4])
@pytest.mark.parametrize("normalise", [False, True])
def test_a_greedy_episode_teaches_nothing(
    batch_episodes: int, normalise: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it came to, and where a batch is no other, the same is learned."""
    settings: dict[str, Json] = {
        "preset": "paper",
        "greedy_every_batches": 2,
        "batch_episodes": batch_episodes,
        "normalise_advantages": normalise,
        "learning_rate": 0.05,
        "message_rounds": 1,
    }
    as_it_was = reported(train(random_problem(3, groups=6, evaluations=150), settings))
    evaluate = Evaluator.evaluate

    def spoiled(self: Evaluator, episodes: Episodes) -> EvaluatedEpisodes:
        outcome = evaluate(self, episodes)
        if outcome.returns is not None:
            outcome.returns[outcome.episodes.plan.greedy_episodes] += 1000.0
        return outcome

    monkeypatch.setattr(Evaluator, "evaluate", spoiled)
    assert reported(train(random_problem(3, groups=6, evaluations=150), settings)) == as_it_was


@pytest.mark.parametrize(
    "settings",
    [
        {"passes": 2},
        {"start": "random"},
        {"start": "fastest_device"},
        {"network": "published"},
        {"network": "simple_partitioner", "reward": "intermediate"},
        {"network": "simple_aggregator", "traversal": "reversed"},
        {"preset": "paper", "start_time_feature": False},
        {"preset": "paper", "network": "shared_head"},
        {"greedy_every_batches": 2},
        {"message_rounds": 0},
        {"epochs": 1, "normalise_advantages": False},
        {"most_reachable_groups": 0},
        {"batch_episodes": 1},
    ],
)
def test_settings_go_together(settings: dict[str, Json]) -> None:
    problem = random_problem(9, evaluations=100)
    heard = train(problem, settings)
    best = [event.best_step_time_us for event in episodes_in(heard) if event.best_step_time_us is not None]
    assert best == sorted(best, reverse=True) and best[-1] == problem.ledger.best_step_time_us


def test_the_unit_of_time_does_not_count() -> None:
    """A graph on a cluster 1024 times slower in everything is the same problem for the default preset."""
    quick, slow = random_problem(10, evaluations=200), slower(random_problem(10, evaluations=200), 1024.0)
    reported_quick, reported_slow = reported(train(quick)), reported(train(slow))
    assert [row[5] for row in reported_quick] == [row[5] for row in reported_slow]
    assert [1024.0 * row[1] for row in reported_quick] == [row[1] for row in reported_slow]
