"""Other ways to learn from a batch, tried beside reinforcement with one advantage an episode. Loads torch.

Credit of single moves: the simulator says for the best end of a batch what each group alone would cost on each device;
in the episode that led there, each decision learns these soft labels. Expert iteration: a short search from the best
end finds a better placement nearby, which is imitated. Second passes: half of the batches begin where the policy's own
greedy pass ends, so that it learns to improve a placement.

Source: Addanki et al. 2019, section 2 (a reward for each decision; an episode improves a placement); Anthony, Tian,
Barber: Thinking fast and slow with deep learning and tree search, NeurIPS 2017 (expert iteration).
"""

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from engine.placeto.episodes import EpisodePlan
from engine.placeto.learning.reinforce import falling
from engine.placeto.networks.shared_head_actor import SampledEpisodes
from engine.policies.learner import Learner
from engine.policies.problem_learner import ProblemLearner, equal_choices, imitation_loss
from engine.problem import Budget
from engine.search.local_search import LocalSearch, LocalSearchSettings
from engine.search.symmetry import interchangeable_devices

TEMPERATURE = 0.001
"""of soft labels: a device on which the step would take so much longer, as a share, is e times less probable"""
EXPERT_EVALUATIONS = 1000
EXPERT_HEAT = 0.0003
"""of the short search, which shall end near where it begins"""
MIXED = 4
"""one batch in so many is of expert iteration"""
SECOND_PASSES = 0.5
"""share of the batches that begin where a greedy pass ends"""
MAY_NOT, STAYS = -2, -1


def single_moves(
    placement: NDArray[np.int32], allowed: NDArray[np.bool_], classes: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """(placements [moves, groups] with one group of `placement` [groups] elsewhere, move_of [groups, devices]).

    `classes` [devices] has equal devices in one class: of empty ones only the first is tried. `move_of` is the row with
    that group on that device, `STAYS` where it is now, `MAY_NOT` where it is not allowed.
    """
    groups, devices = allowed.shape
    used = np.bincount(placement, minlength=devices) > 0
    stands_for = [
        device if used[device] else int(np.flatnonzero((classes == classes[device]) & ~used)[0])
        for device in range(devices)
    ]
    tried = allowed.copy()
    tried[:, np.array(stands_for) != np.arange(devices)] = False
    tried[np.arange(groups), placement] = False
    group, device = np.nonzero(tried)
    moved = np.repeat(placement[None, :], len(group), axis=0)
    moved[np.arange(len(group)), group] = device
    move_of = np.full((groups, devices), MAY_NOT, dtype=np.int64)
    move_of[group, device] = np.arange(len(group))
    move_of = np.where(allowed, move_of[:, stands_for], MAY_NOT)
    move_of[np.arange(groups), placement] = STAYS
    return moved, move_of


def soft_labels(
    values: NDArray[np.float64], value: float, move_of: NDArray[np.int64], temperature: float
) -> NDArray[np.float32]:
    """[groups, devices] how good each device is: `values` [moves] are those of `single_moves`, `value` without any."""
    logs = np.append(np.log(values / value), (np.inf, 0.0))  # the last two are those of MAY_NOT and STAYS
    losses = logs[move_of]
    labels = np.exp(-(losses - losses.min(axis=1, keepdims=True)) / temperature)
    return np.asarray(labels / labels.sum(axis=1, keepdims=True), dtype=np.float32)


class CreditedProblem(ProblemLearner):
    """Learns from the best episode of a batch, each decision by its own credit, instead of by reinforcement."""

    def explore(self, traversal: str, progress: float, rng: np.random.Generator, sampled_share: float = 1.0) -> int:
        del sampled_share  # all are drawn
        episodes, ends, values = self._sampled(traversal, rng)
        least = int(np.argmin(values))
        moved, move_of = single_moves(ends[least], self._graph.allowed, interchangeable_devices(self.problem))
        labels = soft_labels(self.values(moved), float(values[least]), move_of, TEMPERATURE)
        one = _only(episodes, least)
        target = torch.from_numpy(labels[one.plan.orders]).to(self.actor.torch_device)
        self._optimiser.begin()
        for part in self.actor.score(one, lambda: None):
            logarithms = part.log_probabilities.clamp_min(torch.finfo(torch.float32).min / 2)
            loss = -(target[part.episodes] * logarithms).sum() / one.actions.size
            loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        self._end_step(progress)
        return len(ends) + len(moved)

    def _sampled(
        self, traversal: str, rng: np.random.Generator
    ) -> tuple[SampledEpisodes, NDArray[np.int32], NDArray[np.float64]]:
        """(a batch, its ends [batch, groups], their values [batch]); the best end is kept, and the gap."""
        episodes = self.actor.sample(self._plan(traversal, self._settings.batch_episodes, rng), lambda: None)
        ends = episodes.ends()
        return episodes, ends, self._seen(ends)

    def _end_step(self, progress: float) -> None:
        settings = self._settings
        rate = falling(settings.learning_rate, settings.learning_rate_end, progress)
        self._optimiser.step(rate, settings.gradient_norm)
        self.actor.forget()


class ExpertProblem(CreditedProblem):
    """In one batch of `MIXED` a short search improves the best end, which is imitated; else reinforcement."""

    def explore(self, traversal: str, progress: float, rng: np.random.Generator, sampled_share: float = 1.0) -> int:
        if rng.integers(MIXED):
            return ProblemLearner.explore(self, traversal, progress, rng, sampled_share)
        episodes, ends, values = self._sampled(traversal, rng)
        one = _only(episodes, int(np.argmin(values)))
        problem = self.problem.with_budget(Budget(EXPERT_EVALUATIONS))
        problem.evaluate(one.ends())
        settings = LocalSearchSettings(hot=EXPERT_HEAT, cold=EXPERT_HEAT / 3, list_starts=False)
        LocalSearch(problem, settings, rng, lambda: False).run()
        found = problem.ledger.answer().copy()
        self._seen(found[None, :])
        actions = found[one.plan.orders]
        classes = interchangeable_devices(self.problem)
        choices = torch.from_numpy(equal_choices(classes, self._graph.allowed, one.plan.orders, actions))
        self._optimiser.begin()
        for part in self.actor.score(self.actor.replay(one.plan, actions), lambda: None):
            chosen = choices[part.episodes].to(self.actor.torch_device)
            loss = imitation_loss(part.log_probabilities, chosen).sum() / actions.size
            loss.backward()  # type: ignore[no-untyped-call]  # torch's own
        self._end_step(progress)
        return len(ends) + problem.ledger.used


class RepeatedProblem(ProblemLearner):
    """Half of the batches of reinforcement begin where the policy's own greedy pass ends, the others nowhere."""

    _start: NDArray[np.int32] | None = None
    """[groups] where this batch begins, if not nowhere"""

    def explore(self, traversal: str, progress: float, rng: np.random.Generator, sampled_share: float = 1.0) -> int:
        if rng.random() < SECOND_PASSES:
            first = self._plan(traversal, 1, rng)
            greedy = replace(first, greedy=np.ones_like(first.greedy))
            self._start = self.actor.sample(greedy, lambda: None).ends()[0]
        try:
            return super().explore(traversal, progress, rng, sampled_share)
        finally:
            self._start = None

    def _plan(self, traversal: str, batch: int, rng: np.random.Generator) -> EpisodePlan:
        plan = super()._plan(traversal, batch, rng)
        return plan if self._start is None else replace(plan, starts=np.tile(self._start, (batch, 1)))


class CreditedLearner(Learner):
    """A training with credit of single moves."""

    of_a_problem = CreditedProblem


class ExpertLearner(Learner):
    """A training with expert iteration."""

    of_a_problem = ExpertProblem


class RepeatedLearner(Learner):
    """A training with second passes."""

    of_a_problem = RepeatedProblem


def _only(episodes: SampledEpisodes, index: int) -> SampledEpisodes:
    """One episode of a batch."""
    plan, one = episodes.plan, slice(index, index + 1)
    kept = EpisodePlan(plan.starts[one], plan.orders[one], plan.uniforms[one], plan.greedy[one], plan.explore)
    return replace(episodes, plan=kept, actions=episodes.actions[one], views=episodes.views[one])
