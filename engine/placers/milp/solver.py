"""HiGHS on a linear model: in one thread, from a known solution, and it can be stopped at any moment.

Source: Huangfu and Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation 10
(2018), and https://highs.dev for its branch and cut.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.placers.milp.linear_model import LinearModel

GAP = 1e-7
"""relative; HiGHS stops where its best solution is this near its bound"""
FEASIBILITY = 1e-7
"""by how much a row may be missed, in units of the model"""

IsOver = Callable[[float], bool]
"""takes the solver's bound and says whether to stop"""
TakeIncumbent = Callable[[NDArray[np.float64]], None]
"""hears of each better solution [columns]"""


@dataclass(frozen=True, slots=True)
class SolverOutcome:
    """What a solver has found of a model."""

    bound: float
    """no solution is smaller; infinite if there is none"""
    is_done: bool
    """whether nothing is left to search: the best solution is optimal, or there is none"""
    nodes: int
    """of its search tree"""


def solve(
    model: LinearModel,
    objective: int,
    start: tuple[NDArray[np.int64], NDArray[np.float64]] | None,
    seed: int,
    most_nodes: int | None,
    most_seconds: float | None,
    is_over: IsOver,
    found: TakeIncumbent,
) -> SolverOutcome:
    """Search for the smallest value of the column `objective`; `start` gives columns and their values.

    What `is_over` or `found` raises is raised here, after the solver has ended.
    """
    solver = _new_solver()
    options: dict[str, Any] = {
        "threads": 1,
        "random_seed": seed,
        "mip_rel_gap": GAP,
        "mip_abs_gap": 0.0,
        "primal_feasibility_tolerance": FEASIBILITY,
        "mip_feasibility_tolerance": FEASIBILITY,
        "time_limit": np.inf if most_seconds is None else most_seconds,
    }
    if most_nodes is not None:
        options["mip_max_nodes"] = most_nodes
    for name, value in options.items():
        solver.setOptionValue(name, value)
    _pass(solver, model, objective)
    if start is not None:
        solver.setSolution(len(start[0]), start[0].astype(np.int32), start[1])
    calls = _Calls(is_over, found)
    solver.cbMipInterrupt.subscribe(calls.interrupt)
    solver.cbSimplexInterrupt.subscribe(calls.interrupt_simplex)
    solver.cbMipImprovingSolution.subscribe(calls.improve)
    solver.run()
    if calls.failure is not None:
        raise calls.failure
    return _outcome(solver)


def _new_solver() -> Any:
    """A solver that prints nothing, not even its name: that must be said before callbacks are made possible."""
    import highspy  # loaded only here: it takes a moment

    class SilentHighs(highspy.Highs):
        def enableCallbacks(self) -> None:  # noqa: N802  # HiGHS's name
            self.silent()
            super().enableCallbacks()  # type: ignore[no-untyped-call]

    return SilentHighs()  # type: ignore[no-untyped-call]


def _outcome(solver: Any) -> SolverOutcome:
    from highspy import HighsModelStatus

    status, information = solver.getModelStatus(), solver.getInfo()
    nodes = max(0, int(information.mip_node_count))
    if status == HighsModelStatus.kInfeasible:
        return SolverOutcome(np.inf, True, nodes)
    bound = float(information.mip_dual_bound)
    return SolverOutcome(-np.inf if np.isnan(bound) else bound, status == HighsModelStatus.kOptimal, nodes)


def _pass(solver: Any, model: LinearModel, objective: int) -> None:
    import highspy

    programme = highspy.HighsLp()
    programme.num_col_, programme.num_row_ = model.column_count, model.row_count
    costs = np.zeros(model.column_count)
    costs[objective] = 1.0
    programme.col_cost_ = costs
    programme.col_lower_, programme.col_upper_ = model.bounds()
    programme.row_lower_, programme.row_upper_ = model.limits()
    first, columns, values = model.matrix()
    programme.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    programme.a_matrix_.start_, programme.a_matrix_.index_, programme.a_matrix_.value_ = first, columns, values
    kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
    programme.integrality_ = [kinds[int(is_whole)] for is_whole in model.integers()]
    solver.passModel(programme)


class _Calls:
    """What HiGHS calls while it runs; an exception must not pass through it, and is kept."""

    def __init__(self, is_over: IsOver, found: TakeIncumbent) -> None:
        self._is_over, self._found = is_over, found
        self.failure: BaseException | None = None

    def interrupt(self, event: Any) -> None:
        self._ask(event, float(event.data_out.mip_dual_bound))

    def interrupt_simplex(self, event: Any) -> None:
        self._ask(event, -np.inf)

    def improve(self, event: Any) -> None:
        if self.failure is None:
            try:
                self._found(np.array(event.data_out.mip_solution, dtype=np.float64))
            except BaseException as failure:  # raised again behind the solver
                self.failure = failure

    def _ask(self, event: Any, bound: float) -> None:
        try:
            if self.failure is not None or self._is_over(bound):
                event.interrupt()
        except BaseException as failure:  # raised again behind the solver
            self.failure = failure
            event.interrupt()
