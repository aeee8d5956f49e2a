"""REINFORCE against sums done by hand, on a policy of one number a device: whatever the state, the same softmax."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from engine.placeto.episodes import EpisodePlan, Episodes
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.learning.reinforce import Reinforce, falling
from engine.placeto.networks.actor import Actor, ScoredDecisions
from engine.placeto.settings import PlacetoSettings, make_settings

SCORES = [0.3, -0.2, 0.9]
ACTIONS = [[0, 1, 2, 2], [1, 1, 0, 2]]
ADVANTAGES = np.array([[1.0, -2.0, 0.5, 3.0], [0.25, 1.0, -1.0, 2.0]])


def reinforce_of(actor: "OneSoftmax", settings: PlacetoSettings) -> Reinforce:
    return Reinforce(actor, settings, Optimiser(actor.network, settings.learning_rate))


class OneSoftmax(Actor):
    """Scores every decision alike; in parts of one step, so that parts must add up."""

    def __init__(self) -> None:
        self.torch_device = torch.device("cpu")
        self._scores = nn.Parameter(torch.tensor(SCORES, dtype=torch.float32))
        self.network = nn.ParameterDict({"scores": self._scores})

    def sample(self, plan: EpisodePlan, raise_if_over: RaiseIfOver) -> Episodes:
        raise AssertionError(f"nothing is decided here: {plan}, {raise_if_over}")

    def score(
        self,
        episodes: Episodes,
        raise_if_over: RaiseIfOver,
        *,
        drawn_alone: bool = False,  # noqa: ARG002  # it scores all
    ) -> Iterator[ScoredDecisions]:
        for step in range(episodes.plan.steps):
            raise_if_over()
            logarithms = torch.log_softmax(self._scores, dim=0)
            whole = slice(0, episodes.plan.batch)
            yield ScoredDecisions(logarithms.expand(episodes.plan.batch, 1, 3), whole, slice(step, step + 1))

    def forget(self) -> None:
        """Nothing."""


def episodes(*, greedy: tuple[bool, bool] = (False, False)) -> Episodes:
    orders = np.tile(np.arange(4, dtype=np.int32), (2, 1))
    steps = np.repeat(np.array(greedy)[:, None], 4, axis=1)
    plan = EpisodePlan(np.zeros((2, 4), np.int32), orders, np.zeros((2, 4)), steps, 0.0)
    return Episodes(plan, np.array(ACTIONS, dtype=np.int32))


def gradient(monkeypatch: pytest.MonkeyPatch, given: Episodes, **settings: Any) -> NDArray[np.float64]:
    """[devices] what the optimiser gets of one update, uphill."""
    seen = []

    def look(optimiser: torch.optim.Optimizer, *_: object, **__: object) -> None:
        (group,) = optimiser.param_groups
        seen.append(-group["params"][0].grad.numpy().astype(np.float64))

    monkeypatch.setattr(torch.optim.Adam, "step", look)
    made = make_settings({"preset": "paper", "entropy_weight": 0.0, "gradient_norm": 1e6, **settings})
    reinforce_of(OneSoftmax(), made).update(given, ADVANTAGES, 0.0, lambda: None)
    return np.array(seen[-1])


def by_hand(rows: list[int]) -> NDArray[np.float64]:
    """[devices] Σ_t A_t ∇ log π(a_t) over the episodes `rows`."""
    probabilities = np.exp(SCORES) / np.exp(SCORES).sum()
    steps = [(action, ADVANTAGES[row, step]) for row in rows for step, action in enumerate(ACTIONS[row])]
    pushes = [(np.eye(3)[action] - probabilities) * advantage for action, advantage in steps]
    return np.asarray(np.sum(pushes, axis=0), dtype=np.float64)


def test_the_gradient_is_the_sum_over_the_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert gradient(monkeypatch, episodes()) == pytest.approx(by_hand([0, 1]), abs=1e-5)


def test_or_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    found = gradient(monkeypatch, episodes(), sum_over_decisions=False)
    assert found == pytest.approx(by_hand([0, 1]) / 8, abs=1e-6)


def test_greedy_episodes_teach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = gradient(monkeypatch, episodes(greedy=(True, False)), sum_over_decisions=False)
    assert found == pytest.approx(by_hand([1]) / 4, abs=1e-6)


def test_the_entropy_bonus_adds_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    probabilities = np.exp(SCORES) / np.exp(SCORES).sum()
    entropy = -(probabilities * np.log(probabilities)).sum()
    of_entropy = -probabilities * (np.log(probabilities) + entropy)
    found = gradient(monkeypatch, episodes(), entropy_weight=0.5)
    assert found == pytest.approx(by_hand([0, 1]) + 8 * 0.5 * of_entropy, abs=1e-5)


def test_the_gradient_s_norm_is_clipped_as_published(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = by_hand([0, 1])
    assert np.linalg.norm(expected) > 1.25
    found = gradient(monkeypatch, episodes(), gradient_norm=1.25)
    assert found == pytest.approx(expected * 1.25 / np.linalg.norm(expected), abs=1e-5)


def test_greedy_steps_teach_nothing_and_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    given = episodes()
    given.plan.greedy[:] = [[False, True, True, False], [True, True, False, True]]
    pushes = []
    for row, step in ((0, 0), (0, 3), (1, 2)):
        alone = episodes()
        alone.plan.greedy[:] = True
        alone.plan.greedy[row, step] = False
        pushes.append(gradient(monkeypatch, alone))
    assert gradient(monkeypatch, given) == pytest.approx(np.sum(pushes, axis=0), abs=1e-6)
    assert np.abs(pushes).max() > 0.1
    mean = gradient(monkeypatch, given, sum_over_decisions=False)
    assert mean == pytest.approx(np.sum(pushes, axis=0) / 3, abs=1e-6)


def test_a_later_epoch_drops_decisions_that_have_moved_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two epochs device 2 becomes far likelier: what it has gained by is not pushed any further."""
    gradients = []

    def move(optimiser: torch.optim.Optimizer, *_: object, **__: object) -> None:
        (group,) = optimiser.param_groups
        gradients.append(-group["params"][0].grad.numpy().astype(np.float64))
        with torch.no_grad():
            group["params"][0][2] += 1.0

    monkeypatch.setattr(torch.optim.Adam, "step", move)
    made = make_settings(
        {"preset": "paper", "entropy_weight": 0.0, "gradient_norm": 1e6, "epochs": 2, "ratio_clip": 0.2}
    )
    reinforce_of(OneSoftmax(), made).update(episodes(), ADVANTAGES, 0.0, lambda: None)
    before, after = (np.exp(scores) / np.exp(scores).sum() for scores in (np.array(SCORES), np.array([0.3, -0.2, 1.9])))
    expected = np.zeros(3)
    for row in range(2):
        for step, action in enumerate(ACTIONS[row]):
            ratio, advantage = after[action] / before[action], ADVANTAGES[row, step]
            if (advantage > 0 and ratio < 1.2) or (advantage < 0 and ratio > 0.8):
                expected += ratio * advantage * (np.eye(3)[action] - after)
    assert gradients[0] == pytest.approx(by_hand([0, 1]), abs=1e-5)
    assert gradients[1] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("progress", "rate"), [(0.0, 1e-3), (0.5, 5.5e-4), (1.0, 1e-4), (1.5, 1e-4)])
def test_the_learning_rate_falls_linearly(progress: float, rate: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[float] = []

    def look(optimiser: torch.optim.Optimizer, *_: object, **__: object) -> None:
        rates.extend(group["lr"] for group in optimiser.param_groups)

    monkeypatch.setattr(torch.optim.Adam, "step", look)
    made = make_settings({"preset": "paper"})
    reinforce_of(OneSoftmax(), made).update(episodes(), ADVANTAGES, progress, lambda: None)
    assert rates == pytest.approx([rate])


def test_what_falls_ends_at_its_end() -> None:
    assert [falling(1.0, 0.0, progress) for progress in (0.0, 0.25, 1.0, 2.0)] == [1.0, 0.75, 0.0, 0.0]
