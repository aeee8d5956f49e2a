"""Local search over the rest of a problem's budget: cycles of annealing from the best placement so far."""

import math
from dataclasses import dataclass

import numpy as np

from engine.events import Json, ShouldStop
from engine.problem import Ledger, PlacementProblem
from engine.search.annealer import Annealer
from engine.search.chunk_result import chunk_size
from engine.search.cooling import CoolingSchedule, cycles_for
from engine.search.few_devices import FEW_DEVICES, nearest_devices
from engine.search.gathering import SHARE_TO_GATHER, Gathering
from engine.settings import machine
from engine.settings.fields import number, refused, require_allowed, switch

SECONDS_OF_A_CHUNK = 0.1
"""a rough guess, from which the evaluations in a budget of seconds are planned"""
CHUNKS = 500
"""a small budget is cut into this many chunks, so that its curve has enough points"""
STALLED = 0.002
"""relative: a search that gains less in a cycle stalls"""
PROVEN = 1e-8
"""relative: a placement this near the lower bound is the optimum, apart from rounding"""


@dataclass(frozen=True, slots=True)
class LocalSearchSettings:
    """Settings of local search. A move that loses `heat` times the best step time is accepted with probability 1/e."""

    hot: float = number(
        0.005,
        1e-6,
        10.0,
        "heat at the start of a cycle of the shortest length; in other cycles it grows with the square root of their "
        "length",
    )
    cold: float = number(0.0002, 1e-9, 10.0, "heat at the end of a cycle; at most `hot`")
    moves_of_shortest_cycle: float = number(
        12.0,
        1.0,
        1e6,
        "least evaluations in the first cycle, as a multiple of the number of single-group moves; each cycle is twice "
        "as long as the one before",
    )
    list_starts: bool = switch(
        True, "whether it also tries the list schedulers' placements as starts, or only single devices"
    )
    levels: bool = switch(
        True,
        "whether it moves groups of all levels, where groups nest, or only those that methods without levels place",
    )
    checkpoint_seconds: float = machine.checkpoint_seconds(5.0)

    def __post_init__(self) -> None:
        require_allowed(self, "local_search")
        if self.cold > self.hot:
            raise refused("cold", self.cold, f"at most hot, {self.hot!r}", "local_search")


def planned_evaluations(
    problem: PlacementProblem, begin_used: int | None = None, begin_seconds: float | None = None
) -> float:
    """Estimate the evaluations left from a point of the budget on, by default from now; seconds are a rough guess."""
    ledger = problem.ledger
    planned: float = ledger.budget.evaluations - (ledger.used if begin_used is None else begin_used)
    if ledger.budget.seconds is not None:
        left = ledger.budget.seconds - (ledger.elapsed_seconds if begin_seconds is None else begin_seconds)
        planned = min(planned, chunk_size(problem) * max(0.0, left) / SECONDS_OF_A_CHUNK)
    return planned


def is_proven(ledger: Ledger, bound_us: float) -> bool:
    """Whether the best so far reaches the lower bound and is therefore optimal."""
    best = ledger.best_step_time_us
    return best is not None and best <= bound_us * (1 + PROVEN)


class LocalSearch:
    """One local search, run once from the ledger's best or from a saved state."""

    def __init__(
        self,
        problem: PlacementProblem,
        settings: LocalSearchSettings,
        rng: np.random.Generator,
        should_stop: ShouldStop,
    ) -> None:
        self._problem, self._settings = problem, settings
        self._annealer = Annealer(problem, rng, through_levels=settings.levels)
        self._should_stop = should_stop
        self._gathers = settings.levels and len(problem.coarser) > 0
        """whether groups can be split, so that its last evaluations put together those that need not be"""
        self._bound_us = problem.lower_bound_us
        self._begin_used, self._begin_seconds = problem.ledger.used, problem.ledger.elapsed_seconds
        self._cycle = -1
        """the walk's current cycle"""
        self._chunk_seconds = SECONDS_OF_A_CHUNK
        self.open_devices, self._cycle_us = FEW_DEVICES, 0.0
        """how many devices moves may choose, and the best step time when the current cycle began"""

    def run(self) -> None:
        """Search from the ledger's best until the budget is spent, a stop is requested or the optimum is proven."""
        schedule = self._schedule()
        while not (self._is_over() or self._is_optimal() or self._annealer.moves == 0):
            self._run_chunk(schedule)
            self._problem.context.save(self.state, self._settings.checkpoint_seconds)
        if self._gathers and self._problem.ledger.best_placement is not None:
            Gathering(self._problem, self._should_stop).run()

    def _is_over(self) -> bool:
        return self._problem.context.is_over(self._should_stop) or self._progress(0, 0.0) >= 1.0

    def _run_chunk(self, schedule: CoolingSchedule) -> None:
        """Run the next chunk, which never goes beyond the evaluations of its cycle."""
        answer, step_time_us = self._problem.ledger.answer(), self._problem.ledger.best_time_us
        progress = self._progress(0, 0.0)
        cycle = max(self._cycle, schedule.cycle_at(progress))
        if self._widens(cycle, step_time_us) or cycle != self._cycle:
            self._annealer.open(nearest_devices(self._problem, answer, self.open_devices))
        if cycle != self._cycle:
            self._cycle, self._cycle_us = cycle, step_time_us
            self._annealer.go_to(answer, step_time_us)
        count = self._chunk_size(schedule.end_of(cycle))
        first = schedule.heat_at(progress, cycle) * step_time_us
        last = schedule.heat_at(self._progress(count, self._chunk_seconds), cycle) * step_time_us
        share = schedule.share_at(progress, cycle)
        begin = self._problem.ledger.clock()
        self._problem.evaluate_compiled(count, lambda charged: self._annealer.evaluate(charged, first, last, share))
        self._chunk_seconds = self._problem.ledger.clock() - begin

    def _widens(self, cycle: int, step_time_us: float) -> bool:
        """Whether moves may choose more devices from now on: where memory is missing, or the last cycle stalled.

        Within a cycle the best hardly changes while the walk is hot, so that nothing can be told from it.
        """
        most, before = self._problem.device_count, self.open_devices
        if self._problem.ledger.missing_bytes:
            self.open_devices = max(most, before)
        stalled = step_time_us > self._cycle_us * (1 - STALLED)
        if 0 <= self._cycle < cycle and stalled and self.open_devices < most:
            self.open_devices *= 2
        return self.open_devices != before

    def _schedule(self) -> CoolingSchedule:
        planned = self._share * planned_evaluations(self._problem, self._begin_used, self._begin_seconds)
        shortest = self._settings.moves_of_shortest_cycle * max(1, self._annealer.moves)
        cycles = cycles_for(planned, shortest)
        return CoolingSchedule(cycles, self._settings.hot, self._settings.cold, planned / shortest)

    @property
    def _share(self) -> float:
        """The share of the budget that is for annealing."""
        return 1.0 - SHARE_TO_GATHER if self._gathers else 1.0

    def _evaluations(self) -> int:
        """The evaluations of all cycles."""
        return math.ceil(self._share * (self._problem.ledger.budget.evaluations - self._begin_used))

    def _progress(self, more: int, more_seconds: float) -> float:
        """The share of the search's evaluations or seconds that is spent once `more` of them are."""
        ledger = self._problem.ledger
        progress = (ledger.used + more - self._begin_used) / self._evaluations()
        if ledger.budget.seconds is not None:
            seconds = max(1e-9, self._share * (ledger.budget.seconds - self._begin_seconds))
            progress = max(progress, (ledger.elapsed_seconds + more_seconds - self._begin_seconds) / seconds)
        return min(1.0, progress)

    def _chunk_size(self, end: float) -> int:
        left = round(end * self._evaluations()) - (self._problem.ledger.used - self._begin_used)
        size = min(chunk_size(self._problem), -(-self._evaluations() // CHUNKS))
        return max(1, min(size, left, self._problem.ledger.remaining))

    def _is_optimal(self) -> bool:
        return is_proven(self._problem.ledger, self._bound_us)

    def state(self) -> bytes:
        """The state as bytes, for a checkpoint."""
        texts: dict[str, Json] = {
            "cycle": self._cycle,
            "begin_used": self._begin_used,
            "begin_seconds": self._begin_seconds,
            "open": self.open_devices,
            "cycle_us": self._cycle_us,
        }
        return self._annealer.state(texts)

    def restore(self, state: bytes) -> None:
        """Continue from `state`."""
        texts = self._annealer.restore(state)
        cycle, used, seconds = texts["cycle"], texts["begin_used"], texts["begin_seconds"]
        assert isinstance(cycle, int) and isinstance(used, int) and isinstance(seconds, int | float)
        self._cycle, self._begin_used, self._begin_seconds = cycle, used, float(seconds)
        opened, cycle_us = texts["open"], texts["cycle_us"]
        assert isinstance(opened, int) and isinstance(cycle_us, int | float)
        self.open_devices, self._cycle_us = opened, float(cycle_us)
