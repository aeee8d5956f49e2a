"""Weights that may wait on another device than the ops that take them, and cross the link in each step ("offload").

An op that holds weights alone leaves the unit of its consumers and becomes one of the graph's `waiting_weights`: a
placement may keep it on a CPU. The simulator then sends its output, the weights, to where they are used, and counts
the copy there until the last op that needs it has ended. Beside its consumers it costs nothing: its output is its
persistent memory. An op that computes and holds weights gives them off to such an op.

When a copy begins follows accelerate, which copies the weights of a module right before the module runs, on the stream
that runs it, and drops them right after. So weights wait, by control edges, for the data that their first consumer
takes, and for the op that runs before it in its unit; of several in one unit, for the last. Data from another unit pass
through an op `arrived` beside the consumer, so that nothing crosses a link for the sake of weights that are there. A
module that takes weights of another (tied weights) has them copied again.

Source: accelerate 1.15, `AlignDevicesHook.pre_forward` of hooks.py, `dispatch_model` of big_modeling.py. There ops run
on GPUs alone, so that those of a recording may not be on a CPU. Deviations: a module that a step calls several times
gets its weights once; copies for modules that do not need each other may overlap.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import ANY_KIND, PERSISTENT_BUFFER, Costs, CostSource
from engine.costs.layers import HeldParameters
from engine.errors import SettingsError, shortened
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import CONTROL, FORWARD, PHASES, ComputationGraph
from engine.graphs.ordering import earliest_first
from engine.graphs.origin import TORCH

PARAMETER, ARRIVED = "parameter", "arrived"
"""types of the new ops: weights, as in recordings; and what passes data on for which weights wait"""
WEIGHTS_OF, TAKERS_OF = "weights of ", "takers of "
"""begin the labels of the weights of a unit of ops, and of ops whose label was the name of such weights"""
NOBODY = -1
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
    return WeightsApart(
        draft.finished_graph(ON_GPUS if framework == TORCH else ""), draft.finished_costs(), draft.finished_held(held)
    )


@dataclass(frozen=True, slots=True)
class _NewOp:
    """An op of zero time and one output that holds the weights of its owner, or passes an output of its owner on."""

    name: str
    type: str
    owner: int
    bytes: int
    passed: int | None = None
    """the number of the owner's output; None where it takes the owner's persistent bytes over"""
    beside: int | None = None
    """an op with which it shares the device"""


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
        self._new: list[_NewOp] = []
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
                new = self._add(_NewOp(f"{self._names[op]}/weights", PARAMETER, op, size))
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
        new = self._add(_NewOp(name, op_type, op, size, output, beside))
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

    def _add(self, op: _NewOp) -> int:
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
                gates = self._gates(worker, given, gates, before)
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

    def _gates(self, worker: int, given: Sequence[int], before_all: set[int], before: "_OpsBefore") -> set[int]:
        """What weights wait for whose first worker is given data by these ops, and the op before all in its unit.

        All of it comes before the worker, and so before all that needs the weights: no cycle arises.
        """
        inside = [op for op in given if before.are_together(op, worker)]
        outside = [op for op in before.last_of_each_unit(given) if op not in inside]
        return {*before.last_of_each_unit({*before_all, *inside}), *(self._arrived(op, worker) for op in outside)}

    def _arrived(self, op: int, worker: int) -> int:
        """The op through which `worker` takes data of `op`, which may be on another device."""
        if (op, worker) not in self._arrivals:
            output = next(edge[2] for edge in self._edges_between[op, worker] if edge[2] != CONTROL)
            name = f"{_scope(self._names[worker]) or self._names[worker]}/{ARRIVED}"
            self._arrivals[op, worker] = self._pass_on(name, ARRIVED, op, output, {worker}, beside=worker)
        return self._arrivals[op, worker]

    def finished_graph(self, why_on_gpus: str) -> ComputationGraph:
        """The graph with its new ops and edges, and new labels; `why_on_gpus`: the reason why no CPU runs its ops."""
        graph, new = self._graph, self._new
        names_of_weights = {self._names[op] for op in self._weights}
        weights = set(self._weights)

        def weights_of(op: int) -> tuple[str, ...]:
            return tuple(WEIGHTS_OF + label for label in graph.colocation[op])

        def labels_of(op: int) -> tuple[str, ...]:
            if op in weights:
                return weights_of(op)
            return tuple(TAKERS_OF * (label in names_of_weights) + label for label in graph.colocation[op])

        edges = np.array(self._edges, dtype=np.int32).reshape(-1, 3)
        edges = edges[np.argsort(edges[:, 1], kind="stable")]
        together = [
            (each.beside, len(graph.op_names) + number) for number, each in enumerate(new) if each.beside is not None
        ]
        waiting = np.zeros(len(self._names), dtype=np.bool_)
        waiting[self._weights] = True
        nothing = ("",) * len(new)
        needs = zip(graph.gpu_reason, graph.cpu_reason, strict=True)
        reasons = [on_gpu or ("" if on_cpu else why_on_gpus) for on_gpu, on_cpu in needs]
        return replace(
            graph,
            op_names=tuple(self._names),
            op_types=(*graph.op_types, *(each.type for each in new)),
            edge_source=edges[:, 0].copy(),
            edge_target=edges[:, 1].copy(),
            edge_output=edges[:, 2].copy(),
            devices=graph.devices + nothing,
            colocation=(
                *map(labels_of, range(graph.op_count)),
                *((labels_of(each.beside) if each.beside is not None else weights_of(each.owner)) for each in new),
            ),
            must_colocate=np.concatenate([graph.must_colocate, np.array(together, dtype=np.int32).reshape(-1, 2)]),
            cpu_reason=(*_cleared(graph.cpu_reason, waiting), *nothing),
            gpu_reason=(*_cleared(reasons, waiting), *nothing),
            phase=np.append(graph.phase, np.zeros(len(new), np.uint8)) if len(graph.phase) else graph.phase,
            waiting_weights=waiting,
        )

    def finished_costs(self) -> Costs:
        """The costs with those of the new ops, which take no time on any device."""
        costs, new = self._costs, self._new
        count = len(new)
        persistent = costs.persistent_bytes.copy()
        persistent[[each.owner for each in new if each.passed is None]] = 0
        added_persistent = np.array([each.bytes if each.passed is None else 0 for each in new], dtype=np.int64)
        kinds, time_us = self._times()
        return replace(
            costs,
            kinds=kinds,
            time_us=time_us,
            output_offset=np.append(costs.output_offset, costs.output_offset[-1] + np.arange(1, count + 1)),
            output_bytes=np.append(costs.output_bytes, np.array([each.bytes for each in new], dtype=np.int64)),
            persistent_bytes=np.append(persistent, added_persistent),
            temporary_bytes=_longer(costs.temporary_bytes, count),
            source=_longer(costs.source, count, int(CostSource.GIVEN)),
            unknown=_longer(costs.unknown, count),
            flops=_longer(costs.flops, count),
            trips=_longer(costs.trips, count, 1),
            moved_bytes=_longer(costs.moved_bytes, count),
            float_type=_longer(costs.float_type, count),
            type_of_op=_longer(costs.type_of_op, count),
            measured_us=_longer(costs.measured_us, count, np.nan),
            buffer_of_output=self._buffers(),
            contents_bytes=_longer(costs.contents_bytes, count),
        )

    def _times(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """The kinds, and the times on them; weights take none anywhere, also on kinds that the file does not name."""
        costs = self._costs
        time_us = np.pad(costs.time_us, ((0, 0), (0, len(self._new))))
        time_us[:, self._weights] = 0.0
        if len(costs.moved_bytes) or ANY_KIND in costs.kinds:
            return costs.kinds, time_us
        anywhere = np.full((1, len(self._names)), np.nan)
        anywhere[:, self._weights] = 0.0
        return (*costs.kinds, ANY_KIND), np.concatenate([time_us, anywhere])

    def _buffers(self) -> NDArray[np.int64]:
        """[all outputs] as `Costs.buffer_of_output`; who passed a buffer on that a new op passes takes that op's."""
        offset, old = self._costs.output_offset, self._costs.buffers()
        found, added = old.copy(), np.full(len(self._new), PERSISTENT_BUFFER, dtype=np.int64)
        takers: dict[int, list[int]] = defaultdict(list)
        for source, target, _ in self._edges:
            if self._graph.op_count <= source and target < self._graph.op_count:
                takers[source - self._graph.op_count].append(target)
        for number, each in enumerate(self._new):
            if each.passed is None:
                continue
            added[number] = offset[each.owner] + each.passed
            for taker in takers[number]:
                places = np.arange(offset[taker], offset[taker + 1])
                found[places[old[places] == added[number]]] = len(old) + number
        return np.append(found, added)

    def finished_held(self, held: HeldParameters) -> HeldParameters:
        """The parameters that the ops now hold."""
        count = self._graph.op_count
        variables = _longer(held.variables, len(self._new))
        for number, each in enumerate(self._new):
            if each.passed is None:
                variables[[count + number, each.owner]] = variables[each.owner], 0
        return HeldParameters(variables, _longer(held.constants, len(self._new)))


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


Column = TypeVar("Column", bound=np.generic)


def _longer(values: NDArray[Column], count: int, value: float = 0) -> NDArray[Column]:
    """`values`, [..., ops], with `value` for `count` further ops; what is empty stays empty."""
    if not values.size:
        return values
    return np.concatenate([values, np.full((*values.shape[:-1], count), value, values.dtype)], axis=-1)


def _scope(name: str) -> str:
    return name.rpartition("/")[0]


def _cleared(reasons: Sequence[str], waiting: NDArray[np.bool_]) -> list[str]:
    """`reasons` without those of weights, which may wait anywhere."""
    return ["" if waits else reason for reason, waits in zip(reasons, waiting[: len(reasons)].tolist(), strict=True)]
