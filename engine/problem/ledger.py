"""The ledger, which counts every evaluation of a run, and the run's budget."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.errors import SettingsError
from engine.problem.good_placements import GoodPlacements

MOST_EVALUATIONS = 100_000_000
PROVEN = 1e-9
"""relative; a best placement this near a proven bound is the optimum, apart from rounding"""
NO_PLACEMENTS, NO_TIMES = np.empty((0, 0), dtype=np.int32), np.empty(0)
Clock: TypeAlias = Callable[[], float]
"""seconds since some moment, such as `time.monotonic`; `time.process_time` counts those of this process alone"""


@dataclass(frozen=True, slots=True)
class Budget:
    """The evaluations and seconds that a run may spend."""

    evaluations: int
    """simulated (or measured) placements, the unit in which all methods are compared"""
    seconds: float | None = None
    """wall time, or None for no limit"""

    def __post_init__(self) -> None:
        if not 1 <= self.evaluations <= MOST_EVALUATIONS:
            raise SettingsError(
                f"{self.evaluations} evaluations",
                where="evaluations",
                allowed=f"1 to {MOST_EVALUATIONS}",
                field="evaluations",
            )
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise SettingsError(f"{self.seconds} seconds", where="seconds", allowed="a number above 0", field="seconds")


class BudgetSpentError(AssertionError):
    """A placer asked for more evaluations than its budget has: a bug of the placer."""


class Ledger:
    """Counts a run's evaluations and its seconds, and keeps the best placement among them.

    A ledger may be part of another one, its `parent`, which then counts the same evaluations and compares the same
    placements.
    """

    def __init__(self, budget: Budget, clock: Clock | None = None, parent: "Parent | None" = None) -> None:
        """`clock` is `time.monotonic` by default."""
        self.budget, self._parent = budget, parent
        self.clock: Clock = clock or time.monotonic
        self.used = 0
        self.best_step_time_us: float | None = None
        """step time of the best feasible placement; None before one is found"""
        self.best_placement: NDArray[np.int32] | None = None
        """[groups] the best feasible placement; before one is found, the placement that misses the least memory"""
        self.good: GoodPlacements | None = None
        """keeps good placements that differ, where someone asks for them; those of a part go to its parent"""
        self.missing_bytes: int | None = None
        """bytes by which `best_placement` exceeds the memory of its fullest device; 0 if it is feasible"""
        self.lower_bound_us: float | None = None
        """what a method has proven that no placement beats; None where nothing is proven"""
        self._sum_us = 0.0
        self.earlier_seconds = 0.0
        """seconds spent before the checkpoint from which the run continued"""
        self._best_time_us = math.inf
        self._started = self.clock()

    @property
    def remaining(self) -> int:
        return self.budget.evaluations - self.used

    @property
    def mean_step_time_us(self) -> float:
        """The mean step time in µs of all evaluations since the ledger was made; one stopped early counts its limit."""
        return self._sum_us / self.used

    @property
    def best_time_us(self) -> float:
        """Step time in µs of `best_placement`, feasible or not; infinite before the first evaluation."""
        return self._best_time_us

    @property
    def elapsed_seconds(self) -> float:
        return self.earlier_seconds + self.clock() - self._started

    @property
    def seconds_left(self) -> float | None:
        """The seconds that are left, a millisecond at least; None without a budget of seconds."""
        return None if self.budget.seconds is None else max(1e-3, self.budget.seconds - self.elapsed_seconds)

    @property
    def is_answered(self) -> bool:
        """Whether the run has evaluated a placement, here or in a ledger of which this one is a part."""
        return self.best_placement is not None or (self._parent is not None and self._parent.ledger.is_answered)

    @property
    def is_late(self) -> bool:
        """Whether the seconds are used up."""
        return self.budget.seconds is not None and self.elapsed_seconds >= self.budget.seconds

    @property
    def spent(self) -> bool:
        """Whether the evaluations or the seconds are used up."""
        return self.remaining <= 0 or self.is_late

    @property
    def is_proven(self) -> bool:
        """Whether a method has proven that the best placement so far is the optimum."""
        best_us, bound_us = self.best_step_time_us, self.lower_bound_us
        return best_us is not None and bound_us is not None and best_us <= bound_us * (1 + PROVEN)

    @property
    def share_spent(self) -> float:
        """The spent share of the evaluations or of the seconds, the larger of the two, from 0 to 1."""
        share = self.used / self.budget.evaluations
        if self.budget.seconds is not None:
            share = max(share, min(1.0, self.elapsed_seconds / self.budget.seconds))
        return share

    def begin(self) -> None:
        """Restart the clock: the time before this does not count for the run."""
        self._started = self.clock()

    def require(self, count: int) -> None:
        """Raise BudgetSpentError if the budget, or that of a ledger of which this one is a part, has fewer left."""
        if count > self.remaining:
            raise BudgetSpentError(f"{count} evaluations asked, {self.remaining} left")
        if self._parent is not None:
            self._parent.ledger.require(count)

    def charge(self, count: int) -> None:
        """Take `count` evaluations from the budget. Raises BudgetSpentError."""
        self.require(count)
        if self._parent is not None:
            self._parent.ledger.charge(count)
        self.used += count

    def prove(self, bound_us: float) -> None:
        """Record that no placement beats `bound_us`, here and in the parent if it has the same placements."""
        if self._parent is not None and self._parent.has_the_same_placements:
            self._parent.ledger.prove(bound_us)
        if self.lower_bound_us is None or bound_us > self.lower_bound_us:
            self.lower_bound_us = bound_us

    def note(
        self, placements: NDArray[np.int32], step_time_us: NDArray[np.float64], missing_bytes: NDArray[np.int64]
    ) -> None:
        """Keep the best of `placements` [batch, groups], the first of equals, if it is better than the best so far."""
        if len(placements) == 0:
            return
        self._offer(placements, step_time_us, missing_bytes)
        index = int(np.lexsort((step_time_us, missing_bytes))[0])
        sum_us = float(step_time_us.sum())
        self._keep(placements[index], float(step_time_us[index]), int(missing_bytes[index]), sum_us)

    def note_chunk(self, best: "ChunkBest") -> None:
        """Note the evaluations of compiled code, which reports only the best one."""
        self._offer(best.placement[None, :], np.array([best.step_time_us]), np.array([best.missing_bytes]))
        self._keep(best.placement, best.step_time_us, best.missing_bytes, best.sum_us)

    def _offer(
        self, placements: NDArray[np.int32], step_time_us: NDArray[np.float64], missing_bytes: NDArray[np.int64]
    ) -> None:
        """Let this ledger and those of which it is a part keep the good ones of `placements` [batch, groups]."""
        if self._parent is not None:
            self._parent.ledger._offer(self.lifted(placements), step_time_us, missing_bytes)
        if self.good is not None:
            self.good.add(placements[missing_bytes == 0], step_time_us[missing_bytes == 0])

    def _keep(self, placement: NDArray[np.int32], step_time_us: float, missing_bytes: int, sum_us: float) -> None:
        """Keep `placement`, the best of several, if it is better than the best so far; add the sum of their times."""
        if self._parent is not None:
            self._parent.ledger._keep(self.lifted(placement), step_time_us, missing_bytes, sum_us)
        self._sum_us += sum_us
        candidate = (missing_bytes, step_time_us)
        if self.best_placement is None or candidate < (self.missing_bytes, self._best_time_us):
            self.missing_bytes, self._best_time_us = candidate
            self.best_placement = placement.astype(np.int32, copy=True)
            self.best_step_time_us = step_time_us if missing_bytes == 0 else None

    def settle(self, placement: NDArray[np.int32], step_time_us: float, missing_bytes: int) -> None:
        """Answer with `placement` [groups], which was evaluated, unless the best so far is better than that."""
        if self._parent is not None:
            self._parent.ledger.settle(self.lifted(placement), step_time_us, missing_bytes)
        if self.best_placement is not None and (missing_bytes, step_time_us) == (
            self.missing_bytes,
            self._best_time_us,
        ):
            self.best_placement = placement.astype(np.int32, copy=True)

    def lifted(self, placements: NDArray[np.int32]) -> NDArray[np.int32]:
        """[..., groups of the parent] `placements` [..., groups] as the parent has them."""
        return placements if self._parent is None else self._parent.lifted(placements)

    def answer(self) -> NDArray[np.int32]:
        """[groups] `best_placement`; the ledger must have at least one evaluation."""
        assert self.best_placement is not None, "nothing was evaluated"
        return self.best_placement

    def state(self) -> "LedgerState":
        """The state of the ledger, for a checkpoint."""
        placements, step_time_us = (NO_PLACEMENTS, NO_TIMES) if self.good is None else self.good.state()
        best = self.best_placement
        return LedgerState(
            self.used, self._best_time_us, self.missing_bytes, best, self.elapsed_seconds, placements, step_time_us
        )

    def restore(self, state: "LedgerState") -> None:
        """Continue from `state`."""
        self.used, self.earlier_seconds = state.used, state.elapsed_seconds
        self._started = self.clock()
        if state.placement is not None:
            self.best_placement = state.placement.astype(np.int32, copy=True)
            self.missing_bytes, self._best_time_us = state.missing_bytes, state.best_time_us
            self.best_step_time_us = state.best_time_us if state.missing_bytes == 0 else None
        if self.good is not None:
            self.good.restore(state.good, state.good_time_us)


@dataclass(frozen=True, slots=True)
class Parent:
    """The ledger of which another one is a part, and how that one's placements become placements here."""

    ledger: Ledger
    inside: NDArray[np.int32] | None = None
    """[groups of the parent] the group of the part that holds each, where the parent's are finer"""
    devices: NDArray[np.int32] | None = None
    """[devices of the part] the parent's device that each is, where the parent has more"""

    @property
    def has_the_same_placements(self) -> bool:
        """Whether the part's groups and devices are the parent's."""
        return self.inside is None and self.devices is None

    def lifted(self, placements: NDArray[np.int32]) -> NDArray[np.int32]:
        """[..., groups of the parent] `placements` [..., groups of the part], on the parent's devices."""
        placements = placements if self.devices is None else self.devices[placements]
        return placements if self.inside is None else placements[..., self.inside]


@dataclass(frozen=True, slots=True)
class LedgerState:
    """The state of a ledger, without its budget."""

    used: int
    best_time_us: float
    missing_bytes: int | None
    placement: NDArray[np.int32] | None
    """[groups]"""
    elapsed_seconds: float
    good: NDArray[np.int32]
    """[kept, groups] the placements that `Ledger.good` keeps"""
    good_time_us: NDArray[np.float64]
    """[kept]"""


@dataclass(frozen=True, slots=True)
class ChunkBest:
    """The report of compiled code on a chunk of evaluations: the first of the best placements, and sums."""

    placement: NDArray[np.int32]
    """[groups]"""
    step_time_us: float
    missing_bytes: int
    """missing on the fullest device; 0 if it is feasible"""
    sum_us: float
    """sum of all step times; an evaluation that was stopped early counts the limit that it exceeds"""
    evaluations: int
    """number of evaluations made"""
    at: int
    """number of the best one in the chunk, from 1"""
    level_groups: int | None = None
    """groups of the level at which most of its moves were; None: those of the problem"""
