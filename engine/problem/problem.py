"""The placement problem that every placer gets: its only way to evaluate placements and to report them."""

import copy
import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, part_of_cluster
from engine.costs.costs import Costs
from engine.events import EmitFromPlacer, Episode, FromPlacer, LearnedPolicy, PlacerState, Progress, ShouldStop, Update
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import coarser_group_of_each
from engine.graphs.grouping.nesting import SplitPlacement
from engine.problem.learning import Learned
from engine.problem.ledger import Budget, ChunkBest, Clock, Ledger
from engine.problem.reporter import Reporter, Tell, by_group, ignore
from engine.problem.step_timer import StepTimer
from engine.simulator import Evaluations, Simulator


class PlacementProblem:
    """One graph with its costs and groups on one cluster, and the only way to evaluate placements of it.

    Evaluations are charged to its ledger, which keeps the best placement; its reporter emits the method's events.
    """

    def __init__(
        self,
        graph: ComputationGraph,
        costs: Costs,
        grouping: Grouping,
        cluster: Cluster,
        allowed: NDArray[np.bool_],
        budget: Budget,
        simulator: Simulator | None = None,
        *,
        emit: EmitFromPlacer = ignore,
        clock: Clock | None = None,
        parent: Ledger | None = None,
        start: NDArray[np.int32] | None = None,
        coarser: tuple[Grouping, ...] = (),
        inside: NDArray[np.int32] | None = None,
        devices: NDArray[np.int32] | None = None,
        tell: Tell = by_group,
        timer: StepTimer | None = None,
    ) -> None:
        """`allowed` [groups, devices]: where each group may go (pins, kinds it has times for); every row has a True.

        A `simulator` made for the same graph, costs, cluster and groups may be shared. `clock` counts the budget's
        seconds, by default wall time. `parent` is a ledger that also counts this problem's evaluations. `start`
        [groups] is a placement that the caller evaluates first. `coarser` are groupings of its groups, the coarsest
        first, that a method may use. `inside` [groups of the parent] is the group here that holds each of the parent's,
        where those are finer; `devices` [devices] is the parent's device that each is, where that has more. `tell`
        gives a placement as events have it. `timer` takes step times in place of the simulator.
        """
        self.graph, self.costs, self.grouping, self.cluster = graph, costs, grouping, cluster
        self.allowed = allowed
        self.memory_bytes = np.array([device.memory_bytes for device in cluster.devices], dtype=np.int64)
        self.simulator = simulator or Simulator(graph, costs, cluster, grouping.group_of_op)
        self.ledger = Ledger(budget, clock, parent, inside, devices)
        self.coarser = coarser
        """groupings of its groups that nest, the coarsest first; none where the number of groups is fixed"""
        self.start = start
        """[groups] a placement to begin from, which the ledger has; None: a method begins where it wants"""
        self.timer = timer
        self._tell = tell
        self.report_to(emit)
        self._wrap_state: Callable[[bytes], bytes] = bytes

    def with_budget(self, budget: Budget, *, clock: Clock | None = None) -> "PlacementProblem":
        """The same problem with a new ledger, for a placer that runs beside another; it emits no events."""
        return self._with_ledger(budget, ignore, clock or self.ledger.clock, None, None, self._tell)

    def sub_problem(
        self,
        grouping: Grouping | None = None,
        most_seconds: float | None = None,
        devices: NDArray[np.int32] | None = None,
    ) -> "PlacementProblem":
        """This problem with the rest of its budget, for a method that the running method calls.

        Its evaluations are charged and kept here too. Its episodes are emitted as this problem's, numbered by their
        evaluation; its states are dropped. With `grouping`, one of `coarser`, it has those groups, and its placements
        become placements of this problem's groups here. It may have at most `most_seconds`. With `devices`, it has only
        those; each group must be allowed on one of them.
        """
        inside = None if grouping is None else coarser_group_of_each(grouping, self.grouping)
        used, best_us = self.ledger.used, self.ledger.best_step_time_us

        def forward(event: FromPlacer) -> None:
            if isinstance(event, Update):
                number = used + event.evaluations
                elapsed_seconds = self.ledger.elapsed_seconds
                event = dataclasses.replace(event, episode=number, evaluations=number, elapsed_seconds=elapsed_seconds)
            if isinstance(event, Episode):
                known = [known_us for known_us in (best_us, event.best_step_time_us) if known_us is not None]
                number = used + event.evaluations
                event = dataclasses.replace(
                    event,
                    episode=number,
                    evaluations=number,
                    best_step_time_us=min(known, default=None),
                    elapsed_seconds=self.ledger.elapsed_seconds,
                )
            if not isinstance(event, PlacerState | LearnedPolicy):
                self.reporter.emit(event)

        limits = [limit for limit in (self.ledger.seconds_left, most_seconds) if limit is not None]
        budget = Budget(self.ledger.remaining, min(limits, default=None))
        whole = self if grouping is None else self.at_level(grouping)
        whole = whole if devices is None else whole._on_devices(devices)

        def tell(placement: NDArray[np.int32]) -> SplitPlacement:
            return self._tell(part.ledger.lifted(placement))

        part = whole._with_ledger(budget, forward, self.ledger.clock, self.ledger, inside, tell, devices)
        return part

    def _on_devices(self, devices: NDArray[np.int32]) -> "PlacementProblem":
        """The same problem on some of its devices, with a new ledger; it emits no events."""
        assert self.timer is None, "a timer knows all devices"
        return PlacementProblem(
            self.graph,
            self.costs,
            self.grouping,
            part_of_cluster(self.cluster, devices),
            np.ascontiguousarray(self.allowed[:, devices]),
            self.ledger.budget,
            clock=self.ledger.clock,
            coarser=self.coarser,
        )

    def at_level(self, grouping: Grouping) -> "PlacementProblem":
        """The same problem with the groups of `grouping`, one of `coarser`, with a new ledger; it emits no events.

        A group may go where all groups inside it may.
        """
        allowed = np.ones((grouping.group_count, self.device_count), dtype=bool)
        np.logical_and.at(allowed, coarser_group_of_each(grouping, self.grouping), self.allowed)
        return PlacementProblem(
            self.graph,
            self.costs,
            grouping,
            self.cluster,
            allowed,
            self.ledger.budget,
            self.simulator.with_groups(grouping.group_of_op),
            clock=self.ledger.clock,
            coarser=tuple(level for level in self.coarser if level.group_count < grouping.group_count),
            timer=self.timer,
        )

    def with_states(self, wrap: Callable[[bytes], bytes]) -> "PlacementProblem":
        """The same problem and ledger, for a method that the running method calls; `wrap` converts its saved states."""
        wrapped = copy.copy(self)
        wrapped._wrap_state = lambda state: self._wrap_state(wrap(state))
        return wrapped

    def _with_ledger(
        self,
        budget: Budget,
        emit: EmitFromPlacer,
        clock: Clock,
        parent: Ledger | None,
        inside: NDArray[np.int32] | None,
        tell: Tell,
        devices: NDArray[np.int32] | None = None,
    ) -> "PlacementProblem":
        return PlacementProblem(
            self.graph,
            self.costs,
            self.grouping,
            self.cluster,
            self.allowed,
            budget,
            self.simulator,
            emit=emit,
            clock=clock,
            parent=parent,
            coarser=self.coarser,
            inside=inside,
            tell=tell,
            devices=devices,
            timer=self.timer,
        )

    def report_to(self, emit: EmitFromPlacer) -> None:
        """Send a method's later events to `emit`."""
        self.reporter = Reporter(self.ledger, emit, self._tell, self.group_count)

    def begin(self) -> None:
        """Begin the method's time: the seconds before do not count."""
        self.ledger.begin()
        self.reporter.begin()

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
        self.ledger.charge(len(placements))
        self.ledger.note(placements, evaluations.step_time_us, self.missing_bytes(evaluations))
        return evaluations

    def times_of(self, placements: NDArray[np.int32]) -> Evaluations:
        """The step times and peaks of `placements` [batch, groups], without a charge and without keeping the best.

        Step times are simulated or, where there is a `timer`, measured: of those that fit in memory, since others are
        not run.
        """
        evaluations = self.simulator.evaluate(placements)
        if self.timer is None:
            return evaluations
        fits = self.feasible(evaluations)
        step_time_us = evaluations.step_time_us.copy()
        if fits.any():
            step_time_us[fits] = self.timer.step_time_us(placements[fits][:, self.simulator.group_of_op])
        return dataclasses.replace(evaluations, step_time_us=step_time_us)

    def evaluate_episodes(self, placements: NDArray[np.int32], *, emit_all: bool = False) -> Evaluations:
        """Evaluate `placements` as `evaluate` does and report each as an episode, except those that are left out."""
        best_before_us = self.ledger.best_step_time_us
        evaluations = self.evaluate(placements)
        feasible = self.feasible(evaluations)
        self.reporter.batch(placements, evaluations, feasible, best_before_us, all_of_them=emit_all)
        return evaluations

    def evaluate_compiled(self, count: int, chunk: Callable[[int], ChunkBest]) -> ChunkBest:
        """Charge `count` evaluations and let compiled code make them, `chunk(count)`; keep and report its best.

        Raises BudgetSpentError before anything is evaluated if the budget has fewer evaluations left.
        """
        assert self.timer is None, "compiled code cannot measure"
        self.ledger.charge(count)
        best = chunk(count)
        assert best.evaluations == count, "compiled code made another number of evaluations than was charged"
        assert math.isfinite(best.sum_us), "compiled code put a group where it has no time"
        assert self.respects(best.placement[None, :]).all(), "compiled code put a group where it may not go"
        before = self.ledger.missing_bytes, self.ledger.best_step_time_us
        self.ledger.note_chunk(best)
        improved = before != (self.ledger.missing_bytes, self.ledger.best_step_time_us)
        self.reporter.chunk(best, improved=improved)
        return best

    def settle(self, placement: NDArray[np.int32], step_time_us: float, missing_bytes: int) -> None:
        """Answer with `placement` [groups], which was evaluated and is as good as the best, and report it."""
        self.ledger.settle(placement, step_time_us, missing_bytes)
        self.episode(placement, step_time_us, feasible=missing_bytes == 0, number=self.ledger.used)

    def is_over(self, should_stop: ShouldStop) -> bool:
        """Whether the budget is spent or a stop is requested; a stop counts only after the first evaluation."""
        return self.ledger.spent or (self.ledger.best_placement is not None and should_stop())

    def episode(
        self, placement: NDArray[np.int32], step_time_us: float, *, feasible: bool, number: int | None = None
    ) -> None:
        """Report an episode of several evaluations, the last of which is `placement` [groups]."""
        self.reporter.episode(placement, step_time_us, feasible=feasible, number=number)

    def learned(self, learned: Learned) -> None:
        """Report that the method has learned from its last evaluations."""
        self.reporter.learned(learned)

    def progress(self, stage: str, done: int = 0, total: int = 0) -> None:
        """Report progress that is no episode; `total` is 0 if it is not known."""
        self.reporter.emit(Progress(stage, done, total))

    def save(self, state: Callable[[], bytes], every_seconds: float) -> None:
        """Emit the method's state, from which it can continue after an interruption, at most every `every_seconds`."""
        self.reporter.save(lambda: self._wrap_state(state()), every_seconds)

    def keep_policy(self, policy: bytes) -> None:
        """Emit the method's policy, from which its decisions can be computed again."""
        self.reporter.keep_policy(policy)

    def missing_bytes(self, evaluations: Evaluations) -> NDArray[np.int64]:
        """[batch] bytes by which the worst device's peak exceeds its memory; 0 if all fit."""
        return evaluations.missing_bytes(self.memory_bytes)

    def feasible(self, evaluations: Evaluations) -> NDArray[np.bool_]:
        """[batch] whether every device's peak fits its memory."""
        return np.asarray(self.missing_bytes(evaluations) == 0)

    def respects(self, placements: NDArray[np.int32]) -> NDArray[np.bool_]:
        """[batch] whether every group is on an allowed device."""
        groups = np.arange(self.group_count)
        return np.asarray(np.all(self.allowed[groups, placements], axis=1))
