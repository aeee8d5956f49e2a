"""What training needs of a policy, whatever its network."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.placeto.episodes import EpisodePlan, Episodes
from engine.placeto.interruption import RaiseIfOver


@dataclass(frozen=True, slots=True)
class ScoredDecisions:
    """Log-probabilities of some decisions of a batch, with their gradient."""

    log_probabilities: Tensor
    """[episodes, steps, devices] of this part"""
    episodes: slice
    steps: slice


class Actor(ABC):
    """A network on one problem. Sampling and scoring see the same weights until the optimiser changes them."""

    network: nn.Module
    torch_device: torch.device

    @abstractmethod
    def sample(self, plan: EpisodePlan, raise_if_over: RaiseIfOver) -> Episodes:
        """Decide the episodes of `plan`; without gradients."""

    @abstractmethod
    def score(self, episodes: Episodes, raise_if_over: RaiseIfOver) -> Iterator[ScoredDecisions]:
        """Score all decisions again, with gradients, part by part.

        Whoever takes a part must have called backward on it before taking the next, and must take all of them.
        """
