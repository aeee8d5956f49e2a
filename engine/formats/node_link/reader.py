"""Reads node-link JSON (`.json`, networkx): a graph and its costs. Runs in a child.

    {"directed": true, "multigraph": false, "graph": {"name"},
     "nodes": [{"id", "type", "time_us": number or {kind: number}, "output_bytes": [number, ...], "persistent_bytes",
                "temporary_bytes", "trips", "colocation": label, "devices": [kinds], "device": device string}, ...],
     "edges" or "links": [{"source", "target", "output": index, or null for a control edge}, ...]}

Of a node `id`, `time_us` and `output_bytes` are required; other keys are ignored. An edge
without `output` takes output 0. Edges are sorted by consumer in the order of the nodes, then as the file has them. An
op that lists its `devices` has no time on other kinds. `trips` are the op's executions in a step, 1 by default.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress
from engine.clusters.device_kinds import KINDS, class_of_kind
from engine.costs.cost_model import GivenCosts, GraphWithShapes
from engine.costs.costs import ANY_KIND, Costs, CostSource, no_counts
from engine.errors import CostError, GraphError, shortened
from engine.events import Json
from engine.files.json_text import read_json
from engine.formats.format import ReadFile, SourceFile
from engine.formats.graphdef import READING
from engine.formats.node_link.values import (
    MOST_BYTES_IN_ALL,
    NodeJson,
    optional_text,
    place_of,
    read_bytes,
    read_id,
    read_kinds,
    read_output_bytes,
    read_times_us,
    read_trips,
    wrong,
)
from engine.formats.open_inputs import OpenInput
from engine.graphs.cycles import a_cycle
from engine.graphs.device_string import parse_device_string
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.origin import Origin

MOST_VALUES = 10_000_000
"""names, numbers, lists and objects in one file: about a gigabyte of memory"""
CYCLE_SHOWN = 5


@dataclass(frozen=True, slots=True)
class _Op:
    """One checked node."""

    name: str
    type: str
    times_us: dict[str, float]
    output_bytes: list[int]
    persistent_bytes: int
    temporary_bytes: int
    trips: int
    label: str
    device: str


def check(source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Read the whole file, which leaves nothing open. Raises GraphError, CostError."""
    report_progress(READING, 0, 0)
    read_nodelink(source.path.read_bytes())
    return ()


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The graph and its costs. Raises GraphError, CostError."""
    report_progress(READING, 0, 0)
    graph, costs = read_nodelink(source.path.read_bytes())
    return ReadFile(GraphWithShapes(graph), GivenCosts(costs), Origin(source.suffix))


def read_nodelink(data: bytes, name: str = "graph") -> tuple[ComputationGraph, Costs]:
    """The graph and costs in `data`; `name` is the graph's where the file gives none.

    `data` is bounded by the caller; its depth and number of values are bounded here before they are read. Raises
    GraphError, CostError.
    """
    return graph_of(read_json(data, most_values=MOST_VALUES, error=GraphError, field="file"), name)


def graph_of(root: Json, name: str = "graph") -> tuple[ComputationGraph, Costs]:
    """The graph and costs of node-link JSON that has been parsed, or of another format's file put into that form.

    Raises GraphError, CostError.
    """
    nodes, edges, own_name = _parts(root)
    ops = [_read_op(node, index) for index, node in enumerate(nodes)]
    index_of_name = _index_of_name(ops)
    columns = _read_edges(edges, ops, index_of_name)
    _require_acyclic(columns, ops)
    graph = ComputationGraph(
        name=own_name or name,
        op_names=tuple(index_of_name),
        op_types=tuple(op.type for op in ops),
        edge_source=columns[:, 0].copy(),
        edge_target=columns[:, 1].copy(),
        edge_output=columns[:, 2].copy(),
        devices=tuple(op.device for op in ops),
        colocation=tuple((op.label,) if op.label else () for op in ops),
        back_edges=np.empty((0, 2), dtype=np.int32),
    )
    return graph, _costs(ops)


def _parts(root: Json) -> tuple[list[Json], list[Json], str]:
    """Nodes, edges and the graph's name."""
    if not isinstance(root, dict):
        raise wrong(root, "the file", "an object with nodes and edges")
    if root.get("directed", True) is not True:
        raise wrong(root["directed"], "directed", "true")
    if not isinstance(root.get("multigraph", False), bool):
        raise wrong(root["multigraph"], "multigraph", "true or false")
    about = root.get("graph", {})
    if not isinstance(about, dict):
        raise wrong(about, "graph", "an object with a name")
    nodes = root.get("nodes")
    if not isinstance(nodes, list) or not nodes:
        raise wrong(nodes, "nodes", "a list of at least one node")
    if "edges" in root and "links" in root:
        raise GraphError("there are edges and links", where="the file", allowed="one of the two", field="file")
    edges = root.get("edges", root.get("links"))
    if not isinstance(edges, list):
        raise wrong(edges, "edges or links", "a list of edges, empty where there are none")
    return nodes, edges, optional_text(about, "graph", "name")


def _read_op(node: Json, index: int) -> _Op:
    if not isinstance(node, dict):
        raise wrong(node, f"node {index}", "an object with id, time_us and output_bytes")
    name = read_id(node.get("id"), f"node {index}, id")
    where = place_of(index, name)
    device = optional_text(node, where, "device")
    parse_device_string(device, name)
    return _Op(
        name=name,
        type=optional_text(node, where, "type"),
        times_us=_times_on_its_devices(node, where),
        output_bytes=read_output_bytes(node, where),
        persistent_bytes=read_bytes(node.get("persistent_bytes", 0), f"{where}, persistent_bytes"),
        temporary_bytes=read_bytes(node.get("temporary_bytes", 0), f"{where}, temporary_bytes"),
        trips=read_trips(node.get("trips", 1), f"{where}, trips"),
        label=optional_text(node, where, "colocation"),
        device=device,
    )


def _times_on_its_devices(node: NodeJson, where: str) -> dict[str, float]:
    """Kind → time, only for the kinds in `devices` and their members. Raises CostError."""
    times_us = read_times_us(node, where)
    kinds = read_kinds(node, where)
    if not kinds:
        return times_us
    times = {
        kind: time_us
        for kind, time_us in times_us.items()
        if kind in kinds or (kind != ANY_KIND and class_of_kind(kind) in kinds)
    }
    for kind in kinds:
        wider = next((times_us[wide] for wide in (kind, class_of_kind(kind), ANY_KIND) if wide in times_us), None)
        if wider is not None:
            times[kind] = wider
        elif not any(class_of_kind(narrow) == kind for narrow in times):
            what = f"no time on {kind}, which is among its devices"
            raise CostError(what, where=where, allowed="a time for each of its devices", field="file")
    return times


def _index_of_name(ops: list[_Op]) -> dict[str, int]:
    index_of_name: dict[str, int] = {}
    for index, op in enumerate(ops):
        if index_of_name.setdefault(op.name, index) != index:
            what = f"node {index_of_name[op.name]} has the same id"
            raise GraphError(what, where=place_of(index, op.name), allowed="unique ids", field="file")
    return index_of_name


def _read_edges(edges: list[Json], ops: list[_Op], index_of_name: Mapping[str, int]) -> NDArray[np.int32]:
    """[edges, 3] source, target, output, in the order of the consumers. Raises GraphError."""
    rows: dict[tuple[int, int, int], int] = {}
    for position, edge in enumerate(edges):
        where = f"edge {position}"
        if not isinstance(edge, dict):
            raise wrong(edge, where, "an object with source and target")
        source, target = (_end(edge, where, key, index_of_name) for key in ("source", "target"))
        if source == target:
            raise GraphError(
                "the op is its own input", where=place_of(target, ops[target].name), allowed="other ops", field="file"
            )
        row = (source, target, _output(edge.get("output", 0), where, ops[source]))
        if rows.setdefault(row, position) != position:
            what = f"edge {rows[row]} is the same"
            raise GraphError(what, where=where, allowed="each output once a consumer", field="file")
    columns = np.array(list(rows), dtype=np.int32).reshape(-1, 3)
    return columns[np.argsort(columns[:, 1], kind="stable")]


def _end(edge: NodeJson, where: str, key: str, index_of_name: Mapping[str, int]) -> int:
    name = read_id(edge.get(key), f"{where}, {key}")
    if name not in index_of_name:
        what = f"{shortened(name)} is not in the graph"
        raise GraphError(what, where=f"{where}, {key}", allowed="the id of a node", field="file")
    return index_of_name[name]


def _output(value: Json, where: str, source: _Op) -> int:
    if value is None:
        return CONTROL
    outputs = len(source.output_bytes)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < outputs:
        name = shortened(source.name)
        allowed = f"0 to {outputs - 1}, the outputs of {name}" if outputs else f"null: {name} has no outputs"
        raise wrong(value, f"{where}, output", allowed)
    return value


def _require_acyclic(columns: NDArray[np.int32], ops: list[_Op]) -> None:
    cycle = [shortened(ops[op].name) for op in a_cycle(columns[:, :2], len(ops))]
    if cycle:
        shown = cycle[:CYCLE_SHOWN] + ["…"] * (len(cycle) > CYCLE_SHOWN) + cycle[:1]
        what = f"{len(cycle)} ops form a cycle: {' → '.join(shown)}"
        raise GraphError(what, where="edges", allowed="an acyclic graph", field="file")


def _costs(ops: list[_Op]) -> Costs:
    """The ops' costs; each kind that any op names has a row. Raises CostError."""
    total = sum(sum(op.output_bytes) + op.persistent_bytes + op.temporary_bytes for op in ops)
    if total > MOST_BYTES_IN_ALL:
        raise CostError(f"{total} bytes", where="all nodes together", allowed=f"{MOST_BYTES_IN_ALL}", field="file")
    named = {kind for op in ops for kind in op.times_us}
    kinds = tuple(kind for kind in (*KINDS, ANY_KIND) if kind in named)
    time_us = np.array([[op.times_us.get(kind, np.nan) for op in ops] for kind in kinds], dtype=np.float64)
    return Costs(
        kinds=kinds,
        time_us=time_us,
        output_offset=np.cumsum([0, *(len(op.output_bytes) for op in ops)], dtype=np.int64),
        output_bytes=np.array([size for op in ops for size in op.output_bytes], dtype=np.int64),
        persistent_bytes=np.array([op.persistent_bytes for op in ops], dtype=np.int64),
        temporary_bytes=np.array([op.temporary_bytes for op in ops], dtype=np.int64),
        source=np.full(len(ops), CostSource.GIVEN, dtype=np.uint8),
        trips=no_counts() if all(op.trips == 1 for op in ops) else np.array([op.trips for op in ops], dtype=np.int64),
    )
