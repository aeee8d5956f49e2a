"""Weights that may wait on another device than the ops that take them, and cross the link in each step ("offload").

An op that holds weights alone leaves the unit of its consumers and becomes one of the graph's `waiting_weights`: a
placement may keep it on a CPU. The simulator then sends its output, the weights, to where they are used, and counts
the copy there until the last op that needs it has ended. Beside its consumers it costs nothing: its output is its
persistent memory. An op that computes and holds weights gives them off to such an op.

When a copy begins follows accelerate, which copies the weights of a module right before the module runs, on the stream
that runs it, and drops them right after. So weights wait, by control edges, for the op that runs before all that take
them in their unit, and for the data that their first consumer takes. Data from other units pass through an op `arrived`
beside it, so that nothing crosses a link for the sake of weights that are there. A module that takes weights of another
(tied weights) has them copied again.

Source: accelerate 1.15, `AlignDevicesHook.pre_forward` of hooks.py, `dispatch_model` of big_modeling.py. There ops run
on GPUs alone, so that those of a recording may not be on a CPU. Deviations: a module that a step calls several times
gets its weights once; copies for modules that do not need each other may overlap.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from engine.costs.costs import PERSISTENT_BUFFER, Costs
from engine.costs.layers import HeldParameters
from engine.errors import SettingsError, shortened
from engine.formats.offloading.building import Changes, NewOp
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import CONTROL, FORWARD, PHASES, ComputationGraph
from engine.graphs.ordering import earliest_first
from engine.graphs.origin import TORCH

PARAMETER, ARRIVED = "parameter", "arrived"
"""types of the new ops: weights, as in recordings; and what passes data on for which weights wait"""
NOBODY = -1
MOST_LOOKED_AT = 32
"""ops before one, among which another is looked for"""
WHERE = "offload"
ON_GPUS = "where weights wait in CPU memory, accelerate runs all modules on GPUs"
"""why no CPU runs the ops of a recorded model"""


@dataclass(frozen=True, slots=True)
class WeightsApart:
    """A graph whose weights may wait elsewhere, with its costs."""

    graph: ComputationGraph
    costs: Costs
    held: HeldParameters
    """as its ops hold them"""


def with_weights_apart(
    graph: ComputationGraph, costs: Costs, held: HeldParameters | None, framework: str = ""
) -> WeightsApart:
    """The graph with weights in ops of their own, which may be on any device.

    `framework` as in `Origin`: the weights right in a module of PyTorch are copied together. Raises SettingsError for a
    training step, and for a graph whose ops hold no parameters.
    """
    trained = np.flatnonzero(graph.phase > FORWARD)
    if len(trained):
        op = int(trained[0])
        what = f"{shortened(graph.op_names[op])} is an op of the phase {PHASES[graph.phase[op]]}"
        raise SettingsError(what, where=WHERE, allowed="a graph of inference", field=WHERE)
    holding = [] if held is None else np.flatnonzero((held.variables > 0) & (costs.persistent_bytes > 0)).tolist()
    if held is None or not holding:
        raise SettingsError("no op holds parameters", where=WHERE, allowed="ops with parameters", field=WHERE)
    draft = _Draft(graph, costs)
    draft.separate(holding)
    if framework == TORCH:
        draft.copy_for_each_module()
    draft.let_wait(by_module=framework == TORCH)
    changes = draft.changes(ON_GPUS if framework == TORCH else "")
    return WeightsApart(changes.changed_graph(), changes.changed_costs(), changes.changed_held(held))


class _Draft:
    """The graph while it is changed. New ops have numbers behind the old ones."""

    def __init__(self, graph: ComputationGraph, costs: Costs) -> None:
        self._graph, self._costs = graph, costs
        self._edges: list[list[int]] = []
        """source, target, output; changed in place"""
        self._edges_between: dict[tuple[int, int], list[list[int]]] = defaultdict(list)
        for row in np.stack([graph.edge_source, graph.edge_target, graph.edge_output], axis=1).tolist():
            self._connect(*row)
        pairs = np.stack([graph.edge_source, graph.edge_target], axis=1)
        self._turn = earliest_first(pairs, np.arange(graph.op_count)).tolist()
        self._names = list(graph.op_names)
        self._taken_names = set(graph.op_names)
        self._new: list[NewOp] = []
        self._weights: list[int] = []
        self._arrivals: dict[tuple[int, int], int] = {}
        """(op, the op that takes its data) → the new op between them"""

    def separate(self, holding: Sequence[int]) -> None:
        """Find the ops that hold weights alone, and give those of ops that compute to new ones.

        An op that gives its own memory out and takes something keeps its weights.
        """
        taking = {target for _, target, _ in self._edges}
        costs, buffers = self._costs, self._costs.buffers()
        busy = np.nan_to_num(costs.time_us).max(axis=0, initial=0.0) > 0
        for op in holding:
            own = buffers[costs.output_offset[op] : costs.output_offset[op + 1]].tolist()
            if op not in taking and not busy[op] and own == [PERSISTENT_BUFFER]:
                self._weights.append(op)
            elif PERSISTENT_BUFFER not in own:
                size = int(costs.persistent_bytes[op])
                new = self._add(NewOp(f"{self._names[op]}/weights", PARAMETER, op, size))
                self._weights.append(new)
                self._connect(new, op, 0)

    def copy_for_each_module(self) -> None:
        """Where several modules take the same weights, give each but the first a copy of its own."""
        takers = self._takers(self._weights)
        for op in list(self._weights):
            modules: dict[str, list[int]] = defaultdict(list)
            for taker in sorted(takers[op], key=lambda each: self._turn_of(each)):
                modules[_scope(self._names[taker])].append(taker)
            for module in list(modules)[1:]:
                self._copy(op, module, modules[module])

    def _copy(self, op: int, module: str, takers: Collection[int]) -> None:
        own_name = self._names[op].rpartition("/")[2]
        new = self._pass_on(f"{module}/{own_name}" if module else own_name, PARAMETER, op, 0, takers, beside=op)
        self._weights.append(new)

    def _pass_on(self, name: str, op_type: str, op: int, output: int, takers: Collection[int], beside: int) -> int:
        """A new op through which `takers` take an output of `op`."""
        size = int(self._costs.output_bytes[self._costs.output_offset[op] + output])
        new = self._add(NewOp(name, op_type, op, size, output, beside))
        for taker in takers:
            for edge in self._edges_between[op, taker]:
                if edge[2] == output:
                    edge[0], edge[2] = new, 0
        self._connect(op, new, output)
        return new

    def _connect(self, source: int, target: int, output: int) -> None:
        edge = [source, target, output]
        self._edges.append(edge)
        self._edges_between[source, target].append(edge)

    def _add(self, op: NewOp) -> int:
        """The number of a new op, whose name may get a number."""
        name, number = op.name, 0
        while name in self._taken_names:
            number += 1
            name = f"{op.name}_{number}"
        self._taken_names.add(name)
        self._names.append(name)
        self._new.append(replace(op, name=name))
        return len(self._names) - 1

    def _turn_of(self, op: int) -> int:
        """When the step comes to an old op."""
        return int(self._turn[op])

    def _takers(self, sources: Iterable[int]) -> dict[int, list[int]]:
        """Each of `sources` → the old ops that take its data."""
        found: dict[int, list[int]] = {op: [] for op in sources}
        for source, target, output in self._edges:
            if source in found and target < self._graph.op_count and output != CONTROL:
                found[source].append(target)
        return found

    def let_wait(self, *, by_module: bool) -> None:
        """Let weights wait for what has run when accelerate copies them."""
        sources: dict[int, list[int]] = defaultdict(list)
        for source, target, output in self._edges:
            if output != CONTROL:
                sources[target].append(source)
        made = self._made_of_weights(sources)
        still = {*self._weights, *made}
        takers = self._takers(still)
        first_worker = self._first_workers(made, takers)
        before = _OpsBefore(self._graph, self._turn, still)
        together: dict[object, list[int]] = defaultdict(list)
        for op in self._weights:
            together[_scope(self._names[op]) if by_module else op].append(op)
        for ops in together.values():
            direct = [taker for op in ops for taker in takers[op]]
            if not direct:
                continue
            workers = {first_worker.get(taker, taker) for taker in direct} - {NOBODY}
            gates = before.of(min(direct, key=self._turn_of))
            if workers:
                worker = min(workers, key=self._turn_of)
                given = [source for source in sources[worker] if source not in still]
                gates = self._gates(worker, given, gates, before, sources)
            for op, gate in product(ops, sorted(gates)):
                self._connect(gate, op, CONTROL)

    def _made_of_weights(self, sources: Mapping[int, Sequence[int]]) -> list[int]:
        """The ops that take weights alone, such as a transposed view, and those that take only what these give.

        An op that held its weights itself works with them.
        """
        weights, found = set(self._weights), dict[int, None]()  # in the order of the step
        working = {each.owner for each in self._new if each.passed is None}
        for op in sorted(range(self._graph.op_count), key=self._turn_of):
            given = sources.get(op, ()) if op not in working else ()
            if given and all(source in weights or source in found for source in given):
                found[op] = None
        return list(found)

    def _first_workers(self, made: Sequence[int], takers: Mapping[int, Sequence[int]]) -> dict[int, int]:
        """Op that is made of weights alone → the first op that takes it, or what is made of it, with other data."""
        found: dict[int, int] = {}
        of_weights = set(made)
        for op in reversed(made):
            workers = {found[taker] if taker in of_weights else taker for taker in takers[op]} - {NOBODY}
            found[op] = min(workers, key=self._turn_of, default=NOBODY)
        return found

    def _gates(
        self,
        worker: int,
        given: Sequence[int],
        before_all: set[int],
        before: "_OpsBefore",
        sources: Mapping[int, Sequence[int]],
    ) -> set[int]:
        """What weights wait for whose first worker is given data by these ops: the op before all that takes them in the
        unit, the last of the data in the unit, and data from other units.

        All of it comes before the worker, and so before all that needs the weights: no cycle arises.
        """
        inside = [op for op in given if before.are_together(op, worker)]
        outside = [op for op in before.last_of_each_unit(given) if op not in inside]
        last = set(before.last_of_each_unit(inside))
        gates = {gate for gate in before_all if not any(_follows(op, gate, sources) for op in last)}
        gates |= {op for op in last if not any(_follows(gate, op, sources) for gate in gates)}
        return {*gates, *(self._arrived(op, worker) for op in outside)}

    def _arrived(self, op: int, worker: int) -> int:
        """The op through which `worker` takes data of `op`, which may be on another device."""
        if (op, worker) not in self._arrivals:
            output = next(edge[2] for edge in self._edges_between[op, worker] if edge[2] != CONTROL)
            name = f"{_scope(self._names[worker]) or self._names[worker]}/{ARRIVED}"
            self._arrivals[op, worker] = self._pass_on(name, ARRIVED, op, output, {worker}, beside=worker)
        return self._arrivals[op, worker]

    def changes(self, why_on_gpus: str) -> Changes:
        """What became of the graph."""
        return Changes(self._graph, self._costs, self._new, self._edges, self._weights, why_on_gpus)


class _OpsBefore:
    """The ops of each unit that do more than hold weights, in the order of the step."""

    def __init__(self, graph: ComputationGraph, turn: Sequence[int], still: Collection[int]) -> None:
        self._turn, self._unit_of_op = turn, colocation_classes(graph).tolist()
        self._of_unit: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for op in range(graph.op_count):
            if op not in still:
                self._of_unit[self._unit_of_op[op]].append((turn[op], op))
        for ops in self._of_unit.values():
            ops.sort()

    def of(self, op: int) -> set[int]:
        """The last of them before `op` in its unit; empty where it is the first."""
        ops = self._of_unit.get(self._unit_of_op[op], [])
        place = bisect_left(ops, (self._turn[op], 0))
        return {ops[place - 1][1]} if place else set()

    def are_together(self, one: int, other: int) -> bool:
        """Whether two ops are of one unit."""
        return bool(self._unit_of_op[one] == self._unit_of_op[other])

    def last_of_each_unit(self, ops: Iterable[int]) -> list[int]:
        """Those of `ops` after which no other of them in their unit comes: a unit runs in order on one device."""
        return sorted({self._unit_of_op[op]: op for op in sorted(ops, key=self._turn.__getitem__)}.values())


def _follows(op: int, earlier: int, sources: Mapping[int, Sequence[int]]) -> bool:
    """Whether `op` takes data that `earlier` gives, at most `MOST_LOOKED_AT` ops back."""
    reached, seen = [op], {op}
    for each in reached:  # it grows while it is walked
        new = [source for source in sources.get(each, ()) if source not in seen][:MOST_LOOKED_AT]
        seen.update(new)
        reached.extend(new)
        if earlier in seen or len(reached) > MOST_LOOKED_AT:
            break
    return earlier in seen


def _scope(name: str) -> str:
    return name.rpartition("/")[0]
