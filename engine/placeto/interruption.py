"""Ends a training in the middle of a batch when a stop is requested or its time is over."""

from collections.abc import Callable

from engine.events import ShouldStop
from engine.problem import PlacementProblem

RaiseIfOver = Callable[[], None]
"""raises InterruptedTrainingError when training should end"""


LOOK_SECONDS = 0.25
"""time between two checks for a stop in a long batch, and the aim for one call of the simulator"""


class InterruptedTrainingError(Exception):
    """A stop was requested, or the time was over, in the middle of a batch. Not a user's mistake."""


def make_raise_if_over(problem: PlacementProblem, should_stop: ShouldStop) -> RaiseIfOver:
    """A function that checks `should_stop` and the clock, at most every LOOK_SECONDS."""
    checked_at = problem.ledger.clock()

    def raise_if_over() -> None:
        nonlocal checked_at
        if problem.ledger.clock() - checked_at >= LOOK_SECONDS:
            checked_at = problem.ledger.clock()
            if should_stop() or (problem.ledger.remaining > 0 and problem.ledger.is_late):
                raise InterruptedTrainingError

    return raise_if_over
