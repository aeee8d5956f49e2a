"""m-ETF: takes, again and again, the pair of op and device with the earliest start, among devices with room.

Source: Jeon, Cai, Srivastava, Jiang, Ke, Meng, Xie, Gupta: Baechi: fast device placement of machine learning graphs,
SoCC 2020, section 3.2; the method without memory: Hwang, Chow, Anger, Lee, SIAM Journal on Computing 18 (1989).

Deviations: the ops of a group are placed together, in the three readings of `engine/search/tasks.py`, and all
placements are evaluated; of equal starts the op with the higher upward rank goes first, which the paper leaves open;
the paper has equal devices only, here a device slower than the op's fastest counts as if it started later by the
difference; where no device has room, the one with most room left is taken; where the simulator finds a device too
full, the method runs again with less room there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placers.list_schedules import ListScheduler, evaluate_schedules
from engine.problem import PlacementProblem
from engine.search.earliest_start import NO_TASK, schedule_earliest_start
from engine.search.tasks import IsLate, Tasks, readings_of, upward_ranks


@dataclass(frozen=True, slots=True)
class MEtf:
    """Schedules ops, then groups, then the phases of groups."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        evaluate_schedules(problem, [list_scheduler(tasks) for tasks in readings_of(problem)], should_stop)


def list_scheduler(tasks: Tasks) -> ListScheduler:
    """The method on one reading of a problem."""
    ranks, no_favourites = upward_ranks(tasks), np.full(len(tasks.group), NO_TASK)

    def schedule(room_bytes: NDArray[np.float64], is_late: IsLate) -> NDArray[np.int32]:
        return schedule_earliest_start(tasks, ranks, no_favourites, room_bytes, is_late)[0]

    return schedule
