"""Learners side by side: their shares, the mean of what they have learned, going on from a state, stops and losses."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.events import Json, ShouldStop
from engine.policies.learner import Learner
from engine.policies.meeting import LostLearnerError
from engine.policies.processes import OwnProcesses
from engine.policies.settings import PolicyTrainingSettings, make_training_settings
from engine.policies.team import LearnerTeam
from engine.policies.team_plan import seed_of_member, settings_of_member, shares_of, team_plan
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


@contextmanager
def team_of(
    own: PolicyTrainingSettings,
    learner_type: type[Learner] = Learner,
    should_stop: ShouldStop = lambda: False,
    checkpoint: bytes | None = None,
    trained: list[TrainingProblem] | None = None,
) -> Iterator[LearnerTeam]:
    """A team of this process and its children."""
    plan = team_plan(trained or problems(), own, 5, learner_type)
    with closing(OwnProcesses(plan)) as processes:
        yield LearnerTeam(plan, processes.meet, should_stop, checkpoint, replaces=True)


class FailingLearner(Learner):
    """Fails with its first step."""

    def step(self) -> None:
        raise api.SettingsError("diverged", where="learning_rate", allowed="less")


class KilledLearner(Learner):
    """A child is killed in its first step."""

    def step(self) -> None:
        if "engine.policies.processes" in " ".join(sys.orig_argv):
            os.kill(os.getpid(), signal.SIGKILL)
        super().step()


class SlowLearner(Learner):
    """A step of it takes as long as nobody asks it to stop."""

    def step(self) -> None:
        while not self._should_stop():
            pass


def ended(team: LearnerTeam | Learner) -> LearnerTeam | Learner:
    while team.done < 1.0 and not team.stopped:
        team.step()
    return team


def assert_same_weights(one: LearnerTeam | Learner, other: LearnerTeam | Learner) -> None:
    for name, array in one.weights().items():
        np.testing.assert_array_equal(array, other.weights()[name])


def test_a_team_of_one_is_the_training_itself() -> None:
    alone = ended(Learner(problems(), settings(1, **DRAWN), 5, lambda: False))
    with team_of(settings(1, **DRAWN)) as team:
        ended(team)
    assert_same_weights(alone, team)
    assert alone.numbers._replace(seconds=0.0) == team.numbers._replace(seconds=0.0)


def test_two_learners_share_what_is_counted_and_a_state_goes_on_as_if_there_was_no_stop() -> None:
    own = settings(2, **DRAWN)
    with team_of(own) as whole:
        states = []
        while whole.done < 1.0:
            states.append(whole.state())
            whole.step()
    assert (whole.numbers.imitation_steps, whole.numbers.episodes, whole.numbers.stage) == (6, 4 * 40, "done")
    assert len({*states}) == len(states) > 3
    with team_of(own, checkpoint=states[-2]) as again:
        ended(again)
    assert_same_weights(whole, again)
    assert again.numbers._replace(seconds=0.0) == whole.numbers._replace(seconds=0.0)
    alone = ended(Learner(problems(), settings(1, **DRAWN), 5, lambda: False))
    assert any(not np.array_equal(array, alone.weights()[name]) for name, array in whole.weights().items())


def test_a_killed_process_is_replaced_and_the_weights_are_those_of_a_training_without_a_loss() -> None:
    with team_of(settings(2)) as whole:
        ended(whole)
    others = children()
    with team_of(settings(2)) as team:
        while team.numbers.stage != "reinforcement":
            team.step()
        (own,) = children() - others
        os.kill(own, signal.SIGKILL)
        ended(team)
        assert children() - others - {own}, "another process took its place"
    assert_same_weights(whole, team)
    assert whole.numbers._replace(seconds=0.0) == team.numbers._replace(seconds=0.0)


def test_after_a_round_all_have_the_mean_of_what_each_has_learned() -> None:
    with team_of(settings(2)) as team:
        while team.numbers.stage != "reinforcement":
            team.step()
        one, other = (arrays for arrays, _ in team._states)
        assert not np.array_equal(one["weights.own.weight"], other["weights.own.weight"])
        assert any(name.startswith("optimiser.") for name in one)
        for name, array in team._learners[0].learned().items():
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


def test_there_are_no_more_learners_than_problems_and_a_process_may_have_several() -> None:
    plan = team_plan(problems(2), settings(5), 5, Learner)
    assert plan.count == 2 and [*map(len, plan.shares.values())] == [1, 1]
    three = team_plan(problems(3), settings(3), 5, Learner)
    assert [[*three.of_process(rank, 2).shares] for rank in range(2)] == [[0, 2], [1]]


def test_a_stop_that_was_asked_for_before_a_round_begins_none() -> None:
    with team_of(settings(2), should_stop=lambda: True) as team:
        team.step()
    assert team.stopped and team.numbers.episodes == team.numbers.imitation_steps == 0 and team.done == 0.0


def test_a_stop_reaches_learners_in_the_middle_of_a_step() -> None:
    began = time.monotonic()
    asked_at = float("inf")

    def should_stop() -> bool:
        return time.monotonic() > asked_at

    with team_of(settings(2), SlowLearner, should_stop) as team:
        asked_at = time.monotonic() + 0.5
        team.step()
    assert team.stopped and team.done == 0.0 and time.monotonic() > began


def test_a_typed_error_of_a_learner_reaches_the_caller_and_all_processes_end() -> None:
    with left_processes() as left, team_of(settings(2), FailingLearner) as team:
        with pytest.raises(api.SettingsError, match="diverged") as caught:
            team.step()
        assert str(caught.value) == "learning_rate: diverged; allowed: less" and caught.value.where == "learning_rate"
    assert left == []


def test_a_process_that_is_lost_twice_in_one_round_ends_the_training() -> None:
    with (
        left_processes() as left,
        team_of(settings(2), KilledLearner) as team,
        pytest.raises(LostLearnerError, match="a learner of the training is gone"),
    ):
        team.step()
    assert left == []


PARENT = """
from pathlib import Path
import os, time
from tests.engine.policies.test_team import SlowLearner, children, settings, team_of
with team_of(settings(2), SlowLearner) as team:
    print(*children(), flush=True)
    team.step()
"""


def test_learners_end_with_the_process_that_trains() -> None:
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as parent:
        assert parent.stdout is not None
        [learner] = [int(number) for number in parent.stdout.readline().split()]
        assert command_line(learner)
        parent.kill()
    deadline = time.monotonic() + 30
    while command_line(learner):
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
