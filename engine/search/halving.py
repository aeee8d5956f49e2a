"""Successive halving: makes short walks from several starts and keeps the better half, until one is left.

A slightly faster start is not always the better place to search from; a short walk shows more. All walks together get a
small share of the budget. Where that gives too few evaluations to each, there are fewer starts.

Source: Jamieson, Talwalkar: Non-stochastic best arm identification and hyperparameter optimization, AISTATS 2016.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.events import Json, ShouldStop
from engine.files.archive import pack, unpack
from engine.problem import PlacementProblem
from engine.search.annealer import Annealer
from engine.search.chunk_result import chunk_size
from engine.search.cooling import CoolingSchedule, cycles_for
from engine.search.few_devices import FEW_DEVICES, nearest_devices
from engine.search.local_search import CHUNKS, LocalSearchSettings, is_proven, planned_evaluations

SHARE = 0.3
"""share of the budget for all rounds together"""
MOST_STARTS = 4
LEAST_MOVES = 0.5
"""least evaluations of a walk, as a multiple of the number of single-group moves; a shorter walk shows nothing"""
MOST_MOVES = 48.0
"""most evaluations of a walk, in the same unit; the rest of a large budget is better spent on the winner"""


@dataclasses.dataclass(slots=True)
class Start:
    """A placement to search from, replaced by the best that its walk finds."""

    placement: NDArray[np.int32]
    """[groups] the best so far"""
    step_time_us: float
    missing_bytes: int
    """bytes over the memory of its fullest device; 0 if it is feasible"""

    @property
    def rank(self) -> tuple[int, float]:
        """The sort key, as the ledger compares placements: the smaller, the better."""
        return self.missing_bytes, self.step_time_us


def best_distinct(starts: Sequence[Start], count: int) -> list[Start]:
    """Copies of the best `count` distinct `starts`, without those that miss more memory than the best one."""
    known: dict[bytes, Start] = {}
    for start in sorted(starts, key=lambda start: start.rank):
        known.setdefault(start.placement.astype(np.int32).tobytes(), start)
    kept = list(known.values())[:count]
    return [dataclasses.replace(start) for start in kept if start.missing_bytes == kept[0].missing_bytes]


class Halving:
    """All rounds of successive halving, run once from its starts or from a saved state.

    The ledger keeps the best placement.
    """

    def __init__(
        self,
        problem: PlacementProblem,
        starts: Sequence[Start],
        settings: LocalSearchSettings,
        rng: np.random.Generator,
        should_stop: ShouldStop,
    ) -> None:
        self._problem, self._settings = problem, settings
        self._annealer = Annealer(problem, rng)
        self._should_stop = should_stop
        self._bound_us = problem.lower_bound_us
        self._planned = math.floor(planned_evaluations(problem))
        self._begin_seconds = problem.ledger.elapsed_seconds
        self._starts = self._affordable(best_distinct(starts, MOST_STARTS))
        self._rounds = math.ceil(math.log2(len(self._starts))) if self._starts else 0
        self._walk = self._done = 0
        """the number of the walk in its round, and the number of its evaluations so far"""
        self._cycle = -1

    def _affordable(self, starts: list[Start]) -> list[Start]:
        """The first of `starts`, as many as can get enough evaluations each."""
        least = max(1.0, LEAST_MOVES * self._annealer.moves)
        while len(starts) > 1:
            rounds = math.ceil(math.log2(len(starts)))
            if SHARE * self._planned / rounds / len(starts) >= least:
                break
            starts = starts[: len(starts) // 2]
        return starts

    def run(self) -> None:
        """Walk and halve until one start is left, the budget is spent, a stop is requested or the optimum is proven."""
        while len(self._starts) > 1 and not self._ends():
            length = self._length()
            if self._done < length:
                self._run_chunk(self._starts[self._walk], length)
            if self._done >= length:
                self._walk, self._done, self._cycle = self._walk + 1, 0, -1
            if self._walk == len(self._starts):
                self._starts = sorted(self._starts, key=lambda start: start.rank)[: (len(self._starts) + 1) // 2]
                self._walk = 0
            self._problem.context.save(self.state, self._settings.checkpoint_seconds)

    def _ends(self) -> bool:
        ledger = self._problem.ledger
        late = False
        if ledger.budget.seconds is not None:  # the walks may be slower than planned
            left = ledger.budget.seconds - self._begin_seconds
            late = ledger.elapsed_seconds - self._begin_seconds >= SHARE * left
        return (
            late
            or self._problem.context.is_over(self._should_stop)
            or is_proven(ledger, self._bound_us)
            or self._annealer.moves == 0
        )

    def _length(self) -> int:
        """Evaluations of a walk in this round."""
        even = SHARE * self._planned / self._rounds / len(self._starts)
        return max(1, min(math.floor(even), math.floor(MOST_MOVES * self._annealer.moves)))

    def _run_chunk(self, start: Start, length: int) -> None:
        """Run the next chunk of the walk from `start`: cycles of annealing, each from the walk's best."""
        schedule = self._schedule(length)
        cycle = max(self._cycle, schedule.cycle_at(self._done / length))
        if cycle != self._cycle:
            self._cycle = cycle
            few = self._problem.device_count if start.missing_bytes else FEW_DEVICES
            self._annealer.open(nearest_devices(self._problem, start.placement, few))
            self._annealer.go_to(start.placement, start.step_time_us)
        left = round(schedule.end_of(cycle) * length) - self._done
        count = max(1, min(chunk_size(self._problem), -(-self._planned // CHUNKS), left))
        count = min(count, self._problem.ledger.remaining)
        first = schedule.heat_at(self._done / length, cycle) * start.step_time_us
        last = schedule.heat_at((self._done + count) / length, cycle) * start.step_time_us
        share = schedule.share_at(self._done / length, cycle)
        best = self._problem.evaluate_compiled(
            count, lambda charged: self._annealer.evaluate(charged, first, last, share)
        )
        self._done += count
        if (best.missing_bytes, best.step_time_us) < start.rank:
            start.placement = best.placement.copy()
            start.missing_bytes, start.step_time_us = best.missing_bytes, best.step_time_us

    def _schedule(self, length: int) -> CoolingSchedule:
        shortest = self._settings.moves_of_shortest_cycle * max(1, self._annealer.moves)
        return CoolingSchedule(cycles_for(length, shortest), self._settings.hot, self._settings.cold, length / shortest)

    def state(self) -> bytes:
        """The state as bytes, for a checkpoint."""
        texts: dict[str, Json] = {
            "planned": self._planned,
            "begin_seconds": self._begin_seconds,
            "rounds": self._rounds,
            "at": [self._walk, self._done, self._cycle],
            "step_times_us": [start.step_time_us for start in self._starts],
            "missing_bytes": [start.missing_bytes for start in self._starts],
        }
        walk = np.frombuffer(self._annealer.state({}), np.uint8)
        return pack({"starts": np.stack([start.placement for start in self._starts]), "walk": walk}, texts)

    def restore(self, state: bytes) -> None:
        """Continue from `state`."""
        arrays, texts = unpack(state)
        self._annealer.restore(arrays["walk"].tobytes())
        planned, seconds, rounds, at = texts["planned"], texts["begin_seconds"], texts["rounds"], texts["at"]
        times, missing = texts["step_times_us"], texts["missing_bytes"]
        assert isinstance(planned, int) and isinstance(seconds, int | float) and isinstance(rounds, int)
        assert isinstance(at, list) and isinstance(times, list) and isinstance(missing, list)
        self._planned, self._begin_seconds, self._rounds = planned, float(seconds), rounds
        self._walk, self._done, self._cycle = (_whole(number) for number in at)
        self._starts = [
            Start(placement.astype(np.int32), _number(time_us), _whole(missed))
            for placement, time_us, missed in zip(arrays["starts"], times, missing, strict=True)
        ]


def _number(value: Json) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _whole(value: Json) -> int:
    assert isinstance(value, int)
    return value
