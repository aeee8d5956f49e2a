"""Placeto's training on one problem: decides batches of episodes, evaluates them and learns from them."""

import dataclasses
from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.events import Json, ShouldStop
from engine.files.tensor_file import pack_tensors, under, unpack_tensors
from engine.placeto.actor import Actor
from engine.placeto.choices import chosen_device
from engine.placeto.episodes import Episodes, make_episode_plan
from engine.placeto.evaluation import EvaluatedEpisodes, Evaluator
from engine.placeto.features import GroupGraph, fastest_device_placement, group_graph
from engine.placeto.interruption import InterruptedTrainingError, make_raise_if_over
from engine.placeto.kept_policy import MOST_KEPT_BYTES, DecidedEpisode, KeptPolicy
from engine.placeto.published import PublishedActor
from engine.placeto.reinforce import Reinforce, falling
from engine.placeto.rewards import US_PER_SECOND, ReturnBaseline, StepTimePenalty
from engine.placeto.saved_states import require_same_settings
from engine.placeto.settings import PlacetoSettings
from engine.placeto.shared_head_actor import SharedHeadActor, fresh_network, trained_network
from engine.placeto.start_times import GroupStartTimes, sees_start_times
from engine.placeto.torch_threads import torch_threads
from engine.placeto.weights import set_weights, weights_of
from engine.problem import PlacementProblem
from engine.problem.learning import Learned
from engine.simulator import Evaluations

STATE_VERSION = 1


def make_actor(
    settings: PlacetoSettings,
    graph: GroupGraph,
    rng: np.random.Generator,
    weights: Mapping[str, NDArray[np.generic]] | None = None,
    start_times: GroupStartTimes | None = None,
) -> Actor:
    """The network that `settings` name, on `graph`, with `weights` (of the shared head), else fresh ones from `rng`.

    `start_times` are a feature of the published networks; other networks ignore them.
    """
    torch_device = chosen_device(settings.torch_device)
    if settings.network != "shared_head":
        assert weights is None, "weights of another network"
        return PublishedActor(settings, graph, rng, torch_device, start_times)
    if weights is None:
        network = fresh_network(settings, rng, torch_device)
    else:
        network = trained_network(settings, weights, torch_device)
    return SharedHeadActor(settings, graph, network, torch_device)


def start_times_for(settings: PlacetoSettings, problem: PlacementProblem) -> GroupStartTimes | None:
    """The start times, if the network sees them; else None."""
    return GroupStartTimes(problem.simulator) if sees_start_times(settings) else None


def step_time_penalty(settings: PlacetoSettings, graph: GroupGraph) -> StepTimePenalty:
    """The penalty by which `settings` count step times and missing memory on `graph`."""
    by_reference = settings.reward_unit == "reference"
    unit_us = graph.reference_us if by_reference else US_PER_SECOND
    return StepTimePenalty(unit_us, settings.memory_penalty, settings.penalised_cap, per_device_memory=by_reference)


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
        """`weights` are the first weights of the shared head; without them they are drawn from `rng`."""
        graph = group_graph(problem)
        self._problem, self._settings, self._graph, self._rng = problem, settings, graph, rng
        self._should_stop = should_stop
        self._raise_if_over = make_raise_if_over(problem, should_stop)
        self._penalty = step_time_penalty(settings, graph)
        self._evaluator = Evaluator(problem, self._penalty, settings.reward, self._raise_if_over)
        self._actor = make_actor(settings, graph, rng, weights, start_times=start_times_for(settings, problem))
        self._reinforce = Reinforce(self._actor, settings)
        self._baseline = ReturnBaseline(settings.return_baseline_episodes, graph.group_count * settings.passes)
        self._best_value = np.inf
        """ρ' of `_best`; infinite until something was evaluated"""
        self._best = fastest_device_placement(graph)
        """[groups]"""
        self._start_value, self._start = self._best_value, self._best
        """ρ' and placement where the next batch starts, if it starts from the best"""
        self._batches = 0
        self._best_episode: DecidedEpisode | None = None
        """the episode with the least ρ' of the training"""

    def begin_from(self, placements: NDArray[np.int32], evaluations: Evaluations) -> None:
        """Begin from the best of `placements` [batch, groups], evaluated as the first episodes, and the ledger's best.

        In every run the ledger has evaluated each single device before.
        """
        answer = self._problem.ledger.answer()[None]
        known = (evaluations, placements), (self._problem.simulator.evaluate(answer), answer)
        for evaluated, placed in known:
            values = self._penalty.penalised(evaluated.step_time_us, evaluated.peak_bytes, self._problem.memory_bytes)
            least = int(np.argmin(values))
            if values[least] < self._best_value:
                self._best_value, self._best = float(values[least]), placed[least].copy()
        self._start_value, self._start = self._best_value, self._best

    @property
    def policy(self) -> Actor:
        """The actor in training, with its present weights."""
        return self._actor

    def run(self) -> None:
        """Train until the ledger is spent or a stop is requested, but evaluate at least one placement."""
        with torch_threads(self._settings.torch_threads):
            try:
                if np.isinf(self._best_value):
                    self._best_value = self._start_value = self._evaluator.value_of(self._best)
                while not (self._problem.ledger.spent or self._should_stop()):
                    self._run_batch()
                    self._problem.save(self.state, self._settings.checkpoint_seconds)
            except InterruptedTrainingError:
                return
            finally:
                self._keep_policy()

    def _keep_policy(self) -> None:
        """Emit what is needed to compute decisions again, unless it is too large."""
        kept = KeptPolicy(self._settings, weights_of(self._actor.network), self._best_episode).to_bytes()
        if len(kept) <= MOST_KEPT_BYTES:
            self._problem.keep_policy(kept)

    def _run_batch(self) -> None:
        settings, progress = self._settings, self._problem.ledger.share_spent
        greedy = bool(settings.greedy_every_batches) and self._batches % settings.greedy_every_batches == 0
        plan = make_episode_plan(settings, self._graph, self._start, greedy, self._rng)
        episodes_before = self._problem.reporter.episodes
        outcome = self._evaluator.evaluate(self._actor.sample(plan, self._raise_if_over))
        if self._best_episode is None or outcome.best_end[0] < self._best_episode.value:
            self._best_episode = self._decided(outcome, episodes_before)
        self._take_best(outcome.best_end, progress)
        if outcome.returns is not None:
            self._learn(outcome.episodes, outcome.returns, progress, outcome.memory_penalty)
        self._batches += 1

    def _decided(self, outcome: EvaluatedEpisodes, episodes_before: int) -> DecidedEpisode:
        """The best episode of a batch, with the weights that decided it."""
        index, plan = outcome.best_index, outcome.episodes.plan
        return DecidedEpisode(
            number=episodes_before + index + 1,
            value=outcome.best_end[0],
            weights=weights_of(self._actor.network),
            start=plan.starts[index].copy(),
            order=plan.orders[index].copy(),
            actions=outcome.episodes.actions[index].copy(),
            greedy=bool(plan.greedy[index]),
        )

    def _learn(self, episodes: Episodes, returns: NDArray[np.float64], progress: float, memory_penalty: float) -> None:
        """Learn from the episodes that are not greedy; only these enter the return baseline."""
        teach = ~episodes.plan.greedy
        if not teach.any():
            return
        advantages = np.zeros_like(returns)
        advantages[teach] = self._baseline.advantages(returns[teach], normalise=self._settings.normalise_advantages)
        numbers = self._reinforce.update(episodes, advantages, progress, self._raise_if_over)
        mean_return = float(returns[teach, 0].mean())
        expected = float(self._baseline.window[:, 0].mean()) if len(self._baseline.window) else mean_return
        self._baseline.add(returns[teach])
        self._problem.learned(
            Learned(
                mean_return=mean_return,
                return_baseline=expected,
                memory_penalty=memory_penalty,
                entropy=numbers.entropy,
                gradient_norm=numbers.gradient_norm,
                learning_rate=numbers.learning_rate,
            )
        )

    def _take_best(self, end: tuple[float, NDArray[np.int32]], progress: float) -> None:
        """Keep a batch's best `end` (ρ', placement) if it is the best of all or good enough to start from."""
        if end[0] < self._best_value:
            self._best_value, self._best = end
        highest = self._best_value * (1.0 + falling(self._settings.start_tolerance, 0.0, progress))
        if end[0] <= highest:
            self._start_value, self._start = end
        elif self._start_value > highest:
            self._start_value, self._start = self._best_value, self._best

    def state(self) -> bytes:
        """Everything that the next batch depends on, except the problem and its ledger, as bytes."""
        arrays = {f"weights.{name}": array for name, array in weights_of(self._actor.network).items()}
        arrays |= {f"optimiser.{name}": array for name, array in self._reinforce.arrays().items()}
        arrays |= {"return_baseline": self._baseline.window, "best": self._best, "start": self._start}
        if self._best_episode is not None:
            arrays |= {f"best_episode.{name}": array for name, array in self._best_episode.arrays().items()}
        texts: dict[str, Json] = {
            "version": STATE_VERSION,
            "settings": dataclasses.asdict(self._settings),
            "rng": cast(Json, self._rng.bit_generator.state),
            "best_value": self._best_value,
            "start_value": self._start_value,
            "batches": self._batches,
            "episodes": self._problem.reporter.episodes,
            "learning": self._problem.reporter.learning.state(),
        }
        return pack_tensors(arrays, texts)

    def restore(self, state: bytes) -> None:
        """Continue from `state`. Raises SettingsError if it was made with other settings."""
        arrays, texts = unpack_tensors(state, "placeto's state")
        require_same_settings(texts, STATE_VERSION, self._settings)
        set_weights(self._actor.network, under("weights.", arrays), "placeto's state")
        self._reinforce.restore(under("optimiser.", arrays))
        self._baseline.window = arrays["return_baseline"].astype(np.float64)
        self._best, self._start = arrays["best"].astype(np.int32), arrays["start"].astype(np.int32)
        self._best_episode = DecidedEpisode.from_arrays(under("best_episode.", arrays))
        self._rng.bit_generator.state = cast(Mapping[str, object], texts["rng"])
        self._best_value, self._start_value = cast(float, texts["best_value"]), cast(float, texts["start_value"])
        self._batches, self._problem.reporter.episodes = cast(int, texts["batches"]), cast(int, texts["episodes"])
        if "learning" in texts:  # states of version 0.1 have none
            self._problem.reporter.learning.restore(cast(Mapping[str, Json], texts["learning"]))
