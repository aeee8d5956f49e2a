"""Everything on one device: the best single one. Source: the trivial baseline of Addanki et al. 2019, table 1."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.problem import PlacementProblem


@dataclass(frozen=True, slots=True)
class SingleDevice:
    """Evaluates each device once, the fastest first, as far as the budget goes."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        placements = one_device_placements(problem)[: problem.ledger.remaining]
        problem.evaluate_episodes(placements)


def one_device_placements(problem: PlacementProblem) -> NDArray[np.int32]:
    """[devices, groups]: all groups on one device, devices by their total time of the ops, then in the cluster's order.

    A group that may not be on the device (a pin, no kernel) is on the first device where it may be.
    """
    return np.stack([all_on(problem, int(device)) for device in np.argsort(_busy_us(problem), kind="stable")])


def all_on(problem: PlacementProblem, device: int) -> NDArray[np.int32]:
    """[groups]: every group on `device` where it may be there, else on the first device where it may be."""
    return np.where(problem.allowed[:, device], device, np.argmax(problem.allowed, axis=1)).astype(np.int32)


def _busy_us(problem: PlacementProblem) -> NDArray[np.float64]:
    """[devices] the time of all ops on each device, an op without a time there counted at its slowest elsewhere."""
    times = problem.op_time_us
    slowest = np.nanmax(times, axis=0)
    return np.asarray(np.where(np.isnan(times), slowest, times).sum(axis=1))
