"""The protocol of a placer: a method that makes placements."""

from typing import Protocol

import numpy as np

from engine.events import ShouldStop
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import PlacementProblem


class Placer(Protocol):
    """A method that makes placements.

    It evaluates and reports only through the `problem`, draws only from `rng` and checks `should_stop` at least once an
    episode. It ends when the problem's ledger is spent. It may `save` its state between episodes; then it has `resume`
    too. `make_placer(name, settings)` makes one from its settings as keywords.
    """

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        """Evaluate placements; the answer is the best in the problem's ledger, infeasible if no feasible one was found.

        Raises InfeasibleError if it can make no placement at all (such as `cpu_only` without a CPU in the cluster).
        """
        ...


class PolicyPlacer(Placer, Protocol):
    """A placer that can begin from a trained policy: its row in the registry has `takes_policy`."""

    def use_policy(self, policy: TrainedPolicy) -> None:
        """Begin the next `place` from `policy`. Raises SettingsError if the settings do not fit the policy."""
        ...


class ResumablePlacer(Placer, Protocol):
    """A placer that saves its state and can continue from it."""

    def resume(self, state: bytes) -> None:
        """Load `state`: the next `place` continues from there, with the same answer as if it had never stopped."""
        ...


def resumable(placer: Placer) -> ResumablePlacer:
    """`placer` as a ResumablePlacer, since it has emitted a state."""
    assert hasattr(placer, "resume"), "a placer emitted a state but has no resume"
    return placer  # type: ignore[return-value]  # checked above
