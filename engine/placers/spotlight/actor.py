"""Spotlight's policy: decides a placement stage by stage, one stage a group, each after all stages before it.

A bidirectional LSTM reads the groups in topological order; a second LSTM goes through the stages with the device of the
stage before, attends to the first one's outputs, and gives a softmax over the devices. Trained by PPO with a penalty on
the divergence from the policy that sampled.
Source: Gao, Chen, Li: Spotlight, ICML 2018; Schulman et al. 2017, section 4, for the adapted penalty.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from engine.events import ShouldStop
from engine.placers.post import ADAPT, WEIGHT_RANGE
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.networks.choices import choose, index_tensor, log_probabilities, score_equally
from engine.placeto.seeing.features import GroupGraph, group_features


class StageNetwork(nn.Module):
    """Scores the devices at each stage."""

    def __init__(self, features: int, devices: int, width: int) -> None:
        super().__init__()
        self.encoder = nn.LSTM(features, width, bidirectional=True)
        self.previous = nn.Linear(devices + 1, width)
        """embedding of the device of the stage before, or of no device"""
        self.decoder = nn.LSTM(3 * width, width, batch_first=True)
        self.query = nn.Linear(width, 2 * width)
        self.scores = nn.Linear(3 * width, devices)

    def encode(self, features: Tensor) -> Tensor:
        """Read `features` [groups, features]; returns the encodings [groups, 2 · width]."""
        encoded: Tensor = self.encoder(features)[0]
        return encoded

    def forward(
        self, encoded: Tensor, stages: slice, previous: Tensor, state: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """[batch, stages, devices] scores at `stages`, and the decoder's state after them.

        `previous` is [batch, stages, devices + 1], one-hot.
        """
        here = encoded[stages].expand(previous.shape[0], -1, -1)
        decoded, state_after = self.decoder(torch.cat([here, self.previous(previous)], dim=-1), state)
        attention = torch.softmax(self.query(decoded) @ encoded.T / encoded.shape[1] ** 0.5, dim=-1)
        return self.scores(torch.cat([decoded, attention @ encoded], dim=-1)), state_after


@dataclass(frozen=True, slots=True)
class Ascent:
    """The settings of an update from a batch."""

    steps: int
    learning_rate: float
    kl_aim: float
    """aim for the mean divergence of a stage; the penalty's weight adapts to it"""
    gradient_norm: float
    """the gradient's global norm is clipped to this"""
    exploration: float
    """share of a uniform choice in each stage"""


@dataclass(frozen=True, slots=True)
class Ascended:
    """What an update from a batch was like."""

    divergence: float
    """the resulting mean KL divergence of a stage"""
    entropy: float
    """mean of a stage before the update, in nats"""
    gradient_norm: float | None
    """mean over the steps, before it is clipped; None without a step"""


class StageActor:
    """The network on one graph, and its optimiser."""

    def __init__(self, graph: GroupGraph, rng: np.random.Generator, *, width: int, ascent: Ascent) -> None:
        self._devices, self._ascent = graph.device_count, ascent
        self._features = torch.from_numpy(stage_features(graph))
        self._allowed, self._prior_scores = torch.from_numpy(graph.allowed), torch.from_numpy(graph.prior_scores)
        with torch.device("meta"):
            self._network = StageNetwork(self._features.shape[1], graph.device_count, width)
        _initialise(self._network, width, rng)
        if graph.prior_scores.any():
            score_equally(self._network.scores)
        self._optimiser = Optimiser(self._network, ascent.learning_rate)
        self.kl_weight = 1.0
        """weight of the penalty"""

    def sample(self, count: int, rng: np.random.Generator, should_stop: ShouldStop) -> NDArray[np.int32] | None:
        """Draw placements [count, groups] stage by stage; returns None if a stop is requested meanwhile."""
        groups = len(self._features)
        uniforms, certain = rng.random((groups, count)), np.zeros(count, dtype=np.bool_)
        placements = np.zeros((count, groups), dtype=np.int32)
        previous, state = self._one_hot(np.full((count, 1), self._devices)), None
        with torch.no_grad():
            encoded = self._network.encode(self._features)
            for stage in range(groups):
                if stage % 64 == 63 and should_stop():
                    return None
                scores, state = self._network(encoded, slice(stage, stage + 1), previous, state)
                scores = scores[:, 0] + self._prior_scores[stage]
                logarithms = log_probabilities(scores, self._allowed[stage], self._ascent.exploration).double().numpy()
                placements[:, stage] = choose(logarithms, uniforms[stage], certain)
                previous = self._one_hot(placements[:, stage : stage + 1])
        return placements

    def learn(self, placements: NDArray[np.int32], advantages: NDArray[np.float64]) -> Ascended:
        """Ascend E[Σ_t π(d_t)/π_old(d_t) · A] − w · Σ_t KL(π_old ‖ π), both as means over stages, then adapt w.

        `placements` [batch, groups] were sampled from the present policy, `advantages` is [batch]. Raises SettingsError
        if the gradient is no longer finite.
        """
        chosen = index_tensor(placements, self._features.device)[..., None]
        weights = torch.from_numpy(advantages.astype(np.float32))[:, None]
        with torch.no_grad():
            old = self.logarithms(placements)
            entropy = float(-(old.exp() * old).sum(dim=-1).mean())
        norms = []
        for _ in range(self._ascent.steps):
            new = self.logarithms(placements)
            ratio = (new - old).gather(-1, chosen)[..., 0].exp()
            loss = self.kl_weight * _divergence(old, new) - (ratio * weights).mean()
            norms.append(self._step(loss))
        with torch.no_grad():
            divergence = float(_divergence(old, self.logarithms(placements)))
        self._adapt(divergence)
        return Ascended(divergence, entropy, float(np.mean(norms)) if norms else None)

    def logarithms(self, placements: NDArray[np.int32]) -> Tensor:
        """[batch, groups, devices] log-probabilities at each stage, given the stages before."""
        before = np.concatenate([np.full((len(placements), 1), self._devices), placements[:, :-1]], axis=1)
        encoded = self._network.encode(self._features)
        scores, _ = self._network(encoded, slice(None), self._one_hot(before), None)
        return log_probabilities(scores + self._prior_scores, self._allowed, self._ascent.exploration)

    def _step(self, loss: Tensor) -> float:
        self._optimiser.begin()
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        return self._optimiser.step(self._ascent.learning_rate, self._ascent.gradient_norm)

    def _adapt(self, divergence: float) -> None:
        if divergence > ADAPT * self._ascent.kl_aim:
            self.kl_weight *= 2.0
        elif divergence < self._ascent.kl_aim / ADAPT:
            self.kl_weight /= 2.0
        self.kl_weight = float(np.clip(self.kl_weight, *WEIGHT_RANGE))

    def _one_hot(self, devices: NDArray[np.integer]) -> Tensor:
        """[..., devices + 1] one-hot rows of `devices`; the last column stands for no device."""
        return torch.from_numpy(np.eye(self._devices + 1, dtype=np.float32)[devices])


def stage_features(graph: GroupGraph) -> NDArray[np.float32]:
    """[groups, features] Placeto's features of each group, then its row and column of the adjacency matrix."""
    adjacency = np.zeros((graph.group_count, graph.group_count), dtype=np.float32)
    adjacency[graph.edge_source, graph.edge_target] = 1.0
    return np.concatenate([group_features(graph), adjacency, adjacency.T], axis=1)


def _divergence(old: Tensor, new: Tensor) -> Tensor:
    """The mean over stages of KL(old ‖ new); both are log-probabilities [batch, groups, devices]."""
    return (old.exp() * (old - new)).sum(dim=-1).mean()


def _initialise(network: nn.Module, width: int, rng: np.random.Generator) -> None:
    """Draw every parameter uniformly from ±1/√width, with `rng` and never with torch's global generator."""
    network.to_empty(device="cpu")
    for parameter in network.parameters():
        drawn = rng.uniform(-(width**-0.5), width**-0.5, tuple(parameter.shape)).astype(np.float32)
        parameter.data.copy_(torch.from_numpy(drawn))
