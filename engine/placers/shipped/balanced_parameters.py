"""Balanced parameters: consecutive layers on each device, so that the most weights of one are as few as can be.

Source: DeepSpeed's pipelines with `partition_method="parameters"` (`deepspeed.runtime.utils.partition_balanced`), which
seeks the smallest bound on the weights of a stage under which the layers, taken in order, need no more stages than
there are. Deviations: bytes take the place of numbers of parameters, groups that of layers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placers.shipped.layers import WeightedLayers, completed
from engine.problem import PlacementProblem


@dataclass(frozen=True, slots=True)
class BalancedParameters:
    """Divides the layers by their weights."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        layers = WeightedLayers.of(problem)
        stage = balanced_stages(layers.weight_bytes, len(layers.devices))
        problem.evaluate_episodes(completed(problem, layers, layers.devices[stage])[None, :])


def balanced_stages(sizes: NDArray[np.int64], stages: int) -> NDArray[np.int64]:
    """[layers] the stage of each, in order; the largest sum of a stage is the least possible."""
    if not len(sizes):
        return np.empty(0, dtype=np.int64)
    low, high = int(sizes.max()), int(sizes.sum())
    while low < high:
        bound = (low + high) // 2
        if _filled(sizes, bound)[-1] < stages:
            high = bound
        else:
            low = bound + 1
    return _filled(sizes, low)


def _filled(sizes: NDArray[np.int64], bound: int) -> NDArray[np.int64]:
    """[layers] stages that take layers in order as long as their sum is at most `bound`."""
    found, stage, used = np.empty(len(sizes), dtype=np.int64), 0, 0
    for layer, size in enumerate(sizes.tolist()):
        if used + size > bound:
            stage, used = stage + 1, 0
        found[layer] = stage
        used += size
    return found
