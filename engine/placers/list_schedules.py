"""Evaluates list schedulers: each schedules again with less memory until its placement fits in the simulator."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.problem import PlacementProblem
from engine.problem.trivial import kept_apart
from engine.search.tasks import IsLate, LateError, memory_of_groups

ListScheduler: TypeAlias = Callable[[NDArray[np.float64], IsLate], NDArray[np.int32]]
"""room on each device in bytes [devices], whether it is late → device of each group [groups]; may raise LateError"""

MOST_ATTEMPTS = 8
"""schedules of one scheduler, until one fits"""


def evaluate_schedules(problem: PlacementProblem, schedulers: Sequence[ListScheduler], should_stop: ShouldStop) -> None:
    """Evaluate the placements of each of `schedulers`.

    A scheduler only estimates the memory of a group. Where the simulator finds a device too full, the scheduler runs
    again with that much less room there, until its placement fits or repeats, at most `MOST_ATTEMPTS` times. All end
    with the budget, or where a stop is requested, once the run has an answer.
    """

    def is_late() -> bool:
        return problem.ledger.is_answered and (problem.ledger.spent or should_stop())

    memory_bytes = memory_of_groups(problem)
    seen: list[NDArray[np.int32]] = []
    for scheduler in schedulers:
        room_bytes = problem.memory_bytes.astype(np.float64)
        for _ in range(MOST_ATTEMPTS):
            try:
                placement = kept_apart(problem, scheduler(room_bytes, is_late)[None, :])[0]
            except LateError:
                return
            if any(np.array_equal(placement, earlier) for earlier in seen):
                break
            if seen and (problem.ledger.spent or should_stop()):
                return
            evaluations = problem.evaluate_episodes(placement[np.newaxis])
            seen.append(placement)
            over_bytes = np.maximum(evaluations.peak_bytes[0] - problem.memory_bytes, 0)
            if not over_bytes.any():
                break
            used_bytes = np.bincount(placement, weights=memory_bytes, minlength=problem.device_count)
            tighter = np.maximum(np.minimum(room_bytes, used_bytes) - over_bytes, 0.0)
            room_bytes = np.where(over_bytes > 0, tighter, room_bytes)
