"""Splits that are no method of the engine: torchtitan's rule, and PipeDream's with its own ties."""

import numpy as np
from numpy.typing import NDArray

from engine.placers.pipeline_dp.placer import PipelineDp
from engine.placers.shipped.layers import WeightedLayers, completed
from engine.problem import Budget, PlacementProblem
from experiments.public_workloads.pipedream import tied


def torchtitan(problem: PlacementProblem) -> NDArray[np.int32]:
    """[groups] equal numbers of layers, embedding and head a layer each; what is over goes to the first stages.

    Source: torchtitan's `generate_llm_fqn_per_model_part` with its weights of 1 for input and output.
    """
    layers = WeightedLayers.of(problem)
    parts = np.array_split(np.arange(len(layers.groups)), len(layers.devices))
    stage = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return completed(problem, layers, layers.devices[stage])


def pipedream(problem: PlacementProblem) -> NDArray[np.int32]:
    """[groups] what PipeDream ties shares a device, and linear orders of the rest are divided by their times."""
    coarse = tied(problem).with_budget(Budget(1000))
    PipelineDp(most_ideals=2, most_splits=1).place(coarse, np.random.default_rng(0), lambda: False)
    device_of_op = coarse.ledger.answer()[coarse.grouping.group_of_op]
    device_of_group = np.zeros(problem.group_count, np.int32)
    device_of_group[problem.grouping.group_of_op] = device_of_op
    return device_of_group
