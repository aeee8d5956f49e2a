"""A problem that a policy is trained on, and the progress that a training reports."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.events import Json
from engine.policies.card import HeldOut
from engine.problem import Budget, PlacementProblem, RunContext
from engine.problem.ledger import Clock

STAGES = ("teacher", "imitation", "reinforcement", "held_out")
"""the stages of a training, in order"""


@dataclass(frozen=True, slots=True)
class TrainingProblem:
    """One graph on one cluster; the budget of its problem does not count."""

    name: str
    """the graph's name"""
    cluster_name: str
    """the cluster's shorthand or another name"""
    problem: PlacementProblem

    def __reduce__(self) -> tuple[object, ...]:
        """For another process: without the simulator, which is made anew there."""
        problem = self.problem
        parts = (problem.graph, problem.costs, problem.grouping, problem.cluster, problem.allowed)
        return _remade, (self.name, self.cluster_name, parts, problem.ledger.clock)


def _remade(name: str, cluster_name: str, parts: tuple[Any, ...], clock: Clock) -> TrainingProblem:
    graph, costs, grouping, cluster, allowed = parts
    context = RunContext.of(Budget(1), clock=clock)
    return TrainingProblem(name, cluster_name, PlacementProblem(graph, costs, grouping, cluster, allowed, context))


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """The progress of a training."""

    stage: str
    """one of `STAGES`"""
    done: float
    """share of the whole training, from 0 to 1"""
    seconds: float
    """since it began, earlier calls included"""
    mean_gap: float | None = None
    """mean relative gap of the latest samples on the training graphs to the best placements known; None until half of
    the graphs have had a batch of reinforcement with their own costs"""
    held_out: tuple[HeldOut, ...] = ()
    """the rows measured so far"""

    def to_json(self) -> dict[str, Json]:
        """The fields as JSON."""
        return {
            "stage": self.stage,
            "done": self.done,
            "seconds": self.seconds,
            "mean_gap": self.mean_gap,
            "held_out": [row.to_json() for row in self.held_out],
        }


ReportTraining: TypeAlias = Callable[[TrainingProgress], None]
