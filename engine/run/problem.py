"""The problem that a run places, made of a prepared graph and a request; and what is refused before a run."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, SettingsError, shortened
from engine.events import EmitFromPlacer
from engine.graphs.constraints import Constraints
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import coarser_group_of_each
from engine.graphs.grouping.nesting import SPLIT, Levels, SplitPlacement
from engine.graphs.grouping.uniting import UnitedLevels, united
from engine.placers.memory import ProblemSize, require_memory
from engine.placers.registry import PLACERS, settings_dataclass_of
from engine.prepared import PreparedGraph
from engine.problem import PlacementProblem, RunContext
from engine.problem.constrained import RunConstraints
from engine.problem.pins import allowed_devices, checked_start, pinned
from engine.problem.step_timer import StepTimer
from engine.run.request import RunRequest, require_apart
from engine.simulator.streams.passes import require_few_devices, require_stream
from engine.simulator.streams.stream import is_contiguous


class RunProblem:
    """What a run places: groups of all levels for a method that searches them, else the groups that people see."""

    def __init__(
        self,
        prepared: PreparedGraph,
        request: RunRequest,
        emit: EmitFromPlacer,
        timer: StepTimer | None = None,
    ) -> None:
        """`timer`: takes step times in place of the simulator.

        Raises GraphError for a group that may go nowhere, PlacementError for a wrong start or pin, SettingsError for a
        timer and a method that can only simulate, and for constraints that the graph, the cluster or the method cannot
        keep, LimitError for a run that needs more memory than it may have.
        """
        if timer is not None:
            require_measurable(request.method)
        if request.stream is not None:
            require_stream(prepared.graph, request.stream)
            require_few_devices(request.stream, request.cluster.device_count)
            if timer is not None:
                raise SettingsError("streams are not measured", where="measure", allowed="objective step_time")
        self._prepared, self._request = prepared, request
        self.samples = prepared.origin.samples
        """of a step, 0 where it is not known"""
        self._constraints = RunConstraints.of(prepared.graph, request.constraints, request.cluster)
        require_apart(request.method, self._constraints.ops.rules)
        grouping, cluster = prepared.grouping, request.cluster
        allowed = self._allowed(grouping)
        whole = {group: device for group, device in request.pins.items() if device != SPLIT}
        shown = pinned(allowed, whole, grouping, cluster)
        searches_levels = PLACERS[request.method].searches_levels
        self.levels = prepared.levels if searches_levels else Levels()
        """of the problem; none where it has the groups that people see"""
        nested = self.levels.groupings(prepared.graph)
        self._inside: NDArray[np.int32] | None = None
        """[units] the group that people see of each; None where units are these groups"""
        if nested:
            self._inside, grouping = coarser_group_of_each(grouping, nested[-1]), nested[-1]
            allowed = self._allowed(grouping)
            fixed = np.isin(self._inside, list(whole))
            allowed[fixed] = shown[self._inside[fixed]]
        else:
            allowed = shown
        self._require_memory(*allowed.shape)
        start = None if request.start is None else self._start(request.start, grouping, allowed)
        self._keep_parts(allowed, start)
        if self._constraints.ops.rules:
            own = grouping
            grouping, allowed = self._constrained(own, allowed)
            self.levels = UnitedLevels.over(self.levels, coarser_group_of_each(grouping, own))
            nested = tuple(self._united(level) for level in nested)
            start = None if request.start is None else self._start(request.start, grouping, allowed)
        self.problem = PlacementProblem(
            prepared.graph,
            prepared.costs,
            grouping,
            cluster,
            allowed,
            RunContext.of(request.budget, emit=emit, start=start, timer=timer, to_split=self.levels.split_placement),
            coarser=tuple(level for level in nested[:-1] if self._fits(level, grouping, allowed)),
            stream=request.stream,
            apart_ops=self._constraints.apart,
        )
        """its placements are those of the finest level's groups, called units"""
        self._require_possible_start()
        self.of_groups = self.problem if self._inside is None else self._problem_of_groups(shown)
        """the same graph in the groups that people see, for baselines, with a ledger of its own; or why whole groups
        cannot keep the constraints"""

    @property
    def shown_count(self) -> int:
        """The number of the groups that people see."""
        return self._prepared.grouping.group_count

    def _require_possible_start(self) -> None:
        start = self.problem.context.start
        if start is None:
            return
        broken = self._constraints.broken_by(start[self.problem.grouping.group_of_op], self.problem.cluster)
        if broken:
            raise PlacementError(broken, where="start", allowed="a placement that keeps the constraints", field="start")
        if not is_contiguous(self.problem.stream):
            return
        if not np.isfinite(self.problem.simulator.evaluate(start[None, :]).step_time_us[0]):
            what = "its stages are not contiguous: data of a pass come back to a device that they have left"
            raise PlacementError(what, where="start", allowed="a contiguous placement", field="start")

    def _require_memory(self, groups: int, devices: int) -> None:
        request, graph = self._request, self._prepared.graph
        settings = settings_dataclass_of(request.placer)
        size = ProblemSize(groups, devices, graph.op_count, graph.edge_count)
        require_memory(request.method, PLACERS[request.method].memory, settings, size)

    def _allowed(self, grouping: Grouping) -> NDArray[np.bool_]:
        prepared, request = self._prepared, self._request
        return allowed_devices(
            prepared.graph, prepared.costs, grouping, request.cluster, drop_pins=request.drop_devices
        )

    def _keep_parts(self, allowed: NDArray[np.bool_], start: NDArray[np.int32] | None) -> None:
        """Forbid the units of groups that are pinned with their parts all but the start's devices."""
        groups = [group for group, device in self._request.pins.items() if device == SPLIT]
        if not groups:
            return
        if self._inside is None or start is None:
            what, words = "no device", "a device, or a start in which it is split"
            raise PlacementError(what, where=f"the pinned group {groups[0]}", allowed=words, field="pins")
        kept = np.isin(self._inside, groups)
        allowed[kept] = np.arange(allowed.shape[1]) == start[kept, None]

    def _constrained(self, grouping: Grouping, allowed: NDArray[np.bool_]) -> tuple[Grouping, NDArray[np.bool_]]:
        """`grouping` with what is to be together united, and where its groups may go [groups, devices].

        Raises SettingsError where a group has no device left, or holds ops that must be apart.
        """
        made = self._united(grouping)
        of_united = np.ones((made.group_count, allowed.shape[1]), dtype=bool)
        np.logical_and.at(of_united, coarser_group_of_each(made, grouping), allowed)
        return made, self._constraints.narrowed(of_united, made)

    def _united(self, grouping: Grouping) -> Grouping:
        return united(self._prepared.graph, self._prepared.costs, grouping, self._constraints.together)

    def _fits(self, level: Grouping, finest: Grouping, allowed: NDArray[np.bool_]) -> bool:
        """Whether each group of `level` can be placed whole: all its units may be on one device."""
        together = np.ones((level.group_count, allowed.shape[1]), dtype=bool)
        np.logical_and.at(together, coarser_group_of_each(level, finest), allowed)
        return bool(together.any(axis=1).all()) and self._constraints.may_move_whole(level)

    def _problem_of_groups(self, allowed: NDArray[np.bool_]) -> "PlacementProblem | str":
        grouping, levels = self._prepared.grouping, Levels()
        if self._constraints.ops.rules:
            own = grouping
            try:
                grouping, allowed = self._constrained(own, allowed)
            except SettingsError as error:
                return f"whole groups cannot keep the constraints: {error.what}"
            levels = UnitedLevels.over(levels, coarser_group_of_each(grouping, own))
        return dataclasses.replace(
            self.problem,
            grouping=grouping,
            allowed=allowed,
            context=RunContext.of(self._request.budget, to_split=levels.split_placement),
            coarser=(),
            shared=self.problem.simulator.with_groups(grouping.group_of_op),
        )

    def _start(self, start: SplitPlacement, grouping: Grouping, allowed: NDArray[np.bool_]) -> NDArray[np.int32]:
        """[units] the request's start. Raises PlacementError for one that the method or the cluster cannot have."""
        require_can_split(self._prepared, self._request.method, start)
        return checked_start(self.levels.units(start), allowed, grouping, self._request.cluster)


def require_placeable(
    prepared: PreparedGraph, cluster: Cluster, *, drop_devices: bool, constraints: Constraints | None = None
) -> None:
    """Raise GraphError or SettingsError where no run could place the graph on the cluster, as `RunProblem` does."""
    allowed_devices(prepared.graph, prepared.costs, prepared.grouping, cluster, drop_pins=drop_devices)
    RunConstraints.of(prepared.graph, constraints or Constraints(), cluster)


def require_measurable(method: str) -> None:
    """Raise SettingsError if `method` evaluates in compiled code, which can only simulate."""
    if PLACERS[method].evaluates_in_compiled_code:
        others = ", ".join(name for name, each in PLACERS.items() if not each.evaluates_in_compiled_code)
        what = f"{method} evaluates in compiled code, which can only simulate"
        raise SettingsError(what, where="measure", allowed=f"last, top K, or one of the methods {others}")


def require_can_split(prepared: PreparedGraph, method: str, start: SplitPlacement) -> None:
    """Raise PlacementError if `start` splits groups and a run of `method` on this graph does not."""
    if SPLIT in start.device_of_group and not (prepared.levels and PLACERS[method].searches_levels):
        splitting = ", ".join(name for name, each in PLACERS.items() if each.searches_levels)
        raise PlacementError(
            "the start has its parts on several devices",
            where=shortened(prepared.grouping.names[start.device_of_group.index(SPLIT)]),
            allowed=f"one device for each group, or a method that splits groups ({splitting}) with groups auto",
            field="start",
        )
