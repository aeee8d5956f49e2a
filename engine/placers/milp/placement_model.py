"""The mixed-integer programme of a placement problem: the least step time or period that its rows allow.

x[group, device] places groups, each on one device where it may go. The objective is no less than any load (see
load_rows.py), and for step times no less than the end of any op (start_rows.py). Bytes that a device always holds must
fit it, with what the largest op of any group there takes in a stream. Stages are contiguous and groups apart where they
must be, and of placements that differ by exchangeable devices alone one is left (order_rows.py).

Every row holds for every placement that fits, at its true step time or period. So the least objective is a lower bound
of the true one. It is the true one itself for periods, but for outputs that are taken unequally often, and for what
memory the passes in flight take. For step times it is lower where ops or transfers wait in turn.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import MemoryModel
from engine.graphs.graph import BACKWARD, CONTROL, FORWARD, OPTIMIZER
from engine.graphs.phases import phases_of_graph
from engine.placers.milp.linear_model import MOST_COLUMNS, LinearModel
from engine.placers.milp.load_rows import LoadRows
from engine.placers.milp.order_rows import OrderRows, canonical, edges_of_passes
from engine.placers.milp.start_rows import MOST_OPS, StartRows
from engine.placers.milp.traffic import FlowTraffic, traffic_of
from engine.problem import PlacementProblem
from engine.search.symmetry import alike_devices, interchangeable_devices
from engine.simulator.streams.stream import Pipeline
from engine.simulator.topology import topological_order

UNITS = 1000.0
"""the best step time or period so far, in units of the model, so that the solver's tolerances are far below it"""
ROUNDING = 1e-9
"""relative; sums in another order than the simulator's differ by less"""
MOST_DEVICES = 64
WarmStart = tuple[NDArray[np.int64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class _Work:
    """What the model needs of groups and ops."""

    phase: NDArray[np.uint8]
    """[ops]"""
    work_us: NDArray[np.float64]
    """[groups, devices] what a group's counted ops take; infinite where it may not go"""
    traffic: list[FlowTraffic]


class PlacementModel:
    """The programme of one problem. `limit_us` is the best so far, and infinite before there is one."""

    def __init__(self, problem: PlacementProblem, limit_us: float) -> None:
        self._problem, self._work = problem, _work_of(problem)
        finite = self._work.work_us[np.isfinite(self._work.work_us)]
        self._unit_us = (limit_us if 0 < limit_us < np.inf else float(finite.sum()) or 1.0) / UNITS
        self.model = LinearModel()
        may_be = np.isfinite(self._work.work_us) & (self._work.work_us <= limit_us * (1 + ROUNDING))
        self.on = self.model.new_columns(may_be.shape, may_be.astype(np.float64), integer=True)
        limit = limit_us / self._unit_us
        self.objective = int(self.model.new_columns((1,), limit)[0])
        for columns in self.on:
            self.model.add_row([(columns, 1.0)], 1.0, 1.0)
        loads = LoadRows(problem, self.model, self.on, self._unit_us)
        loads.add_work(self._work.work_us)
        for traffic in self._work.traffic:
            loads.add_traffic(traffic)
        loads.finish(self.objective)
        self._starts: StartRows | None = None
        if problem.stream is None and problem.simulator.executed.op_count <= MOST_OPS:
            self._starts = StartRows(problem, self.model, self.on, loads.pairs, self._unit_us)
            self._starts.add(self.objective, limit)
        self._add_memory()
        self._keep_apart()
        self._add_order()

    @property
    def limit_us(self) -> float:
        """What the objective may be at most."""
        return float(self.model.bounds()[1][self.objective]) * self._unit_us

    def to_us(self, bound: float) -> float:
        """A bound of the solver, in µs."""
        return bound * self._unit_us

    def placement(self, solution: NDArray[np.float64]) -> NDArray[np.int32]:
        """[groups] the placement of a solution [columns]."""
        return np.asarray(solution[self.on].argmax(axis=1), dtype=np.int32)

    def canonical(self, placement: NDArray[np.int32]) -> NDArray[np.int32]:
        """[groups] the one that the model has of a placement and those that exchange devices of it."""
        is_contiguous = self._problem.stream is not None and self._problem.stream.contiguous
        return canonical(placement, self._class_of_device, self._forward if is_contiguous else None)

    def start(self, placement: NDArray[np.int32]) -> WarmStart:
        """The columns that a placement, which is `canonical`, decides, and their values."""
        on = np.zeros(self.on.shape)
        on[np.arange(len(placement)), placement] = 1.0
        parts = [(self.on.ravel(), on.ravel()), self._order.values(placement)]
        if self._starts is not None:
            parts.append(self._starts.values(placement))
        return np.concatenate([columns for columns, _ in parts]), np.concatenate([values for _, values in parts])

    def exclude(self, placement: NDArray[np.int32]) -> None:
        """Let no solution be this placement, which is `canonical`: it has been evaluated."""
        columns = self.on[np.arange(len(placement)), placement]
        self.model.add_row([(columns, 1.0)], upper=len(placement) - 1.0)

    def limit(self, limit_us: float) -> None:
        """Let no solution be above a step time or period that has been reached."""
        self.model.add_row([(self.objective, 1.0)], upper=limit_us / self._unit_us)

    def _add_memory(self) -> None:
        """Let what each device holds at least fit it."""
        problem, costs = self._problem, self._problem.simulator.executed_costs
        if problem.stream is None and problem.cluster.memory_model == MemoryModel.OUTPUTS:
            return
        kept, most = np.zeros(problem.group_count), np.zeros(problem.group_count)
        group = problem.simulator.group_of_op
        np.add.at(kept, group, costs.kept_bytes())
        if problem.stream is not None and problem.cluster.memory_model == MemoryModel.FULL:
            np.maximum.at(most, group, costs.new_bytes_of_op() + costs.temporary_bytes)
            kept += self._stashed_bytes()
        for device, room in enumerate(problem.memory_bytes.astype(np.float64)):
            if kept.sum() + most.max() <= room:
                continue
            everything = (self.on[:, device], kept / room)
            self.model.add_row([everything], upper=1.0)
            for one in np.flatnonzero(most):
                self.model.add_row([everything, (self.on[one, device], most[one] / room)], upper=1.0)

    def _stashed_bytes(self) -> NDArray[np.float64]:
        """[groups] what a device holds at least of the micro-batches in flight, for backward ops of the same group."""
        problem, graph = self._problem, self._problem.simulator.executed
        costs, group, phase = problem.simulator.executed_costs, problem.simulator.group_of_op, self._work.phase
        source, target = graph.edge_source, graph.edge_target
        needed = (phase[source] == FORWARD) & (phase[target] == BACKWARD) & (group[source] == group[target])
        needed &= graph.edge_output != CONTROL
        output = np.unique(costs.output_offset[source[needed]] + graph.edge_output[needed])
        owner = np.repeat(np.arange(graph.op_count), np.diff(costs.output_offset))[output]
        stashed = np.zeros(problem.group_count)
        np.add.at(stashed, group[owner], costs.new_bytes()[output] * (costs.buffers()[output] < 0))
        assert problem.stream is not None
        holds_all = problem.stream.pipeline == Pipeline.GPIPE and not problem.stream.recomputes
        in_flight = problem.stream.micro_batches if holds_all else 1
        return np.asarray(stashed * in_flight)

    def _keep_apart(self) -> None:
        """Let no device have groups of two parts of a rule: a column says which part of the rule a device may have."""
        apart = self._problem.apart
        if not apart:
            return
        of_rule, part = np.unique(np.stack((apart.rule, apart.part)), axis=1, return_inverse=True)
        has = self.model.new_columns((of_rule.shape[1], self._problem.device_count), 1.0)
        for group, its_part in zip(apart.member.tolist(), part.reshape(-1).tolist(), strict=True):
            for device in range(self._problem.device_count):
                self.model.add_row([(self.on[group, device], 1.0), (has[its_part, device], -1.0)], upper=0.0)
        for rule in np.unique(of_rule[0]).tolist():
            for device in range(self._problem.device_count):
                self.model.add_row([(has[of_rule[0] == rule, device], 1.0)], upper=1.0)

    def _add_order(self) -> None:
        problem = self._problem
        in_stream = problem.stream is not None
        self._class_of_device = alike_devices(problem) if in_stream else interchangeable_devices(problem)
        self._order = OrderRows(self.model, self.on, self._class_of_device)
        self._forward, backward = edges_of_passes(problem, self._work.phase)
        if problem.stream is not None and problem.stream.contiguous:
            self._order.keep_contiguous(self._forward, backward)
        else:
            self._order.use_in_turn()


def is_too_large(problem: PlacementProblem) -> bool:
    """Whether the model would have more than some `MOST_COLUMNS` columns, or cannot tell the devices apart."""
    devices = problem.device_count
    pairs = len({(int(one), int(other)) for one, other in _edges_of_groups(problem)})
    columns = problem.group_count * devices + pairs * devices**2
    return devices > MOST_DEVICES or columns > MOST_COLUMNS


def _edges_of_groups(problem: PlacementProblem) -> NDArray[np.int64]:
    graph, group = problem.simulator.executed, problem.simulator.group_of_op.astype(np.int64)
    ends = np.stack((group[graph.edge_source], group[graph.edge_target]), axis=1)
    return np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)


def _work_of(problem: PlacementProblem) -> _Work:
    simulator, cluster = problem.simulator, problem.cluster
    graph, costs = simulator.executed, simulator.executed_costs
    phase = phases_of_graph(graph, topological_order(graph))
    is_counted = np.ones(graph.op_count, dtype=bool) if problem.stream is None else phase != OPTIMIZER
    times = costs.time_on_devices(cluster.devices)
    occupied = np.where(times > 0, times + cluster.op_rests_us[:, None] * costs.rests_of_op(), times)
    occupied = np.where(is_counted | np.isnan(occupied), occupied, 0.0)
    occupied = np.where(simulator.runs_again(simulator.group_of_op), 2.0 * occupied, occupied)
    work_us = np.zeros((problem.group_count, problem.device_count))
    np.add.at(work_us, simulator.group_of_op, occupied.T)
    work_us = np.where(problem.allowed & np.isfinite(work_us), work_us, np.inf)
    return _Work(phase, work_us, traffic_of(problem, is_counted))
