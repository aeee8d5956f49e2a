"""A slow twin of loops: unrolls a graph trip by trip into a plain graph, as TensorFlow's executor would run it.

Every execution of an op is an op of its own. It knows nothing of `trips` but how often each loop runs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, ComputationGraph
from tests.engine.simulator.cases import make_costs, make_graph

Trip = tuple[int, ...]
"""the number of the trip in each loop around an op, from the outermost"""


@dataclass(frozen=True, slots=True)
class LoopedOp:
    """An op of a graph with loops. Inputs are `name`, `name:output` or `^name`; a Merge's second one may come later."""

    name: str
    type: str
    inputs: tuple[str, ...]
    loops: tuple[str, ...] = ()
    """the loops around it, from the outermost; an Enter and an Exit are outside their own loop"""
    looks_in: frozenset[str] = frozenset()
    """the loops whose condition it belongs to, or whose variable it merges or switches: it runs once more there"""
    time_us: float = 0.0
    bytes: int = 0
    is_taken: bool = True
    """False in a branch that is not taken"""


@dataclass(slots=True)
class LoopedGraph:
    """Ops in topological order, but for the second inputs of Merges; and how often each loop's body runs."""

    ops: list[LoopedOp] = field(default_factory=list)
    trips: dict[str, int] = field(default_factory=dict)

    def trips_in(self, op: LoopedOp, loop: str) -> int:
        """How often the op runs in each execution of `loop`."""
        return self.trips[loop] + (loop in op.looks_in)

    def executions(self, op: LoopedOp) -> Iterator[Trip]:
        """The trips in which the op runs."""
        if op.is_taken:
            yield from product(*(range(self.trips_in(op, loop)) for loop in op.loops))

    def as_loops(self) -> tuple[ComputationGraph, Costs]:
        """The graph with its back edges, and each op's trips as costs."""
        index_of = {op.name: index for index, op in enumerate(self.ops)}
        edges: list[tuple[int, int, int]] = []
        back: list[tuple[int, int]] = []
        for target, op in enumerate(self.ops):
            for text in op.inputs:
                name, output = _input(text)
                source = index_of[name]
                if self.ops[source].type == "NextIteration" and op.type == "Merge":
                    back.append((source, target))
                else:
                    edges.append((source, target, output))
        graph = make_graph(tuple(index_of), edges, [op.type for op in self.ops], back)
        trips = [sum(1 for _ in self.executions(op)) for op in self.ops]
        return graph, _costs([op.time_us for op in self.ops], [op.bytes for op in self.ops], trips)

    def unrolled(self, device_of_op: NDArray[np.int32]) -> tuple[ComputationGraph, Costs, NDArray[np.int32]]:
        """The plain graph, its costs, and the device of each execution, where `device_of_op` [ops] puts its op."""
        by_name = {op.name: op for op in self.ops}
        executions = [(index, op, trip) for index, op in enumerate(self.ops) for trip in self.executions(op)]
        number = {(op.name, trip): at for at, (_, op, trip) in enumerate(executions)}
        edges = []
        for target, (_, op, trip) in enumerate(executions):
            for text in op.inputs:
                name, output = _input(text)
                needed = (name, self._trip_of_input(by_name[name], op, trip))
                if needed in number:
                    edges.append((number[needed], target, output))
        names = [f"{op.name}@{'.'.join(map(str, trip))}" for _, op, trip in executions]
        graph = make_graph(tuple(names), edges, [op.type for _, op, _ in executions], [])
        costs = _costs([op.time_us for _, op, _ in executions], [op.bytes for _, op, _ in executions], [])
        return graph, costs, device_of_op[[index for index, _, _ in executions]]

    def _trip_of_input(self, source: LoopedOp, op: LoopedOp, trip: Trip) -> Trip | None:
        """The trip in which `source` gives the input that `op` takes in `trip`; None: another input gives it."""
        if source.type == "NextIteration" and op.type == "Merge":
            return (*trip[:-1], trip[-1] - 1) if trip[-1] > 0 else None
        if source.type == "Enter" and op.type == "Merge":
            return trip[:-1] if trip[-1] == 0 else None
        if op.type == "Exit":
            return (*trip, self.trips[source.loops[-1]])
        return trip[: len(source.loops)]


def _input(text: str) -> tuple[str, int]:
    name, _, output = text.removeprefix("^").partition(":")
    return name, CONTROL if text.startswith("^") else int(output or 0)


def _costs(time_us: list[float], sizes: list[int], trips: list[int]) -> Costs:
    held = [(0, 0)] * len(sizes)
    return make_costs(("*",), np.array([time_us]), [[size] for size in sizes], held, trips)
