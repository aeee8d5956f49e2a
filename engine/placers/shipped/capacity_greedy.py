"""Capacity greedy: ops in order on the first device until its memory is full, then on the next.

Source: ONNX Runtime's partitioning by memory budget (its annotated_partitioning documents), and OpenVINO's HETERO
device with model-parallel fallback: both take nodes in topological order as long as weights and outputs fit.
Deviations: groups take the place of nodes; where no device has room, the one with most room left is taken.
"""

from dataclasses import dataclass

import numpy as np

from engine.events import ShouldStop
from engine.placers.m_topo import devices_to_fill, fill
from engine.problem import PlacementProblem
from engine.search.tasks import memory_of_groups


@dataclass(frozen=True, slots=True)
class CapacityGreedy:
    """Fills each device to its memory."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        memory_bytes, allowed = memory_of_groups(problem), np.ascontiguousarray(problem.allowed)
        placement = fill(allowed, memory_bytes, devices_to_fill(problem), problem.memory_bytes.astype(np.float64))
        problem.evaluate_episodes(placement[None, :])
