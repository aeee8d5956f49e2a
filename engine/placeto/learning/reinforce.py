"""REINFORCE: θ ← θ + η Σ_t ∇ log π(a_t | s_t) (G_t − b_t), with entropy bonus, clipped gradient and falling rates.

With more than one epoch a batch, the later ones weigh a decision by the ratio of its present to its first probability,
clipped as in PPO (Schulman et al. 2017, section 3). One epoch is plain REINFORCE.
Source: Addanki et al. 2019, section 2 and published code.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.placeto.episodes import Episodes
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.networks.actor import Actor, ScoredDecisions
from engine.placeto.networks.choices import index_tensor
from engine.placeto.settings import PlacetoSettings
from engine.settings import learners


def falling(start: float, end: float, progress: float) -> float:
    """The value at `progress` of a linear change from `start` at 0 to `end` at 1."""
    return start + (end - start) * min(1.0, progress)


@dataclass(frozen=True, slots=True)
class UpdateNumbers:
    """What an update from a batch was like."""

    entropy: float
    """mean of a decision that counts, in nats, before the update"""
    gradient_norm: float
    """mean over the epochs, before it is clipped"""
    learning_rate: float


class Reinforce:
    """Trains one actor on its episodes."""

    def __init__(self, actor: Actor, settings: PlacetoSettings, optimiser: Optimiser) -> None:
        """`optimiser` is that of the actor's network, which several problems may share."""
        self._actor, self._settings, self._optimiser = actor, settings, optimiser

    def update(
        self, episodes: Episodes, advantages: NDArray[np.float64], progress: float, raise_if_over: RaiseIfOver
    ) -> UpdateNumbers:
        """Learn from a batch and its `advantages` [batch, steps]; greedy steps do not count.

        `progress` in [0, 1] is the spent share of the budget. Raises SettingsError if the gradient is not finite.
        """
        settings = self._settings
        falling_rate = falling(settings.learning_rate, settings.learning_rate_end, progress)
        learning_rate = learners.learning_rate(falling_rate, is_frozen=settings.frozen)
        batch = BatchLoss(
            episodes,
            advantages,
            falling(settings.entropy_weight, settings.entropy_weight_end, progress),
            settings,
            self._actor.torch_device,
        )
        norms = []
        for _ in range(settings.epochs):
            self._optimiser.begin()
            for part in self._actor.score(episodes, raise_if_over, drawn_alone=True):
                batch.loss(part).backward()  # type: ignore[no-untyped-call]  # torch's own
            norms.append(self._optimiser.step(learning_rate, settings.gradient_norm))
            batch.close_epoch()
        return UpdateNumbers(batch.entropy, float(np.mean(norms)), learning_rate)


class BatchLoss:
    """The loss of a batch, part by part, over the epochs."""

    def __init__(
        self,
        episodes: Episodes,
        advantages: NDArray[np.float64],
        entropy_weight: float,
        settings: PlacetoSettings,
        torch_device: torch.device,
    ) -> None:
        counts = ~episodes.plan.greedy
        self._actions = index_tensor(episodes.actions, torch_device)
        self._advantages = torch.from_numpy(advantages.astype(np.float32)).to(torch_device)
        self._counts = torch.from_numpy(counts.astype(np.float32)).to(torch_device)
        self._counted = max(1, int(counts.sum()))
        self._entropy_sum = 0.0
        self._divisor = self._counted if not settings.sum_over_decisions else 1
        """divisor of the sum over the decisions"""
        self._entropy_weight, self._ratio_clip = entropy_weight, settings.ratio_clip
        self._first_epoch = True
        self._sampled = torch.zeros_like(self._advantages)
        """[batch, steps] log-probabilities of the actions when they were sampled"""

    @property
    def entropy(self) -> float:
        """The mean entropy of a decision that counts, when it was sampled; in nats."""
        return self._entropy_sum / self._counted

    def close_epoch(self) -> None:
        """End the epoch: later epochs use ratios to the first epoch's probabilities."""
        self._first_epoch = False

    def loss(self, part: ScoredDecisions) -> Tensor:
        """Minus the gain and the entropy bonus of `part`, as a share of the batch's mean or sum."""
        logarithms, where = part.log_probabilities, (part.episodes, part.steps)
        chosen = logarithms.gather(-1, self._actions[where][..., None])[..., 0]
        advantages = self._advantages[where]
        if self._first_epoch:
            self._sampled[where] = chosen.detach()
            gain = chosen * advantages
        else:
            ratio = (chosen - self._sampled[where]).exp()
            clipped = ratio.clamp(1.0 - self._ratio_clip, 1.0 + self._ratio_clip)
            gain = torch.minimum(ratio * advantages, clipped * advantages)
        entropy = -(logarithms.exp() * logarithms).sum(dim=-1)
        if self._first_epoch:
            self._entropy_sum += float((entropy.detach() * self._counts[where]).sum())
        weighted = (gain + self._entropy_weight * entropy) * self._counts[where]
        return -weighted.sum() / self._divisor
