"""HEFT: takes the ops by upward rank and puts each where it finishes first, also in gaps between earlier ones.

Source: Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing,
IEEE Transactions on Parallel and Distributed Systems 13 (2002), section 4.1.

Deviations: the ops of a group are placed together, in the three readings of `engine/search/tasks.py`, and all
placements are evaluated; transfers wait for each other as in the simulator; an output that several ops consume is sent
to a device once; a device without room is no candidate. With one op a group, `contention: none` and enough memory it is
the published method.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placers.list_schedules import ListScheduler, evaluate_schedules
from engine.problem import PlacementProblem
from engine.search.earliest_finish import schedule_earliest_finish
from engine.search.tasks import IsLate, Tasks, in_order_of_ranks, readings_of


@dataclass(frozen=True, slots=True)
class Heft:
    """Schedules ops, then groups, then the phases of groups."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        evaluate_schedules(problem, [list_scheduler(tasks) for tasks in readings_of(problem)], should_stop)


def list_scheduler(tasks: Tasks) -> ListScheduler:
    """The method on one reading of a problem."""
    order = in_order_of_ranks(tasks)

    def schedule(room_bytes: NDArray[np.float64], is_late: IsLate) -> NDArray[np.int32]:
        return schedule_earliest_finish(tasks, order, room_bytes, is_late)[0]

    return schedule
