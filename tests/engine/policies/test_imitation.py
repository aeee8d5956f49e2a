"""The teacher and its imitation: feasible labels, equal devices as one choice, a toy that must be learned."""

import dataclasses

import numpy as np
import pytest
import torch

from engine.placers.heft import Heft
from engine.placeto.episodes import EpisodePlan
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.networks.shared_head_actor import SampledEpisodes, fresh_network
from engine.placeto.settings import make_settings
from engine.policies.problem_learner import ProblemLearner, batch_advantages, equal_choices, imitation_loss
from engine.policies.teacher import taught_placement
from engine.problem import Budget, PlacementProblem, RunContext
from tests.engine.placers.small_problems import small_problem
from tests.engine.placeto.problems import two_chains

CPU = torch.device("cpu")


def bound(problem: PlacementProblem, **sizes: int) -> ProblemLearner:
    settings = make_settings(
        {"start": "nowhere", "stay_weight": 0.0, "exploration": 0.0, "torch_device": "cpu", "epochs": 2, **sizes}
    )
    network = fresh_network(settings, np.random.default_rng(0), CPU)
    return ProblemLearner(problem, settings, network, Optimiser(network, 1e-3))


def test_an_empty_device_is_one_choice_with_all_that_are_alike() -> None:
    classes = np.array([0, 0, 0, 1], np.int32)
    allowed = np.ones((4, 4), bool)
    allowed[1, 2] = False
    orders, actions = np.array([[0, 1, 2, 3]], np.int32), np.array([[1, 0, 1, 3]], np.int32)
    choices = equal_choices(classes, allowed, orders, actions)
    expected = [
        [1, 1, 1, 0],  # three alike, all empty
        [1, 0, 0, 0],  # of the two that are left, one is closed to this group
        [0, 1, 0, 0],  # used before
        [0, 0, 0, 1],  # the only one of its class
    ]
    assert choices[0].astype(int).tolist() == expected


def test_the_loss_is_of_the_probability_of_the_set() -> None:
    probabilities = torch.tensor([[[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]]])
    choices = torch.tensor([[[True, True, False], [False, False, True]]])
    expected = -np.log([0.8, 0.2])
    assert imitation_loss(probabilities.log(), choices)[0].tolist() == pytest.approx(expected.tolist(), abs=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_teacher_keeps_to_pins_and_memory(seed: int) -> None:
    problem = small_problem(seed, ops=9, devices=3, pins=True)
    placement, used = taught_placement(problem, Budget(300), np.random.default_rng(0), lambda: False)
    assert problem.respects(placement[None, :])[0] and 0 < used <= 300
    assert problem.feasible(problem.simulator.evaluate(placement[None, :]))[0]
    one_device = np.argmax(problem.allowed, axis=1).astype(np.int32)
    times = problem.simulator.evaluate(np.stack([placement, one_device])).step_time_us
    assert times[0] <= times[1]


def test_one_evaluation_is_enough_for_the_teacher() -> None:
    placement, used = taught_placement(small_problem(1), Budget(1), np.random.default_rng(0), lambda: False)
    assert used == 1 and len(placement) == 7


def test_the_teacher_is_behind_no_list_schedule_of_a_training_step() -> None:
    """It starts from the same readings: ops, groups, and their phases."""
    once = small_problem(4, ops=30)
    names = tuple(f"gradients/op_{op}_grad/g" if op >= 20 else f"op_{op}" for op in range(30))
    group_of_op = (np.minimum(np.arange(30), 39 - np.arange(30)) // 2).astype(np.int32)  # a gradient with its op
    problem = PlacementProblem(
        dataclasses.replace(once.graph, op_names=names),
        once.costs,
        dataclasses.replace(once.grouping, names=("",) * 10, group_of_op=group_of_op),
        once.cluster,
        np.ones((10, once.device_count), dtype=bool),
        RunContext.of(Budget(100)),
    )
    Heft().place(problem, np.random.default_rng(0), lambda: False)
    assert problem.ledger.used == 3
    placement, used = taught_placement(problem, Budget(4), np.random.default_rng(0), lambda: False)
    assert used == 4
    assert problem.simulator.evaluate(placement[None, :]).step_time_us[0] <= problem.ledger.best_time_us


def test_imitation_learns_two_chains_whatever_the_devices_are_called() -> None:
    problem = two_chains()
    learner, rng = bound(problem), np.random.default_rng(1)
    chains = np.arange(problem.group_count, dtype=np.int32) % 2
    losses = []
    for step in range(60):
        learner.teach(chains if step % 2 else 1 - chains)
        losses.append(learner.imitate(("topological", "random_topological"), 1e-2, rng))
    assert losses[0] > 0.1 and losses[-1] < 0.02


def test_exploring_keeps_the_best_and_counts_evaluations() -> None:
    learner, rng = bound(two_chains()), np.random.default_rng(1)
    learner.teach(np.zeros(10, np.int32))
    before = learner.best_value
    assert [learner.explore("topological", 0.0, rng) for _ in range(3)] == [16, 16, 16]
    assert learner.best_value < before and learner.gap is not None and learner.gap >= 0
    assert learner.problem.ledger.used == 0  # a training may be longer than any budget


def test_late_batches_draw_a_share_of_their_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_chains(length=20)
    learner, rng = bound(problem), np.random.default_rng(1)
    learner.teach(np.zeros(problem.group_count, np.int32))
    drawn: list[float] = []
    sample = learner.actor.sample

    def looked(plan: EpisodePlan, raise_if_over: RaiseIfOver) -> SampledEpisodes:
        assert plan.greedy[0].all() or not plan.greedy.any()
        drawn.append(1.0 - float(plan.greedy[1:].mean()))
        return sample(plan, raise_if_over)

    monkeypatch.setattr(learner.actor, "sample", looked)
    for share in (1.0, 0.5, 0.0):
        learner.explore("topological", 0.0, rng, share)
    assert drawn[0] == 1.0 and 0.4 < drawn[1] < 0.6 and drawn[2] == 0.0


def test_advantages_are_free_of_the_graphs_own_scale() -> None:
    values = np.array([1.0, 1.1, 0.9, 1.3])
    advantages = batch_advantages(values)
    assert advantages == pytest.approx(batch_advantages(1000 * values))
    assert advantages.sum() == pytest.approx(0.0, abs=1e-9) and advantages.argmax() == 2
    assert batch_advantages(np.ones(5)) == pytest.approx(np.zeros(5))
