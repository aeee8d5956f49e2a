"""Exhaustive search: evaluates every placement and so finds the optimum, if the budget suffices for all of them.

Placements that differ only by exchanging interchangeable devices are evaluated once, where the results are equal to the
last bit (`engine/search/symmetry.py`). Source: plain enumeration; the oracle of the tests of all other methods.
"""

import json
from dataclasses import dataclass

import numpy as np

from engine.errors import SettingsError
from engine.events import Json, ShouldStop
from engine.problem import MOST_EVALUATIONS, ChunkBest, PlacementProblem
from engine.search.apart_table import make_apart_table
from engine.search.chunk_result import chunk_best, chunk_size, new_chunk_result
from engine.search.enumeration import (
    MOST_COUNTED,
    Odometer,
    at_placement,
    count_apart,
    count_placements,
    enumerate_placements,
    first_placement,
)
from engine.search.symmetry import interchangeable_devices
from engine.settings import machine
from engine.settings.fields import require_allowed
from engine.settings.making import make_settings


@dataclass(frozen=True, slots=True)
class ExhaustiveSettings:
    """Settings of exhaustive search: none changes its answer."""

    checkpoint_seconds: float = machine.checkpoint_seconds(5.0)

    def __post_init__(self) -> None:
        require_allowed(self, "exhaustive")


class Exhaustive:
    """Evaluates all placements, or none if the budget does not suffice for all."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `ExhaustiveSettings`. Raises SettingsError."""
        self.settings = make_settings("exhaustive", ExhaustiveSettings, settings)
        self._state: bytes | None = None

    def resume(self, state: bytes) -> None:
        """Continue after the last placement that was evaluated."""
        self._state = state

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        """Raises SettingsError, with the number of placements, if there are more than evaluations left."""
        enumeration = _Enumeration(problem, self._state)
        while enumeration.left > 0 and not problem.context.is_over(should_stop):
            problem.evaluate_compiled(min(enumeration.left, chunk_size(problem)), enumeration.evaluate)
            problem.context.save(enumeration.state, self.settings.checkpoint_seconds)
        best_us = problem.ledger.best_step_time_us
        if enumeration.left == 0 and best_us is not None and problem.stream is None:  # there memory is an estimate
            problem.ledger.prove(best_us)


class _Enumeration:
    """All placements of a problem, in chunks."""

    def __init__(self, problem: PlacementProblem, state: bytes | None) -> None:
        """Start at the first placement, or at the one in `state`. Raises SettingsError if there are too many."""
        self._problem = problem
        class_of_device = interchangeable_devices(problem)
        self._apart = make_apart_table(problem)
        self.left = count_placements(problem.allowed, class_of_device)
        self._odometer: Odometer = first_placement(problem.allowed, class_of_device)
        if problem.apart and self.left <= MOST_EVALUATIONS:
            self.left = count_apart(self._odometer, self._apart, self.left)  # ends at the first placement again
        if state is not None:
            texts = json.loads(state)
            self.left = texts["left"]
            at_placement(self._odometer, np.array(texts["following"], dtype=np.int32))
        if self.left > problem.ledger.remaining:
            raise _too_many(self.left, problem)
        self._scratch = problem.simulator.new_scratch()
        self._found = new_chunk_result(problem.group_count)

    def evaluate(self, count: int) -> ChunkBest:
        enumerate_placements(
            self._problem.simulator.tables,
            self._scratch,
            self._problem.memory_bytes,
            self._odometer,
            self._found,
            count,
            self._apart,
        )
        self.left -= count
        return chunk_best(self._found)

    def state(self) -> bytes:
        return json.dumps({"left": self.left, "following": self._odometer.placement.tolist()}).encode()


def _too_many(count: int, problem: PlacementProblem) -> SettingsError:
    ledger = problem.ledger
    shown = f"{count}" if count < MOST_COUNTED else f"more than {MOST_COUNTED:.0e}"
    needed = ledger.used + count
    allowed = (
        f"at least {needed} evaluations, of which {ledger.used} are spent already"
        if needed <= MOST_EVALUATIONS
        else f"at most {MOST_EVALUATIONS - ledger.used} placements: fewer groups or devices, or another method"
    )
    return SettingsError(
        f"there are {shown} placements and {ledger.remaining} evaluations left",
        where="exhaustive",
        allowed=allowed,
        field="evaluations",
    )
