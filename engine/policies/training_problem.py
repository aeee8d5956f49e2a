"""What a policy is trained on, and what its training reports."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from engine.events import Json
from engine.policies.card import HeldOut
from engine.problem import PlacementProblem

STAGES = ("teacher", "imitation", "reinforcement", "held_out")
"""in their order"""


@dataclass(frozen=True, slots=True)
class TrainingProblem:
    """One graph on one cluster; the budget of its problem does not count."""

    name: str
    """the graph's"""
    cluster_name: str
    """a shorthand, or what else the cluster is called"""
    problem: PlacementProblem


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """How far a training is."""

    stage: str
    """one of `STAGES`"""
    done: float
    """of the training as a whole, from 0 to 1"""
    seconds: float
    """since it began, earlier calls included"""
    mean_gap: float | None = None
    """relative gap of the latest samples on the training graphs to the best placements known, on average; None
    until half of them have had a turn of reinforcement with their own costs"""
    held_out: tuple[HeldOut, ...] = ()
    """those that are known"""

    def to_json(self) -> dict[str, Json]:
        """All fields by their names."""
        return {
            "stage": self.stage,
            "done": self.done,
            "seconds": self.seconds,
            "mean_gap": self.mean_gap,
            "held_out": [row.to_json() for row in self.held_out],
        }


ReportTraining: TypeAlias = Callable[[TrainingProgress], None]
