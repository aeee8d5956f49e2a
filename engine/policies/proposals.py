"""A policy's placements of any problem: a greedy pass and sampled ones."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from engine.placeto.seeing.features import GroupGraph
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import PlacementProblem


def proposals(
    policy: TrainedPolicy,
    problem: PlacementProblem,
    rng: np.random.Generator,
    samples: int,
    graph: GroupGraph | None = None,
) -> NDArray[np.int32]:
    """[1 + samples, groups] placements of `policy`, the greedy pass first; none is evaluated.

    `graph` is that of `problem`, where it has been made already.
    """
    from engine.placeto.networks.making import make_network  # torch takes seconds to load
    from engine.placeto.passes import greedy_and_sampled

    settings = dataclasses.replace(policy.settings, start="nowhere", traversal="topological")
    network = make_network(settings, problem.device_count, rng, policy.weights)
    return greedy_and_sampled(settings, network, problem, rng, samples, graph)
