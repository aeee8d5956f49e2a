"""Learners side by side: their shares, the mean of what they have learned, going on from a state, stops and errors."""

import threading
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.events import Json
from engine.policies.learner import Learner
from engine.policies.settings import PolicyTrainingSettings, make_training_settings
from engine.policies.team import LearnerTeam, seed_of_member, settings_of_member
from engine.policies.training_problem import TrainingProblem
from tests.engine.placers.small_problems import small_problem
from tests.engine.policies.small_trainings import COUNTED, request

DRAWN: dict[str, Json] = {"drawn": 3, "drawn_uses": 2, "drawn_teacher_evaluations": 30}


def problems(count: int = 4) -> list[TrainingProblem]:
    return [TrainingProblem("small", "2xGPU", small_problem(number, ops=10, devices=2)) for number in range(count)]


def settings(learners: int, **changes: Json) -> PolicyTrainingSettings:
    counted = {**COUNTED, "imitation_steps": 6, "reinforcement_batches": 40, "batch_episodes": 4}
    return make_training_settings({**counted, "learners": learners, **changes})


def ended(team: LearnerTeam | Learner) -> LearnerTeam | Learner:
    while team.done < 1.0:
        team.step()
    return team


def assert_same_weights(one: LearnerTeam | Learner, other: LearnerTeam | Learner) -> None:
    for name, array in one.weights().items():
        np.testing.assert_array_equal(array, other.weights()[name])


def test_a_team_of_one_is_the_training_itself() -> None:
    alone = ended(Learner(problems(), settings(1, **DRAWN), 5, lambda: False))
    team = ended(LearnerTeam(problems(), settings(1, **DRAWN), 5, lambda: False))
    assert_same_weights(alone, team)
    for name in ("evaluations", "drawn", "imitation_steps", "episodes", "ranges", "mean_gap", "stage"):
        assert getattr(alone, name) == getattr(team, name), name


def test_two_learners_share_what_is_counted_and_a_state_goes_on_as_if_there_was_no_stop() -> None:
    own = settings(2, **DRAWN)
    whole = LearnerTeam(problems(), own, 5, lambda: False)
    states = []
    while whole.done < 1.0:
        states.append(whole.state())
        whole.step()
    assert whole.imitation_steps == 6 and whole.episodes == 4 * 40 and whole.stage == "done"
    assert len({*states}) == len(states) > 3
    for state in (states[1], states[-1]):
        again = LearnerTeam(problems(), own, 5, lambda: False)
        again.restore(state)
        ended(again)
        assert_same_weights(whole, again)
        assert (again.evaluations, again.drawn) == (whole.evaluations, whole.drawn)
    alone = ended(Learner(problems(), settings(1, **DRAWN), 5, lambda: False))
    assert any(not np.array_equal(array, alone.weights()[name]) for name, array in whole.weights().items())


def test_after_a_round_all_have_the_mean_of_what_each_has_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    team = LearnerTeam(problems(), settings(2), 5, lambda: False)
    learned_of, found = Learner.learned, list[Any]()

    def learned(self: Learner) -> Any:
        found.append(learned_of(self))
        return found[-1]

    monkeypatch.setattr(Learner, "learned", learned)
    while team.stage != "reinforcement":
        team.step()
    found.clear()
    team.step()
    one, other = found
    assert not np.array_equal(one["weights.own.weight"], other["weights.own.weight"])
    assert any(name.startswith("optimiser.") for name in one)
    for member in team._members:
        for name, array in learned_of(member).items():
            np.testing.assert_allclose(np.asarray(array, float), (one[name] + other[name]) / 2, rtol=1e-6, atol=1e-12)


def test_shares_are_rounded_up_and_seeds_differ() -> None:
    member = settings_of_member(settings(3, drawn=256, imitation_steps=7, reinforcement_batches=0), 3)
    assert (member.learners, member.drawn, member.imitation_steps) == (1, 86, 3)
    assert member.reinforcement_batches == 0, "still by the clock"
    assert len({seed_of_member(seed, number) for seed in (0, 1) for number in range(4)}) == 8
    assert seed_of_member(7, 0) == 7


def test_there_are_no_more_learners_than_problems() -> None:
    team = ended(LearnerTeam(problems(2), settings(5), 5, lambda: False))
    assert team.done == 1.0 and team.imitation_steps == 6


def test_a_stop_is_asked_for_by_the_calling_thread_alone_and_ends_the_round() -> None:
    asked: list[int] = []

    def should_stop() -> bool:
        asked.append(threading.get_ident())
        return True

    team = LearnerTeam(problems(), settings(2), 5, should_stop)
    team.step()
    assert set(asked) == {threading.get_ident()}
    assert team.episodes == team.imitation_steps == 0 and team.done == 0.0


def test_an_error_of_a_learner_reaches_the_caller() -> None:
    class Failing(Learner):
        def step(self) -> None:
            if threading.current_thread() is not threading.main_thread():
                raise api.SettingsError("diverged", where="learning_rate", allowed="less")

    team = LearnerTeam(problems(), settings(2), 5, lambda: False, Failing)
    with pytest.raises(api.SettingsError, match="diverged"):
        team.step()


def test_a_training_by_two_has_a_card_and_goes_on_from_what_it_kept() -> None:
    asked = request(held_out=(), settings={**COUNTED, "learners": 2, "imitation_steps": 6, "reinforcement_batches": 20})
    kept: list[bytes] = []
    policy = api.read_policy(api.train(asked, lambda _: None, lambda: False, None, kept.append), "two")
    assert policy.card.imitation_steps == 6 and policy.card.episodes == 16 * 20
    assert policy.card.graphs == ("small",) and policy.card.ranges
    again = api.read_policy(api.train(asked, lambda _: None, lambda: False, kept[0]), "two")
    for name, array in policy.weights.items():
        np.testing.assert_array_equal(array, again.weights[name])
    learned = api.learned_until(kept[-1], "two", ())
    assert learned is not None and api.read_policy(learned, "two").card.episodes > 0
