"""An ONNX model as ops and values: names resolved, bodies of loops and branches laid out beside the other ops.

An initialiser and a `Constant` are values, no ops: a runtime holds them where their readers are. One of many bytes that
several ops read is an op, so that its bytes count once.
"""

import heapq
from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

from engine.errors import GraphError, shortened
from engine.graphs.cycles import a_cycle
from engine.graphs.onnx.model_messages import DEFAULT_DOMAINS, opset_versions
from engine.graphs.onnx.own_types import CONSTANT, INITIALIZER, INPUT
from engine.graphs.onnx.tensors import MOST_BYTES, OnnxTensor, tensor_of
from engine.graphs.tensorflow.text_messages import MOST_OPS

CONTAINERS = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}
"""op type → the attributes with the graphs that it runs"""
ABSENT = -1
"""the value of an input or output that a node leaves out"""
MOST_DEPTH = 16
"""bodies in bodies"""
MOST_NAME = 100_000
"""characters of a name"""
COPIED_BYTES = 1024**2
"""an initialiser of at most so many bytes counts at each of its readers, where runtimes keep a copy"""
CYCLE_SHOWN = 5
NameScope: TypeAlias = ChainMap[str, int]
"""name → value, of a body before those around it"""


@dataclass(slots=True)
class Value:
    """A tensor of the model: an op's output, an input, an initialiser, or what a body gets from its loop."""

    name: str
    op: int = ABSENT
    """the op that makes it"""
    output: int = 0
    """which of its outputs it is"""
    tensor: OnnxTensor | None = None
    """the type, shape and perhaps content of an initialiser"""
    declared: TypeProto | None = None
    """its type in the file"""
    stands_for: int = ABSENT
    """of a body's input: the value outside from which it comes"""
    readers: int = 0
    is_constant: bool = False
    """whether a `Constant` of the model gives it, not an initialiser"""


@dataclass(slots=True)
class Op:
    """A node of the model, or an input or initialiser that is an op here."""

    name: str
    type: str
    region: int
    node: NodeProto | None = None
    inputs: list[int] = field(default_factory=list)
    """values, `ABSENT` for an input that is left out"""
    outputs: list[int] = field(default_factory=list)
    regions: list[int] = field(default_factory=list)
    """the bodies that it runs"""

    @property
    def domain(self) -> str:
        """The domain of its operator; empty for ONNX's own."""
        domain = "" if self.node is None else self.node.domain
        return "" if domain in DEFAULT_DOMAINS else domain


@dataclass(slots=True)
class Region:
    """The model's graph, or a body of a loop or branch."""

    container: int
    """the op that runs it; `ABSENT` for the model's graph"""
    side: str = ""
    """`then`, `else` or `body`"""
    ops: list[int] = field(default_factory=list)
    """in an order in which they can run; a body's container comes after its ops"""
    formals: list[int] = field(default_factory=list)
    """values that it gets"""
    results: list[int] = field(default_factory=list)
    """values that it gives"""


@dataclass(slots=True)
class OnnxGraph:
    """All ops and values of a model."""

    ops: list[Op]
    values: list[Value]
    regions: list[Region]
    """the model's graph first"""
    versions: dict[str, int]
    """domain → version of its operators"""

    def source_of(self, value: int) -> int:
        """The value outside of all bodies, or made in one, that `value` stands for."""
        while value != ABSENT and self.values[value].stands_for != ABSENT:
            value = self.values[value].stands_for
        return value

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """(producer, consumer, output of the producer), each once, by consumer."""
        for target, op in enumerate(self.ops):
            results = [value for region in op.regions for value in self.regions[region].results]
            seen: dict[tuple[int, int], None] = {}
            for value in map(self.source_of, (*op.inputs, *results)):
                if value != ABSENT and self.values[value].op not in (ABSENT, target):
                    seen[self.values[value].op, self.values[value].output] = None
            yield from ((source, target, output) for source, output in seen)

    def containers_of(self, op: int) -> Iterator[int]:
        """The ops whose bodies hold `op`, from the inside."""
        while (container := self.regions[self.ops[op].region].container) != ABSENT:
            yield container
            op = container


def onnx_graph(model: ModelProto) -> OnnxGraph:
    """The ops and values of `model`, whose functions are inlined. Raises GraphError."""
    return _Builder(model).graph


class _Builder:
    def __init__(self, model: ModelProto) -> None:
        self._names = _Names()
        self._held_bytes = 0
        self.graph = OnnxGraph([], [], [Region(ABSENT)], opset_versions(model))
        scope: NameScope = ChainMap()
        self._add_inputs(model.graph, scope)
        self._add_tensors(model.graph, scope)
        self._add_nodes(model.graph, 0, scope, 0, "")
        self.graph.regions[0].results = self._results(model.graph, scope, "the graph")
        self._move_shared_initialisers()

    def _value(self, value: Value, scope: NameScope) -> int:
        """Add a value and its name. Raises GraphError for a name that is taken, or too long."""
        if len(value.name) > MOST_NAME:
            what = f"the name has {len(value.name)} characters"
            raise GraphError(what, where=shortened(value.name), allowed=f"at most {MOST_NAME}", field="file")
        if value.name in scope.maps[0]:
            what = "two values have one name"
            raise GraphError(what, where=shortened(value.name), allowed="each name once", field="file")
        self.graph.values.append(value)
        scope[value.name] = len(self.graph.values) - 1
        return scope[value.name]

    def _add_inputs(self, graph: GraphProto, scope: NameScope) -> None:
        """The inputs that are not initialised."""
        initialised = {tensor.name for tensor in graph.initializer}
        initialised |= {tensor.values.name for tensor in graph.sparse_initializer}
        for each in graph.input:
            if each.name in initialised:
                continue
            if not each.name:
                raise GraphError("an input has no name", allowed="a name", field="file")
            op = Op(self._names.free(each.name, INPUT), INPUT, 0)
            value = self._value(Value(each.name, len(self.graph.ops), declared=each.type), scope)
            op.outputs.append(value)
            self.graph.regions[0].ops.append(len(self.graph.ops))
            self.graph.ops.append(op)

    def _add_tensors(self, graph: GraphProto, scope: NameScope) -> None:
        tensors = [(tensor.name, tensor_of(tensor)) for tensor in graph.initializer]
        tensors += [
            (tensor.values.name, tensor_of(tensor.values, tuple(tensor.dims))) for tensor in graph.sparse_initializer
        ]
        for name, tensor in tensors:
            self._value(Value(name, tensor=tensor), scope)
            self._held_bytes += tensor.bytes
        if self._held_bytes > MOST_BYTES:
            what = "all initialisers together have too many bytes"
            raise GraphError(what, where="the graph", allowed=f"at most {MOST_BYTES}", field="file")

    def _add_nodes(self, graph: GraphProto, region: int, scope: NameScope, depth: int, prefix: str) -> None:
        """The nodes of `graph`, in an order in which they can run; `prefix` is that of their names."""
        if depth > MOST_DEPTH:
            what = f"bodies of loops and branches are nested deeper than {MOST_DEPTH} levels"
            raise GraphError(what, where=shortened(prefix), allowed=f"at most {MOST_DEPTH} levels", field="file")
        declared = {each.name: each.type for each in (*graph.value_info, *graph.output)}
        for index in _order(graph, scope):
            node = graph.node[index]
            if is_constant(node):
                self._add_constant(node, scope)
            else:
                self._add_node(node, index, region, scope, depth, prefix, declared)

    def _add_constant(self, node: NodeProto, scope: NameScope) -> None:
        for name in node.output[:1]:
            self._value(Value(name, tensor=_constant(node), is_constant=True), scope)

    def _add_node(
        self,
        node: NodeProto,
        index: int,
        region: int,
        scope: NameScope,
        depth: int,
        prefix: str,
        declared: dict[str, TypeProto],
    ) -> None:
        values = self.graph.values
        if not node.op_type:
            raise GraphError("the op has no type", where=_place(node, index), allowed="a type", field="file")
        inputs = [self._input(name, node, index, scope) for name in node.input]
        for value in inputs:
            if value != ABSENT:
                values[value].readers += 1
        own = f"{prefix}{node.name}" if node.name else f"{prefix}{node.op_type}_{index}"
        op = Op(self._names.free(own, node.op_type), node.op_type, region, node, inputs)
        bodies = CONTAINERS.get(node.op_type, ()) if node.domain in DEFAULT_DOMAINS else ()
        op.regions = [self._add_body(node, index, key, scope, depth, op) for key in bodies]
        if len(self.graph.ops) >= MOST_OPS:
            raise GraphError(f"more than {MOST_OPS} ops", allowed=f"at most {MOST_OPS} ops", field="file")
        for inner in op.regions:
            self.graph.regions[inner].container = len(self.graph.ops)
        for position, name in enumerate(node.output):
            made = Value(name, len(self.graph.ops), position, declared=declared.get(name))
            op.outputs.append(self._value(made, scope) if name else ABSENT)
        self.graph.regions[region].ops.append(len(self.graph.ops))
        self.graph.ops.append(op)

    def _input(self, name: str, node: NodeProto, index: int, scope: NameScope) -> int:
        if not name:
            return ABSENT
        if name not in scope:
            what = f"its input {shortened(name)} is not in the graph"
            raise GraphError(what, where=_place(node, index), allowed="values of the graph", field="file")
        return scope[name]

    def _add_body(self, node: NodeProto, index: int, key: str, scope: NameScope, depth: int, op: Op) -> int:
        """Add the graph of the attribute `key` as a region; its index."""
        found = [each.g for each in node.attribute if each.name == key and each.type == AttributeProto.GRAPH]
        if len(found) != 1:
            what = f"it needs one graph {key} and has {len(found)}"
            raise GraphError(what, where=_place(node, index), allowed="one", field="file")
        graph, side = found[0], key.removesuffix("_branch")
        region = len(self.graph.regions)
        self.graph.regions.append(Region(ABSENT, side))
        inner = scope.new_child()
        formals = []
        for position, each in enumerate(graph.input):
            outside = _outside(op, position)
            formals.append(self._value(Value(each.name, declared=each.type, stands_for=outside), inner))
        self._add_tensors(graph, inner)
        prefix = f"{op.name}/{side}/" if len(op.name) <= MOST_NAME else f"{side}/"
        self._add_nodes(graph, region, inner, depth + 1, prefix)
        added = self.graph.regions[region]
        added.formals, added.results = formals, self._results(graph, inner, _place(node, index))
        return region

    def _results(self, graph: GraphProto, scope: NameScope, where: str) -> list[int]:
        for each in graph.output:
            if each.name not in scope:
                what = f"its output {shortened(each.name)} is not in the graph"
                raise GraphError(what, where=where, allowed="values of the graph", field="file")
        return [scope[each.name] for each in graph.output]

    def _move_shared_initialisers(self) -> None:
        """Make an op of each initialiser of many bytes that several ops read, before all other ops."""
        graph = self.graph
        shared = [
            number
            for number, value in enumerate(graph.values)
            if value.tensor is not None and value.readers > 1 and value.tensor.bytes > COPIED_BYTES
        ]
        if not shared:
            return
        count = len(shared)
        for value in graph.values:
            value.op += count if value.op != ABSENT else 0
        for region in graph.regions:
            region.container += count if region.container != ABSENT else 0
            region.ops = [op + count for op in region.ops]
        made = []
        for index, number in enumerate(shared):
            value = graph.values[number]
            value.op = index
            made.append(Op(self._names.free(value.name, INITIALIZER), INITIALIZER, 0, outputs=[number]))
        graph.ops[:0] = made
        graph.regions[0].ops[:0] = range(count)


class _Names:
    """Unique names."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def free(self, name: str, op_type: str) -> str:
        """`name`, or with a number behind it where it is taken; the type where it is empty."""
        name = name or op_type
        if len(name) > MOST_NAME:
            what = f"the name has {len(name)} characters"
            raise GraphError(what, where=shortened(name), allowed=f"at most {MOST_NAME}", field="file")
        found = name
        while found in self._taken:
            self._taken[name] += 1
            found = f"{name}_{self._taken[name]}"
        self._taken[found] = 0
        return found


def _outside(op: Op, position: int) -> int:
    """The value outside that the body's input at `position` is, or of which it is a part."""
    if op.type == "Loop":  # the number of the trip, the condition, the carried values
        return op.inputs[position] if 2 <= position < len(op.inputs) else ABSENT
    return op.inputs[position] if op.type == "Scan" and position < len(op.inputs) else ABSENT


def _constant(node: NodeProto) -> OnnxTensor:
    for each in node.attribute:
        if each.name == "value":
            return tensor_of(each.t)
        if each.name == "sparse_value":
            return tensor_of(each.sparse_tensor.values, tuple(each.sparse_tensor.dims))
        if each.name == "value_int":
            return OnnxTensor(TensorProto.INT64, (), np.array(each.i, dtype=np.int64), 8)
        if each.name == "value_ints":
            return OnnxTensor(
                TensorProto.INT64, (len(each.ints),), np.array(each.ints, dtype=np.int64), 8 * len(each.ints)
            )
        if each.name == "value_float":
            return OnnxTensor(TensorProto.FLOAT, (), np.array(each.f, dtype=np.float32), 4)
        if each.name == "value_floats":
            return OnnxTensor(
                TensorProto.FLOAT, (len(each.floats),), np.array(each.floats, np.float32), 4 * len(each.floats)
            )
    return OnnxTensor(TensorProto.STRING, (), None, 0)


def _order(graph: GraphProto, scope: NameScope) -> Sequence[int]:
    """The nodes in an order in which they can run: that of the file where it is one. Raises GraphError for a cycle."""
    made = [(name, index) for index, node in enumerate(graph.node) for name in node.output if name]
    maker = dict(made)
    if len(maker) < len(made) or not maker.keys().isdisjoint(scope.maps[0]):
        return range(len(graph.node))  # two values have one name, which is said where they are added
    pairs = [(maker[name], index) for index, node in enumerate(graph.node) for name in read_by(node) if name in maker]
    if all(source < target for source, target in pairs):
        return range(len(graph.node))
    array: NDArray[np.int32] = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    waits = np.bincount(array[:, 1], minlength=len(graph.node)).tolist()
    takers: list[list[int]] = [[] for _ in graph.node]
    for source, target in pairs:
        takers[source].append(target)
    ready = [index for index, count in enumerate(waits) if not count]
    order = []
    while ready:
        order.append(heapq.heappop(ready))
        for target in takers[order[-1]]:
            waits[target] -= 1
            if not waits[target]:
                heapq.heappush(ready, target)
    if len(order) < len(graph.node):
        cycle = [_place(graph.node[index], index) for index in a_cycle(array, len(graph.node))]
        shown = cycle[:CYCLE_SHOWN] + ["…"] * (len(cycle) > CYCLE_SHOWN) + cycle[:1]
        what = f"{len(cycle)} ops form a cycle: {' → '.join(shown)}"
        raise GraphError(what, where="the graph", allowed="an acyclic graph", field="file")
    return order


def is_constant(node: NodeProto) -> bool:
    """Whether the node is a `Constant`."""
    return node.op_type == CONSTANT and node.domain in DEFAULT_DOMAINS


def read_by(node: NodeProto) -> list[str]:
    """Names of the values outside that a node reads, those of its bodies too."""
    return list(dict.fromkeys(name for name in _read_by(node) if name))


def _read_by(node: NodeProto) -> Iterator[str]:
    yield from node.input
    for each in node.attribute:
        for graph in (each.g,) if each.type == AttributeProto.GRAPH else each.graphs:
            own = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
            own |= {tensor.values.name for tensor in graph.sparse_initializer}
            own |= {name for inner in graph.node for name in inner.output}
            yield from (name for inner in graph.node for name in _read_by(inner) if name not in own)
            yield from (output.name for output in graph.output if output.name not in own)


def _place(node: NodeProto, index: int) -> str:
    return f"op {index} ({shortened(node.name)})" if node.name else f"op {index} ({shortened(node.op_type)})"
