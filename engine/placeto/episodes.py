"""The decision process: batches of episodes over the groups of one problem.

State: a placement of all groups, the group to decide, and the groups already decided. Action: a device for that group.
Constraints: a group goes only where it is allowed. Finish: after `passes` visits of every group.
Reward: see `rewards`; decisions do not depend on it, so a batch is first decided, then evaluated (`evaluation`).
Source: Addanki et al. 2019, section 2.1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.placeto.seeing.features import GroupGraph, fastest_device_placement
from engine.placeto.settings import PlacetoSettings
from engine.placeto.traversals import visiting_orders


@dataclass(frozen=True, slots=True)
class EpisodePlan:
    """The parts of a batch of episodes that are fixed before any decision."""

    starts: NDArray[np.int32]
    """[batch, groups] or NO_DEVICE"""
    orders: NDArray[np.int32]
    """[batch, steps] the group of each step"""
    uniforms: NDArray[np.float64]
    """[batch, steps] random numbers in [0, 1) that draw the devices"""
    greedy: NDArray[np.bool_]
    """[batch, steps] whether the step takes the most probable device; training does not learn from such a step"""
    explore: float
    """share of a uniform choice that is mixed into each decision"""

    @property
    def batch(self) -> int:
        return len(self.starts)

    @property
    def steps(self) -> int:
        return int(self.orders.shape[1])

    @property
    def greedy_episodes(self) -> NDArray[np.bool_]:
        """[batch] whether all steps of the episode are greedy."""
        return np.asarray(self.greedy.all(axis=1))


@dataclass(frozen=True, slots=True)
class Episodes:
    """A plan and its decisions."""

    plan: EpisodePlan
    actions: NDArray[np.int32]
    """[batch, steps] the device chosen at each step"""

    def first(self, count: int) -> "Episodes":
        """The first `count` episodes."""
        plan = self.plan
        kept = EpisodePlan(
            plan.starts[:count], plan.orders[:count], plan.uniforms[:count], plan.greedy[:count], plan.explore
        )
        return Episodes(kept, self.actions[:count])

    def before(self) -> NDArray[np.int32]:
        """[batch, steps] the device of each step's group before its decision."""
        placements, before = self.plan.starts.copy(), np.empty_like(self.actions)
        rows = np.arange(self.plan.batch)
        for step in range(self.plan.steps):
            groups = self.plan.orders[:, step]
            before[:, step] = placements[rows, groups]
            placements[rows, groups] = self.actions[:, step]
        return before

    def ends(self) -> NDArray[np.int32]:
        """[batch, groups] the placements after the last step: each group's last visit counts."""
        placements = self.plan.starts.copy()
        rows = np.arange(self.plan.batch)
        for step in range(self.plan.steps):
            placements[rows, self.plan.orders[:, step]] = self.actions[:, step]
        return placements

    def states_of(self, episode: int) -> NDArray[np.int32]:
        """[steps + 1, groups] the placements that episode `episode` goes through, its start first."""
        states = np.repeat(self.plan.starts[episode][None, :], self.plan.steps + 1, axis=0)
        for step in range(self.plan.steps):
            states[step + 1 :, self.plan.orders[episode, step]] = self.actions[episode, step]
        return states


def make_episode_plan(
    settings: PlacetoSettings, graph: GroupGraph, best: NDArray[np.int32], greedy: bool, rng: np.random.Generator
) -> EpisodePlan:
    """Draw a batch's plan; `best` [groups] is the best placement so far, `greedy` makes the first episode greedy."""
    batch, groups = settings.batch_episodes, graph.group_count
    visits = visiting_orders(settings.traversal, graph, batch * settings.passes, rng, settings.traversal_seed)
    orders = visits.reshape(batch, -1)
    if settings.start == "random":
        starts = random_placements(graph.allowed, batch, rng)
    else:
        starts = np.tile(start_without_draws(settings, graph, best), (batch, 1))
    greedy_steps = np.zeros(orders.shape, dtype=np.bool_)
    greedy_steps[0] = greedy
    return EpisodePlan(starts, orders, rng.random(orders.shape), greedy_steps, exploration_share(settings, groups))


def start_without_draws(settings: PlacetoSettings, graph: GroupGraph, best: NDArray[np.int32]) -> NDArray[np.int32]:
    """[groups] where every episode begins; with the start `random`, which is drawn for each, the fastest device."""
    if settings.start == "nowhere":
        return np.full(graph.group_count, NO_DEVICE, dtype=np.int32)
    if settings.start == "fixed_random":
        return np.asarray(random_placements(graph.allowed, 1, np.random.default_rng(settings.start_seed))[0])
    return best if settings.start == "best" else fastest_device_placement(graph)


def exploration_share(settings: PlacetoSettings, groups: int) -> float:
    """The share of a uniform choice that is mixed into each decision."""
    return min(1.0, settings.exploration / groups)


def random_placements(allowed: NDArray[np.bool_], count: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """[count, groups] placements with each group uniform over its allowed devices."""
    choices = np.cumsum(allowed, axis=1)
    drawn = np.floor(rng.random((count, len(allowed))) * choices[:, -1])
    return np.asarray((choices[None, :, :] <= drawn[:, :, None]).sum(axis=2), dtype=np.int32)
