"""What a placer is: a method that makes placements."""

from typing import Protocol

import numpy as np

from engine.events import ShouldStop
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import PlacementProblem


class Placer(Protocol):
    """A method. It evaluates and reports only through the `problem`, draws only from `rng`, and looks at `should_stop`
    at least once an episode. It ends when the problem's ledger is spent. It may `save` its state between episodes and
    then has `resume` too.

    A placer is made with keyword settings (its own dataclass), `make_placer(name, settings)`.
    """

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        """Evaluate placements; the answer is the best of the problem's ledger, infeasible if none found is feasible.

        Raises InfeasibleError where it can make no placement at all (such as no CPU in the cluster).
        """
        ...


class PolicyPlacer(Placer, Protocol):
    """A placer that can begin from a trained policy: its row in the registry says so."""

    def use_policy(self, policy: TrainedPolicy) -> None:
        """Begin the next `place` from `policy`. Raises SettingsError where the settings do not go with it."""
        ...


class ResumablePlacer(Placer, Protocol):
    """A placer that saves its state and can go on from one."""

    def resume(self, state: bytes) -> None:
        """Take up `state`; the next `place` goes on from there, with the same answer as if it had never stopped."""
        ...
