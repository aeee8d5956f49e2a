"""Random: a uniformly random device for each group. Source: the random baseline of Addanki et al. 2019, section 4."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.problem import PlacementProblem
from engine.problem.trivial import kept_apart
from engine.settings.fields import require_allowed, whole


@dataclass(frozen=True, slots=True)
class Random:
    """Spends the whole budget on independent placements."""

    batch: int = whole(
        64,
        1,
        100_000,
        "placements evaluated at once; it changes only how often the method checks for a stop, not its answer",
    )

    def __post_init__(self) -> None:
        require_allowed(self, "random")

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        ledger, begun = problem.ledger, False
        while not (ledger.spent and ledger.best_placement is not None) and not (begun and should_stop()):
            count = min(self.batch, ledger.remaining)
            problem.evaluate_episodes(kept_apart(problem, random_placements(problem.allowed, count, rng)))
            begun = True


def random_placements(allowed: NDArray[np.bool_], count: int, rng: np.random.Generator) -> NDArray[np.int32]:
    """[count, groups] placements, each group uniform over the devices where it may be; `allowed` [groups, devices]."""
    choices = np.cumsum(allowed, axis=1)
    drawn = np.floor(rng.random((count, len(allowed))) * choices[:, -1]).astype(np.int64)
    return np.asarray((choices[None, :, :] <= drawn[:, :, None]).sum(axis=2), dtype=np.int32)
