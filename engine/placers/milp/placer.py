"""Mixed-integer programming: a model of the problem for HiGHS, which also proves how far the answer is from the best.

It begins from the best placement so far, or that of a short run of auto. The model never says more than the true step
time or period (placement_model.py), and every solution that the solver finds is evaluated truly. So the least objective
that the solver has not ruled out is a lower bound of the problem, which the ledger keeps. For periods the model is
exact, and the solver's optimum is the answer. Where it is not, placements that have been evaluated are excluded and the
solver goes on, until its bound has reached the best one.

HiGHS misses rows by `FEASIBILITY` at most; a bound nearer to the best than `TOLERANCE` counts as reached. With a
budget of seconds it runs until these are over, else for a number of nodes of its search tree, the same each time.
In problems with too many groups, edges and devices auto has the whole budget.

Source: Tarnawski et al.: Efficient algorithms for device placement of DNN graph operators, NeurIPS 2020, section 5, for
the integer programme of the period; Hooker and Ottosson, "Logic-based Benders decomposition", 2003, for excluding what
a more exact model has evaluated.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Json, ShouldStop
from engine.placers.auto import Auto
from engine.placers.milp.placement_model import PlacementModel, is_too_large
from engine.placers.milp.solver import solve
from engine.placers.quick_starts import evaluate_one_device
from engine.problem import PlacementProblem
from engine.settings.fields import require_allowed, share, whole
from engine.settings.making import make_settings

TOLERANCE = 1e-6
"""relative"""
SECONDS_BETWEEN_SIGNS = 2.0
NODES_OF_A_SOLVE = 100
"""what a solve counts beside its nodes: its heuristics take as long"""
LEAST_EVALUATIONS_LEFT = 20
"""that auto leaves for what the solver finds"""


@dataclass(frozen=True, slots=True)
class MilpSettings:
    """Settings of mixed-integer programming."""

    start_share: float = share(0.2, "share of the seconds, or of the evaluations, for the run of auto before it")
    nodes: int = whole(2000, 1, 10**9, "nodes of the search tree at most, where the budget has no seconds")

    def __post_init__(self) -> None:
        require_allowed(self, "milp")


class Milp:
    """Solves a mixed-integer model of the problem and evaluates what the solver finds."""

    def __init__(self, **settings: Json) -> None:
        """`settings` as in `MilpSettings`. Raises SettingsError."""
        self.settings = make_settings("milp", MilpSettings, settings)

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        evaluate_one_device(problem)
        seed, share_of_auto = int(rng.integers(2**31 - 1)), self.settings.start_share
        if is_too_large(problem):
            problem.context.progress("without a model, which would be too large: auto searches alone")
            share_of_auto = 1.0
        else:
            problem.ledger.prove(problem.lower_bound_us)
        if share_of_auto > 0 and not problem.context.is_over(should_stop):
            _run_auto(problem, share_of_auto, rng, should_stop)
        if share_of_auto < 1.0 and not problem.context.is_over(should_stop):
            _Search(problem, self.settings, seed, should_stop).run()


def _run_auto(
    problem: PlacementProblem, share_of_auto: float, rng: np.random.Generator, should_stop: ShouldStop
) -> None:
    """Let auto search with a share of the seconds, or of the evaluations."""
    ledger = problem.ledger
    seconds, evaluations = ledger.seconds_left, ledger.remaining
    if share_of_auto < 1.0:
        seconds = None if seconds is None else share_of_auto * seconds
        most = ledger.remaining if seconds is not None else int(share_of_auto * ledger.remaining)
        evaluations = min(most, ledger.remaining - LEAST_EVALUATIONS_LEFT)
    if evaluations > 0:
        Auto().place(problem.sub_problem(most_seconds=seconds, most_evaluations=evaluations), rng, should_stop)


class _Search:
    """One search: solves the model again and again, until its bound reaches the best or the budget is spent."""

    def __init__(self, problem: PlacementProblem, settings: MilpSettings, seed: int, should_stop: ShouldStop) -> None:
        self._problem, self._seed, self._should_stop = problem, seed, should_stop
        self._model = PlacementModel(problem, self._best_us)
        self._nodes_left = settings.nodes if problem.ledger.budget.seconds is None else None
        self._known: set[bytes] = set()
        self._excluded: set[bytes] = set()
        self._sign_seconds, self._bound_us = problem.ledger.clock(), -np.inf

    @property
    def _best_us(self) -> float:
        best = self._problem.ledger.best_step_time_us
        return np.inf if best is None else best

    def run(self) -> None:
        start = self._start()
        columns, rows = self._model.model.column_count, self._model.model.row_count
        self._problem.context.progress(f"a model of {columns:,} columns and {rows:,} rows")
        while not self._is_over(self._bound_us):
            seconds = self._problem.ledger.seconds_left
            model, objective = self._model.model, self._model.objective
            outcome = solve(
                model, objective, start, self._seed, self._nodes_left, seconds, self._is_over_in_units, self._found
            )
            self._prove(self._model.to_us(outcome.bound))
            if not outcome.is_done:
                break
            if self._nodes_left is not None:
                self._nodes_left -= NODES_OF_A_SOLVE + outcome.nodes
                if self._nodes_left <= 0:
                    break
            start = None
            self._exclude()
        self._report()

    def _start(self) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
        ledger = self._problem.ledger
        if ledger.best_step_time_us is None:
            return None
        best = self._model.canonical(ledger.answer())
        self._known.add(best.tobytes())
        return self._model.start(best)

    def _exclude(self) -> None:
        """Exclude what has been evaluated, and what is no better than the best."""
        for known in sorted(self._known - self._excluded):
            self._model.exclude(np.frombuffer(known, dtype=np.int32))
        self._excluded |= self._known
        if np.isfinite(self._best_us):
            self._model.limit(self._best_us)

    def _found(self, solution: NDArray[np.float64]) -> None:
        """Evaluate what the solver has found."""
        placement = self._model.placement(solution)
        if placement.tobytes() in self._known or self._problem.ledger.spent:
            return
        self._known.add(placement.tobytes())
        evaluations = self._problem.evaluate(placement[None, :])
        step_time_us, feasible = float(evaluations.step_time_us[0]), bool(self._problem.feasible(evaluations)[0])
        number = self._problem.ledger.used
        self._problem.context.episode(placement, step_time_us, feasible=feasible, number=number)

    def _is_over_in_units(self, bound: float) -> bool:
        return self._is_over(self._model.to_us(bound))

    def _is_over(self, bound_us: float) -> bool:
        """Note the solver's bound; whether it need not go on."""
        ledger = self._problem.ledger
        self._prove(bound_us)
        now = ledger.clock()
        if ledger.budget.seconds is not None and now - self._sign_seconds >= SECONDS_BETWEEN_SIGNS:
            self._sign_seconds = now
            self._report()
        return ledger.is_proven or self._problem.context.is_over(self._should_stop)

    def _prove(self, bound_us: float) -> None:
        """Let the ledger keep the bound: no placement beats both it and the best one."""
        if self._problem.context.timer is not None:
            return
        self._bound_us, best_us = max(self._bound_us, bound_us), self._best_us
        self._problem.ledger.prove(best_us if self._bound_us >= best_us * (1 - TOLERANCE) else self._bound_us)

    def _report(self) -> None:
        bound_us, best_us = self._problem.ledger.lower_bound_us, self._best_us
        if bound_us is None or not np.isfinite(best_us):
            return
        gap = max(0.0, 1 - bound_us / best_us) if best_us > 0 else 0.0
        said = "proven optimal" if self._problem.ledger.is_proven else f"at most {gap:.2%} from the optimum"
        self._problem.context.progress(f"{said}: no placement takes less than {bound_us:,.1f} µs")
