"""One training problem with the network that is trained on it and on others. Loads torch.

Imitation uses the cross-entropy over all decisions at once, with equal unused devices as one choice: how a teacher
numbers equal devices means nothing. The first group on one of several equal, empty devices could have gone to any of
them, so the probability of the whole set counts.
"""

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from engine.files.compiled import compiled
from engine.placeto.episodes import EpisodePlan, Episodes, make_episode_plan
from engine.placeto.learning.graph_training import penalised_time
from engine.placeto.learning.optimiser import Optimiser
from engine.placeto.learning.reinforce import Reinforce
from engine.placeto.networks.choices import torch_device_of
from engine.placeto.networks.shared_head import SharedHead
from engine.placeto.networks.shared_head_actor import SharedHeadActor
from engine.placeto.seeing.features import group_graph
from engine.placeto.settings import PlacetoSettings
from engine.policies.traits import traits_of
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from engine.problem.varied import type_of_op, with_factors
from engine.search.symmetry import interchangeable_devices


def varied_problem(problem: PlacementProblem, spread: float, rng: np.random.Generator) -> PlacementProblem:
    """`problem` with the times of each op type and the speed of all links multiplied by random log-normal factors.

    `spread` is the deviation of the factors' logarithms. Bytes, groups and allowed devices stay. Raises CostError if a
    step could become too long to be simulated.
    """
    types = type_of_op(problem)
    factors = np.exp(spread * rng.standard_normal(int(types.max()) + 2))
    return with_factors(problem, factors[types], float(factors[-1]))


@compiled
def equal_choices(
    classes: NDArray[np.int32], allowed: NDArray[np.bool_], orders: NDArray[np.int32], actions: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """[batch, steps, devices] whether a device is as good as the one taken.

    `classes` [devices] has equal devices in one class; `allowed` is [groups, devices]; episodes start nowhere. While
    the taken device is empty, all empty devices of its class are as good; later only the device itself is.
    """
    batch, steps = orders.shape
    devices = len(classes)
    choices = np.zeros((batch, steps, devices), dtype=np.bool_)
    for episode in range(batch):
        used = np.zeros(devices, dtype=np.bool_)
        for step in range(steps):
            taken = actions[episode, step]
            for device in range(devices):
                alike = classes[device] == classes[taken] and not used[device] and not used[taken]
                if device == taken or (alike and allowed[orders[episode, step], device]):
                    choices[episode, step, device] = True
            used[taken] = True
    return choices


def imitation_loss(log_probabilities: Tensor, choices: Tensor) -> Tensor:
    """[episodes, steps] minus the logarithm of the probability of `choices`; both [episodes, steps, devices]."""
    lowest = torch.finfo(log_probabilities.dtype).min
    return -torch.logsumexp(log_probabilities.masked_fill(~choices, lowest), dim=-1)


SPREAD_FLOOR = 0.01
"""added to a batch's deviation, by which advantages are divided, so that a batch of near equals teaches little"""
MOST_ADVANTAGE = 4.0


class ProblemLearner:
    """Trains the network on one problem, by imitation and reinforcement. All episodes start nowhere."""

    def __init__(
        self, problem: PlacementProblem, settings: PlacetoSettings, network: SharedHead, optimiser: Optimiser
    ) -> None:
        self.problem = problem.with_budget(Budget(MOST_EVALUATIONS))
        self.best: NDArray[np.int32] | None = None
        """[groups] the best known placement: the teacher's, or a better one that was sampled"""
        self.best_value = np.inf
        """ρ' of `best`"""
        self.gap: float | None = None
        """mean relative gap of the last batch to the best; None before the first batch"""
        self._graph = group_graph(self.problem)
        self._settings, self._optimiser = settings, optimiser
        self.actor = SharedHeadActor(settings, self._graph, network, torch_device_of(settings.torch_device))
        self._reinforce = Reinforce(self.actor, settings, optimiser)
        self._penalty = penalised_time(settings, self._graph)
        self._classes = interchangeable_devices(self.problem)

    def varied(self, spread: float, rng: np.random.Generator) -> "ProblemLearner":
        """A learner of the same graph and cluster with varied costs, which begins with the best known placement."""
        assert self.best is not None, "nothing was taught"
        problem = varied_problem(self.problem, spread, rng)
        varied = type(self)(problem, self._settings, self.actor.network, self._optimiser)
        varied.teach(self.best)
        return varied

    def traits(self) -> dict[str, float]:
        """What the problem is like."""
        return traits_of(self._graph)

    def teach(self, placement: NDArray[np.int32]) -> None:
        """Set `placement` [groups] as the best known."""
        self.best, self.best_value = placement, float(self.values(placement[None, :])[0])

    def imitate(self, traversals: tuple[str, ...], learning_rate: float, rng: np.random.Generator) -> float:
        """Imitate the best known placement for one step, in one order of each of `traversals`; returns the loss."""
        assert self.best is not None, "nothing was taught"
        orders = np.concatenate([self._plan(traversal, 1, rng).orders for traversal in traversals])
        plan = dataclasses.replace(self._plan(traversals[0], len(orders), rng), orders=orders)
        actions = self.best[orders]
        choices = torch.from_numpy(equal_choices(self._classes, self._graph.allowed, orders, actions))
        choices = choices.to(self.actor.torch_device)
        self._optimiser.begin()
        total = 0.0
        for part in self.actor.score(self.actor.replay(plan, actions), _never):
            loss = imitation_loss(part.log_probabilities, choices[part.episodes]).sum() / actions.size
            loss.backward()
            total += float(loss.detach())
        self._optimiser.step(learning_rate, self._settings.gradient_norm)
        self.actor.forget()
        return total

    def explore(self, traversal: str, progress: float, rng: np.random.Generator, sampled_share: float = 1.0) -> int:
        """Learn from one batch by reinforcement, in orders of the kind `traversal`; returns its evaluations.

        `sampled_share` as in `plan`.
        """
        episodes = self.actor.sample(self.plan(traversal, rng, sampled_share), _never)
        ends = episodes.ends()
        self._reinforce.update(episodes, advantages_of(episodes, self._seen(ends)), progress, _never)
        self.actor.forget()
        return len(ends)

    def plan(self, traversal: str, rng: np.random.Generator, sampled_share: float) -> EpisodePlan:
        """The plan of a batch: a `sampled_share` of the steps is drawn.

        With less than all, the others and the first episode are greedy.
        """
        plan = self._plan(traversal, self._settings.batch_episodes, rng)
        if sampled_share < 1.0:
            greedy = rng.random(plan.orders.shape) >= sampled_share
            greedy[0] = True
            plan = dataclasses.replace(plan, greedy=greedy)
        return plan

    def _seen(self, placements: NDArray[np.int32]) -> NDArray[np.float64]:
        """[batch] ρ' of `placements` [batch, groups], which are noted."""
        values = self.values(placements)
        self.note(placements, values)
        return values

    def note(self, placements: NDArray[np.int32], values: NDArray[np.float64]) -> None:
        """Keep the mean gap of `placements` [batch, groups] with ρ' `values`, and the best of them if it is ahead."""
        least = int(np.argmin(values))
        if values[least] < self.best_value:
            self.best, self.best_value = placements[least].copy(), float(values[least])
        self.gap = float(values.mean() / self.best_value - 1)

    def values(self, placements: NDArray[np.int32]) -> NDArray[np.float64]:
        """[batch] ρ' of `placements`; these evaluations are charged to no budget, the caller counts them."""
        evaluations = self.problem.simulator.evaluate(placements)
        return self._penalty.penalised(evaluations.step_time_us, evaluations.peak_bytes, self.problem.memory_bytes)

    def _plan(self, traversal: str, batch: int, rng: np.random.Generator) -> EpisodePlan:
        settings = dataclasses.replace(self._settings, traversal=traversal, batch_episodes=batch)
        return make_episode_plan(settings, self._graph, np.zeros(0, np.int32), False, rng)


def advantages_of(episodes: Episodes, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[batch, steps] the advantages of a batch whose ends have ρ' `values` [batch]."""
    return np.repeat(batch_advantages(values)[:, None], episodes.plan.steps, axis=1)


def batch_advantages(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """[batch] the advantage of each of `values` [batch] (ρ', above 0) over the batch's mean, in its deviations.

    It uses logarithms, so that all graphs count alike, however fast they are.
    """
    gains = -np.log(values)
    return np.asarray(((gains - gains.mean()) / (gains.std() + SPREAD_FLOOR)).clip(-MOST_ADVANTAGE, MOST_ADVANTAGE))


def _never() -> None:
    """Do nothing: a batch of this training is never interrupted."""
