"""The context of a run: what a method may spend, who hears of it, and how step times are taken."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import EmitFromPlacer, Episode, FromPlacer, LearnedPolicy, PlacerState, Progress, ShouldStop, Update
from engine.graphs.grouping.nesting import SplitPlacement
from engine.problem.learning import Learned
from engine.problem.ledger import Budget, Clock, Ledger, Parent
from engine.problem.reporter import Reporter, ToSplit, by_group, ignore
from engine.problem.step_timer import StepTimer


@dataclass(frozen=True, slots=True)
class RunContext:
    """The ledger to which a run's evaluations are charged, and the reporter that emits its method's events."""

    ledger: Ledger
    """keeps the best placement"""
    reporter: Reporter
    timer: StepTimer | None = None
    """takes step times in place of the simulator"""
    start: NDArray[np.int32] | None = None
    """[groups] a placement to begin from, which the ledger has; None: a method begins where it wants"""
    wrap_state: Callable[[bytes], bytes] = bytes
    """converts the method's states before they are emitted"""

    @staticmethod
    def of(
        budget: Budget,
        *,
        clock: Clock | None = None,
        emit: EmitFromPlacer = ignore,
        parent: Parent | None = None,
        timer: StepTimer | None = None,
        start: NDArray[np.int32] | None = None,
        to_split: ToSplit = by_group,
    ) -> "RunContext":
        """A new ledger with `budget`, and a reporter to `emit`.

        `clock` counts the budget's seconds, by default wall time. `parent` is the ledger of which the new one is a
        part.
        """
        ledger = Ledger(budget, clock, parent)
        return RunContext(ledger, Reporter(ledger, emit, to_split), timer, start)

    def anew(self, budget: Budget, clock: Clock | None = None) -> "RunContext":
        """A context of its own with the same clock, unless another is given, and timer; it emits no events."""
        to_split = self.reporter.to_split
        return RunContext.of(budget, clock=clock or self.ledger.clock, timer=self.timer, to_split=to_split)

    def part(
        self, parent: Parent, most_seconds: float | None = None, most_evaluations: int | None = None
    ) -> "RunContext":
        """A context with the rest of the budget, of which at most `most_seconds` and `most_evaluations`, for a method
        that the running one calls.

        Its evaluations are charged and kept here too. Its episodes are emitted as episodes of this context, numbered by
        their evaluation; its states and policies are dropped.
        """
        used, best_us = self.ledger.used, self.ledger.best_step_time_us

        def forward(event: FromPlacer) -> None:
            if isinstance(event, Update):
                number = used + event.evaluations
                elapsed_seconds = self.ledger.elapsed_seconds
                event = dataclasses.replace(event, episode=number, evaluations=number, elapsed_seconds=elapsed_seconds)
            if isinstance(event, Episode):
                known = [known_us for known_us in (best_us, event.best_step_time_us) if known_us is not None]
                number = used + event.evaluations
                event = dataclasses.replace(
                    event,
                    episode=number,
                    evaluations=number,
                    best_step_time_us=min(known, default=None),
                    elapsed_seconds=self.ledger.elapsed_seconds,
                )
            if not isinstance(event, PlacerState | LearnedPolicy):
                self.reporter.emit(event)

        def to_split(placement: NDArray[np.int32]) -> SplitPlacement:
            return self.reporter.to_split(parent.lifted(placement))

        limits = [limit for limit in (self.ledger.seconds_left, most_seconds) if limit is not None]
        return RunContext.of(
            Budget(min(self.ledger.remaining, most_evaluations or self.ledger.remaining), min(limits, default=None)),
            clock=self.ledger.clock,
            emit=forward,
            parent=parent,
            timer=self.timer,
            to_split=to_split,
        )

    def reporting_to(self, emit: EmitFromPlacer) -> "RunContext":
        """The same ledger, with the method's later events sent to `emit`."""
        return dataclasses.replace(self, reporter=Reporter(self.ledger, emit, self.reporter.to_split))

    def with_states(self, wrap: Callable[[bytes], bytes]) -> "RunContext":
        """The same ledger and reporter, for a method that the running method calls; `wrap` converts its states."""
        return dataclasses.replace(self, wrap_state=lambda state: self.wrap_state(wrap(state)))

    def begin(self) -> None:
        """Begin the method's time: the seconds before do not count."""
        self.ledger.begin()
        self.reporter.begin()

    def is_over(self, should_stop: ShouldStop) -> bool:
        """Whether the budget is spent, the best is proven optimal or a stop is requested.

        A stop counts only after the first evaluation. In a stream a proven period does not end a search: a batch may
        still be shorter.
        """
        judged_otherwise = self.ledger.good is not None and self.ledger.good.judges_otherwise
        over = self.ledger.spent or (self.ledger.is_proven and not judged_otherwise)
        return over or (self.ledger.best_placement is not None and should_stop())

    def settle(self, placement: NDArray[np.int32], step_time_us: float, missing_bytes: int) -> None:
        """Answer with `placement` [groups], which was evaluated and is as good as the best, and report it."""
        self.ledger.settle(placement, step_time_us, missing_bytes)
        self.reporter.episode(placement, step_time_us, feasible=missing_bytes == 0, number=self.ledger.used)

    def episode(
        self, placement: NDArray[np.int32], step_time_us: float, *, feasible: bool, number: int | None = None
    ) -> None:
        """Report an episode of several evaluations, the last of which is `placement` [groups]."""
        self.reporter.episode(placement, step_time_us, feasible=feasible, number=number)

    def learned(self, learned: Learned) -> None:
        """Report that the method has learned from its last evaluations."""
        self.reporter.learned(learned)

    def progress(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Report progress that is no episode; `total` is 0 if it is not known."""
        self.reporter.emit(Progress(stage, done, total))

    def save(self, state: Callable[[], bytes], every_seconds: float) -> None:
        """Emit the method's state, from which it can continue after an interruption, at most every `every_seconds`."""
        self.reporter.save(lambda: self.wrap_state(state()), every_seconds)

    def keep_policy(self, policy: bytes) -> None:
        """Emit the method's policy, from which its decisions can be computed again."""
        self.reporter.keep_policy(policy)
