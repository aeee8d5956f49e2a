"""Evaluations for methods that learn from scores: charged, emitted as episodes, and scored on one scale.

A score is the step time as a share of the reference time (all groups on the fastest device, without transfers), with
`memory_penalty` times the missing share of the fullest device's memory on top, and at most `penalised_cap`: Placeto's
penalty with its defaults. In a ranking every feasible placement stands before every infeasible one.
Source: Addanki et al. 2019, section 4.1, for the penalty.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placeto.features import group_graph
from engine.placeto.rewards import StepTimePenalty
from engine.placeto.settings import PlacetoSettings
from engine.problem import PlacementProblem


@dataclass(frozen=True, slots=True)
class Scored:
    """What a batch is worth."""

    scores: NDArray[np.float64]
    """[batch] the lower the better"""
    infeasible: NDArray[np.bool_]
    """[batch]"""
    missing: NDArray[np.int64]
    """[batch] bytes on the fullest device"""

    def order(self) -> NDArray[np.intp]:
        """[batch] indices from the best to the worst; the first of equals first."""
        return np.lexsort((np.arange(len(self.scores)), self.scores, self.missing))

    def taken(self, indices: NDArray[np.intp]) -> "Scored":
        """Those at `indices`."""
        return Scored(self.scores[indices], self.infeasible[indices], self.missing[indices])

    def followed_by(self, other: "Scored") -> "Scored":
        """These, then `other`."""
        return Scored(
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.infeasible, other.infeasible]),
            np.concatenate([self.missing, other.missing]),
        )


class Scorer:
    """Evaluates batches of one run and knows when it is over."""

    def __init__(self, problem: PlacementProblem, should_stop: ShouldStop) -> None:
        self._problem, self._should_stop = problem, should_stop
        self.graph = group_graph(problem)
        as_in_placeto = PlacetoSettings()
        self._penalty = StepTimePenalty(
            self.graph.reference_us,
            as_in_placeto.memory_penalty,
            as_in_placeto.penalised_cap,
            per_device_memory=True,
        )
        self._evaluated = 0

    def over(self) -> bool:
        """Whether the budget is spent, or the run is asked to stop; never before something was evaluated."""
        return self._problem.ledger.spent or (self._evaluated > 0 and self._should_stop())

    def room(self, wanted: int) -> int:
        """How many of `wanted` evaluations the budget still has."""
        return min(wanted, self._problem.ledger.remaining)

    def evaluate(self, placements: NDArray[np.int32]) -> Scored:
        """Evaluate `placements` [batch, groups], each an episode: no more than there is room for."""
        evaluations = self._problem.evaluate_episodes(placements)
        self._evaluated += len(placements)
        missing = self._problem.missing_bytes(evaluations)
        scores = self._penalty.penalised(evaluations.step_time_us, evaluations.peak_bytes, self._problem.memory_bytes)
        return Scored(scores, missing > 0, missing)
