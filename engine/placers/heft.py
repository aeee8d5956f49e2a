"""HEFT: by upward rank, each op to the device on which it finishes first, gaps between earlier ones included.

Source: Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing,
IEEE Transactions on Parallel and Distributed Systems 13 (2002), section 4.1.

Deviations: what moves together is placed together, read in both ways of `engine/search/tasks.py`, both
evaluated; transfers wait for each other where they do so in the simulator; an output that several ops take is sent to a
device once; a device without room is no candidate. With one op a group, `contention: none` and enough memory it is the
published method.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placers.list_plans import Plan, evaluate_plans
from engine.problem import PlacementProblem
from engine.search.earliest_finish import schedule_earliest_finish
from engine.search.tasks import Tasks, tasks_of_groups, tasks_of_ops, upward_ranks


@dataclass(frozen=True, slots=True)
class Heft:
    """Makes its plan for ops, and for groups."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        plans = [_plan(tasks_of_ops(problem)), _plan(tasks_of_groups(problem))]
        evaluate_plans(problem, plans, should_stop)


def _plan(tasks: Tasks) -> Plan:
    order = np.argsort(-upward_ranks(tasks), kind="stable")

    def plan(room_bytes: NDArray[np.float64]) -> NDArray[np.int32]:
        return schedule_earliest_finish(tasks, order, room_bytes)[0]

    return plan
