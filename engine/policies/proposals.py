"""A policy's placements of any problem: a greedy pass and sampled ones."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from engine.policies.trained_policy import TrainedPolicy
from engine.problem import PlacementProblem


def proposals(
    policy: TrainedPolicy, problem: PlacementProblem, rng: np.random.Generator, samples: int
) -> NDArray[np.int32]:
    """[1 + samples, groups] placements of `policy`, the greedy pass first; none is evaluated."""
    from engine.placeto.episodes import make_episode_plan  # torch takes seconds to load
    from engine.placeto.features import group_graph
    from engine.placeto.torch_threads import torch_threads
    from engine.placeto.training import make_actor

    graph = group_graph(problem)
    settings = dataclasses.replace(
        policy.settings, start="nowhere", traversal="topological", exploration=0.0, batch_episodes=1 + samples
    )
    bound = make_actor(settings, graph, rng, policy.weights)
    plan = make_episode_plan(settings, graph, np.zeros(0, np.int32), True, rng)
    with torch_threads(settings.torch_threads):
        return bound.sample(plan, lambda: None).ends()
