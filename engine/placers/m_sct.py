"""m-SCT: favourite children by a linear relaxation, then m-ETF in which a device waits for its favourite child.

Source: Jeon, Cai, Srivastava, Jiang, Ke, Meng, Xie, Gupta: Baechi: fast device placement of machine learning graphs,
SoCC 2020, section 3.3; the method without memory: Hanen, Munier (1995).

Deviations: those of m-ETF; the relaxation is solved by HiGHS instead of Mosek, at the time of each op on its fastest
device and the mean link; a solver that needs more than `iterations` is told as an event, and what follows is m-ETF.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import EmitFromPlacer, Progress, ShouldStop
from engine.list_scheduling.earliest_start import NOTHING, schedule_earliest_start
from engine.list_scheduling.favourite_children import edges_of, favourites, solve_relaxation
from engine.list_scheduling.ranks import upward_ranks
from engine.list_scheduling.tasks import Tasks, tasks_of_groups, tasks_of_ops
from engine.placers.list_plans import Plan, evaluate_plans
from engine.placers.placer import Placement
from engine.problem import Budget, PlacementProblem
from engine.settings.ranges import require_ranges


@dataclass(frozen=True, slots=True)
class MSct:
    """Makes its plan for ops, and for groups."""

    threshold: float = 0.5
    """an edge whose x lies below is one to a favourite child"""
    iterations: int = 50_000
    """of the simplex method, at most"""

    def __post_init__(self) -> None:
        require_ranges(self, {"iterations": (1, 10**9)}, {"threshold": (0.0, 0.5)}, "m_sct")

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        plans = [self._plan(tasks_of_ops(problem), emit), self._plan(tasks_of_groups(problem), emit)]
        return evaluate_plans(problem, plans, emit, should_stop)

    def _plan(self, tasks: Tasks, emit: EmitFromPlacer) -> Plan:
        ranks, favourite = upward_ranks(tasks), self._favourites(tasks, emit)

        def plan(room_bytes: NDArray[np.float64]) -> NDArray[np.int32]:
            return schedule_earliest_start(tasks, ranks, favourite, room_bytes)[0]

        return plan

    def _favourites(self, tasks: Tasks, emit: EmitFromPlacer) -> NDArray[np.int64]:
        """[tasks] each task's favourite child; none where the relaxation is not solved, which is told."""
        count, edges = len(tasks.group), edges_of(tasks)
        relaxation = solve_relaxation(edges, tasks.time_us.min(axis=1), self.iterations)
        if relaxation is None:
            emit(Progress(f"no favourite children: not solved within {self.iterations} iterations", 0, count))
            return np.full(count, NOTHING)
        favourite = favourites(edges, relaxation.x, count, self.threshold)
        emit(Progress("favourite children found", int((favourite != NOTHING).sum()), count))
        return favourite
