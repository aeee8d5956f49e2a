"""Builds the graph whose weights may wait elsewhere, and its costs, from the new ops and all edges."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import ANY_KIND, PERSISTENT_BUFFER, Costs, CostSource
from engine.costs.layers import HeldParameters
from engine.graphs.graph import ComputationGraph

WEIGHTS_OF, TAKERS_OF = "weights of ", "takers of "
"""begin the labels of the weights of a unit of ops, and of ops whose label was the name of such weights"""


@dataclass(frozen=True, slots=True)
class NewOp:
    """An op of zero time and one output that holds the weights of its owner, or passes an output of its owner on."""

    name: str
    type: str
    owner: int
    bytes: int
    passed: int | None = None
    """the number of the owner's output; None where it takes the owner's persistent bytes over"""
    beside: int | None = None
    """an op with which it shares the device"""


@dataclass(frozen=True, slots=True)
class Changes:
    """What becomes of a graph. New ops have numbers behind the old ones."""

    graph: ComputationGraph
    costs: Costs
    new: Sequence[NewOp]
    edges: Sequence[Sequence[int]]
    """source, target and output of each"""
    weights: Sequence[int]
    """the ops that hold weights which may wait elsewhere"""
    why_on_gpus: str
    """the reason why no CPU runs the other ops; empty where one can"""

    def changed_graph(self) -> ComputationGraph:
        """The graph with its new ops and edges, and new labels."""
        graph, new, weights = self.graph, self.new, set(self.weights)
        names = (*graph.op_names, *(each.name for each in new))
        names_of_weights = {names[op] for op in weights}

        def weights_of(op: int) -> tuple[str, ...]:
            return tuple(WEIGHTS_OF + label for label in graph.colocation[op])

        def labels_of(op: int) -> tuple[str, ...]:
            if op in weights:
                return weights_of(op)
            return tuple(TAKERS_OF * (label in names_of_weights) + label for label in graph.colocation[op])

        edges = np.array(self.edges, dtype=np.int32).reshape(-1, 3)
        edges = edges[np.argsort(edges[:, 1], kind="stable")]
        together = [
            (each.beside, len(graph.op_names) + number) for number, each in enumerate(new) if each.beside is not None
        ]
        waiting = np.zeros(self.graph.op_count + len(self.new), dtype=np.bool_)
        waiting[self.weights] = True
        nothing = ("",) * len(new)
        needs = zip(graph.gpu_reason, graph.cpu_reason, strict=True)
        reasons = [on_gpu or ("" if on_cpu else self.why_on_gpus) for on_gpu, on_cpu in needs]
        return replace(
            graph,
            op_names=names,
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

    def changed_costs(self) -> Costs:
        """The costs with those of the new ops, which take no time on any device."""
        costs, new = self.costs, self.new
        count = len(new)
        persistent = costs.persistent_bytes.copy()
        persistent[[each.owner for each in new if each.passed is None]] = 0
        added_persistent = np.array([each.bytes if each.passed is None else 0 for each in new], dtype=np.int64)
        kinds, time_us = self._times()
        source = CostSource.ESTIMATED if len(costs.moved_bytes) else CostSource.GIVEN
        return replace(
            costs,
            kinds=kinds,
            time_us=time_us,
            output_offset=np.append(costs.output_offset, costs.output_offset[-1] + np.arange(1, count + 1)),
            output_bytes=np.append(costs.output_bytes, np.array([each.bytes for each in new], dtype=np.int64)),
            persistent_bytes=np.append(persistent, added_persistent),
            temporary_bytes=_longer(costs.temporary_bytes, count),
            source=_longer(costs.source, count, int(source)),
            unknown=_longer(costs.unknown, count),
            flops=_longer(costs.flops, count),
            trips=_longer(costs.trips, count, 1),
            launches=_longer(costs.launches, count, 1),
            moved_bytes=_longer(costs.moved_bytes, count),
            float_type=_longer(costs.float_type, count),
            type_of_op=_longer(costs.type_of_op, count),
            measured_us=_longer(costs.measured_us, count, np.nan),
            buffer_of_output=self._buffers(),
            contents_bytes=_longer(costs.contents_bytes, count),
        )

    def _times(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """The kinds, and the times on them; weights take none anywhere, also on kinds that the file does not name."""
        costs = self.costs
        time_us = np.pad(costs.time_us, ((0, 0), (0, len(self.new))))
        time_us[:, self.weights] = 0.0
        if len(costs.moved_bytes) or ANY_KIND in costs.kinds:
            return costs.kinds, time_us
        anywhere = np.full((1, self.graph.op_count + len(self.new)), np.nan)
        anywhere[:, self.weights] = 0.0
        return (*costs.kinds, ANY_KIND), np.concatenate([time_us, anywhere])

    def _buffers(self) -> NDArray[np.int64]:
        """[all outputs] as `Costs.buffer_of_output`; who passed a buffer on that a new op passes takes that op's."""
        offset, old = self.costs.output_offset, self.costs.buffers()
        found, added = old.copy(), np.full(len(self.new), PERSISTENT_BUFFER, dtype=np.int64)
        takers: dict[int, list[int]] = defaultdict(list)
        for source, target, _ in self.edges:
            if self.graph.op_count <= source and target < self.graph.op_count:
                takers[source - self.graph.op_count].append(target)
        for number, each in enumerate(self.new):
            if each.passed is None:
                continue
            added[number] = offset[each.owner] + each.passed
            for taker in takers[number]:
                places = np.arange(offset[taker], offset[taker + 1])
                found[places[old[places] == added[number]]] = len(old) + number
        return np.append(found, added)

    def changed_held(self, held: HeldParameters) -> HeldParameters:
        """The parameters that the ops now hold."""
        count = self.graph.op_count
        variables = _longer(held.variables, len(self.new))
        for number, each in enumerate(self.new):
            if each.passed is None:
                variables[[count + number, each.owner]] = variables[each.owner], 0
        return HeldParameters(variables, _longer(held.constants, len(self.new)))


Column = TypeVar("Column", bound=np.generic)


def _longer(values: NDArray[Column], count: int, value: float = 0) -> NDArray[Column]:
    """`values`, [..., ops], with `value` for `count` further ops; what is empty stays empty."""
    if not values.size:
        return values
    return np.concatenate([values, np.full((*values.shape[:-1], count), value, values.dtype)], axis=-1)


def _cleared(reasons: Sequence[str], waiting: NDArray[np.bool_]) -> list[str]:
    """`reasons` without those of weights, which may wait anywhere."""
    return ["" if waits else reason for reason, waits in zip(reasons, waiting[: len(reasons)].tolist(), strict=True)]
