"""The rows of a step's order: when ops start, by their inputs, and that a device runs one op after the other.

A relaxation of the simulator, and so a lower bound of its step time: an op starts no earlier than its inputs are there,
by one transfer that waits for nothing, and ops of one device do not overlap, in any order. What the simulator adds is
that devices take ready ops first in, first out, and that transfers wait for each other. Pairs of ops with a path
between them need no column for their order; where there are more than `MOST_PAIRS` others, their order is left open.

Source: Manne, "On the job-shop scheduling problem", Operations Research 8 (1960), for the columns of order.
"""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Contention
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL
from engine.placers.milp.linear_model import Columns, LinearModel
from engine.placers.milp.load_rows import PairColumns
from engine.problem import PlacementProblem
from engine.simulator.topology import topological_order

MOST_PAIRS = 400
MOST_OPS = 160
"""with more, a step is bound by its loads alone"""


class StartRows:
    """Adds the start of each op to a model. `limit_us` is a step time that need not be beaten by less."""

    def __init__(
        self, problem: PlacementProblem, model: LinearModel, on: Columns, pairs: PairColumns, unit_us: float
    ) -> None:
        self._problem, self._model, self._on, self._pairs = problem, model, on, pairs
        self._group = problem.simulator.group_of_op
        times = problem.simulator.executed_costs.time_on_devices(problem.cluster.devices).T / unit_us
        rests = problem.cluster.op_rests_us / unit_us * problem.costs.rests_of_op()[:, None]
        self._time = np.nan_to_num(times, nan=0.0)
        self._rest = np.where(self._time > 0, rests, 0.0)
        self._shortest = np.where(np.isnan(times), np.inf, times).min(axis=1)
        self._unit_us = unit_us
        self._orders: list[tuple[int, int, int, int]] = []

    def add(self, objective: int, limit: float) -> None:
        """Add all rows; the column `objective` is no less than any end, and `limit` no less than it is to be."""
        graph = self._problem.simulator.executed
        start = self._model.new_columns((graph.op_count,), limit if np.isfinite(limit) else np.inf)
        occupied = self._time + self._rest
        for op in range(graph.op_count):
            ends = [(start[op], 1.0), (self._on[self._group[op]], occupied[op]), (objective, -1.0)]
            self._model.add_row(ends, upper=0.0)
        for (source, target), (size, trips) in self._inputs().items():
            self._add_input(start, source, target, size, trips)
        if np.isfinite(limit):
            self._add_orders(start, limit)

    def values(self, placement: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The columns of orders, and their values in the simulated step of `placement`."""
        start_us = self._problem.simulator.timeline(placement).start_us
        device = placement[self._group]
        columns, values = [], []
        for one, other, first, second in self._orders:
            together = device[one] == device[other]
            is_first = (start_us[one], one) < (start_us[other], other)
            columns += [first, second]
            values += [float(together and is_first), float(together and not is_first)]
        return np.array(columns, dtype=np.int64), np.array(values)

    def _inputs(self) -> dict[tuple[int, int], tuple[float, float]]:
        """Pairs of ops with an edge → the most bytes of one transfer, and its trips."""
        graph, costs = self._problem.simulator.executed, self._problem.simulator.executed_costs
        trips = trips_of_edges(graph, costs.trips_of_op())
        found: dict[tuple[int, int], tuple[float, float]] = {}
        for edge in range(graph.edge_count):
            source, output = int(graph.edge_source[edge]), int(graph.edge_output[edge])
            ends = source, int(graph.edge_target[edge])
            size = 0.0 if output == CONTROL else float(costs.output_bytes[costs.output_offset[source] + output])
            found[ends] = max(size, found.get(ends, (0.0, 0.0))[0]), float(trips[edge])
        return found

    def _add_input(self, start: Columns, source: int, target: int, size: float, trips: float) -> None:
        """Let `target` start when `source` has ended and its device has rested, or its output is there."""
        producer, consumer = int(self._group[source]), int(self._group[target])
        terms = [(start[target], 1.0), (start[source], -1.0), (self._on[producer], -self._time[source])]
        if producer == consumer:
            terms.append((self._on[producer], -self._rest[source]))
        else:
            terms.append((self._pairs.of(producer, consumer), -self._between(source, size, trips)))
        self._model.add_row(terms, lower=0.0)

    def _between(self, source: int, size: float, trips: float) -> NDArray[np.float64]:
        """[devices, devices] the least time between the end of `source` and the start of what takes its output."""
        cluster = self._problem.cluster
        once_us = cluster.latency_us + size / cluster.bandwidth_bytes_per_us
        if cluster.contention == Contention.HOST:
            is_cpu = np.array([device.is_cpu for device in cluster.devices])
            once_us = np.where(is_cpu[:, None] & is_cpu, 0.0, once_us)
        between = trips * once_us / self._unit_us
        np.fill_diagonal(between, self._rest[source])
        return np.asarray(between)

    def _add_orders(self, start: Columns, limit: float) -> None:
        """Let ops without a path between them not overlap where they share a device."""
        heads, tails, reaches = self._paths()
        works = np.flatnonzero(self._shortest > 0)
        pairs = [(one, other) for one in works for other in works if one < other]
        pairs = [pair for pair in pairs if not (reaches[pair] or reaches[pair[::-1]])]
        if len(pairs) > MOST_PAIRS:
            return
        for one, other in pairs:
            first, second = (int(column) for column in self._model.new_columns((2,), 1.0, integer=True))
            for before, after, is_before in ((one, other, first), (other, one, second)):
                slack = max(0.0, limit - tails[before] - heads[after])
                ends = (self._on[self._group[before]], -(self._time + self._rest)[before])
                terms = [(start[after], 1.0), (start[before], -1.0), ends, (is_before, -slack)]
                self._model.add_row(terms, lower=-slack)
            self._add_choice(int(self._group[one]), int(self._group[other]), first, second)
            self._orders.append((int(one), int(other), first, second))

    def _add_choice(self, one: int, other: int, first: int, second: int) -> None:
        if one == other:
            self._model.add_row([(first, 1.0), (second, 1.0)], lower=1.0)
            return
        for device in range(self._on.shape[1]):
            on = (self._on[one, device], -1.0), (self._on[other, device], -1.0)
            self._model.add_row([(first, 1.0), (second, 1.0), *on], lower=-1.0)

    def _paths(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """[ops] the least time before each, and after its end, and [ops, ops] whether a path leads to the column's."""
        graph = self._problem.simulator.executed
        ops = graph.op_count
        heads, tails, reaches = np.zeros(ops), np.zeros(ops), np.zeros((ops, ops), dtype=bool)
        edges = list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
        order = topological_order(graph).tolist()
        place = {op: index for index, op in enumerate(order)}
        for source, target in sorted(edges, key=lambda edge: place[edge[0]]):
            heads[target] = max(heads[target], heads[source] + self._shortest[source])
        for source, target in sorted(edges, key=lambda edge: -place[edge[0]]):
            tails[source] = max(tails[source], tails[target] + self._shortest[target])
            reaches[source] |= reaches[target]
            reaches[source, target] = True
        return heads, tails, reaches
