"""Learners side by side: their shares, the mean of what they have learned, going on from a state, stops and errors."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.events import Json
from engine.policies.learner import Learner
from engine.policies.settings import PolicyTrainingSettings, make_training_settings
from engine.policies.team import LearnerTeam, seed_of_member, settings_of_member, shares_of
from engine.policies.training_problem import TrainingProblem
from engine.policy_training import problems_of
from tests.engine.placers.small_problems import small_problem
from tests.engine.policies.small_trainings import COUNTED, request
from tests.process_facts import command_line

pytestmark = pytest.mark.slow
DRAWN: dict[str, Json] = {"drawn": 3, "drawn_uses": 2, "drawn_teacher_evaluations": 30}


def problems(count: int = 4) -> list[TrainingProblem]:
    return [TrainingProblem("small", "2xGPU", small_problem(number, ops=10, devices=2)) for number in range(count)]


def settings(learners: int, **changes: Json) -> PolicyTrainingSettings:
    counted = {**COUNTED, "imitation_steps": 6, "reinforcement_batches": 40, "batch_episodes": 4}
    return make_training_settings({**counted, "learners": learners, **changes})


class FailingLearner(Learner):
    """Fails with its first step."""

    def step(self) -> None:
        raise api.SettingsError("diverged", where="learning_rate", allowed="less")


class KilledLearner(Learner):
    """Its process is killed in its first step."""

    def step(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class CrashingLearner(Learner):
    """Its process ends in its first step."""

    def step(self) -> None:
        os._exit(7)


class SlowLearner(Learner):
    """A step of it takes as long as nobody asks it to stop."""

    def step(self) -> None:
        while not self._should_stop():
            pass


def ended(team: LearnerTeam | Learner) -> LearnerTeam | Learner:
    while team.done < 1.0:
        team.step()
    return team


def assert_same_weights(one: LearnerTeam | Learner, other: LearnerTeam | Learner) -> None:
    for name, array in one.weights().items():
        np.testing.assert_array_equal(array, other.weights()[name])


def test_a_team_of_one_is_the_training_itself() -> None:
    alone = ended(Learner(problems(), settings(1, **DRAWN), 5, lambda: False))
    with LearnerTeam(problems(), settings(1, **DRAWN), 5, lambda: False) as team:
        ended(team)
    assert_same_weights(alone, team)
    for name in ("evaluations", "drawn", "imitation_steps", "episodes", "ranges", "mean_gap", "stage"):
        assert getattr(alone, name) == getattr(team, name), name


def test_two_learners_share_what_is_counted_and_a_state_goes_on_as_if_there_was_no_stop() -> None:
    own = settings(2, **DRAWN)
    with LearnerTeam(problems(), own, 5, lambda: False) as whole:
        states = []
        while whole.done < 1.0:
            states.append(whole.state())
            whole.step()
    assert whole.imitation_steps == 6 and whole.episodes == 4 * 40 and whole.stage == "done"
    assert len({*states}) == len(states) > 3
    for state in (states[1], states[-1]):
        with LearnerTeam(problems(), own, 5, lambda: False) as again:
            again.restore(state)
            ended(again)
        assert_same_weights(whole, again)
        assert (again.evaluations, again.drawn) == (whole.evaluations, whole.drawn)
    alone = ended(Learner(problems(), settings(1, **DRAWN), 5, lambda: False))
    assert any(not np.array_equal(array, alone.weights()[name]) for name, array in whole.weights().items())


def test_after_a_round_all_have_the_mean_of_what_each_has_learned() -> None:
    with LearnerTeam(problems(), settings(2), 5, lambda: False) as team:
        while team.stage != "reinforcement":
            team.step()
        team.step()
        one, other = (dict(member.answer.learned) for member in team._members)
        assert not np.array_equal(one["weights.own.weight"], other["weights.own.weight"])
        assert any(name.startswith("optimiser.") for name in one)
        team.state()
        for member in team._members:
            for name, array in member.answer.learned.items():
                mean = (one[name] + other[name]) / 2  # type: ignore[operator]  # they are numbers
                np.testing.assert_allclose(np.asarray(array, float), mean, rtol=1e-6, atol=1e-12)


def test_a_graph_goes_to_one_learner_with_all_its_clusters_where_there_are_enough_graphs() -> None:
    request_of_two = request()
    trained = problems_of(request_of_two.graphs, request_of_two.clusters)
    assert [*map(len, shares_of(trained, 2))] == [2, 2]
    for share, prepared in zip(shares_of(trained, 2), request_of_two.graphs, strict=True):
        assert all(training.problem.graph is prepared.graph for training in share)
        assert len({training.problem.device_count for training in share}) == 2
    assert [share[0] for share in shares_of(trained, 4)] == trained, "more learners than graphs"
    assert [*map(len, shares_of(trained, 3))] == [2, 1, 1]


def test_shares_are_rounded_up_and_seeds_differ() -> None:
    member = settings_of_member(settings(3, drawn=256, imitation_steps=7, reinforcement_batches=0), 3)
    assert (member.learners, member.drawn, member.imitation_steps) == (1, 86, 3)
    assert member.reinforcement_batches == 0, "still by the clock"
    assert len({seed_of_member(seed, number) for seed in (0, 1) for number in range(4)}) == 8
    assert seed_of_member(7, 0) == 7


def test_there_are_no_more_learners_than_problems() -> None:
    with LearnerTeam(problems(2), settings(5), 5, lambda: False) as team:
        ended(team)
        assert len(team._members) == 2
    assert team.done == 1.0 and team.imitation_steps == 6


def test_a_stop_that_was_asked_for_before_a_round_begins_none() -> None:
    with LearnerTeam(problems(), settings(2), 5, lambda: True) as team:
        team.step()
    assert team.episodes == team.imitation_steps == 0 and team.done == 0.0


def test_a_stop_reaches_learners_in_the_middle_of_a_step() -> None:
    asked = iter([False])
    with LearnerTeam(problems(), settings(2), 5, lambda: next(asked, True), SlowLearner) as team:
        team.step()
        team.state()  # they answer as before
    assert team.done == 0.0


def test_a_typed_error_of_a_learner_reaches_the_caller_and_all_processes_end() -> None:
    with left_processes() as left, LearnerTeam(problems(), settings(2), 5, lambda: False, FailingLearner) as team:
        with pytest.raises(api.SettingsError, match="diverged") as caught:
            team.step()
        assert str(caught.value) == "learning_rate: diverged; allowed: less" and caught.value.where == "learning_rate"
    assert left == []


@pytest.mark.parametrize(
    ("learner_type", "error_type", "words"),
    [(KilledLearner, api.ChildKilledError, "was killed"), (CrashingLearner, api.ChildError, "status 7")],
)
def test_the_end_of_a_learners_process_is_reported_as_what_it_was(
    learner_type: type[Learner], error_type: type[api.ChildError], words: str
) -> None:
    with (
        left_processes() as left,
        LearnerTeam(problems(), settings(2), 5, lambda: False, learner_type) as team,
        pytest.raises(error_type, match=words),
    ):
        team.step()
    assert left == []


PARENT = """
from pathlib import Path
import os, time
from tests.engine.policies.test_team import LearnerTeam, SlowLearner, children, problems, settings
with LearnerTeam(problems(), settings(2), 5, lambda: False, SlowLearner) as team:
    print(*children(), flush=True)
    team.step()
"""


def test_learners_end_with_the_process_that_trains() -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as parent:
        assert parent.stdout is not None
        learners = [int(number) for number in parent.stdout.readline().split()]
        assert len(learners) == 2 and all(command_line(learner) for learner in learners)
        parent.kill()
    deadline = time.monotonic() + 30
    while any(command_line(learner) for learner in learners):
        assert time.monotonic() < deadline, "a learner goes on"
        time.sleep(0.05)


@contextmanager
def left_processes() -> Iterator[list[int]]:
    """A list that has, at the end of the context, this process's children that were started inside and still run."""
    found: list[int] = []
    before = children()
    yield found
    found.extend(children() - before)


def children() -> set[int]:
    return {int(number) for number in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


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
