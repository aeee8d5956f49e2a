"""Quickly made placements, from which a search starts."""

from collections.abc import Sequence

import numpy as np

from engine.errors import PlacetoError
from engine.events import ShouldStop
from engine.graphs.grouping.grouping import Grouping
from engine.placers.registry import PLACERS, make_placer
from engine.problem import Ledger, PlacementProblem
from engine.problem.trivial import one_device_placements
from engine.search.halving import Start

LIST_METHODS = ("m_topo", "heft", "m_etf")
"""the quickest first"""


def evaluate_one_device(problem: PlacementProblem) -> None:
    """Evaluate each single device; if the run has evaluated placements already, report the best of them instead."""
    ledger = problem.ledger
    if ledger.used == 0:
        problem.evaluate_episodes(one_device_placements(problem)[: ledger.remaining])
        return
    feasible = ledger.best_step_time_us is not None
    problem.episode(ledger.answer(), ledger.best_time_us, feasible=feasible, number=ledger.used)


def evaluate_methods(
    problem: PlacementProblem,
    methods: Sequence[str],
    rng: np.random.Generator,
    should_stop: ShouldStop,
    grouping: Grouping | None = None,
    most_seconds: float | None = None,
) -> list[Start]:
    """Run `methods` one after the other until the budget is spent or a stop is requested; returns the best of each.

    With `grouping`, one of the problem's coarser levels, they place its groups. Each has at most `most_seconds`, which
    a list scheduler looks at between two schedules.
    """
    starts = []
    for method in methods:
        if problem.ledger.spent or should_stop():
            break
        sub_problem = problem.sub_problem(grouping, most_seconds)
        try:
            make_placer(method, {}).place(sub_problem, rng, should_stop)
        except PlacetoError as error:  # such as no rule for this graph, or no library on this machine
            problem.progress(f"without {PLACERS[method].label}: {error.what}")
        if sub_problem.ledger.best_placement is not None:
            starts.append(start_of(sub_problem.ledger))
    return starts


def start_of(ledger: Ledger) -> Start:
    """A start at the best placement of `ledger`, in the groups of the ledger of which it is a part."""
    assert ledger.missing_bytes is not None
    return Start(ledger.lifted(ledger.answer()).copy(), ledger.best_time_us, ledger.missing_bytes)


def given_start(problem: PlacementProblem) -> list[Start]:
    """A start at the placement that the problem begins from, which has been evaluated; none without one."""
    if problem.start is None:
        return []
    evaluations = problem.simulator.evaluate(problem.start[None, :])
    missing_bytes = int(problem.missing_bytes(evaluations)[0])
    return [Start(problem.start.copy(), float(evaluations.step_time_us[0]), missing_bytes)]
