"""Other ways to learn from a batch: the moves that are tried, their labels, and trainings that learn by them."""

import numpy as np
import pytest

from engine.clusters.cluster import NO_DEVICE
from engine.placeto.episodes import EpisodePlan
from engine.policies.course import train_policy
from engine.policies.learner import Learner
from engine.policies.settings import make_training_settings
from engine.policies.training_problem import TrainingProblem
from engine.search.symmetry import interchangeable_devices
from experiments.policies.controls.learners import (
    MAY_NOT,
    STAYS,
    CreditedLearner,
    ExpertLearner,
    RepeatedLearner,
    RepeatedProblem,
    single_moves,
    soft_labels,
)
from tests.engine.placers.small_problems import small_problem
from tests.engine.policies.small_trainings import COUNTED


@pytest.mark.parametrize("seed", range(6))
def test_every_move_is_tried_but_those_to_equal_unused_devices_once(seed: int) -> None:
    problem = small_problem(seed, ops=10, devices=4, pins=seed % 2 == 1, cpu=False)
    rng = np.random.default_rng(seed)
    wanted = rng.integers(0, 2, problem.group_count)  # devices 2 and 3 stay unused
    may = problem.allowed[np.arange(problem.group_count), wanted]
    placement = np.where(may, wanted, problem.allowed.argmax(axis=1)).astype(np.int32)
    classes = interchangeable_devices(problem)
    moved, move_of = single_moves(placement, problem.allowed, classes)
    assert len(np.unique(moved, axis=0)) == len(moved) and problem.respects(moved).all()
    for group in range(problem.group_count):
        for device in range(problem.device_count):
            there = placement.copy()
            there[group] = device
            if not problem.allowed[group, device]:
                assert move_of[group, device] == MAY_NOT
            elif device == placement[group]:
                assert move_of[group, device] == STAYS
            else:
                pair = np.stack([there, moved[move_of[group, device]]])
                times = problem.simulator.evaluate(pair).step_time_us
                assert times[0] == times[1], "an equal device stands for it"
    unused = sorted(set(range(problem.device_count)) - set(placement.tolist()))
    spared = len(unused) - len(set(classes[unused].tolist()))
    possible = int(problem.allowed.sum()) - problem.group_count
    assert len(moved) == possible - spared * problem.group_count if not seed % 2 else len(moved) <= possible


def test_labels_fall_with_the_loss_and_leave_out_what_is_not_allowed() -> None:
    move_of = np.array([[STAYS, 0, 1], [2, STAYS, MAY_NOT]])
    labels = soft_labels(np.array([100.0, 200.0, 50.0]), 100.0, move_of, temperature=1.0)
    assert labels.sum(axis=1) == pytest.approx(1.0)
    assert labels[0, 0] == labels[0, 1] == pytest.approx(2 * labels[0, 2])
    assert labels[1].tolist() == pytest.approx([2 / 3, 1 / 3, 0.0])


@pytest.mark.parametrize("learner_type", [CreditedLearner, ExpertLearner, RepeatedLearner])
def test_each_way_learns_and_learns_otherwise(learner_type: type[Learner]) -> None:
    problems = [TrainingProblem("small", "2xGPU", small_problem(number, ops=12, devices=2)) for number in range(2)]
    settings = make_training_settings({**COUNTED, "reinforcement_batches": 12, "batch_episodes": 4})
    found = [
        train_policy(problems, (), settings, 0, lambda _: None, lambda: False, learner_type=each)
        for each in (learner_type, learner_type, Learner)
    ]
    own, again, other = (np.concatenate([array.ravel() for array in policy.weights.values()]) for policy in found)
    assert np.array_equal(own, again) and np.isfinite(own).all() and not np.array_equal(own, other)
    assert (found[0].card.evaluations > found[2].card.evaluations) is (learner_type is not RepeatedLearner)


def test_half_of_the_batches_begin_where_a_greedy_pass_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [TrainingProblem("small", "2xGPU", small_problem(0, ops=12, devices=2))]
    settings = make_training_settings({**COUNTED, "reinforcement_batches": 40, "batch_episodes": 4})
    plan_of, starts = RepeatedProblem._plan, []

    def seen(self: RepeatedProblem, traversal: str, batch: int, rng: np.random.Generator) -> EpisodePlan:
        plan = plan_of(self, traversal, batch, rng)
        if batch == 4:
            starts.append(plan.starts)
        return plan

    monkeypatch.setattr(RepeatedProblem, "_plan", seen)
    train_policy(problems, (), settings, 0, lambda _: None, lambda: False, learner_type=RepeatedLearner)
    begun = [not (each == NO_DEVICE).any() for each in starts]
    assert len(begun) == 40 and 10 < sum(begun) < 30
    assert all(
        (each == each[0]).all() and problems[0].problem.respects(each).all() for each in starts if each[0, 0] >= 0
    )
