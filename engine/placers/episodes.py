"""How a placer without a policy tells what it evaluates: one placement is one episode."""

import numpy as np
from numpy.typing import NDArray

from engine.events import EmitFromPlacer, Episode
from engine.placers.placer import Placement
from engine.problem import PlacementProblem


def evaluate_as_episodes(
    problem: PlacementProblem, placements: NDArray[np.int32], emit: EmitFromPlacer, *, first_episode: int
) -> Placement:
    """Evaluate `placements` [batch, groups], emit an `Episode` for each; the best that the problem has seen."""
    used_before, best_before = problem.ledger.used, problem.ledger.best_step_time_us
    evaluations = problem.evaluate(placements)
    feasible = problem.feasible(evaluations)
    best = np.inf if best_before is None else best_before
    elapsed_seconds = problem.ledger.elapsed_seconds
    for index, step_time_us in enumerate(evaluations.step_time_us):
        if feasible[index]:
            best = min(best, float(step_time_us))
        emit(
            Episode(
                episode=first_episode + index,
                step_time_us=float(step_time_us),
                feasible=bool(feasible[index]),
                best_step_time_us=None if np.isinf(best) else best,
                evaluations=used_before + index + 1,
                elapsed_seconds=elapsed_seconds,
                placement=placements[index].tolist(),
            )
        )
    return best_of(problem)


def best_of(problem: PlacementProblem) -> Placement:
    """The best feasible placement in the ledger, or else the one that misses the least memory."""
    return Placement(problem.ledger.answer())
