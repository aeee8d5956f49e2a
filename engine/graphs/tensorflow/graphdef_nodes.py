"""Makes a ComputationGraph of the nodes of a GraphDef: names, inputs, edges, loops. Runs in the child."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.errors import GraphError, shortened
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.graphs.loop_order import with_loop_order
from engine.graphs.tensorflow.claimed_arguments import require_real_arguments
from engine.graphs.tensorflow.cpu_kernels import gpu_reasons
from engine.graphs.tensorflow.fixed_devices import fixed_devices
from engine.graphs.tensorflow.gpu_kernels import cpu_reasons
from engine.graphs.tensorflow.graphdef_messages import GraphMessages, place_of
from engine.graphs.tensorflow.graphdef_types import NodeTypes
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.must_colocate import cpu_reasons_of_feeds, ops_that_must_colocate
from engine.graphs.tensorflow.op_types import MERGES, NEXT_ITERATIONS
from engine.graphs.tensorflow.soft_placement import softly_placed

LONGEST_NAME = 4096
NAME_RULE = "a letter, digit or dot, then letters, digits and . _ - / >"
COLOCATION_PREFIX = b"loc:@"
CYCLE_SHOWN = 5

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9._/>\-]*\Z")
_TYPE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/>\-]*\Z")
_INPUT = re.compile(r"(\^?)([^:^]+)(?::(0|[1-9][0-9]{0,8}))?\Z")


class Edge(NamedTuple):
    """One input of an op."""

    source: int
    target: int
    output: int
    """`CONTROL` for a control edge"""


def graph_of_messages(messages: GraphMessages, name: str) -> ComputationGraph:
    """The computation graph of these messages. Raises GraphError, LimitError."""
    nodes = messages.nodes
    if not nodes:
        raise GraphError("the graph has no ops", allowed="at least one op", field="file")
    index_of_name = _index_of_name(nodes)
    require_real_arguments(messages)
    types = NodeTypes(nodes, messages.rest.library, messages.definitions)
    all_edges = _edges(nodes, index_of_name, types)
    op_types = tuple(node.op for node in nodes)
    forward = [edge for edge in all_edges if not _closes_loop(edge, op_types)]
    back = [(edge.source, edge.target) for edge in all_edges if _closes_loop(edge, op_types)]
    edges = np.array(forward, dtype=np.int32).reshape(-1, 3)
    order = _topological_order(edges, nodes)
    fed = cpu_reasons_of_feeds(nodes, index_of_name)
    labels = tuple(_labels(node, index, index_of_name) for index, node in enumerate(nodes))
    must = ops_that_must_colocate(nodes, types, index_of_name)
    fixed = fixed_devices(nodes, must, labels, order)
    for_cpu = cpu_reasons(nodes, types)
    graph = ComputationGraph(
        name=name,
        op_names=tuple(index_of_name),
        op_types=op_types,
        edge_source=np.ascontiguousarray(edges[:, 0]),
        edge_target=np.ascontiguousarray(edges[:, 1]),
        edge_output=np.ascontiguousarray(edges[:, 2]),
        devices=fixed.of_op,
        colocation=labels,
        back_edges=np.array(sorted(set(back)), dtype=np.int32).reshape(-1, 2),
        must_colocate=must.pairs,
        cpu_reason=tuple(reason or fed.get(index, "") for index, reason in enumerate(for_cpu)),
        moved_ops=fixed.moved_ops,
        moved_in_control_flow=fixed.moved_in_control_flow,
        wide_enters=tuple(nodes[op].name for op in must.wide_enters),
        gpu_reason=gpu_reasons(nodes, for_cpu),
    )
    return _with_loop_order(softly_placed(graph), nodes)


def _with_loop_order(graph: ComputationGraph, nodes: Sequence[Message]) -> ComputationGraph:
    """`graph` with the order of its loops. Raises GraphError for a loop that waits for its own end."""
    ended = with_loop_order(graph)
    if ended is not graph:
        _topological_order(np.stack([ended.edge_source, ended.edge_target], axis=1), nodes)
    return ended


def _index_of_name(nodes: Sequence[Message]) -> dict[str, int]:
    """Name → index, in the order of the file. Raises GraphError for a name or type that TensorFlow does not allow."""
    index_of_name: dict[str, int] = {}
    for index, node in enumerate(nodes):
        name, op_type = node.name, node.op
        if not name:
            raise GraphError("the op has no name", where=place_of(node, index), allowed=NAME_RULE, field="file")
        if len(name) > LONGEST_NAME:
            what = f"the op's name has {len(name)} characters"
            raise GraphError(what, where=place_of(node, index), allowed=f"at most {LONGEST_NAME}", field="file")
        if not _NAME.match(name):
            what = "TensorFlow does not allow this name"
            raise GraphError(what, where=place_of(node, index), allowed=NAME_RULE, field="file")
        if not op_type:
            raise GraphError("the op has no type", where=place_of(node, index), allowed="a type", field="file")
        if len(op_type) > LONGEST_NAME or not _TYPE.match(op_type):
            what = f"the op's type is not a type's name: {shortened(op_type)}"
            raise GraphError(what, where=place_of(node, index), allowed="letters, digits and _", field="file")
        if index_of_name.setdefault(name, index) != index:
            what = f"op {index_of_name[name]} has the same name"
            raise GraphError(what, where=place_of(node, index), allowed="unique names", field="file")
    return index_of_name


def _edges(nodes: Sequence[Message], index_of_name: Mapping[str, int], types: NodeTypes) -> list[Edge]:
    """All edges by consumer and input; an input that an op takes twice is one edge. Raises GraphError."""
    edges: list[Edge] = []
    known: dict[str, tuple[int, int]] = {}
    """text of an input → the op and its output, since many ops may take the same"""
    for target, node in enumerate(nodes):
        edges_of_node: dict[Edge, None] = {}
        data_inputs = 0
        after_control = False
        for text in node.input:
            if text not in known:
                known[text] = _source_of(text, target, node, index_of_name)
            source, output = known[text]
            if source == target:
                what = "the op is its own input"
                raise GraphError(what, where=place_of(node, target), allowed="inputs from other ops", field="file")
            edge = Edge(source, target, output)
            if edge.output == CONTROL:
                after_control = True
            elif after_control:
                what = f"data input {shortened(text)} comes after a control input"
                raise GraphError(what, where=place_of(node, target), allowed="data inputs first", field="file")
            else:
                data_inputs += 1
                _require_output(edge, nodes, types)
            edges_of_node[edge] = None
        _require_inputs(data_inputs, target, nodes, types)
        edges += edges_of_node
    return edges


def _source_of(text: str, target: int, node: Message, index_of_name: Mapping[str, int]) -> tuple[int, int]:
    """Op and output of the input `text` of an op: `x`, `x:1` or `^x`. Raises GraphError."""
    match = _INPUT.match(text)
    if match is None or (match[1] and match[3]):
        what = f"{shortened(text)} is not an input"
        raise GraphError(what, where=place_of(node, target), allowed="name, name:output or ^name", field="file")
    source = index_of_name.get(match[2])
    if source is None:
        what = f"its input {shortened(text)} is not in the graph"
        raise GraphError(what, where=place_of(node, target), allowed="the name of an op", field="file")
    return source, CONTROL if match[1] else int(match[3] or 0)


def _require_output(edge: Edge, nodes: Sequence[Message], types: NodeTypes) -> None:
    """Raise GraphError if the producer's type is known and lacks the edge's output."""
    outputs = types.outputs[edge.source]
    if outputs is not None and edge.output >= len(outputs):
        source = nodes[edge.source]
        what = f"its input {shortened(source.name)}:{edge.output} does not exist"
        allowed = f"outputs of {source.op} from 0 to {len(outputs) - 1}" if outputs else f"{source.op} has no output"
        raise GraphError(what, where=place_of(nodes[edge.target], edge.target), allowed=allowed, field="file")


def _require_inputs(count: int, index: int, nodes: Sequence[Message], types: NodeTypes) -> None:
    """Raise GraphError if the op's type is known and takes another number of data inputs."""
    inputs = types.inputs[index]
    if inputs is not None and count != len(inputs):
        what = f"the op has {count} data inputs"
        allowed = f"{nodes[index].op} takes {len(inputs)}"
        raise GraphError(what, where=place_of(nodes[index], index), allowed=allowed, field="file")


def _closes_loop(edge: Edge, op_types: Sequence[str]) -> bool:
    """Whether the edge feeds the next iteration of a while loop."""
    return op_types[edge.source] in NEXT_ITERATIONS and op_types[edge.target] in MERGES


def _topological_order(edges: NDArray[np.int32], nodes: Sequence[Message]) -> list[int]:
    """The ops, producers first. Raises GraphError that names a cycle if there is one."""
    consumers: list[list[int]] = [[] for _ in nodes]
    waits_for = np.bincount(edges[:, 1], minlength=len(nodes)).tolist()
    for source, target in edges[:, :2].tolist():
        consumers[source].append(target)
    order = [index for index, count in enumerate(waits_for) if count == 0]
    for source in order:  # it grows while it is walked
        for target in consumers[source]:
            waits_for[target] -= 1
            if waits_for[target] == 0:
                order.append(target)
    if len(order) < len(nodes):
        cycle = [nodes[index].name for index in _cycle(edges, waits_for)]
        shown = [shortened(name) for name in cycle[:CYCLE_SHOWN]] + ["…"] * (len(cycle) > CYCLE_SHOWN)
        what = f"{len(cycle)} ops form a cycle that is not a while loop: {' → '.join([*shown, shortened(cycle[0])])}"
        raise GraphError(what, allowed="cycles through NextIteration and Merge alone", field="file")
    return order


def _cycle(edges: NDArray[np.int32], waits_for: Sequence[int]) -> list[int]:
    """One cycle among the ops that still wait for an input, in the direction of its edges, from its lowest op on."""
    producer = {target: source for source, target in edges[:, :2].tolist() if waits_for[source] and waits_for[target]}
    seen: dict[int, None] = {}
    op = next(iter(producer))
    while op not in seen:
        seen[op] = None
        op = producer[op]
    walked = list(seen)
    cycle = walked[walked.index(op) :][::-1]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start]


def _labels(node: Message, index: int, index_of_name: Mapping[str, int]) -> tuple[str, ...]:
    """The names of the ops with which the op must share a device, from its `_class` attribute. Raises GraphError."""
    if "_class" not in node.attr:
        return ()
    labels = []
    for entry in node.attr["_class"].list.s:
        if not entry.startswith(COLOCATION_PREFIX):
            continue
        label = entry.removeprefix(COLOCATION_PREFIX).decode("utf-8", "replace")
        if label not in index_of_name:
            what = f"it is colocated with {shortened(label)}, which is not in the graph"
            raise GraphError(what, where=place_of(node, index), allowed="loc:@ and the name of an op", field="file")
        labels.append(label)
    return tuple(labels)
