"""Measures a policy on graphs that it was not trained on, by comparing its passes with a search."""

from collections.abc import Sequence

import numpy as np

from engine.events import ShouldStop
from engine.policies.card import HeldOut
from engine.policies.proposals import proposals
from engine.policies.settings import PolicyTrainingSettings
from engine.policies.teacher import taught_placement
from engine.policies.trained_policy import TrainedPolicy
from engine.policies.training_problem import ReportTraining, TrainingProblem, TrainingProgress
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem


def measure_held_out(
    policy: TrainedPolicy,
    held_out: Sequence[TrainingProblem],
    settings: PolicyTrainingSettings,
    seed: int,
    report_training: ReportTraining,
    seconds: float,
    should_stop: ShouldStop,
) -> tuple[HeldOut, ...]:
    """A row for each problem where the search found a feasible placement.

    A search that `should_stop` ended before its budget gives no row: the gap to it would flatter the policy.
    """
    rows: list[HeldOut] = []
    for index, problem in enumerate(held_out):
        if should_stop():
            break
        rng = np.random.default_rng([seed, index])
        row = _row(policy, problem, settings, rng, should_stop)
        if row is not None:
            rows.append(row)
        report_training(TrainingProgress("held_out", 1.0, seconds, held_out=tuple(rows)))
    return tuple(rows)


def _row(
    policy: TrainedPolicy,
    held_out: TrainingProblem,
    settings: PolicyTrainingSettings,
    rng: np.random.Generator,
    should_stop: ShouldStop,
) -> HeldOut | None:
    problem = held_out.problem
    placements = proposals(policy, problem, rng, settings.samples)
    evaluations = problem.simulator.evaluate(placements)
    feasible, step_time_us = problem.feasible(evaluations), evaluations.step_time_us
    search_us, search_evaluations = _searched(problem, settings, rng, should_stop)
    if search_us is None or should_stop():
        return None
    return HeldOut(
        graph=held_out.name,
        cluster=held_out.cluster_name,
        greedy_us=float(step_time_us[0]) if feasible[0] else None,
        best_of_us=float(step_time_us[feasible].min()) if feasible.any() else None,
        samples=settings.samples,
        search_us=search_us,
        search_seconds=0.0 if settings.search_evaluations else settings.search_seconds,
        search_evaluations=search_evaluations,
    )


def _searched(
    problem: PlacementProblem,
    settings: PolicyTrainingSettings,
    rng: np.random.Generator,
    should_stop: ShouldStop,
) -> tuple[float | None, int]:
    """(step time in µs of the search's best placement, None if infeasible; number of evaluations)."""
    by_count = settings.search_evaluations
    budget = Budget(by_count or MOST_EVALUATIONS, None if by_count else settings.search_seconds)
    placement, used = taught_placement(problem, budget, rng, should_stop)
    evaluations = problem.simulator.evaluate(placement[None, :])
    return (float(evaluations.step_time_us[0]) if problem.feasible(evaluations)[0] else None), used
