"""How a training that is asked to stop, or whose time is over, ends in the middle of a batch."""

from collections.abc import Callable

from engine.events import ShouldStop
from engine.problem import PlacementProblem

RaiseIfOver = Callable[[], None]
"""raises InterruptedTrainingError when it is time to end"""


LOOK_SECONDS = 0.25
"""how often a long batch looks whether it should stop, and about how long one call of the simulator may take"""


class InterruptedTrainingError(Exception):
    """Training was asked to stop, or its time is over, in the middle of a batch. Not a user's mistake."""


def make_raise_if_over(problem: PlacementProblem, should_stop: ShouldStop) -> RaiseIfOver:
    """Asks `should_stop` and the clock at most every LOOK_SECONDS."""
    looked = problem.ledger.clock()

    def raise_if_over() -> None:
        nonlocal looked
        if problem.ledger.clock() - looked >= LOOK_SECONDS:
            looked = problem.ledger.clock()
            if should_stop() or (problem.ledger.remaining > 0 and problem.ledger.spent):
                raise InterruptedTrainingError

    return raise_if_over
