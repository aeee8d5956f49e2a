"""Single device: puts everything on the best one. Source: the trivial baseline of Addanki et al. 2019, table 1."""

from dataclasses import dataclass

import numpy as np

from engine.events import ShouldStop
from engine.problem import PlacementProblem
from engine.problem.trivial import one_device_placements


@dataclass(frozen=True, slots=True)
class SingleDevice:
    """Evaluates each device once, the fastest first, as far as the budget allows."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        placements = one_device_placements(problem)[: problem.ledger.remaining]
        problem.evaluate_episodes(placements)
