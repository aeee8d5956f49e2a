"""The decisions of a policy inside one episode: which group came when, and how probable each device was for it.

Computed again from the policy that the run kept. The kept policy stores the best episode's decisions, so these are the
decisions that were made. For any other episode the run knows where each group went; the weights are those at the end of
the training, and the start is the best placement before it, where the settings say so.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import LimitError
from engine.placeto.episodes import exploration_share, start_without_draws
from engine.placeto.kept_policy import DecidedEpisode, KeptPolicy
from engine.placeto.networks.head_arrays import HeadWeights, probabilities_of_episode
from engine.placeto.networks.published_arrays import PublishedArrays
from engine.placeto.networks.sampling import replay_episodes
from engine.placeto.seeing.features import GroupGraph, fastest_device_placement
from engine.placeto.seeing.reachability import relatives
from engine.placeto.seeing.start_times import GroupStartTimes, sees_start_times
from engine.placeto.seeing.view_graph import device_view_graph
from engine.placeto.settings import PlacetoSettings
from engine.placeto.traversals import visiting_orders

MOST_WORK = {"shared_head": 4_000_000, "published": 250_000}
"""steps × groups of an episode whose decisions are shown: more would take seconds, since each looks at all groups, and
the published network passes its messages anew"""
MOST_SIMULATED = 20_000_000
"""steps × ops of an episode whose network sees start times: each step is simulated"""
DRAWN_ORDERS = ("random_topological", "random", "mixed")


@dataclass(frozen=True, slots=True)
class EpisodeDecisions:
    """One episode, decision by decision."""

    is_exact: bool
    """whether weights, start and order are those of the episode; else they are the run's last weights, and `start`"""
    start: NDArray[np.int32]
    """[groups] placement before the first decision, or NO_DEVICE"""
    order: NDArray[np.int32]
    """[steps] the group of each decision"""
    chosen: NDArray[np.int32]
    """[steps] the device that it got"""
    probabilities: NDArray[np.float64]
    """[steps, devices]"""
    explore: float
    """share of a uniform choice in the probabilities"""


def obstacle(policy: KeptPolicy, episode: int) -> str:
    """Why the decisions of the episode of that number cannot be shown, in a sentence; empty if they can."""
    settings = policy.settings
    if policy.best is not None and policy.best.number == episode:
        return ""
    only_best = "" if policy.best is None else f" Those of the best one, episode {policy.best.number:,}, were kept."
    if settings.passes > 1:
        visits = f"An episode of this run visits each group {settings.passes} times"
        return f"{visits}, and only the last visit is stored.{only_best}"
    if settings.traversal in DRAWN_ORDERS:
        return f"This run drew the order of the groups at random, and it is not stored for this episode.{only_best}"
    if settings.start == "random":
        return f"This run drew the start of each episode at random, and it is not stored for this episode.{only_best}"
    return ""


def decisions_of(
    policy: KeptPolicy,
    graph: GroupGraph,
    episode: int,
    placement: NDArray[np.int32],
    best_before: Callable[[], NDArray[np.int32] | None],
    start_times: GroupStartTimes,
) -> EpisodeDecisions:
    """The decisions of an episode that ended at `placement` [groups]; `obstacle` must be empty.

    `best_before` returns the best placement [groups] before the episode, if there is one. Raises LimitError for an
    episode of too many steps.
    """
    settings = policy.settings
    _require_little_work(settings, graph, start_times)
    if policy.best is not None and policy.best.number == episode:
        return _recomputed(settings, graph, policy.best, start_times, is_exact=True)
    order = visiting_orders(settings.traversal, graph, 1, np.random.default_rng(0), settings.traversal_seed)[0]
    start = _start(settings, graph, best_before)
    assumed = DecidedEpisode(episode, np.nan, policy.weights, start, order, placement[order], greedy=False)
    return _recomputed(settings, graph, assumed, start_times, is_exact=False)


def _require_little_work(settings: PlacetoSettings, graph: GroupGraph, start_times: GroupStartTimes) -> None:
    """Raise LimitError for an episode of too many steps."""
    steps = graph.group_count * settings.passes
    most = MOST_WORK.get(settings.network, MOST_WORK["published"])
    if steps * graph.group_count > most:
        allowed = f"at most {math.isqrt(most // settings.passes)} groups"
        raise LimitError(f"an episode of {graph.group_count} groups", allowed=allowed)
    if sees_start_times(settings) and steps * start_times.op_count > MOST_SIMULATED:
        what = f"an episode of {steps} decisions, each after a simulation of {start_times.op_count} ops"
        raise LimitError(what, allowed=f"at most {MOST_SIMULATED // start_times.op_count} decisions")


def _start(
    settings: PlacetoSettings, graph: GroupGraph, best_before: Callable[[], NDArray[np.int32] | None]
) -> NDArray[np.int32]:
    best = best_before() if settings.start == "best" else None
    return start_without_draws(settings, graph, fastest_device_placement(graph) if best is None else best)


def _recomputed(
    settings: PlacetoSettings,
    graph: GroupGraph,
    episode: DecidedEpisode,
    start_times: GroupStartTimes,
    *,
    is_exact: bool,
) -> EpisodeDecisions:
    start, order, actions = episode.start, episode.order, episode.actions
    explore = 0.0 if episode.greedy else exploration_share(settings, graph.group_count)
    if settings.network == "shared_head":
        found = _of_shared_head(settings, graph, episode, explore)
    else:
        network = PublishedArrays(episode.weights, settings, graph)
        seen = start_times if sees_start_times(settings) else None
        found = network.probabilities_of_episode(start, order, actions, seen, explore)
    return EpisodeDecisions(is_exact, start, order, actions, found, explore)


def _of_shared_head(
    settings: PlacetoSettings, graph: GroupGraph, episode: DecidedEpisode, explore: float
) -> NDArray[np.float64]:
    related = relatives(
        graph.edge_source,
        graph.edge_target,
        graph.group_count,
        most_reachable_groups=settings.most_reachable_groups,
    )
    compiled = device_view_graph(graph, related)
    start, order, actions = episode.start, episode.order, episode.actions
    [views] = replay_episodes(compiled, start[None], order[None], actions[None])
    head = HeadWeights(episode.weights, settings.message_rounds).head_arrays(graph)
    return probabilities_of_episode(compiled, head, start, order, actions, views, explore)
