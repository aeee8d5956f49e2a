"""The interface between training and a network that is bound to one problem."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.placeto.episodes import EpisodePlan, Episodes
from engine.placeto.interruption import RaiseIfOver


@dataclass(frozen=True, slots=True)
class ScoredDecisions:
    """Log-probabilities of a part of a batch's decisions, with their gradient."""

    log_probabilities: Tensor
    """[episodes, steps, devices]"""
    episodes: slice
    steps: slice


class Actor(ABC):
    """A network on one problem. Sampling and scoring use the same weights until the optimiser changes them."""

    network: nn.Module
    torch_device: torch.device

    @abstractmethod
    def sample(self, plan: EpisodePlan, raise_if_over: RaiseIfOver) -> Episodes:
        """Decide the episodes of `plan`, without gradients."""

    @abstractmethod
    def score(
        self, episodes: Episodes, raise_if_over: RaiseIfOver, *, drawn_alone: bool = False
    ) -> Iterator[ScoredDecisions]:
        """Score all decisions again, with gradients, part by part. `drawn_alone`: greedy ones need not be scored.

        The caller must call backward on each part before it takes the next, and must take all parts.
        """

    @abstractmethod
    def forget(self) -> None:
        """Free what a batch has left behind; graphs whose batches take turns would each hold it."""
