"""Writes a costed graph as node-link JSON, the format that `reader.py` reads."""

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import ANY_KIND, Costs
from engine.errors import GraphError
from engine.events import Json
from engine.graphs.colocation import colocation_classes
from engine.graphs.graph import CONTROL, ComputationGraph


def write_nodelink(graph: ComputationGraph, costs: Costs) -> bytes:
    """`graph` and `costs` as node-link JSON, which `read_nodelink` reads.

    If ops have several labels, or the original format ties them, each op gets the label of its co-location class. The
    sources of times are not written, nor the work from which estimated times follow. Raises GraphError for loops,
    which the format lacks.
    """
    if len(graph.back_edges):
        where = graph.op_names[int(graph.back_edges[0, 1])]
        raise GraphError(
            "node-link JSON has no loops", where=where, allowed="a graph without while loops", field="file"
        )
    labels = _labels(graph)
    time_us = costs.execution_times_us()
    nodes: list[Json] = [_node(op, graph, costs, labels[op], time_us[:, op]) for op in range(graph.op_count)]
    rows = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True)
    edges: list[Json] = [
        {
            "source": graph.op_names[source],
            "target": graph.op_names[target],
            "output": None if output == CONTROL else output,
        }
        for source, target, output in rows
    ]
    value: Json = {
        "directed": True,
        "multigraph": False,
        "graph": {"name": graph.name, **({"constraints": [*graph.constraints]} if graph.constraints else {})},
        "nodes": nodes,
        "edges": edges,
    }
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _node(op: int, graph: ComputationGraph, costs: Costs, label: str, time_us: NDArray[np.float64]) -> Json:
    start, end = costs.output_offset[op : op + 2].tolist()
    node: dict[str, Json] = {
        "id": graph.op_names[op],
        "type": graph.op_types[op],
        "time_us": _times_us(costs.kinds, time_us),
        "output_bytes": costs.output_bytes[start:end].tolist(),
        "persistent_bytes": int(costs.persistent_bytes[op]),
        "temporary_bytes": int(costs.temporary_bytes[op]),
    }
    if len(costs.trips) and costs.trips[op] != 1:
        node["trips"] = int(costs.trips[op])
    if len(costs.launches) and costs.launches[op] != 1:
        node["launches"] = int(costs.launches[op])
    if label:
        node["colocation"] = label
    if graph.devices[op]:
        node["device"] = graph.devices[op]
    return node


def _times_us(kinds: Sequence[str], time_us: NDArray[np.float64]) -> Json:
    """A bare number for a time on every kind, else kind → time."""
    times_us: dict[str, Json] = {
        kind: float(each) for kind, each in zip(kinds, time_us, strict=True) if not np.isnan(each)
    }
    return times_us[ANY_KIND] if list(times_us) == [ANY_KIND] else times_us


def _labels(graph: ComputationGraph) -> list[str]:
    """[ops] the label of each op, empty for none."""
    if not len(graph.must_colocate) and all(len(labels) <= 1 for labels in graph.colocation):
        return ["".join(labels) for labels in graph.colocation]
    class_of_op = colocation_classes(graph)
    members = np.bincount(class_of_op)
    _, first = np.unique(class_of_op, return_index=True)
    return [graph.op_names[first[class_]] if members[class_] > 1 else "" for class_ in class_of_op.tolist()]
