"""The training of a network on one graph, batch by batch: episodes, their evaluation, and what is learned from them."""

from collections.abc import Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from engine.events import Json
from engine.placeto.episodes import Episodes, make_episode_plan
from engine.placeto.interruption import RaiseIfOver
from engine.placeto.learning.evaluation import EvaluatedEpisodes, Evaluator
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.learning.reinforce import Reinforce, falling
from engine.placeto.learning.rewards import US_PER_SECOND, PenalisedTime, ReturnBaseline
from engine.placeto.networks.making import bound_network, start_times_for
from engine.placeto.seeing.features import GroupGraph, fastest_device_placement, group_graph
from engine.placeto.settings import PlacetoSettings
from engine.problem import PlacementProblem
from engine.problem.learning import Learned
from engine.simulator import Evaluations

VALUES = ("best_value", "start_value")
"""names of the numbers in a graph's saved state"""


def penalised_time(settings: PlacetoSettings, graph: GroupGraph) -> PenalisedTime:
    """The penalty by which `settings` count step times and missing memory on `graph`."""
    by_reference = settings.reward_unit == "reference"
    unit_us = graph.reference_us if by_reference else US_PER_SECOND
    return PenalisedTime(unit_us, settings.memory_penalty, settings.penalised_cap, per_device_memory=by_reference)


class GraphTraining:
    """A network in training on one graph: its return baseline, its start and its best placement are the graph's own.

    The network and its optimiser may belong to several graphs, whose batches take turns. A batch is `decide`, then
    `learn`.
    """

    def __init__(
        self,
        problem: PlacementProblem,
        settings: PlacetoSettings,
        network: nn.Module,
        optimiser: Optimiser,
        raise_if_over: RaiseIfOver,
    ) -> None:
        """`optimiser` is that of `network`. Raises SettingsError for a graph that is too large for the network."""
        graph = group_graph(problem, settings.prior)
        self._problem, self._settings, self._graph = problem, settings, graph
        self._raise_if_over = raise_if_over
        self._penalty = penalised_time(settings, graph)
        self._evaluator = Evaluator(problem, self._penalty, settings.reward, raise_if_over)
        self.actor = bound_network(settings, graph, network, start_times_for(settings, problem))
        """the network on this graph, with its present weights"""
        self._reinforce = Reinforce(self.actor, settings, optimiser)
        self._baseline = ReturnBaseline(settings.return_baseline_episodes, graph.group_count * settings.passes)
        self._best_value = np.inf
        """ρ' of `_best`; infinite until something was evaluated"""
        self._best = fastest_device_placement(graph)
        """[groups]"""
        self._start_value, self.start = self._best_value, self._best
        """ρ' and placement where the next batch starts, if it starts from the best"""

    def begin_from(self, placements: NDArray[np.int32], evaluations: Evaluations) -> None:
        """Begin from the best of `placements` [batch, groups], which have `evaluations`, if it is the best known."""
        values = self._penalty.penalised(evaluations.step_time_us, evaluations.peak_bytes, self._problem.memory_bytes)
        least = int(np.argmin(values))
        if values[least] < self._best_value:
            self._best_value, self._best = float(values[least]), placements[least].copy()
            self._start_value, self.start = self._best_value, self._best

    def begin(self) -> None:
        """Evaluate the fastest device, unless something better known is there to begin from."""
        if np.isinf(self._best_value):
            self._best_value = self._start_value = self._evaluator.value_of(self._best)

    def decide(self, rng: np.random.Generator, *, greedy: bool) -> EvaluatedEpisodes:
        """Decide and evaluate a batch of episodes; `greedy` makes the first one greedy."""
        plan = make_episode_plan(self._settings, self._graph, self.start, greedy, rng)
        return self._evaluator.evaluate(self.actor.sample(plan, self._raise_if_over))

    def learn(self, outcome: EvaluatedEpisodes, progress: float) -> Learned | None:
        """Keep the best of a batch and learn from it; None where the batch teaches nothing.

        `progress` in [0, 1] is the share of the training that was done before the batch.
        """
        self._take_best(outcome.best_end, progress)
        if outcome.returns is None:
            return None
        return self._learn(outcome.episodes, outcome.returns, progress, outcome.memory_penalty)

    def _learn(
        self, episodes: Episodes, returns: NDArray[np.float64], progress: float, memory_penalty: float
    ) -> Learned | None:
        """Learn from the episodes that are not greedy; only these enter the return baseline."""
        teach = ~episodes.plan.greedy_episodes
        if not teach.any():
            return None
        advantages = np.zeros_like(returns)
        advantages[teach] = self._baseline.advantages(returns[teach], normalise=self._settings.normalise_advantages)
        numbers = self._reinforce.update(episodes, advantages, progress, self._raise_if_over)
        self.actor.forget()
        mean_return = float(returns[teach, 0].mean())
        expected = float(self._baseline.window[:, 0].mean()) if len(self._baseline.window) else mean_return
        self._baseline.add(returns[teach])
        return Learned(
            mean_return=mean_return,
            return_baseline=expected,
            memory_penalty=memory_penalty,
            entropy=numbers.entropy,
            gradient_norm=numbers.gradient_norm,
            learning_rate=numbers.learning_rate,
        )

    def _take_best(self, end: tuple[float, NDArray[np.int32]], progress: float) -> None:
        """Keep a batch's best `end` (ρ', placement) if it is the best of all or good enough to start from."""
        if end[0] < self._best_value:
            self._best_value, self._best = end
        highest = self._best_value * (1.0 + falling(self._settings.start_tolerance, 0.0, progress))
        if end[0] <= highest:
            self._start_value, self.start = end
        elif self._start_value > highest:
            self._start_value, self.start = self._best_value, self._best

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """The arrays on which the next batch depends, besides the network, its optimiser and the random numbers."""
        return {"return_baseline": self._baseline.window, "best": self._best, "start": self.start}

    def values(self) -> dict[str, Json]:
        """The numbers beside `arrays`; None before anything was evaluated."""
        known = np.isfinite(self._best_value)
        return {"best_value": self._best_value, "start_value": self._start_value} if known else dict.fromkeys(VALUES)

    def restore(self, arrays: Mapping[str, NDArray[np.generic]], values: Mapping[str, Json]) -> None:
        """Continue from what `arrays` and `values` returned."""
        self._baseline.window = arrays["return_baseline"].astype(np.float64)
        self._best, self.start = arrays["best"].astype(np.int32), arrays["start"].astype(np.int32)
        best, start = (cast(float | None, values[name]) for name in VALUES)
        self._best_value, self._start_value = (np.inf if value is None else value for value in (best, start))


def has_greedy_episode(settings: PlacetoSettings, batches: int) -> bool:
    """Whether the batch after so many `batches` has a greedy episode."""
    return bool(settings.greedy_every_batches) and batches % settings.greedy_every_batches == 0
