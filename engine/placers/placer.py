"""What a placer is: a method that makes placements."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.events import EmitFromPlacer, ShouldStop
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import Budget, PlacementProblem


@dataclass(frozen=True, slots=True)
class Placement:
    """Group → device."""

    device_of_group: NDArray[np.int32]
    """[groups]"""


class Placer(Protocol):
    """A method. It evaluates only through `problem.evaluate`, draws only from `rng`, and looks at `should_stop` at
    least once an episode. It ends when the problem's ledger is spent. It may emit `PlacerState` between episodes and
    then has `resume` too.

    A placer is made with keyword settings (its own dataclass), `make_placer(name, settings)`.
    """

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        """Return the best placement it found, infeasible if it found no feasible one.

        Raises InfeasibleError where it can make no placement at all (such as no CPU in the cluster).
        """
        ...


class PolicyPlacer(Placer, Protocol):
    """A placer that can begin from a trained policy: one of `TAKE_A_POLICY` in the registry."""

    def use_policy(self, policy: TrainedPolicy) -> None:
        """Begin the next `place` from `policy`. Raises SettingsError where the settings do not go with it."""
        ...


class ResumablePlacer(Placer, Protocol):
    """A placer that emits `PlacerState` and can go on from one."""

    def resume(self, state: bytes) -> None:
        """Take up `state`; the next `place` goes on from there, with the same answer as if it had never stopped."""
        ...
