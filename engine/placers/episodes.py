"""How a placer without a policy tells what it evaluates: one placement is one episode."""

import numpy as np
from numpy.typing import NDArray

from engine.events import EmitFromPlacer, Episode
from engine.placers.placer import Placement
from engine.problem import PlacementProblem
from engine.simulator import Evaluations

MOST_TOLD = 2000
"""evaluations that a run tells of, beside its improvements: a hundred million would fill any disk"""


def evaluate_as_episodes(
    problem: PlacementProblem, placements: NDArray[np.int32], emit: EmitFromPlacer, *, first_episode: int
) -> Placement:
    """Evaluate `placements` [batch, groups] and return the best that the problem has seen.

    An `Episode` is emitted for each improvement and for every n-th placement, n so that a whole budget has at most
    `MOST_TOLD` of these; the numbers of the others are left out.
    """
    evaluate_and_tell(problem, placements, emit, first_episode=first_episode)
    return best_of(problem)


def evaluate_and_tell(
    problem: PlacementProblem,
    placements: NDArray[np.int32],
    emit: EmitFromPlacer,
    *,
    first_episode: int,
    tell_all: bool = False,
) -> Evaluations:
    """The same for a placer that goes on from what the simulator says of its placements; `tell_all`: of each one."""
    every = 1 if tell_all else -(-problem.ledger.budget.evaluations // MOST_TOLD)
    used_before, best_before = problem.ledger.used, problem.ledger.best_step_time_us
    evaluations = problem.evaluate(placements)
    feasible = problem.feasible(evaluations)
    best = np.inf if best_before is None else best_before
    elapsed_seconds = problem.ledger.elapsed_seconds
    for index, step_time_us in enumerate(evaluations.step_time_us):
        improves = feasible[index] and step_time_us < best
        if improves:
            best = float(step_time_us)
        if not improves and (first_episode + index) % every != 0:
            continue
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
    return evaluations


def best_of(problem: PlacementProblem) -> Placement:
    """The best feasible placement in the ledger, or else the one that misses the least memory."""
    return Placement(problem.ledger.answer())
