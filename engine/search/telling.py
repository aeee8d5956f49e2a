"""What a compiled search tells between its chunks: episodes, and its state now and then."""

import time
from collections.abc import Callable

from engine.events import EmitFromPlacer, Episode, PlacerState, ShouldStop
from engine.problem import ChunkBest, PlacementProblem

MOST_TOLD = 2000
"""chunks without an improvement that a run tells of, counted in evaluations; improvements are told of all"""
SECONDS_BETWEEN_SIGNS = 2.0
"""at the latest then something is told, whatever was evaluated"""


class Telling:
    """Makes chunks of evaluations one after the other, and tells of them."""

    def __init__(
        self, problem: PlacementProblem, emit: EmitFromPlacer, should_stop: ShouldStop, checkpoint_seconds: float
    ) -> None:
        self._problem, self._emit, self._should_stop = problem, emit, should_stop
        self._checkpoint_seconds = checkpoint_seconds
        self._every = -(-problem.ledger.budget.evaluations // MOST_TOLD)
        self._told = self._told_state = time.monotonic()

    @property
    def ends(self) -> bool:
        """Whether the budget is spent or the search is asked to stop; never before something was evaluated."""
        ledger = self._problem.ledger
        return ledger.spent or (ledger.best_placement is not None and self._should_stop())

    def evaluate(self, count: int, chunk: Callable[[int], ChunkBest]) -> ChunkBest:
        """Make and tell a chunk of `count` evaluations, or of those that are left."""
        ledger = self._problem.ledger
        used_before, before = ledger.used, (ledger.missing_bytes, ledger.best_step_time_us)
        best = self._problem.evaluate_compiled(min(count, ledger.remaining), chunk)
        improved = before != (ledger.missing_bytes, ledger.best_step_time_us)
        turn = ledger.used // self._every != used_before // self._every
        late = time.monotonic() - self._told >= SECONDS_BETWEEN_SIGNS
        if improved or turn or late:
            self._tell(best, used_before + best.at)
        return best

    def _tell(self, best: ChunkBest, number: int) -> None:
        """An episode is one placement here, numbered by its evaluation; told is the best of the chunk."""
        ledger = self._problem.ledger
        self._told = time.monotonic()
        self._emit(
            Episode(
                episode=number,
                step_time_us=best.step_time_us,
                feasible=best.missing_bytes == 0,
                best_step_time_us=ledger.best_step_time_us,
                evaluations=number,
                elapsed_seconds=ledger.elapsed_seconds,
                placement=best.placement.tolist(),
            )
        )

    def keep(self, state: Callable[[], bytes]) -> None:
        """Tell the search's state, but not more often than every `checkpoint_seconds`."""
        if time.monotonic() - self._told_state >= self._checkpoint_seconds:
            self._emit(PlacerState(state()))
            self._told_state = time.monotonic()
