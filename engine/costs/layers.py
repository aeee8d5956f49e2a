"""Sums a graph's FLOPs, parameters and bytes by layer: a name scope at the level where the work branches out.

Keras and TensorFlow give each layer a scope. A scope around many layers (`StatefulPartitionedCall/model`) holds much of
the FLOPs in several scopes of its own: it is opened. A variable counts to the layer that reads it first if its own
scope has no FLOPs: TensorFlow 2 names variables apart from the ops that use them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import Costs
from engine.events import Json
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.ordering import levels

MOST_PARTS = 32
"""parts of a name that make scopes; deeper ones stay in the last"""
MOST_LAYERS = 500
OTHER_OPS = "other ops"
OPENED_SHARE = 0.25
"""share of the FLOPs from which on a scope of several layers is opened"""
APPLIES = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")
"""an optimiser's update: its first input is the weight, the other variables are the optimiser's own"""
READS = frozenset({"Identity", "ReadVariableOp"})
SETS = frozenset({"Assign", "AssignVariableOp", "VarIsInitializedOp", "IsVariableInitialized"})


@dataclass(frozen=True, slots=True)
class HeldParameters:
    """The parameters that ops hold."""

    variables: NDArray[np.int64]
    """[ops] elements of floating-point variables"""
    constants: NDArray[np.int64]
    """[ops] elements of floating-point constants"""


@dataclass(frozen=True, slots=True)
class _Layer:
    parts: tuple[str, ...]
    """of its name"""
    ops: list[int]
    is_rest: bool = False
    """whether it has the ops of an opened scope that are in no layer"""


def layers_of(graph: ComputationGraph, costs: Costs, held: HeldParameters | None) -> tuple[Mapping[str, Json], ...]:
    """A row a layer, along the data, those of other ops last, as `Origin.layers` describes.

    `held`: None where the file has no tensors.
    """
    return _Layers(graph, costs, held).rows()


class _Layers:
    def __init__(self, graph: ComputationGraph, costs: Costs, held: HeldParameters | None) -> None:
        self._graph, self._costs, self._held = graph, costs, held
        self._flops = _flops(costs)
        self._place = levels(np.stack([graph.edge_source, graph.edge_target], axis=1), graph.op_count)
        self._parameters = self._constants = np.zeros(graph.op_count, dtype=np.int64)
        names = list(graph.op_names)
        if held is not None:
            consumers = self._consumers()
            self._parameters = np.where(self._is_slot(consumers), 0, held.variables)
            self._constants = held.constants
            self._take_readers_names(names, consumers)
        self._parts = [tuple(name.split("/", MOST_PARTS - 1)) for name in names]
        self._work = self._flops if self._flops.any() else np.ones(graph.op_count)

    def rows(self) -> tuple[Mapping[str, Json], ...]:
        """A row a layer."""
        layers = self._largest(self._layers())
        layers.sort(key=lambda layer: (layer.is_rest, int(self._place[layer.ops].max()), layer.parts))
        shared = _shared_parts([layer.parts for layer in layers if self._flops[layer.ops].any()])
        output_bytes = self._costs.bytes_of_op()
        return tuple(self._row(layer, shared, output_bytes) for layer in layers)

    def _row(self, layer: _Layer, shared: tuple[str, ...], output_bytes: NDArray[np.int64]) -> dict[str, Json]:
        ops, parts = layer.ops, layer.parts
        label = "/".join(parts[len(shared) :] if parts[: len(shared)] == shared else parts)
        return {
            "name": "/".join(parts),
            "label": f"{label}: {OTHER_OPS}" if layer.is_rest and label else label or OTHER_OPS,
            "ops": len(ops),
            "flops": float(self._flops[ops].sum()) if len(self._costs.flops) else None,
            "parameters": None if self._held is None else int(self._parameters[ops].sum()),
            "constants": None if self._held is None else int(self._constants[ops].sum()),
            "persistent_bytes": int(self._costs.persistent_bytes[ops].sum()),
            "output_bytes": int(output_bytes[ops].sum()),
        }

    def _layers(self) -> list[_Layer]:
        """The layers, and for each opened scope a layer of the ops that are in none of its scopes and hold nothing."""
        found: list[_Layer] = []
        all_ops = list(range(self._graph.op_count))
        least = OPENED_SHARE * self._work.sum()
        is_chain = not self._branches(all_ops, 0)
        waiting: list[tuple[tuple[str, ...], list[int]]] = [((), all_ops)]
        while waiting:
            prefix, ops = waiting.pop()
            rest: list[int] = []
            for part, inside in self._children(ops, len(prefix)).items():
                below = len(prefix) + 1
                if not self._is_scope(inside, below):
                    if part and (self._flops[inside].any() or self._parameters[inside].any()):
                        found.append(_Layer((*prefix, part), inside))
                    else:
                        rest += inside
                elif self._work[inside].sum() > least and (
                    self._branches(inside, below) or (is_chain and self._heavy_scopes(inside, below))
                ):
                    waiting.append(((*prefix, part), inside))
                else:
                    found.append(_Layer((*prefix, part), inside))
            if rest:
                found.append(_Layer(prefix, rest, is_rest=True))
        return found

    def _children(self, ops: Sequence[int], depth: int) -> dict[str, list[int]]:
        """The ops by the part of their names at `depth`; those whose names end before have an empty one."""
        found: dict[str, list[int]] = {}
        for op in ops:
            parts = self._parts[op]
            found.setdefault(parts[depth] if depth < len(parts) else "", []).append(op)
        return found

    def _is_scope(self, ops: Sequence[int], depth: int) -> bool:
        return any(len(self._parts[op]) > depth for op in ops)

    def _heavy_scopes(self, ops: Sequence[int], depth: int) -> list[list[int]]:
        """The scopes below with work in them, if they hold most of the work of `ops`; else none."""
        scopes = [inside for inside in self._children(ops, depth).values() if self._is_scope(inside, depth + 1)]
        heavy = [inside for inside in scopes if self._work[inside].any()]
        work = sum(float(self._work[inside].sum()) for inside in heavy)
        return heavy if work > 0.5 * float(self._work[list(ops)].sum()) else []

    def _branches(self, ops: Sequence[int], depth: int) -> bool:
        """Whether the work is in several scopes, here or below a chain of single ones."""
        for below in range(depth, MOST_PARTS):
            heavy = self._heavy_scopes(ops, below)
            if len(heavy) != 1:
                return len(heavy) > 1
            ops = heavy[0]
        return False

    def _largest(self, layers: list[_Layer]) -> list[_Layer]:
        """At most `MOST_LAYERS`: of more, those with least work become one without a name."""
        if len(layers) <= MOST_LAYERS:
            return layers
        layers.sort(key=lambda layer: (-self._flops[layer.ops].sum(), -self._parameters[layer.ops].sum(), layer.parts))
        rest = [op for layer in layers[MOST_LAYERS - 1 :] for op in layer.ops]
        return [*layers[: MOST_LAYERS - 1], _Layer((), rest, is_rest=True)]

    def _consumers(self) -> dict[int, list[tuple[int, int]]]:
        """Op that holds parameters, or reads a variable → (consumer, place among its data inputs)."""
        assert self._held is not None
        graph = self._graph
        holds = (self._held.variables > 0) | (self._held.constants > 1)
        holds |= np.array([op_type in READS for op_type in graph.op_types])
        found: dict[int, list[tuple[int, int]]] = {}
        place, last = 0, -1
        for source, target, output in zip(
            graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True
        ):
            place = place + 1 if target == last else 0
            last = target
            if output != CONTROL and holds[source]:
                found.setdefault(source, []).append((target, place))
        return found

    def _is_slot(self, consumers: Mapping[int, Sequence[tuple[int, int]]]) -> NDArray[np.bool_]:
        """[ops] whether an optimiser's update takes the variable, or a read of it, as another input than the weight."""
        assert self._held is not None
        types = self._graph.op_types
        slots = np.zeros(self._graph.op_count, dtype=np.bool_)
        for op in np.flatnonzero(self._held.variables).tolist():
            takers = list(consumers.get(op, ()))
            takers += [taker for read, _ in takers if types[read] in READS for taker in consumers.get(read, ())]
            slots[op] = any(place > 0 and APPLIES.fullmatch(types[taker]) for taker, place in takers)
        return slots

    def _take_readers_names(self, names: list[str], consumers: Mapping[int, Sequence[tuple[int, int]]]) -> None:
        """Give each op that holds parameters the name of its first reader, if its own scope has no FLOPs."""
        assert self._held is not None
        working = _scopes([names[op] for op in np.flatnonzero(self._flops).tolist()])
        for op in np.flatnonzero((self._held.variables > 0) | (self._held.constants > 1)).tolist():
            reader = op
            while _scope(names[reader]) not in working and (reader == op or self._graph.op_types[reader] in READS):
                takers = [taker for taker, _ in consumers.get(reader, ()) if self._graph.op_types[taker] not in SETS]
                if not takers:
                    break
                reader = min(takers, key=lambda taker: (self._place[taker], taker))
            names[op] = names[reader]


def _flops(costs: Costs) -> NDArray[np.float64]:
    """[ops] FLOPs in a step; 0 where they are not counted."""
    if not len(costs.flops):
        return np.zeros(len(costs.output_offset) - 1)
    return costs.flops.astype(np.float64) * costs.trips_of_op()


def _scope(name: str) -> str:
    """The scope right around the op; empty where there is none."""
    return name.rpartition("/")[0]


def _scopes(names: Sequence[str]) -> set[str]:
    """All scopes around these ops."""
    found: set[str] = set()
    for name in names:
        scope = _scope(name)
        while scope and scope not in found:
            found.add(scope)
            scope = _scope(scope)
    return found


def _shared_parts(names: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The first parts that all have, with at least one part left to each."""
    if not names:
        return ()
    shared = names[0][:-1]
    for parts in names:
        length = min(len(shared), len(parts) - 1)
        while length and parts[:length] != shared[:length]:
            length -= 1
        shared = shared[: max(length, 0)]
    return shared
