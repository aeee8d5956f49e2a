"""The placement problem that every placer gets: its only way to evaluate placements and to report them."""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, part_of_cluster
from engine.costs.costs import Costs
from engine.events import EmitFromPlacer
from engine.graphs.apart import NOTHING_APART, Apart
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import coarser_group_of_each
from engine.problem.context import RunContext
from engine.problem.ledger import Budget, ChunkBest, Clock, Ledger, Parent
from engine.simulator import Evaluations, Simulator
from engine.simulator.bound import lower_bound_us
from engine.simulator.streams.bound import period_bound_us
from engine.simulator.streams.stream import Stream, is_contiguous


@dataclass(frozen=True, eq=False)
class PlacementProblem:
    """One graph with its costs and groups on one cluster, and the only way to evaluate placements of it.

    Evaluations are charged to the ledger of its context, which keeps the best placement.
    """

    graph: ComputationGraph
    costs: Costs
    grouping: Grouping
    cluster: Cluster
    allowed: NDArray[np.bool_]
    """[groups, devices] where each group may go (pins, kinds it has times for); every row has a True"""
    context: RunContext
    coarser: tuple[Grouping, ...] = ()
    """groupings of its groups that nest, the coarsest first; none where the number of groups is fixed"""
    stream: Stream | None = None
    """the stream of micro-batches whose period is to be small; None: the step time is"""
    apart_ops: Apart = NOTHING_APART
    """ops that must not share a device; no group holds two of them"""
    shared: InitVar[Simulator | None] = None
    """a simulator made for the same graph, costs, cluster and groups; None: the problem makes its own"""
    simulator: Simulator = field(init=False, repr=False)
    memory_bytes: NDArray[np.int64] = field(init=False, repr=False)
    """[devices]"""

    def __post_init__(self, shared: Simulator | None) -> None:
        given = self.graph, self.costs, self.cluster, self.grouping.group_of_op, self.stream, self.apart_ops
        made = shared or Simulator(*given)
        object.__setattr__(self, "simulator", made)
        memory_bytes = self.cluster.usable_bytes
        object.__setattr__(self, "memory_bytes", memory_bytes)

    def in_context(self, context: RunContext) -> "PlacementProblem":
        """The same problem in another context."""
        return dataclasses.replace(self, context=context, shared=self.simulator)

    def with_budget(self, budget: Budget, *, clock: Clock | None = None) -> "PlacementProblem":
        """The same problem with a new ledger, for a placer that runs beside another; it emits no events."""
        return self.in_context(self.context.anew(budget, clock))

    def reporting_to(self, emit: EmitFromPlacer) -> "PlacementProblem":
        """The same problem and ledger, with the method's later events sent to `emit`."""
        return self.in_context(self.context.reporting_to(emit))

    def sub_problem(
        self,
        grouping: Grouping | None = None,
        most_seconds: float | None = None,
        devices: NDArray[np.int32] | None = None,
        most_evaluations: int | None = None,
    ) -> "PlacementProblem":
        """This problem with the rest of its budget, for a method that the running method calls: see `RunContext.part`.

        With `grouping`, one of `coarser`, it has those groups, and its placements become placements of this problem's
        groups here. It may have at most `most_seconds` and `most_evaluations`. With `devices`, it has only those; each
        group must be allowed on one of them.
        """
        inside = None if grouping is None else coarser_group_of_each(grouping, self.grouping)
        whole = self if grouping is None else self.at_level(grouping)
        whole = whole if devices is None else whole._on_devices(devices)
        return whole.in_context(self.context.part(Parent(self.ledger, inside, devices), most_seconds, most_evaluations))

    def _on_devices(self, devices: NDArray[np.int32]) -> "PlacementProblem":
        """The same problem on some of its devices."""
        assert self.context.timer is None, "a timer knows all devices"
        cluster = part_of_cluster(self.cluster, devices)
        return dataclasses.replace(self, cluster=cluster, allowed=np.ascontiguousarray(self.allowed[:, devices]))

    def at_level(self, grouping: Grouping) -> "PlacementProblem":
        """The same problem with the groups of `grouping`, one of `coarser`, with a new ledger; it emits no events.

        A group may go where all groups inside it may.
        """
        allowed = np.ones((grouping.group_count, self.device_count), dtype=bool)
        np.logical_and.at(allowed, coarser_group_of_each(grouping, self.grouping), self.allowed)
        ledger, timer = self.ledger, self.context.timer
        return dataclasses.replace(
            self,
            grouping=grouping,
            allowed=allowed,
            context=RunContext.of(ledger.budget, clock=ledger.clock, timer=timer),
            coarser=tuple(level for level in self.coarser if level.group_count < grouping.group_count),
            shared=self.simulator.with_groups(grouping.group_of_op),
        )

    @property
    def ledger(self) -> Ledger:
        """Counts the evaluations, and keeps the best placement."""
        return self.context.ledger

    @property
    def lower_bound_us(self) -> float:
        """A step time in µs, in a stream a period, that no placement beats; 0 where none is known."""
        if self.stream is not None:
            return period_bound_us(self.graph, self.costs, self.cluster, self.stream)
        return lower_bound_us(self.graph, self.costs, self.cluster)

    @property
    def apart(self) -> Apart:
        """Which groups must not share a device."""
        return self.simulator.apart

    @property
    def group_count(self) -> int:
        return self.grouping.group_count

    @property
    def device_count(self) -> int:
        return self.cluster.device_count

    @property
    def op_time_us(self) -> NDArray[np.float64]:
        """[devices, ops] time of each op on each device; NaN where it cannot run."""
        return self.costs.time_on_devices(self.cluster.devices)

    def evaluate(self, placements: NDArray[np.int32]) -> Evaluations:
        """Evaluate and charge `placements` [batch, groups]; the ledger keeps the best one.

        Raises BudgetSpentError before anything is evaluated if the budget has fewer evaluations left than the batch,
        and MeasuringError, after which nothing is charged.
        """
        assert self.respects(placements).all(), "a placer put a group where it may not go"
        self.ledger.require(len(placements))
        evaluations = self.times_of(placements)
        assert np.isfinite(evaluations.step_time_us).all(), "a placer broke a rule of stages or constraints"
        self.ledger.charge(len(placements))
        self.ledger.note(placements, evaluations.step_time_us, self.missing_bytes(evaluations))
        return evaluations

    def times_of(self, placements: NDArray[np.int32]) -> Evaluations:
        """The step times and peaks of `placements` [batch, groups], without a charge and without keeping the best.

        Step times are simulated or, where there is a `timer`, measured: of those that fit in memory, since others are
        not run.
        """
        evaluations = self.simulator.evaluate(placements)
        if self.context.timer is None:
            return evaluations
        fits = self.feasible(evaluations)
        step_time_us = evaluations.step_time_us.copy()
        if fits.any():
            step_time_us[fits] = self.context.timer.step_time_us(placements[fits][:, self.simulator.group_of_op])
        return dataclasses.replace(evaluations, step_time_us=step_time_us)

    def evaluate_episodes(self, placements: NDArray[np.int32], *, emit_all: bool = False) -> Evaluations:
        """Evaluate `placements` as `evaluate` does and report each as an episode, except those that are left out."""
        best_before_us = self.ledger.best_step_time_us
        evaluations = self.evaluate(placements)
        feasible = self.feasible(evaluations)
        self.context.reporter.batch(placements, evaluations, feasible, best_before_us, all_of_them=emit_all)
        return evaluations

    def evaluate_compiled(self, count: int, chunk: Callable[[int], ChunkBest]) -> ChunkBest:
        """Charge `count` evaluations and let compiled code make them, `chunk(count)`; keep and report its best.

        Raises BudgetSpentError before anything is evaluated if the budget has fewer evaluations left.
        """
        assert self.context.timer is None, "compiled code cannot measure"
        self.ledger.charge(count)
        best = chunk(count)
        assert best.evaluations == count, "compiled code made another number of evaluations than was charged"
        assert math.isfinite(best.sum_us), "compiled code put a group where it has no time"
        assert self.respects(best.placement[None, :]).all(), "compiled code put a group where it may not go"
        before = self.ledger.missing_bytes, self.ledger.best_step_time_us
        self.ledger.note_chunk(best)
        improved = before != (self.ledger.missing_bytes, self.ledger.best_step_time_us)
        self.context.reporter.chunk(best, improved=improved)
        return best

    def missing_bytes(self, evaluations: Evaluations) -> NDArray[np.int64]:
        """[batch] bytes by which the worst device's peak exceeds its memory; 0 if all fit."""
        return evaluations.missing_bytes(self.memory_bytes)

    def feasible(self, evaluations: Evaluations) -> NDArray[np.bool_]:
        """[batch] whether every device's peak fits its memory."""
        return np.asarray(self.missing_bytes(evaluations) == 0)

    def respects(self, placements: NDArray[np.int32]) -> NDArray[np.bool_]:
        """[batch] whether every group is on an allowed device, and apart from those from which it must be."""
        groups = np.arange(self.group_count)
        is_allowed = np.asarray(np.all(self.allowed[groups, placements], axis=1))
        return is_allowed & self.apart.keeps(placements, self.device_count) if self.apart else is_allowed

    def keeps_rules(self, placements: NDArray[np.int32]) -> NDArray[np.bool_]:
        """[batch] whether `respects` holds, and stages are contiguous where they must be; charged to nobody."""
        respected = self.respects(placements)
        if is_contiguous(self.stream) and respected.any():
            period_us = self.simulator.evaluate(placements[respected]).step_time_us
            respected[respected] = np.isfinite(period_us)
        return respected
