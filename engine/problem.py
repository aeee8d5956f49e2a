"""The placement problem that every placer gets, and the ledger in which every evaluation is counted."""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.errors import SettingsError
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping import Grouping
from engine.simulator import Evaluations, Simulator

MOST_EVALUATIONS = 100_000_000


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend."""

    evaluations: int
    """simulated (or measured) placements, the unit in which all methods are compared"""
    seconds: float | None = None
    """wall time, or None for no limit"""

    def __post_init__(self) -> None:
        if not 1 <= self.evaluations <= MOST_EVALUATIONS:
            raise SettingsError(f"{self.evaluations} evaluations", where="evaluations",
                                allowed=f"1 to {MOST_EVALUATIONS}", field="evaluations")
        if self.seconds is not None and not 0 < self.seconds < float("inf"):
            raise SettingsError(f"{self.seconds} seconds", where="seconds", allowed="a number above 0", field="seconds")


class BudgetSpentError(AssertionError):
    """A placer asked for more evaluations than its budget has: a bug of the placer."""


class Ledger:
    """Counts a run's evaluations and keeps the best feasible placement among them. The one mutable part of a problem."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.used = 0
        self.best_step_time_us: float | None = None
        self.best_placement: NDArray[np.int32] | None = None
        """[groups]"""
        self.earlier_seconds = 0.0
        """spent before the last checkpoint that the run went on from"""
        self._started = time.monotonic()

    @property
    def remaining(self) -> int:
        return self.budget.evaluations - self.used

    @property
    def elapsed_seconds(self) -> float:
        return self.earlier_seconds + time.monotonic() - self._started

    @property
    def spent(self) -> bool:
        """Whether the evaluations or the seconds are used up."""
        late = self.budget.seconds is not None and self.elapsed_seconds >= self.budget.seconds
        return self.remaining <= 0 or late

    def charge(self, count: int) -> None:
        if count > self.remaining:
            raise BudgetSpentError(f"{count} evaluations asked, {self.remaining} left")
        self.used += count

    def note(self, placements: NDArray[np.int32], step_time_us: NDArray[np.float64], feasible: NDArray[np.bool_]) -> None:
        """Keep the best of `placements` [batch, groups] if it is feasible and better than the best so far."""
        if not feasible.any():
            return
        index = int(np.argmin(np.where(feasible, step_time_us, np.inf)))
        if self.best_step_time_us is None or step_time_us[index] < self.best_step_time_us:
            self.best_step_time_us = float(step_time_us[index])
            self.best_placement = placements[index].astype(np.int32, copy=True)


class PlacementProblem:
    """One graph with its costs and groups on one cluster, and the only way to evaluate placements of it."""

    def __init__(
        self, graph: ComputationGraph, costs: Costs, grouping: Grouping, cluster: Cluster,
        allowed: NDArray[np.bool_], budget: Budget,
    ) -> None:
        """`allowed` [groups, devices]: where each group may go (pins, kinds it has times for); every row has a True."""
        self.graph, self.costs, self.grouping, self.cluster = graph, costs, grouping, cluster
        self.allowed = allowed
        self.memory_bytes = np.array([device.memory_bytes for device in cluster.devices], dtype=np.int64)
        self.simulator = Simulator(graph, costs, cluster, grouping.group_of_op)
        self.ledger = Ledger(budget)

    @property
    def group_count(self) -> int:
        return self.grouping.group_count

    @property
    def device_count(self) -> int:
        return self.cluster.device_count

    def evaluate(self, placements: NDArray[np.int32]) -> Evaluations:
        """Evaluate and charge `placements` [batch, groups]; the best feasible one is noted in the ledger.

        Raises BudgetSpentError before anything is evaluated if the budget has fewer evaluations left than the batch.
        """
        assert self.respects(placements).all(), "a placer put a group where it may not go"
        self.ledger.charge(len(placements))
        evaluations = self.simulator.evaluate(placements)
        self.ledger.note(placements, evaluations.step_time_us, self.feasible(evaluations))
        return evaluations

    def feasible(self, evaluations: Evaluations) -> NDArray[np.bool_]:
        """[batch] whether every device's peak fits its memory."""
        return np.all(evaluations.peak_bytes <= self.memory_bytes, axis=1)

    def respects(self, placements: NDArray[np.int32]) -> NDArray[np.bool_]:
        """[batch] whether every group is on a device where it may be."""
        groups = np.arange(self.group_count)
        return np.all(self.allowed[groups, placements], axis=1)
