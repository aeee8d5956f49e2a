"""A uniformly random device for each group. Source: the random baseline of Addanki et al. 2019, section 4."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import EmitFromPlacer, ShouldStop
from engine.placers.episodes import best_of, evaluate_as_episodes
from engine.placers.placer import Placement
from engine.problem import Budget, PlacementProblem
from engine.settings.ranges import require_ranges


@dataclass(frozen=True, slots=True)
class Random:
    """Spends the whole budget on independent placements."""

    batch: int = 64
    """placements evaluated at once; the answer does not depend on it, only how often it looks whether to stop"""

    def __post_init__(self) -> None:
        require_ranges(self, {"batch": (1, 100_000)}, {}, "random")

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        ledger, episode, best = problem.ledger, 1, None
        while not (ledger.spent and ledger.best_placement is not None) and not (best is not None and should_stop()):
            count = min(self.batch, ledger.remaining)
            evaluate_as_episodes(problem, random_placements(problem.allowed, count, rng), emit, first_episode=episode)
            episode, best = episode + count, best_of(problem)
        return best_of(problem)


def random_placements(allowed: NDArray[np.bool_], count: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """[count, groups]: each group uniformly over the devices where it may be; `allowed` is [groups, devices]."""
    choices = np.cumsum(allowed, axis=1)
    drawn = np.floor(rng.random((count, len(allowed))) * choices[:, -1]).astype(np.int64)
    return np.asarray((choices[None, :, :] <= drawn[:, :, None]).sum(axis=2), dtype=np.int32)
