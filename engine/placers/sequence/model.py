"""The models that training works on: they draw placements and give their probabilities with a gradient."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.errors import SettingsError
from engine.placers.sequence.network import Draws, SequenceNetwork, group_contents, group_embedding, initialise
from engine.placers.sequence.settings import RnnSettings
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.networks.choices import score_equally, torch_device_of
from engine.problem import PlacementProblem
from engine.problem.trivial import prior_scores
from engine.settings.learners import BEST_TRIVIAL

MOST_GROUPS = 4096
"""each group takes one decoding step that attends to all groups"""


@dataclass(frozen=True, slots=True)
class Sampled:
    """A batch of placements and the choices that led to them."""

    placements: NDArray[np.int32]
    """[batch, groups]"""
    choices: tuple[Tensor, ...]
    """each [batch, choices], in the order in which the model makes them"""
    noises: tuple[Tensor | None, ...]
    """the noise of each of `choices`"""


class SequenceModel(ABC):
    """A network on one problem."""

    network: nn.Module

    @abstractmethod
    def sample(self, batch: int, noisy: bool, rng: np.random.Generator, raise_if_over: RaiseIfOver) -> Sampled:
        """Draw `batch` placements, without gradients; all randomness comes from `rng`."""

    @abstractmethod
    def log_probability(self, sampled: Sampled) -> tuple[Tensor, Tensor]:
        """([batch] log-probability of all choices, [] mean entropy of the choices, a group), with gradients."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The inputs that a network for several graphs has in common for all of them."""

    types: tuple[str, ...]
    """op types; others are ignored"""
    most_groups: int


class RnnModel(SequenceModel):
    """Decides a device for one group after the other, in topological order."""

    def __init__(
        self,
        problem: PlacementProblem,
        settings: RnnSettings,
        rng: np.random.Generator,
        vocabulary: Vocabulary | None = None,
        shared: SequenceNetwork | None = None,
    ) -> None:
        """A model with fresh weights from `rng`, or with the network `shared` of another model of the vocabulary."""
        check_size(problem.group_count)
        self._device = torch_device_of(settings.torch_device)
        if vocabulary is None:
            inputs = group_embedding(group_contents(problem))
        else:
            inputs = group_embedding(group_contents(problem, vocabulary.types), vocabulary.most_groups)
        if shared is None:
            with torch.device("meta"):
                shared = SequenceNetwork(inputs.shape[1], problem.device_count, settings)
            initialise(shared, rng, self._device)
            if settings.prior == BEST_TRIVIAL:
                score_equally(shared.scores)
        self.network: SequenceNetwork = shared
        self._inputs = torch.from_numpy(inputs).to(self._device)[None]
        self._allowed = torch.from_numpy(problem.allowed).to(self._device)
        self._prior_scores = torch.from_numpy(prior_scores(problem, settings.prior)).float().to(self._device)

    def sample(self, batch: int, noisy: bool, rng: np.random.Generator, raise_if_over: RaiseIfOver) -> Sampled:
        draws = draw(batch, *self._allowed.shape, noisy=noisy, rng=rng, torch_device=self._device)
        with torch.no_grad():
            encoded = self.network.encode(self._inputs)
            chosen = self.network.sample(encoded, self._allowed, draws, raise_if_over, prior_scores=self._prior_scores)
        return Sampled(chosen.cpu().numpy().astype(np.int32), (chosen,), (draws.noise,))

    def greedy_and_sampled(
        self, samples: int, rng: np.random.Generator, raise_if_over: RaiseIfOver
    ) -> NDArray[np.int32]:
        """[1 + samples, groups] the placement of the most probable devices, then `samples` drawn placements."""
        draws = draw(1 + samples, *self._allowed.shape, noisy=False, rng=rng, torch_device=self._device)
        with torch.no_grad():
            encoded = self.network.encode(self._inputs)
            chosen = self.network.sample(
                encoded, self._allowed, draws, raise_if_over, greedy=True, prior_scores=self._prior_scores
            )
        return chosen.cpu().numpy().astype(np.int32)

    def log_probability(self, sampled: Sampled) -> tuple[Tensor, Tensor]:
        encoded = self.network.encode(self._inputs)
        logarithms, entropies = self.network.log_probability(
            encoded, self._allowed, sampled.noises[0], sampled.choices[0], self._prior_scores
        )
        return logarithms, entropies.mean()


def check_size(groups: int) -> None:
    """Raise SettingsError for more groups than a sequence may have."""
    if groups > MOST_GROUPS:
        allowed = f"at most {MOST_GROUPS} groups; merge groups"
        raise SettingsError(f"a sequence of {groups} groups", where="groups", allowed=allowed, field="groups")


def draw(
    batch: int, choices: int, options: int, *, noisy: bool, rng: np.random.Generator, torch_device: torch.device
) -> Draws:
    """Draw the random numbers for `batch` times `choices` choices among `options`."""
    uniforms = torch.from_numpy(rng.random((batch, choices)))
    if not noisy:
        return Draws(uniforms, None)
    noise = rng.standard_normal((batch, choices, options)).astype(np.float32)
    return Draws(uniforms, torch.from_numpy(noise).to(torch_device))
