"""Evaluates placements for methods that learn from scores: each is charged, emitted as an episode and scored.

A score is the step time as a share of the reference time (all groups on the fastest device, without transfers), plus
`memory_penalty` times the missing share of the fullest device's memory, at most `penalised_cap`: Placeto's penalty with
its defaults. A ranking puts every feasible placement before every infeasible one.
Source: Addanki et al. 2019, for the penalty.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.placeto.learning.rewards import PenalisedTime
from engine.placeto.seeing.features import group_graph
from engine.placeto.settings import PlacetoSettings
from engine.problem import PlacementProblem
from engine.problem.learning import Learned
from engine.settings.learners import PUBLISHED


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of a batch of placements."""

    scores: NDArray[np.float64]
    """[batch] the lower the better"""
    infeasible: NDArray[np.bool_]
    """[batch]"""
    missing: NDArray[np.int64]
    """[batch] bytes on the fullest device"""
    of_memory: NDArray[np.float64]
    """[batch] the part of the score that is for missing memory"""

    def order(self) -> NDArray[np.intp]:
        """[batch] indices from the best to the worst; equals keep their order."""
        return np.lexsort((np.arange(len(self.scores)), self.scores, self.missing))

    def taken(self, indices: NDArray[np.intp]) -> "Scored":
        """The scores at `indices`."""
        return Scored(self.scores[indices], self.infeasible[indices], self.missing[indices], self.of_memory[indices])

    def followed_by(self, other: "Scored") -> "Scored":
        """These scores, followed by `other`."""
        return Scored(
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.infeasible, other.infeasible]),
            np.concatenate([self.missing, other.missing]),
            np.concatenate([self.of_memory, other.of_memory]),
        )


class Scorer:
    """Evaluates and scores the batches of one run, and checks whether the run is over."""

    def __init__(self, problem: PlacementProblem, should_stop: ShouldStop, prior: str = PUBLISHED) -> None:
        """`prior` is the method's setting, for the networks that read `graph`."""
        self._problem, self._should_stop = problem, should_stop
        self.graph = group_graph(problem, prior)
        as_in_placeto = PlacetoSettings()
        self._penalty = PenalisedTime(
            self.graph.reference_us,
            as_in_placeto.memory_penalty,
            as_in_placeto.penalised_cap,
            per_device_memory=True,
        )
        self._evaluated = 0

    def over(self) -> bool:
        """Whether the budget is spent or a stop is requested; a stop counts only after the first evaluation."""
        return self._problem.ledger.spent or (self._evaluated > 0 and self._should_stop())

    def room(self, wanted: int) -> int:
        """`wanted`, or the number of evaluations left in the budget if that is less."""
        return min(wanted, self._problem.ledger.remaining)

    def evaluate(self, placements: NDArray[np.int32]) -> Scored:
        """Evaluate `placements` [batch, groups], each as an episode; the batch must not exceed the budget."""
        evaluations = self._problem.evaluate_episodes(placements)
        self._evaluated += len(placements)
        missing = self._problem.missing_bytes(evaluations)
        memory = evaluations.peak_bytes, self._problem.memory_bytes
        scores = self._penalty.penalised(evaluations.step_time_us, *memory)
        return Scored(scores, missing > 0, missing, self._penalty.of_memory(*memory))

    def learned(
        self,
        scored: Scored,
        *,
        entropy: float,
        learning_rate: float,
        expected: float | None = None,
        gradient_norm: float | None = None,
    ) -> None:
        """Report that the method has learned from `scored`; `expected` is the score that it expected, if it has one."""
        self._problem.context.learned(
            Learned(
                mean_return=-float(scored.scores.mean()),
                return_baseline=None if expected is None else -expected,
                memory_penalty=float(scored.of_memory.mean()),
                entropy=entropy,
                gradient_norm=gradient_norm,
                learning_rate=learning_rate,
            )
        )
