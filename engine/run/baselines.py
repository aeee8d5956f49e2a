"""The baselines of a run: trivial methods and random placements, each with a ledger of its own."""

import dataclasses

import numpy as np

from engine.errors import InfeasibleError, MeasuringError
from engine.events import Baseline, ShouldStop
from engine.explaining.verdict import shortage_words
from engine.placers.registry import make_placer
from engine.problem import Budget, PlacementProblem

MOST_RANDOM_EVALUATIONS = 10_000
"""most evaluations of the random baseline, beyond which its best hardly changes"""
MOST_RANDOM_WORK = 10_000_000
"""most simulated ops and edges of the random baseline, a second or two, so that large graphs do not delay the method"""
BASELINE_SHARE = 0.05
"""share of a budget of seconds that each baseline may spend in addition, so that users wait little longer"""
MOST_RANDOM_MEASURED = 10
"""the same where step times are measured, which takes seconds each"""


def baseline_of(
    method: str, of_groups: PlacementProblem, budget: Budget, seed: int, should_stop: ShouldStop
) -> Baseline:
    """What `method` finds in the groups that people see, with `budget`; why it has nothing, where it has not."""
    problem = of_groups.with_budget(budget)
    rng = np.random.default_rng(seed)
    note = ""
    try:
        make_placer(method, {}).place(problem, rng, should_stop)
    except (InfeasibleError, MeasuringError) as error:
        note = error.what
    ledger = problem.ledger
    found = Baseline(method, None, None, ledger.used, note, wall_seconds=ledger.elapsed_seconds)
    if note:
        return found
    found = dataclasses.replace(found, mean_step_time_us=ledger.mean_step_time_us)
    if ledger.best_step_time_us is None:
        return dataclasses.replace(found, note=f"does not fit in memory: it needs {shortage(problem)}")
    answer = ledger.answer()
    peak_bytes = problem.simulator.evaluate(answer[None, :]).peak_bytes[0].tolist()
    placement = problem.context.reporter.to_split(answer).device_of_group
    best = {"step_time_us": ledger.best_step_time_us, "placement": placement, "peak_bytes": peak_bytes}
    return dataclasses.replace(found, **best)


def baseline_budget(problem: PlacementProblem) -> Budget:
    """A baseline's budget: the run's evaluations, limited to a second or two of work, and a share of its seconds.

    So the random baseline may have fewer evaluations than the method; its event holds the number. It depends on a
    clock only if the run has a budget of seconds.
    """
    graph, budget = problem.graph, problem.ledger.budget
    for_work = max(1, MOST_RANDOM_WORK // (graph.op_count + graph.edge_count))
    evaluations = min(budget.evaluations, MOST_RANDOM_EVALUATIONS, for_work)
    if problem.context.timer is not None:
        evaluations = min(evaluations, MOST_RANDOM_MEASURED)
    return Budget(evaluations, None if budget.seconds is None else BASELINE_SHARE * budget.seconds)


def shortage(problem: PlacementProblem) -> str:
    """What the placement that misses the least memory misses: `2.34 GiB more than the 1.00 GiB of GPU 0`."""
    evaluation = problem.simulator.evaluate(problem.ledger.answer()[None, :])
    return shortage_words(evaluation.peak_bytes[0] - problem.memory_bytes, problem.cluster)
