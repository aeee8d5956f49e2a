"""A network's placements of a graph that it need not have seen: a greedy episode and sampled ones."""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from torch import nn

from engine.placeto.episodes import make_episode_plan
from engine.placeto.networks.making import bound_network, start_times_for
from engine.placeto.seeing.features import GroupGraph, fastest_device_placement, group_graph
from engine.placeto.settings import PlacetoSettings
from engine.placeto.torch_threads import torch_threads
from engine.problem import PlacementProblem


def greedy_and_sampled(
    settings: PlacetoSettings,
    network: nn.Module,
    problem: PlacementProblem,
    rng: np.random.Generator,
    samples: int,
    graph: GroupGraph | None = None,
) -> NDArray[np.int32]:
    """[1 + samples, groups] the ends of episodes of `network` on `problem`, the greedy one first; none is evaluated.

    Episodes begin and visit the groups as `settings` say, without exploration; where they would begin from the best
    placement, from the fastest device. `graph` is that of `problem` and `settings`, where it has been made. Raises
    SettingsError for a graph that is too large for the network.
    """
    settings = dataclasses.replace(settings, exploration=0.0, batch_episodes=1 + samples)
    graph = graph or group_graph(problem, settings.prior)
    actor = bound_network(settings, graph, network, start_times_for(settings, problem))
    plan = make_episode_plan(settings, graph, fastest_device_placement(graph), True, rng)
    with torch_threads(settings.torch_threads):
        return actor.sample(plan, lambda: None).ends()
