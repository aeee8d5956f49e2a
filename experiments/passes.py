"""Passes of a trained policy from one device, for experiments that ask how a policy places from a fixed start."""

import numpy as np
from numpy.typing import NDArray

from engine.placeto.episodes import EpisodePlan
from engine.placeto.networks.actor import Actor
from engine.placeto.seeing.features import GroupGraph, fastest_device_placement
from engine.placeto.torch_threads import torch_threads

SAMPLES = 16
"""sampled passes beside the greedy one"""


def ends_from_one_device(policy: Actor, graph: GroupGraph, order: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """[1 + SAMPLES, groups] placements from one device, in `order` [steps]; the greedy one first."""
    episodes = 1 + SAMPLES
    plan = EpisodePlan(
        starts=np.tile(fastest_device_placement(graph), (episodes, 1)),
        orders=np.tile(order, (episodes, 1)),
        uniforms=np.random.default_rng([seed, 2]).random((episodes, len(order))),
        greedy=np.repeat(np.arange(episodes)[:, None] == 0, len(order), axis=1),
        explore=0.0,
    )
    with torch_threads(1):
        return policy.sample(plan, lambda: None).ends()
