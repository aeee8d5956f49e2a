"""What every single move of a group would change."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.simulator import Simulator

LARGEST_BATCH_BYTES = 16 * 1024**2
"""placements that are written out at once"""


@dataclass(frozen=True, slots=True)
class Gains:
    """The step after each group alone is moved to each device; NaN and -1 where it may not, or was not asked for."""

    groups: NDArray[np.int64]
    """[moved groups]"""
    step_time_us: NDArray[np.float64]
    """[moved groups, devices] on the group's own device the step time of the placement itself"""
    missing_bytes: NDArray[np.int64]
    """[moved groups, devices] bytes that the worst device then lacks; 0 if all fit"""


def gains_of(
    simulator: Simulator,
    placement: NDArray[np.int32],
    members: list[NDArray[np.int64]],
    groups: NDArray[np.int64],
    moves: NDArray[np.bool_],
) -> Gains:
    """Simulate each move of `groups` from `placement` [groups or ops, as the simulator has them].

    `members` [groups] are the places in `placement` that move with a group; `moves` [moved groups, devices] is true for
    the moves to simulate.
    """
    memory_bytes = simulator.cluster.usable_bytes
    devices = simulator.cluster.device_count
    step_time_us = np.full((len(groups), devices), np.nan)
    missing_bytes = np.full((len(groups), devices), -1, dtype=np.int64)
    row, device = np.nonzero(moves)
    size = max(1, LARGEST_BATCH_BYTES // placement.nbytes)
    bounds = [*range(0, len(row), size), len(row)]
    for low, high in pairwise(bounds):
        moved = np.repeat(placement[None, :], high - low, axis=0)
        for index in range(low, high):
            moved[index - low, members[groups[row[index]]]] = device[index]
        evaluations = simulator.evaluate(moved)
        step_time_us[row[low:high], device[low:high]] = evaluations.step_time_us
        missing_bytes[row[low:high], device[low:high]] = evaluations.missing_bytes(memory_bytes)
    return Gains(groups, step_time_us, missing_bytes)
