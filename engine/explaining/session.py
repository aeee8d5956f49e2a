"""A graph on a cluster, ready to answer questions about placements: how long, why, what if."""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, shortened
from engine.events import Json
from engine.explaining.chain import Chain, chain_of
from engine.explaining.decisions import EpisodeDecisions, decisions_of
from engine.explaining.gains import Gains, gains_of
from engine.explaining.holding import Holders, Peak, class_of_holding, peaks_of, persistent_classes
from engine.explaining.idle import Idle, idle_of
from engine.explaining.move_rules import MoveRules
from engine.explaining.slack import slack_of
from engine.explaining.stream_blocks import require_small_batch, stream_blocks
from engine.graphs.constraints import Constraints
from engine.graphs.grouping.nesting import SPLIT, SplitPlacement, devices_of_groups
from engine.graphs.short_names import ShortNames
from engine.placeto.kept_policy import KeptPolicy
from engine.placeto.seeing.features import GroupGraph, group_graph
from engine.placeto.seeing.start_times import GroupStartTimes
from engine.prepared import PreparedGraph
from engine.problem import Budget, PlacementProblem, RunContext
from engine.problem.pins import allowed_devices, allowed_of_ops, require_ops_allowed
from engine.problem.trivial import prior_scores
from engine.simulator import Simulator, Timeline
from engine.simulator.bound import LowerBounds, lower_bounds
from engine.simulator.streams.stream import Stream
from engine.simulator.tables import first_of_each

NO_CONSTRAINTS = Constraints()


@dataclass(frozen=True, slots=True)
class GivenPlacement:
    """A placement of a session's graph, by group unless a group is split. Arrays are read-only."""

    device_of_group: NDArray[np.int32]
    """[groups] `SPLIT` where the ops of a group are on several devices"""
    device_of_op: NDArray[np.int32]
    """[ops]"""

    @property
    def is_split(self) -> bool:
        """Whether any group is on several devices."""
        return bool((self.device_of_group == SPLIT).any())


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """The step of one placement."""

    step_time_us: float
    peak_bytes: NDArray[np.int64]
    """[devices]"""
    missing_bytes: int
    """bytes that the worst device lacks; 0 if all fit"""

    @property
    def feasible(self) -> bool:
        return self.missing_bytes == 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a step takes as long as it does."""

    timeline: Timeline
    chain: Chain
    idle: Idle
    slack_us: NDArray[np.float64]
    """[ops + transfers]"""
    class_of_holding: NDArray[np.uint8]
    """[holdings of the timeline] a `ByteClass`"""
    peaks: list[Peak]
    """[devices]"""
    holders: Holders


class Session:
    """Answers questions about placements of one graph on one cluster. Threads may share it. It loads no torch."""

    def __init__(
        self,
        prepared: PreparedGraph,
        cluster: Cluster,
        *,
        drop_devices: bool = False,
        constraints: Constraints = NO_CONSTRAINTS,
    ) -> None:
        """`drop_devices`: ignore the devices that the file fixes; `constraints`: that moves keep beside the file's.

        Raises GraphError, CostError and SettingsError as a run does.
        """
        self.prepared, self.cluster = prepared, cluster
        graph, costs, grouping = prepared.graph, prepared.costs, prepared.grouping
        self.allowed = allowed_devices(graph, costs, grouping, cluster, drop_pins=drop_devices)
        """[groups, devices] where each group may go"""
        self._drop_devices = drop_devices
        self._rules = MoveRules(graph, grouping.group_of_op, cluster, constraints)
        self._by_group = Simulator(graph, costs, cluster, grouping.group_of_op)
        self._memory_bytes = cluster.usable_bytes

    @property
    def op_count(self) -> int:
        return self.prepared.graph.op_count

    def most_moves(self, work: int) -> int:
        """The number of single moves that fit into this many simulated ops and edges, at least one of each device."""
        graph = self.prepared.graph
        return max(self.cluster.device_count, work // (graph.op_count + graph.edge_count))

    def largest_groups(self, count: int) -> list[int]:
        """At most `count` groups, those with the longest ops, in their order."""
        costs, grouping = self.prepared.costs, self.prepared.grouping
        time_us = np.nan_to_num(costs.time_on_devices(self.cluster.devices)).max(axis=0)
        sums = np.bincount(grouping.group_of_op, weights=time_us, minlength=grouping.group_count)
        return sorted(np.argsort(-sums, kind="stable")[:count].tolist())

    @cached_property
    def short_names(self) -> ShortNames:
        """Names for people, of ops and scopes."""
        return self.prepared.short_names()

    @cached_property
    def lower_bounds(self) -> LowerBounds:
        """Step times that no placement beats, by their reasons."""
        return lower_bounds(self.prepared.graph, self.prepared.costs, self.cluster)

    @cached_property
    def _by_op(self) -> Simulator:
        return Simulator(self.prepared.graph, self.prepared.costs, self.cluster)

    @cached_property
    def _allowed_of_op(self) -> NDArray[np.bool_]:
        graph, costs = self.prepared.graph, self.prepared.costs
        return allowed_of_ops(graph, costs, self.cluster, drop_pins=self._drop_devices)

    @cached_property
    def _class_of_op(self) -> NDArray[np.uint8]:
        return persistent_classes(self.prepared.graph, self.prepared.costs)

    @cached_property
    def _ops_of_group(self) -> list[NDArray[np.int64]]:
        group_of_op, groups = self.prepared.grouping.group_of_op, self.prepared.grouping.group_count
        first = first_of_each(group_of_op, groups)
        return np.split(np.argsort(group_of_op, kind="stable"), first[1:-1])

    def by_group(
        self, device_of_group: Sequence[int] | NDArray[np.integer], base: GivenPlacement | None = None
    ) -> GivenPlacement:
        """A placement [groups]. With `base`, the ops of a group that is `SPLIT` stay where they are there.

        Raises PlacementError for another length, or a device that is not in the cluster.
        """
        given = np.asarray(device_of_group)
        groups = self.prepared.grouping.group_count
        if given.shape != (groups,) or given.dtype.kind not in "iu":
            raise PlacementError(
                f"{given.size} devices", where="placement", allowed=f"{groups} integers, one for each group"
            )
        is_device = (given >= 0) & (given < self.cluster.device_count)
        is_kept = given == SPLIT if base is not None else np.zeros(groups, dtype=bool)
        if not (is_device | is_kept).all():
            raise self._no_device(int(given[~(is_device | is_kept)][0]))
        placement = given.astype(np.int32)
        device_of_op = placement[self.prepared.grouping.group_of_op]
        if base is None:
            return GivenPlacement(placement, device_of_op)
        return self.by_op(np.where(device_of_op == SPLIT, base.device_of_op, device_of_op))

    def by_levels(self, placement: SplitPlacement) -> GivenPlacement:
        """A placement of a run. Raises PlacementError for another number of groups or parts, or an unknown device."""
        if SPLIT not in placement.device_of_group:
            return self.by_group(placement.device_of_group)
        device_of_op = self.prepared.device_of_op(placement)
        wrong = device_of_op[(device_of_op < 0) | (device_of_op >= self.cluster.device_count)]
        if len(wrong):
            raise self._no_device(int(wrong[0]))
        return self.by_op(device_of_op)

    def levels_of(self, placement: GivenPlacement) -> SplitPlacement:
        """The placement as a run would have it. Raises PlacementError for one that a run could not make."""
        return self.prepared.by_groups(placement.device_of_op)

    def by_parts(self, device_of_group: Sequence[int], device_of_split_op: Sequence[int]) -> GivenPlacement:
        """The inverse of `parts_of`. Raises PlacementError."""
        groups = np.asarray(device_of_group, dtype=np.int32)
        device_of_op = groups[self.prepared.grouping.group_of_op]
        device_of_op[device_of_op == SPLIT] = device_of_split_op
        return self.by_op(device_of_op)

    def parts_of(self, placement: GivenPlacement) -> tuple[list[int], list[int]]:
        """A placement in few numbers: [groups] devices, and those of the ops of `SPLIT` groups, in the order of ops."""
        is_split = placement.device_of_group[self.prepared.grouping.group_of_op] == SPLIT
        return placement.device_of_group.tolist(), placement.device_of_op[is_split].tolist()

    def require_moves_allowed(self, placement: GivenPlacement, moved: Sequence[int]) -> None:
        """Raise PlacementError unless a run may put each of the groups `moved`, as a whole, where it is.

        Also for a rule that the placement breaks, if some of its ops are in these groups.
        """
        groups = self._groups(moved)
        self._require_groups_allowed(placement, groups[placement.device_of_group[groups] != SPLIT])
        broken = self._rules.broken_by(placement.device_of_op, groups)
        if broken:
            raise PlacementError(broken, where="the move", field="placement")

    def require_allowed(self, placement: GivenPlacement) -> None:
        """Raise PlacementError unless a run could make the placement, or one that splits groups further.

        Whole groups have to be where a run may put them. Each op of a split group has to be where it may go by itself,
        and with the ops that must share its device.
        """
        groups = placement.device_of_group
        self._require_groups_allowed(placement, np.flatnonzero(groups != SPLIT))
        if placement.is_split:
            require_ops_allowed(
                self.prepared.graph,
                self._allowed_of_op,
                self.cluster,
                placement.device_of_op,
                groups[self.prepared.grouping.group_of_op] == SPLIT,
            )

    def _require_groups_allowed(self, placement: GivenPlacement, groups: NDArray[np.int64]) -> None:
        devices = placement.device_of_group
        wrong = groups[~self.allowed[groups, devices[groups]]]
        if len(wrong):
            name, device = self.prepared.grouping.names[wrong[0]], self._device_names(devices[wrong[:1]])
            raise PlacementError(
                f"its group may not go to {device}",
                where=shortened(name),
                allowed=self._device_names(np.flatnonzero(self.allowed[wrong[0]])),
                field="placement",
            )

    def _device_names(self, devices: NDArray[np.integer]) -> str:
        return ", ".join(self.cluster.devices[device].name for device in devices.tolist())

    def _no_device(self, device: int) -> PlacementError:
        allowed = f"0 to {self.cluster.device_count - 1}"
        return PlacementError(f"device {device} is not in the cluster", where="placement", allowed=allowed)

    def by_op(self, device_of_op: NDArray[np.int32]) -> GivenPlacement:
        """A placement [ops] of devices of the cluster; groups that lie on several devices are `SPLIT`."""
        grouping = self.prepared.grouping
        device_of_group = devices_of_groups(grouping.group_of_op, grouping.group_count, device_of_op)
        return GivenPlacement(device_of_group, device_of_op.astype(np.int32))

    def evaluate(self, placement: GivenPlacement) -> StepOutcome:
        """Simulate it. Raises CostError where an op has no time on its device."""
        simulator, devices = self._simulated(placement)
        evaluations = simulator.evaluate(devices[None, :])
        missing = int(evaluations.missing_bytes(self._memory_bytes)[0])
        return StepOutcome(float(evaluations.step_time_us[0]), evaluations.peak_bytes[0], missing)

    def explain(self, placement: GivenPlacement) -> Explanation:
        """Simulate it with its timeline, and find what the time and the memory go to. Raises as `evaluate` does."""
        simulator, devices = self._simulated(placement)
        timeline = simulator.timeline(devices)
        return Explanation(
            timeline=timeline,
            chain=chain_of(timeline, self.cluster),
            idle=idle_of(timeline),
            slack_us=slack_of(timeline, simulator.executed),
            class_of_holding=class_of_holding(timeline.holdings, self._class_of_op),
            peaks=peaks_of(timeline.holdings, timeline.memory, self._class_of_op),
            holders=Holders(timeline, simulator.executed, simulator.executed_costs),
        )

    def stream_blocks(self, placement: GivenPlacement, stream: Stream) -> dict[str, Json]:
        """The blocks of a batch of `stream`: see `engine.explaining.stream_blocks`. Raises as `evaluate` does.

        Raises LimitError for a batch that is too large to be drawn. Nothing of it is kept.
        """
        graph, costs, cluster = self.prepared.graph, self.prepared.costs, self.cluster
        require_small_batch(graph.op_count + graph.edge_count, stream.micro_batches)
        group_of_op = None if placement.is_split else self.prepared.grouping.group_of_op
        simulator = Simulator(graph, costs, cluster, group_of_op, stream)
        devices = placement.device_of_op if placement.is_split else placement.device_of_group
        return stream_blocks(simulator, devices, self.short_names.of_op, self._class_of_op)

    @cached_property
    def _group_graph(self) -> GroupGraph:
        return group_graph(self._problem)

    @cached_property
    def _problem(self) -> PlacementProblem:
        graph, costs, grouping = self.prepared.graph, self.prepared.costs, self.prepared.grouping
        return PlacementProblem(
            graph, costs, grouping, self.cluster, self.allowed, RunContext.of(Budget(1)), shared=self._by_group
        )

    def decisions(
        self,
        policy: KeptPolicy,
        episode: int,
        placement: NDArray[np.int32],
        best_before: Callable[[], NDArray[np.int32] | None],
    ) -> EpisodeDecisions:
        """The decisions of an episode of a run's kept policy: see `engine.explaining.decisions.decisions_of`."""
        graph, start_times = self._group_graph, GroupStartTimes(self._by_group)
        scores = prior_scores(self._problem, policy.settings.prior).astype(np.float32)
        graph = dataclasses.replace(graph, prior_scores=scores)
        return decisions_of(policy, graph, episode, placement, best_before, start_times)

    def gains(
        self, placement: GivenPlacement, groups: Sequence[int] | None = None, to: Sequence[int] | None = None
    ) -> Gains:
        """The step after each single move of `groups`, by default of all. Raises as `evaluate` does.

        A split group moves as a whole. `to` [moved groups] asks for one device a group; without it, for all devices.
        """
        asked = self._groups(range(self.prepared.grouping.group_count) if groups is None else groups)
        simulator, devices = self._simulated(placement)
        moves = self.allowed[asked] & (True if to is None else self._only(to, len(asked)))
        moves &= self._rules.open_to(placement.device_of_op, [self._ops_of_group[group] for group in asked])
        return gains_of(simulator, devices, self._members(placement), asked, moves)

    def joint_gains(self, placement: GivenPlacement, groups: Sequence[int]) -> Gains:
        """The step after all `groups` have moved to one device: one row, for the first. Raises as `evaluate` does.

        They may go where each of them may.
        """
        asked = self._groups(groups)
        if len(asked) == 0:
            raise PlacementError("no group", where="groups", allowed="one or more")
        simulator, devices = self._simulated(placement)
        members = self._members(placement)
        members[asked[0]] = np.unique(np.concatenate([members[group] for group in asked]))
        allowed = np.array([self.allowed[asked].all(axis=0)])
        allowed &= self._rules.open_to(
            placement.device_of_op, [np.concatenate([self._ops_of_group[group] for group in asked])]
        )
        return gains_of(simulator, devices, members, asked[:1], allowed)

    def _groups(self, groups: Sequence[int]) -> NDArray[np.int64]:
        count = self.prepared.grouping.group_count
        asked = np.array(groups, dtype=np.int64)
        if len(asked) and not 0 <= asked.min() <= asked.max() < count:
            raise PlacementError("no such group", where="groups", allowed=f"0 to {count - 1}")
        return asked

    def _members(self, placement: GivenPlacement) -> list[NDArray[np.int64]]:
        """[groups] the places of each group in the placement as the simulator takes it."""
        if placement.is_split:
            return list(self._ops_of_group)
        return [np.array([group]) for group in range(self.prepared.grouping.group_count)]

    def _only(self, to: Sequence[int], count: int) -> NDArray[np.bool_]:
        """[count, devices] true for one device of each row. Raises PlacementError."""
        devices = self.cluster.device_count
        chosen = np.array(to, dtype=np.int64)
        if len(chosen) != count:
            raise PlacementError(f"{len(chosen)} devices", where="to", allowed=f"{count}, one for each moved group")
        if count and not 0 <= chosen.min() <= chosen.max() < devices:
            raise PlacementError("no such device", where="to", allowed=f"0 to {devices - 1}")
        return np.asarray(np.arange(devices) == chosen[:, None])

    def _simulated(self, placement: GivenPlacement) -> tuple[Simulator, NDArray[np.int32]]:
        """The simulator that takes the placement, and the placement as it takes it."""
        if placement.is_split:
            return self._by_op, placement.device_of_op
        return self._by_group, placement.device_of_group
