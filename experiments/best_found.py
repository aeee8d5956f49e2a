"""What a method finds for a problem, and the step time on one device, as several experiments compare them."""

import numpy as np

from engine.errors import PlacetoError
from engine.placers.registry import make_placer
from engine.problem import Budget, PlacementProblem
from engine.problem.ledger import Ledger
from engine.problem.trivial import one_device_placements


def ledger_of_run(problem: PlacementProblem, budget: Budget, method: str, rng: np.random.Generator) -> Ledger | None:
    """The ledger of one run with default settings; None if the method refuses the problem."""
    run_problem = problem.with_budget(budget)
    try:
        make_placer(method, {}).place(run_problem, rng, lambda: False)
    except PlacetoError:
        return None
    return run_problem.ledger


def best_step_time_us(problem: PlacementProblem, budget: Budget, method: str, rng: np.random.Generator) -> float | None:
    """The best feasible step time of one run; None if the run finds none or the method refuses the problem."""
    ledger = ledger_of_run(problem, budget, method, rng)
    return None if ledger is None else ledger.best_step_time_us


def best_one_device_us(problem: PlacementProblem) -> float:
    """The least step time with all groups on one device, whether they fit there or not."""
    return float(problem.simulator.evaluate(one_device_placements(problem)).step_time_us.min())
