"""Single device: puts everything on the best one. Source: the trivial baseline of Addanki et al. 2019, table 1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.problem import PlacementProblem


@dataclass(frozen=True, slots=True)
class SingleDevice:
    """Evaluates each device once, the fastest first, as far as the budget allows."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        placements = one_device_placements(problem)[: problem.ledger.remaining]
        problem.evaluate_episodes(placements)


def one_device_placements(problem: PlacementProblem) -> NDArray[np.int32]:
    """[devices, groups] placements with all groups on one device, the device with the least total time first.

    A group that may not be on the device (a pin, no kernel) is on the first device where it may be.
    """
    return np.stack([all_on(problem, int(device)) for device in np.argsort(_busy_us(problem), kind="stable")])


def all_on(problem: PlacementProblem, device: int) -> NDArray[np.int32]:
    """[groups] the placement with each group on `device` if it may be there, else on its first allowed device."""
    return np.where(problem.allowed[:, device], device, np.argmax(problem.allowed, axis=1)).astype(np.int32)


def _busy_us(problem: PlacementProblem) -> NDArray[np.float64]:
    """[devices] total time of the ops on each device; an op without a time there counts its slowest time elsewhere."""
    times = problem.op_time_us
    slowest = np.nanmax(times, axis=0)
    return np.asarray(np.where(np.isnan(times), slowest, times).sum(axis=1))
