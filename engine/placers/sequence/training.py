"""REINFORCE on √(step time) with a moving-average baseline: draws, evaluates and learns batch by batch.

Source: Mirhoseini et al. 2017, section 3.1, and the authors' public code.
"""

import dataclasses
from collections.abc import Mapping
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.events import Json, ShouldStop
from engine.files.tensor_file import pack_tensors, unpack_tensors
from engine.placers.sequence.model import Sampled, SequenceModel
from engine.placers.sequence.settings import RnnSettings
from engine.placeto.interruption import InterruptedTrainingError, make_raise_if_over
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.learning.reinforce import falling
from engine.placeto.learning.rewards import US_PER_SECOND
from engine.placeto.learning.saved_states import STATE, network_arrays, require_same_settings, restore_network
from engine.placeto.seeing.features import fastest_device_placement, group_graph
from engine.placeto.torch_threads import torch_threads
from engine.problem import PlacementProblem
from engine.problem.learning import Learned
from engine.settings import learners

SPREAD_FLOOR = 0.01
"""least root mean square by which advantages are divided, in units of the reward √t: without it the last small
differences would push a policy that has almost settled as hard as the first ones"""
STATE_VERSION = 1
MOST_STATE_WEIGHTS = 10_000_000
"""networks with more weights save no state: with Adam's moments it would have more than 120 MB (paper: 4 million)"""


class MovingAverage:
    """A moving average of costs: b ← decay · b + (1 − decay) · mean cost of the batch."""

    def __init__(self, decay: float, start: float | None) -> None:
        self._decay, self.value = decay, start

    def differences(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """[batch] `costs` minus the average, or minus their own mean before the first batch was added."""
        return costs - (costs.mean() if self.value is None else self.value)

    def add(self, costs: NDArray[np.float64]) -> None:
        mean = float(costs.mean())
        self.value = mean if self.value is None else self._decay * self.value + (1.0 - self._decay) * mean


def normalised(advantages: NDArray[np.float64]) -> NDArray[np.float64]:
    """[batch] `advantages` divided by their root mean square, by `SPREAD_FLOOR` where that is less."""
    return advantages / max(float(np.sqrt(np.square(advantages).mean())), SPREAD_FLOOR)


class SequenceTraining:
    """One training of one model, run once from its first weights or, after `restore`, from a saved state."""

    def __init__(
        self,
        problem: PlacementProblem,
        model: SequenceModel,
        settings: RnnSettings,
        rng: np.random.Generator,
        should_stop: ShouldStop,
        optimiser: Optimiser | None = None,
    ) -> None:
        """A training with its own Adam, or with the `optimiser` of all models that share a network."""
        self._problem, self._model, self._settings, self._rng = problem, model, settings, rng
        self._should_stop = should_stop
        self._graph = group_graph(problem)
        self._raise_if_over = make_raise_if_over(problem, should_stop)
        self._unit_us = US_PER_SECOND if settings.reward_unit == "second" else self._graph.reference_us
        failed = settings.failed_time**0.5
        self._baseline = MovingAverage(settings.baseline_decay, failed if settings.baseline_starts_failed else None)
        self._optimiser = optimiser or Optimiser(model.network, settings.learning_rate)
        self._updates = 0
        weights = sum(parameter.numel() for parameter in model.network.parameters())
        self._saves = weights <= MOST_STATE_WEIGHTS

    def run(self) -> None:
        """Train until the ledger is spent or a stop is requested, but evaluate at least one placement."""
        with torch_threads(self._settings.torch_threads):
            try:
                while not self._problem.context.is_over(self._should_stop):
                    self.run_batch()
                    if self._saves:
                        self._problem.context.save(self.state, self._settings.checkpoint_seconds)
            except InterruptedTrainingError:
                if self._problem.ledger.used == 0:
                    self._problem.evaluate_episodes(fastest_device_placement(self._graph)[None, :])

    def run_batch(self) -> None:
        """Draw a batch, evaluate it and, unless it spent the budget, learn from it."""
        settings = self._settings
        batch = min(settings.batch_episodes, self._problem.ledger.remaining)
        noisy = settings.noise > 0 and self._updates <= settings.noise_updates
        sampled = self._model.sample(batch, noisy, self._rng, self._raise_if_over)
        evaluations = self._problem.evaluate_episodes(sampled.placements)
        if not self._problem.ledger.spent:
            self._learn(sampled, evaluations.step_time_us, self._problem.feasible(evaluations))

    def _learn(self, sampled: Sampled, step_time_us: NDArray[np.float64], feasible: NDArray[np.bool_]) -> None:
        settings = self._settings
        costs = np.sqrt(np.where(feasible, step_time_us / self._unit_us, settings.failed_time))
        counts = feasible | (self._updates < settings.learn_failed_updates)
        if counts.any():
            differences = self._baseline.differences(costs)
            expected = float((costs - differences).mean())
            advantages = np.where(counts, differences, 0.0)
            if settings.normalise_advantages:
                advantages = normalised(advantages)
            self._baseline.add(costs[counts])
            entropy, gradient_norm = self._update(sampled, advantages / counts.sum())
            self._problem.context.learned(
                Learned(
                    mean_return=-float(costs[counts].mean()),
                    return_baseline=-expected,
                    entropy=entropy,
                    gradient_norm=gradient_norm,
                    learning_rate=learning_rate(settings, self._updates),
                )
            )
        self._updates += 1

    def _update(self, sampled: Sampled, weights: NDArray[np.float64]) -> tuple[float, float]:
        """Take one descent step on Σ weights · log-probability − entropy bonus; returns entropy and gradient norm.

        Raises SettingsError for a gradient that is not finite.
        """
        self._optimiser.begin()
        logarithms, entropy = self._model.log_probability(sampled)
        self._raise_if_over()
        weight_of_row = torch.from_numpy(weights.astype(np.float32)).to(logarithms.device)
        settings = self._settings
        bonus = falling(settings.entropy_weight, settings.entropy_weight_end, self._problem.ledger.share_spent)
        loss: Tensor = (logarithms * weight_of_row).sum() - bonus * entropy
        loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        norm = self._optimiser.step(learning_rate(self._settings, self._updates), self._settings.gradient_norm)
        return float(entropy.detach()), norm

    def state(self) -> bytes:
        """Everything that the next batch depends on, except the problem and its ledger, as bytes."""
        texts: dict[str, Json] = {
            "version": STATE_VERSION,
            "settings": dataclasses.asdict(self._settings),
            "rng": cast(Json, self._rng.bit_generator.state),
            "baseline": self._baseline.value,
            "updates": self._updates,
            "episodes": self._problem.context.reporter.episodes,
            "learning": self._problem.context.reporter.learning.state(),
        }
        return pack_tensors(network_arrays(self._model.network, self._optimiser), texts)

    def restore(self, state: bytes) -> None:
        """Continue from `state`. Raises SettingsError if it was made with other settings."""
        arrays, texts = unpack_tensors(state, STATE)
        require_same_settings(texts, STATE_VERSION, self._settings)
        restore_network(arrays, self._model.network, self._optimiser)
        self._rng.bit_generator.state = cast(Mapping[str, object], texts["rng"])
        self._baseline.value = cast(float | None, texts["baseline"])
        self._updates, reporter = cast(int, texts["updates"]), self._problem.context.reporter
        reporter.episodes = cast(int, texts["episodes"])
        reporter.learning.restore(cast(Mapping[str, Json], texts["learning"]))


def learning_rate(settings: RnnSettings, updates: int) -> float:
    """The learning rate of the update after `updates`: constant, then falling in steps; 0 where it is frozen."""
    late = max(0, updates - settings.decay_start_updates)
    rate = settings.learning_rate * settings.learning_rate_decay ** (late // settings.decay_every_updates)
    return learners.learning_rate(rate, is_frozen=settings.frozen)
