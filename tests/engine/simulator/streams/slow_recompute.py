"""What runs again before the backward pass, found op by op in plain Python."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from engine.costs.costs import Costs
from engine.graphs.graph import BACKWARD, CONTROL, FORWARD, ComputationGraph
from tests.engine.simulator.cases import make_costs, make_graph


def runs_again(graph: ComputationGraph, device_of_op: Sequence[int]) -> list[int]:
    """The ops of the forward pass with inputs, which the backward pass on their device needs by some way there."""
    edges = list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
    again: set[int] = set()
    for _ in range(graph.op_count):
        for source, target in edges:
            needs = graph.phase[target] == BACKWARD or target in again
            has_inputs = any(of == source for _, of in edges)
            if graph.phase[source] == FORWARD and has_inputs and needs:
                again |= {source} if device_of_op[source] == device_of_op[target] else set()
    return sorted(again)


def slowly_recomputed(
    graph: ComputationGraph, costs: Costs, device_of_op: Sequence[int], kinds: tuple[str, ...]
) -> tuple[ComputationGraph, Costs, list[int]]:
    """The graph with those ops a second time, its costs on `kinds`, and the device of each op."""
    again = runs_again(graph, device_of_op)
    copy_of = {op: graph.op_count + number for number, op in enumerate(again)}
    edges = []
    rows = list(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True))
    for source, target, output in rows:
        is_here = device_of_op[source] == device_of_op[target]
        from_copy = copy_of.get(source, source) if is_here else source
        edges.append((from_copy if graph.phase[target] == BACKWARD else source, target, output))
    for source, target, output in rows:
        if target in copy_of:
            is_here = device_of_op[source] == device_of_op[target]
            edges.append((copy_of.get(source, source) if is_here else source, copy_of[target], output))
    edges = sorted([*edges, *((op, copy, CONTROL) for op, copy in copy_of.items())], key=lambda edge: edge[1])
    names = [*graph.op_names, *(f"{graph.op_names[op]} (again)" for op in again)]
    changed = make_graph(tuple(names), edges)
    phase = np.array([*graph.phase.tolist(), *[BACKWARD] * len(again)], np.uint8)
    like = [*range(graph.op_count), *again]
    offset = costs.output_offset.tolist()
    outputs = [costs.output_bytes[offset[op] : offset[op + 1]].tolist() for op in like]
    held = [
        (int(costs.persistent_bytes[op]) if place < graph.op_count else 0, int(costs.temporary_bytes[op]))
        for place, op in enumerate(like)
    ]
    trips = costs.trips_of_op()[like].tolist()
    return (
        dataclasses.replace(changed, phase=phase),
        make_costs(kinds, costs.time_us[:, like], outputs, held, trips),
        [*device_of_op, *(device_of_op[op] for op in again)],
    )
