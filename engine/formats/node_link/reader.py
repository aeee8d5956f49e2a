"""Reads node-link JSON (`.json`, `.json.gz`, networkx): a graph and its costs. Runs in a child.

    {"directed": true, "multigraph": false,
     "graph": {"name", "batch", "constraints": [rules], "framework", "modules": {path: class}, "input_shapes"},
     "nodes": [{"id", "type", "time_us": number or {kind: number}, "output_bytes": [number, ...], "persistent_bytes",
                "temporary_bytes", "trips", "launches", "colocation": label, "devices": [kinds], "device", "phase",
                "parameters", "input_shapes": number, "buffers": [null, "persistent" or [id, output], ...],
                and in place of time_us: "flops", "bytes_accessed", "dtype"}, ...],
     "edges" or "links": [{"source", "target", "output": index, or null for a control edge}, ...]}

Of a node `id`, `output_bytes`, and `time_us` or `flops` with `bytes_accessed` are required; other keys are ignored. An
edge without `output` takes output 0. Edges are sorted by consumer in the order of the nodes, then as the file has them.
An op that lists its `devices` has no time on other kinds. `trips` are the op's executions in a step, 1 by default.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress
from engine.clusters.device_kinds import DEVICE_CLASSES
from engine.costs.cost_model import GivenCosts, GraphWithShapes
from engine.costs.costs import Costs
from engine.costs.layers import HeldParameters
from engine.costs.pytorch.recorded_calls import RecordedCalls
from engine.errors import GraphError, SettingsError, shortened
from engine.events import Json
from engine.files.gzip_text import unpacked
from engine.files.json_text import read_json
from engine.formats.format import ReadFile, SourceFile
from engine.formats.graphdef import READING
from engine.formats.node_link.calls import read_calls
from engine.formats.node_link.costs import costs_of, held_parameters
from engine.formats.node_link.node import NodeOp, read_node, why_not_on
from engine.formats.node_link.values import NodeJson, optional_text, place_of, read_id, wrong
from engine.formats.node_link.work import has_work
from engine.formats.open_inputs import OpenInput
from engine.graphs.colocation import colocation_classes
from engine.graphs.constraints import ConstrainedOps, Constraints
from engine.graphs.cycles import a_cycle
from engine.graphs.graph import CONTROL, OPTIMIZER, ComputationGraph, no_pairs, no_phases
from engine.graphs.origin import FRAMEWORKS, TORCH, Origin

COMPRESSED = ".json.gz"
MOST_VALUES = 10_000_000
"""names, numbers, lists and objects in one file: about a gigabyte of memory"""
CYCLE_SHOWN = 5
MOST_BESIDE = 100
MOST_SAMPLES = 10**9


@dataclass(frozen=True, slots=True)
class NodeLinkGraph:
    """What a file holds."""

    graph: ComputationGraph
    costs: Costs
    held: HeldParameters | None
    framework: str
    """one of `FRAMEWORKS`, or empty"""
    beside: tuple[str, ...]
    """as in `Origin`"""
    samples: int
    """as in `Origin`"""
    calls: RecordedCalls | None
    """None where the file is no recording of PyTorch"""


def check(source: SourceFile, report_progress: ReportProgress) -> tuple[OpenInput, ...]:
    """Read the whole file, which leaves nothing open. Raises GraphError, CostError, LimitError."""
    report_progress(READING, 0, 0)
    parsed(_content(source))
    return ()


def read(source: SourceFile, report_progress: ReportProgress) -> ReadFile:
    """The graph and its costs. Raises GraphError, CostError, LimitError."""
    report_progress(READING, 0, 0)
    found = parsed(_content(source))
    options = source.options.to_json()
    origin = Origin(source.suffix, options, framework=found.framework, beside=found.beside, samples=found.samples)
    graph = GraphWithShapes(found.graph, calls=found.calls, options=source.options)
    return ReadFile(graph, GivenCosts(found.costs), origin, held=found.held)


def _content(source: SourceFile) -> bytes:
    """The text of the file, unpacked. Raises GraphError, LimitError."""
    content = source.path.read_bytes()
    if source.suffix != COMPRESSED:
        return content
    return unpacked(content, source.most_bytes, allowed="gzip of node-link JSON", field="file")


def parsed(data: bytes, name: str = "graph") -> NodeLinkGraph:
    """What `data` holds; `name` is the graph's where the file gives none.

    `data` is bounded by the caller; its depth and number of values are bounded here before they are read. Raises
    GraphError, CostError.
    """
    return graph_of(read_json(data, most_values=MOST_VALUES, error=GraphError, field="file"), name)


def read_nodelink(data: bytes, name: str = "graph") -> tuple[ComputationGraph, Costs]:
    """The graph and costs of `parsed` alone."""
    found = parsed(data, name)
    return found.graph, found.costs


def graph_of(root: Json, name: str = "graph") -> NodeLinkGraph:
    """What node-link JSON that has been parsed holds, or another format's file put into that form.

    Raises GraphError, CostError.
    """
    nodes, edges, about = _parts(root)
    own_name, framework, beside = optional_text(about, "graph", "name"), _framework(about), _beside(about)
    with_work = any(map(has_work, nodes))
    ops = [read_node(node, index, with_work) for index, node in enumerate(nodes)]
    index_of_name = _index_of_name(ops)
    columns = _read_edges(edges, ops, index_of_name)
    _require_acyclic(columns, ops)
    rules, together = _constraints(about, tuple(index_of_name))
    on_cpu_alone, on_gpu_alone = (
        tuple(why_not_on(each, op) if with_work else "" for op in ops) for each in DEVICE_CLASSES
    )
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
        must_colocate=together,
        cpu_reason=on_cpu_alone,
        gpu_reason=on_gpu_alone,
        phase=np.array([op.phase for op in ops], dtype=np.uint8) if any(op.phase for op in ops) else no_phases(),
        constraints=tuple(rules.lines),
    )
    _require_late(columns, ops)
    _require_possible(graph)
    costs = costs_of(ops, columns, index_of_name)
    calls = read_calls(about, nodes, graph.op_names) if framework == TORCH and with_work else None
    return NodeLinkGraph(graph, costs, held_parameters(ops), framework, beside, _samples(about), calls)


def _constraints(about: NodeJson, op_names: tuple[str, ...]) -> tuple[Constraints, NDArray[np.int32]]:
    """The rules of the file, and [pairs, 2] ops that they keep together. Raises GraphError."""
    with _of_the_file():
        rules = Constraints.from_json(about.get("constraints", []))
        together = ConstrainedOps.of(rules, op_names).together
    pairs = [np.stack((ops[:-1], ops[1:]), axis=1) for ops in together]
    return rules, np.concatenate([no_pairs(), *pairs]).astype(np.int32)


def _require_possible(graph: ComputationGraph) -> None:
    """Raise GraphError where the file's rules keep ops apart that must share a device."""
    with _of_the_file():
        ConstrainedOps.of(Constraints.of_lines(graph.constraints), graph.op_names).require_possible(
            colocation_classes(graph), graph.op_names
        )


@contextmanager
def _of_the_file() -> Iterator[None]:
    """Raise what is wrong with constraints as a GraphError of the file."""
    try:
        yield
    except SettingsError as error:
        where = f"graph, {error.where}"
        raise GraphError(error.what, where=where, allowed=error.allowed, field="file") from None


def _framework(about: NodeJson) -> str:
    framework = optional_text(about, "graph", "framework")
    if framework not in FRAMEWORKS:
        raise wrong(framework, "graph, framework", ", ".join(FRAMEWORKS[1:]))
    return framework


def _samples(about: NodeJson) -> int:
    samples = about.get("batch")
    if samples is None:
        return 0
    if not isinstance(samples, int) or isinstance(samples, bool) or not 1 <= samples <= MOST_SAMPLES:
        raise wrong(samples, "graph, batch", f"an integer from 1 to {MOST_SAMPLES}")
    return samples


def _require_late(columns: NDArray[np.int32], ops: Sequence[NodeOp]) -> None:
    """Raise GraphError where the optimizer gives to another phase: its ops run when all others have ended."""
    is_late = np.array([op.phase == OPTIMIZER for op in ops])
    early = np.flatnonzero(is_late[columns[:, 0]] & ~is_late[columns[:, 1]])
    if len(early):
        source, target = columns[early[0], :2].tolist()
        raise GraphError(
            f"it takes what {shortened(ops[source].name)} of the optimizer gives",
            where=place_of(target, ops[target].name),
            allowed="the phase optimizer, or inputs of other phases",
            field="file",
        )


def _beside(about: NodeJson) -> tuple[str, ...]:
    scopes = about.get("beside", [])
    if not isinstance(scopes, list) or len(scopes) > MOST_BESIDE:
        raise wrong(scopes, "graph, beside", f"a list of at most {MOST_BESIDE} scopes")
    return tuple(read_id(scope, f"graph, beside[{index}]") for index, scope in enumerate(scopes))


def _parts(root: Json) -> tuple[list[Json], list[Json], NodeJson]:
    """Nodes, edges, and what the file says of the graph."""
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
    return nodes, edges, about


def _index_of_name(ops: Sequence[NodeOp]) -> dict[str, int]:
    index_of_name: dict[str, int] = {}
    for index, op in enumerate(ops):
        if index_of_name.setdefault(op.name, index) != index:
            what = f"node {index_of_name[op.name]} has the same id"
            raise GraphError(what, where=place_of(index, op.name), allowed="unique ids", field="file")
    return index_of_name


def _read_edges(edges: list[Json], ops: Sequence[NodeOp], index_of_name: Mapping[str, int]) -> NDArray[np.int32]:
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


def _output(value: Json, where: str, source: NodeOp) -> int:
    if value is None:
        return CONTROL
    outputs = len(source.output_bytes)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < outputs:
        name = shortened(source.name)
        allowed = f"0 to {outputs - 1}, the outputs of {name}" if outputs else f"null: {name} has no outputs"
        raise wrong(value, f"{where}, output", allowed)
    return value


def _require_acyclic(columns: NDArray[np.int32], ops: Sequence[NodeOp]) -> None:
    cycle = [shortened(ops[op].name) for op in a_cycle(columns[:, :2], len(ops))]
    if cycle:
        shown = cycle[:CYCLE_SHOWN] + ["…"] * (len(cycle) > CYCLE_SHOWN) + cycle[:1]
        what = f"{len(cycle)} ops form a cycle: {' → '.join(shown)}"
        raise GraphError(what, where="edges", allowed="an acyclic graph", field="file")
