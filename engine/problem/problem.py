"""The placement problem that every placer gets: the only way to evaluate placements."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping import Grouping
from engine.problem.ledger import Budget, ChunkBest, Ledger
from engine.simulator import Evaluations, Simulator


class PlacementProblem:
    """One graph with its costs and groups on one cluster, and the only way to evaluate placements of it."""

    def __init__(
        self,
        graph: ComputationGraph,
        costs: Costs,
        grouping: Grouping,
        cluster: Cluster,
        allowed: NDArray[np.bool_],
        budget: Budget,
        simulator: Simulator | None = None,
    ) -> None:
        """`allowed` [groups, devices]: where each group may go (pins, kinds it has times for); every row has a True.

        A `simulator` made for the same graph, costs, cluster and groups may be shared.
        """
        self.graph, self.costs, self.grouping, self.cluster = graph, costs, grouping, cluster
        self.allowed = allowed
        self.memory_bytes = np.array([device.memory_bytes for device in cluster.devices], dtype=np.int64)
        self.simulator = simulator or Simulator(graph, costs, cluster, grouping.group_of_op)
        self.ledger = Ledger(budget)

    def with_budget(self, budget: Budget) -> "PlacementProblem":
        """The same problem with a fresh ledger: for a placer that runs beside another."""
        return PlacementProblem(
            self.graph, self.costs, self.grouping, self.cluster, self.allowed, budget, self.simulator
        )

    @property
    def group_count(self) -> int:
        return self.grouping.group_count

    @property
    def device_count(self) -> int:
        return self.cluster.device_count

    @property
    def op_time_us(self) -> NDArray[np.float64]:
        """[devices, ops] time of each op on each device; NaN where it cannot run."""
        return self.costs.time_on([device.kind for device in self.cluster.devices])

    def evaluate(self, placements: NDArray[np.int32]) -> Evaluations:
        """Evaluate and charge `placements` [batch, groups]; the best one is noted in the ledger.

        Raises BudgetSpentError before anything is evaluated if the budget has fewer evaluations left than the batch.
        """
        assert self.respects(placements).all(), "a placer put a group where it may not go"
        self.ledger.charge(len(placements))
        evaluations = self.simulator.evaluate(placements)
        self.ledger.note(placements, evaluations.step_time_us, self.missing_bytes(evaluations))
        return evaluations

    def evaluate_compiled(self, count: int, chunk: Callable[[int], ChunkBest]) -> ChunkBest:
        """Charge `count` evaluations, then let compiled code make them: `chunk(count)`; its best one is noted.

        Raises BudgetSpentError before anything is evaluated if the budget has fewer evaluations left.
        """
        self.ledger.charge(count)
        best = chunk(count)
        assert best.evaluations == count, "compiled code made another number of evaluations than was charged"
        assert math.isfinite(best.sum_us), "compiled code put a group where it has no time"
        assert self.respects(best.placement[None, :]).all(), "compiled code put a group where it may not go"
        self.ledger.note_chunk(best)
        return best

    def missing_bytes(self, evaluations: Evaluations) -> NDArray[np.int64]:
        """[batch] by how much the worst device's peak is over its memory; 0 where all fit."""
        return np.asarray(np.maximum(evaluations.peak_bytes - self.memory_bytes, 0).max(axis=1))

    def feasible(self, evaluations: Evaluations) -> NDArray[np.bool_]:
        """[batch] whether every device's peak fits its memory."""
        return np.asarray(self.missing_bytes(evaluations) == 0)

    def respects(self, placements: NDArray[np.int32]) -> NDArray[np.bool_]:
        """[batch] whether every group is on a device where it may be."""
        groups = np.arange(self.group_count)
        return np.asarray(np.all(self.allowed[groups, placements], axis=1))
