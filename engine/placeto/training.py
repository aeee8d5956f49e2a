"""Placeto's run on one problem: batches of episodes within its budget, from which a network learns."""

import dataclasses
from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.events import Json, ShouldStop
from engine.files.tensor_file import pack_tensors, under, unpack_tensors
from engine.placeto.interruption import InterruptedTrainingError, make_raise_if_over
from engine.placeto.kept_policy import MOST_KEPT_BYTES, DecidedEpisode, KeptPolicy
from engine.placeto.learning.evaluation import EvaluatedEpisodes
from engine.placeto.learning.graph_training import GraphTraining, has_greedy_episode
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.learning.saved_states import STATE, network_arrays, require_same_settings, restore_network
from engine.placeto.networks.actor import Actor
from engine.placeto.networks.making import make_network
from engine.placeto.networks.weights import weights_of
from engine.placeto.settings import PlacetoSettings
from engine.placeto.torch_threads import torch_threads
from engine.problem import PlacementProblem
from engine.simulator import Evaluations

STATE_VERSION = 2


class PlacetoTraining:
    """One training, run once from its first weights or, after `restore`, from a saved state."""

    def __init__(
        self,
        problem: PlacementProblem,
        settings: PlacetoSettings,
        rng: np.random.Generator,
        should_stop: ShouldStop,
        weights: Mapping[str, NDArray[np.generic]] | None = None,
    ) -> None:
        """`weights` are the network's first ones; without them they are drawn from `rng`."""
        self._problem, self._settings, self._rng = problem, settings, rng
        self._should_stop = should_stop
        self._network = make_network(settings, problem.device_count, rng, weights)
        self._optimiser = Optimiser(self._network, settings.learning_rate)
        self._raise_if_over = make_raise_if_over(problem, should_stop)
        self._on_graph = GraphTraining(problem, settings, self._network, self._optimiser, self._raise_if_over)
        self._batches = 0
        self._best_episode: DecidedEpisode | None = None
        """the episode with the least ρ' of the training"""

    def begin_from(self, placements: NDArray[np.int32], evaluations: Evaluations) -> None:
        """Begin from the best of `placements` [batch, groups], evaluated as the first episodes, and the ledger's best.

        In every run the ledger has evaluated each single device before.
        """
        answer = self._problem.ledger.answer()[None]
        self._on_graph.begin_from(placements, evaluations)
        self._on_graph.begin_from(answer, self._problem.times_of(answer))

    @property
    def actor(self) -> Actor:
        """The actor in training, with its present weights."""
        return self._on_graph.actor

    def run(self) -> None:
        """Train until the ledger is spent or a stop is requested, but evaluate at least one placement."""
        with torch_threads(self._settings.torch_threads):
            try:
                self._on_graph.begin()
                while not (self._problem.ledger.spent or self._should_stop()):
                    self._run_batch()
                    self._problem.context.save(self.state, self._settings.checkpoint_seconds)
            except InterruptedTrainingError:
                return
            finally:
                self._keep_policy()

    def _keep_policy(self) -> None:
        """Emit what is needed to compute decisions again, unless it is too large."""
        kept = KeptPolicy(self._settings, weights_of(self._network), self._best_episode).to_bytes()
        if len(kept) <= MOST_KEPT_BYTES:
            self._problem.context.keep_policy(kept)

    def _run_batch(self) -> None:
        progress = self._problem.ledger.share_spent
        episodes_before = self._problem.context.reporter.episodes
        outcome = self._on_graph.decide(self._rng, greedy=has_greedy_episode(self._settings, self._batches))
        if self._best_episode is None or outcome.best_end[0] < self._best_episode.value:
            self._best_episode = self._decided(outcome, episodes_before)
        learned = self._on_graph.learn(outcome, progress)
        if learned is not None:
            self._problem.context.learned(learned)
        self._batches += 1

    def _decided(self, outcome: EvaluatedEpisodes, episodes_before: int) -> DecidedEpisode:
        """The best episode of a batch, with the weights that decided it."""
        index, plan = outcome.best_index, outcome.episodes.plan
        return DecidedEpisode(
            number=episodes_before + index + 1,
            value=outcome.best_end[0],
            weights=weights_of(self._network),
            start=plan.starts[index].copy(),
            order=plan.orders[index].copy(),
            actions=outcome.episodes.actions[index].copy(),
            greedy=bool(plan.greedy_episodes[index]),
        )

    def state(self) -> bytes:
        """Everything that the next batch depends on, except the problem and its ledger, as bytes."""
        arrays = network_arrays(self._network, self._optimiser) | self._on_graph.arrays()
        if self._best_episode is not None:
            arrays |= {f"best_episode.{name}": array for name, array in self._best_episode.arrays().items()}
        texts: dict[str, Json] = {
            "version": STATE_VERSION,
            "settings": dataclasses.asdict(self._settings),
            "rng": cast(Json, self._rng.bit_generator.state),
            **self._on_graph.values(),
            "batches": self._batches,
            "episodes": self._problem.context.reporter.episodes,
            "learning": self._problem.context.reporter.learning.state(),
        }
        return pack_tensors(arrays, texts)

    def restore(self, state: bytes) -> None:
        """Continue from `state`. Raises SettingsError if it was made with other settings."""
        arrays, texts = unpack_tensors(state, STATE)
        require_same_settings(texts, STATE_VERSION, self._settings)
        restore_network(arrays, self._network, self._optimiser)
        self._on_graph.restore(arrays, texts)
        self._best_episode = DecidedEpisode.from_arrays(under("best_episode.", arrays))
        self._rng.bit_generator.state = cast(Mapping[str, object], texts["rng"])
        self._batches, reporter = cast(int, texts["batches"]), self._problem.context.reporter
        reporter.episodes = cast(int, texts["episodes"])
        if "learning" in texts:  # states of version 0.1 have none
            reporter.learning.restore(cast(Mapping[str, Json], texts["learning"]))
