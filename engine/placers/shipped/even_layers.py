"""Even layers: the same number of layers on each device, as vLLM, torchtitan and Megatron divide a model by default.

Source: vLLM's `get_pp_indices`: each stage has the number of layers divided by that of stages; the layers that are over
go one each to the stages before the last, from behind. What comes before the first layer and after the last is with
them.

Deviations: a layer is a group that holds weights, embedding and head included, since groups say no more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placers.shipped.layers import WeightedLayers, completed
from engine.problem import PlacementProblem


@dataclass(frozen=True, slots=True)
class EvenLayers:
    """Divides the layers by their number."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        layers = WeightedLayers.of(problem)
        stage = np.repeat(np.arange(len(layers.devices)), even_counts(len(layers.groups), len(layers.devices)))
        device_of_layer: NDArray[np.int64] = layers.devices[stage]
        problem.evaluate_episodes(completed(problem, layers, device_of_layer)[None, :])


def even_counts(layers: int, stages: int) -> list[int]:
    """[stages] layers of each."""
    counts = [layers // stages] * stages
    for over in range(layers % stages):
        counts[stages - 2 - over if stages > 1 else 0] += 1
    return counts
