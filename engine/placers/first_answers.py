"""Placements that are had at once: where a search starts from."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from engine.errors import PlacetoError
from engine.events import EmitFromPlacer, Episode, PlacerState, Progress, ShouldStop
from engine.placers.episodes import evaluate_as_episodes
from engine.placers.registry import make_placer
from engine.placers.single_device import one_device_placements
from engine.problem import PlacementProblem

LIST_METHODS = ("heft", "m_etf", "m_topo")
"""the cheapest and best first; they count their evaluations in the run's own ledger"""


def evaluate_one_device(problem: PlacementProblem, emit: EmitFromPlacer) -> None:
    """Each device for all groups; where something was evaluated before (a run has done just that), the best is told."""
    ledger = problem.ledger
    if ledger.used == 0:
        evaluate_as_episodes(problem, one_device_placements(problem)[: ledger.remaining], emit, first_episode=1)
        return
    emit(
        Episode(
            episode=ledger.used,
            step_time_us=ledger.best_time_us,
            feasible=ledger.best_step_time_us is not None,
            best_step_time_us=ledger.best_step_time_us,
            evaluations=ledger.used,
            elapsed_seconds=ledger.elapsed_seconds,
            placement=ledger.answer().tolist(),
        )
    )


def evaluate_methods(
    problem: PlacementProblem,
    methods: Sequence[str],
    rng: np.random.Generator,
    emit: EmitFromPlacer,
    should_stop: ShouldStop,
) -> None:
    """Let each of `methods` place, until the budget is spent or it is asked to stop.

    Episodes are numbered by their evaluation, so that those of all methods make one row.
    """

    def hear(event: Episode | Progress | PlacerState) -> None:
        if isinstance(event, Episode):
            emit(dataclasses.replace(event, episode=event.evaluations))
        elif isinstance(event, Progress):
            emit(event)

    for method in methods:
        if problem.ledger.spent or should_stop():
            return
        try:
            make_placer(method, {}).place(problem, problem.ledger.budget, rng, hear, should_stop)
        except PlacetoError as error:  # no rule for this graph, no library on this machine
            emit(Progress(f"without {method}: {error.what}", 0, 0))
