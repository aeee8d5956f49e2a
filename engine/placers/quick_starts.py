"""Placements that are had at once: where a search starts from."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacetoError
from engine.events import EmitFromPlacer, Episode, PlacerState, Progress, ShouldStop
from engine.placers.episodes import evaluate_as_episodes
from engine.placers.registry import make_placer
from engine.placers.single_device import one_device_placements
from engine.problem import Budget, Ledger, PlacementProblem
from engine.search.halving import Start
from engine.simulator import Evaluations

LIST_METHODS = ("m_topo", "heft", "m_etf")
"""the quickest first; they count their evaluations in the run's own ledger"""


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
) -> list[Start]:
    """Let each of `methods` place, until the budget is spent or it is asked to stop; the best of each.

    Episodes are numbered by their evaluation, so that those of all methods make one row.
    """
    found = []
    for method in methods:
        if problem.ledger.spent or should_stop():
            break
        own = problem.with_budget(_what_is_left(problem.ledger))
        try:
            make_placer(method, {}).place(own, own.ledger.budget, rng, _heard(problem.ledger, emit), should_stop)
        except PlacetoError as error:  # no rule for this graph, no library on this machine
            emit(Progress(f"without {method}: {error.what}", 0, 0))
        problem.ledger.take_over(own.ledger)
        if own.ledger.best_placement is not None:
            found.append(start_of(own.ledger))
    return found


def start_of(ledger: Ledger) -> Start:
    """The best that `ledger` knows."""
    assert ledger.missing_bytes is not None
    return Start(ledger.answer().copy(), ledger.best_time_us, ledger.missing_bytes)


def best_start(problem: PlacementProblem, placements: NDArray[np.int32], evaluations: Evaluations) -> Start:
    """The best of `placements` [batch, groups] by what was evaluated of them."""
    missing_bytes = problem.missing_bytes(evaluations)
    best = int(np.lexsort((evaluations.step_time_us, missing_bytes))[0])
    return Start(placements[best].copy(), float(evaluations.step_time_us[best]), int(missing_bytes[best]))


def _what_is_left(ledger: Ledger) -> Budget:
    seconds = ledger.budget.seconds
    return Budget(ledger.remaining, None if seconds is None else max(1e-3, seconds - ledger.elapsed_seconds))


def _heard(ledger: Ledger, emit: EmitFromPlacer) -> EmitFromPlacer:
    """Tells what a method tells of its own ledger as what it is on `ledger`, where it has not been counted yet."""
    used, best_us = ledger.used, ledger.best_step_time_us

    def hear(event: Episode | Progress | PlacerState) -> None:
        if isinstance(event, Episode):
            known = [step_time_us for step_time_us in (best_us, event.best_step_time_us) if step_time_us is not None]
            number = used + event.evaluations
            emit(
                dataclasses.replace(
                    event,
                    episode=number,
                    evaluations=number,
                    best_step_time_us=min(known, default=None),
                    elapsed_seconds=ledger.elapsed_seconds,
                )
            )
        elif isinstance(event, Progress):
            emit(event)

    return hear
