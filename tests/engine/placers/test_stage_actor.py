"""Spotlight's actor: what it samples, what it learns, that no stage sees a later one."""

import numpy as np
import pytest
import torch

from engine.errors import SettingsError
from engine.events import Json
from engine.placers.registry import make_placer
from engine.placers.spotlight.actor import Ascent, StageActor
from engine.placeto.seeing.features import group_graph
from tests.engine.placers.small_problems import small_problem
from tests.engine.placeto.problems import two_chains

ASCENT = Ascent(steps=4, learning_rate=3e-3, kl_aim=0.03, gradient_norm=1.0, exploration=0.0)


def make_actor(ascent: Ascent = ASCENT) -> StageActor:
    graph = group_graph(small_problem(1, devices=2, pins=True))
    return StageActor(graph, np.random.default_rng(0), width=8, ascent=ascent)


def sample(actor: StageActor, count: int, seed: int = 1) -> np.ndarray:
    placements = actor.sample(count, np.random.default_rng(seed), lambda: False)
    assert placements is not None
    return placements


def chosen(actor: StageActor, placements: np.ndarray) -> np.ndarray:
    """[batch, groups] log-probability of each choice."""
    with torch.no_grad():
        logarithms = actor.logarithms(placements).numpy()
    return np.take_along_axis(logarithms, placements[..., None].astype(np.int64), axis=-1)[..., 0]


def test_samples_keep_pins() -> None:
    placements = sample(make_actor(), 200)
    problem = small_problem(1, devices=2, pins=True)
    assert problem.respects(placements).all()
    assert len(np.unique(placements, axis=0)) > 100


def test_stages_sampled_one_by_one_are_scored_alike_all_at_once() -> None:
    """The share of samples at the last stage is what scoring says, given the stages before."""
    actor = make_actor()
    placements = sample(actor, 4000)
    with torch.no_grad():
        probabilities = actor.logarithms(placements).exp().numpy()
    frequencies = np.eye(probabilities.shape[-1])[placements].mean(axis=0)
    assert np.allclose(frequencies, probabilities.mean(axis=0), atol=0.03)
    assert np.allclose(probabilities.sum(axis=-1), 1, atol=1e-5)


def test_no_stage_sees_a_later_decision() -> None:
    actor = make_actor()
    placements = sample(actor, 1)
    other = placements.copy()
    other[0, 4] = 1 - min(1, other[0, 4])
    with torch.no_grad():
        before, after = actor.logarithms(placements).numpy()[0], actor.logarithms(other).numpy()[0]
    assert np.array_equal(before[:5], after[:5])
    assert not np.allclose(before[5], after[5], rtol=0, atol=1e-7)


def test_learning_makes_the_better_placements_likelier() -> None:
    actor = make_actor()
    placements = sample(actor, 16)
    advantages = np.where(np.arange(16) < 8, 1.0, -1.0)
    before = chosen(actor, placements)
    actor.learn(placements, advantages)
    gained = (chosen(actor, placements) - before).sum(axis=1)
    assert gained[:8].mean() > 0 > gained[8:].mean()


def test_a_share_of_a_uniform_choice_keeps_every_stage_open() -> None:
    """However one-sided the advantages, no device falls below its share of the exploration."""
    least = []
    for exploration in (0.0, 0.2):
        actor = make_actor(Ascent(4, 0.1, 100.0, 1.0, exploration=exploration))
        for _ in range(30):
            placements = sample(actor, 16)
            actor.learn(placements, (placements.mean(axis=1) - 0.5) * 4)
        with torch.no_grad():
            open_stages = actor.logarithms(placements).exp().numpy()[:, 2:]
        least.append(open_stages.min())
    assert least[0] < 0.05 and least[1] >= 0.2 / 3 - 1e-6


def test_a_heavier_penalty_keeps_the_policy_closer() -> None:
    moved = []
    for weight in (0.1, 100.0):
        actor = make_actor()
        actor.kl_weight = weight
        placements = sample(actor, 16)
        moved.append(actor.learn(placements, np.where(np.arange(16) < 8, 1.0, -1.0)).divergence)
    assert moved[0] > moved[1] > 0


@pytest.mark.parametrize(("aim", "expected"), [(1e-9, 2.0), (1e3, 0.5)])
def test_the_weight_of_the_penalty_is_doubled_or_halved(aim: float, expected: float) -> None:
    actor = make_actor(Ascent(steps=2, learning_rate=3e-3, kl_aim=aim, gradient_norm=1.0, exploration=0.0))
    actor.learn(sample(actor, 8), np.array([1.0, -1.0] * 4))
    assert actor.kl_weight == expected


def test_sampling_ends_when_it_is_time() -> None:
    graph = group_graph(small_problem(1, ops=70, devices=2))
    actor = StageActor(graph, np.random.default_rng(0), width=4, ascent=ASCENT)
    assert actor.sample(2, np.random.default_rng(0), lambda: True) is None
    assert actor.sample(2, np.random.default_rng(0), lambda: False) is not None


def test_a_gradient_that_is_not_finite_is_reported() -> None:
    actor = make_actor()
    with pytest.raises(SettingsError, match="the training diverged: its gradient is not finite"):
        actor.learn(sample(actor, 2), np.array([np.inf, -1.0]))


def test_spotlight_separates_two_chains() -> None:
    problem = two_chains(length=3, evaluations=1000)
    make_placer("spotlight", {"width": 16}).place(problem, np.random.default_rng(0), lambda: False)
    placement = problem.ledger.answer()
    assert len(set(placement[::2])) == len(set(placement[1::2])) == 1 and placement[0] != placement[1]


def test_it_leaves_the_global_state_of_torch_alone() -> None:
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    problem = small_problem(1, evaluations=2)
    make_placer("spotlight", {"torch_threads": 2}).place(problem, np.random.default_rng(0), lambda: False)
    assert torch.equal(state, torch.get_rng_state()) and torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 1}, "spotlight samples: 1; allowed: an integer from 2 to 4096"),
        ({"learning_rate": 0}, "spotlight learning_rate: 0; allowed: a number from 1e-09 to 1"),
        ({"torch_threads": True}, "spotlight torch_threads: True; allowed: an integer from 1 to 256"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Json], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_placer("spotlight", settings)
    assert str(caught.value) == message


def test_too_many_groups_are_refused_before_anything_is_evaluated() -> None:
    problem = small_problem(1, ops=1025)
    with pytest.raises(SettingsError) as caught:
        make_placer("spotlight", {}).place(problem, np.random.default_rng(0), lambda: False)
    assert str(caught.value) == "groups: 1025 groups; allowed: at most 1024 for spotlight"
    assert problem.ledger.used == 0
