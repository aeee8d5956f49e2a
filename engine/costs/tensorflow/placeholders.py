"""Makes the graph for the estimator: the uploaded one, with placeholders for ops that it cannot take. Runs in a child.

- An op that TensorFlow does not know becomes one placeholder for each used output, of the shape in the file.
- An input whose shape a person gives becomes a placeholder of that shape, or a handle if it is a variable's handle.
- A constant that is no shape or axis becomes a placeholder: its bytes do not matter.
- Devices are dropped: everything is on the one device of the virtual cluster. So are `_output_shapes`, which need not
  hold for the shapes that a person gives: `annotated_shapes.py` uses them later.
- In the end each placeholder becomes a variable, since the estimator forgets the shape of a fed tensor.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tensorflow.core.framework import attr_value_pb2, node_def_pb2, types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from engine.costs.tensorflow.estimable import why_type_is_unknown
from engine.costs.tensorflow.handles import passed_on
from engine.costs.tensorflow.input_shapes import declared_shape
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.op_types import INPUTS, INVALID, REFS_FROM

MOST_LENGTHS = 256
"""elements of a constant that may be a shape, axes, or the sizes of a split"""
LARGE_NUMBERS_BYTES = 1024
"""bytes of a constant whose values cannot be lengths or axes"""


@dataclass(frozen=True, slots=True)
class GraphToCost:
    """The graph for the estimator, and how it maps to the uploaded nodes."""

    meta_graph: Message
    """MetaGraphDef with the graph for the estimator"""
    nodes: Sequence[Message]
    """[ops] the uploaded nodes"""
    names_of_outputs: dict[int, list[str]]
    """op that TensorFlow does not know → names of its outputs' placeholders"""
    unknown: NDArray[np.uint8]
    """[ops] why the estimator does not know the op's work, or `Unknown.NOT_SAID`"""

    @property
    def graph(self) -> Message:
        """The GraphDef for the estimator."""
        return self.meta_graph.graph_def


def graph_to_cost(messages: GraphMessages, given: Mapping[int, Sequence[Message]]) -> GraphToCost:
    """Make the graph for the estimator, inputs with their `given` shapes; the uploaded messages stay unchanged."""
    functions = {function.signature.name for function in messages.rest.library.function}
    known_types = registered_ops().keys() | functions
    unknown = {index for index, node in enumerate(messages.nodes) if node.op not in known_types}
    placeholders = _placeholders(messages, unknown) if unknown else {}
    meta_graph = meta_graph_pb2.MetaGraphDef()
    graph = meta_graph.graph_def
    graph.CopyFrom(messages.rest)
    for index, node in enumerate(messages.nodes):
        if index in unknown:
            graph.node.extend(placeholders[index])
        else:
            _add_known(graph, node)
            if index in given:
                _give(graph.node[-1], given[index])
            elif node.op in INPUTS:
                graph.node[-1].attr["shape"].shape.CopyFrom(declared_shape(node, messages.rest.versions.producer))
    _type_handles(graph, {messages.nodes[index].name for index in given if _is_handle(messages.nodes[index])})
    names = {index: [source.name for source in sources] for index, sources in placeholders.items()}
    _rename_inputs(graph, messages.nodes, names)
    reasons = [why_type_is_unknown(node.op, known_types, functions) for node in messages.nodes]
    return GraphToCost(meta_graph, messages.nodes, names, np.array(reasons, dtype=np.uint8))


def replace_feeds(graph: Message) -> None:
    """Put variables in place of the graph's placeholders; a placeholder with a default passes its default on."""
    for node in graph.node:
        if node.op == "Placeholder":
            node.op = "VariableV2"
            if "shape" not in node.attr:
                node.attr["shape"].shape.unknown_rank = True
        elif node.op == "PlaceholderWithDefault":
            node.op = "EnsureShape"
            node.attr["T"].CopyFrom(node.attr["dtype"])
            del node.attr["dtype"]


def _add_known(graph: Message, node: Message) -> None:
    """Add a node of a known type, or a placeholder for a large constant."""
    if node.op == "Const" and _is_large(node):
        shape = attr_value_pb2.AttrValue(shape=node.attr["value"].tensor.tensor_shape)
        graph.node.append(_source(node.name, node.attr["dtype"].type, shape, node.input))
    else:
        added = graph.node.add()
        added.CopyFrom(node)
        added.ClearField("device")
        if "_output_shapes" in added.attr:
            del added.attr["_output_shapes"]


def _give(node: Message, shapes: Sequence[Message]) -> None:
    """Give an input its shapes: it becomes a placeholder, or stays an iterator."""
    if "output_shapes" in node.attr:
        del node.attr["output_shapes"].list.shape[:]
        node.attr["output_shapes"].list.shape.extend(shapes)
        return
    node.op = "Placeholder"
    node.attr["shape"].shape.CopyFrom(shapes[0])
    node.input[:] = sorted({"^" + producer_of(text) for text in node.input})


def _is_handle(node: Message) -> bool:
    return "dtype" in node.attr and bool(node.attr["dtype"].type == types_pb2.DT_RESOURCE)


def _type_handles(graph: Message, names: Set[str]) -> None:
    """Turn the placeholders `names` into handles of variables, of the type that their consumers read."""
    if not names:
        return
    types: dict[str, int] = {}
    handle_of_name = passed_on(graph.node, names)
    for node in graph.node:
        for text in node.input:
            handle = handle_of_name.get(text.partition(":")[0])
            for key in ("dtype", "T"):
                if handle is not None and key in node.attr and node.attr[key].type != types_pb2.DT_RESOURCE:
                    types.setdefault(handle, node.attr[key].type)
    for node in graph.node:
        if node.name in names:
            node.op = "VarHandleOp"
            node.attr["dtype"].type = types.get(node.name, types_pb2.DT_FLOAT)
            node.attr["shared_name"].s = node.name.encode()


def _is_large(node: Message) -> bool:
    """Whether a constant is too large for a shape or axis; its claimed elements count, as one value may fill them."""
    if "value" not in node.attr or "dtype" not in node.attr:
        return False
    elements = math.prod(dimension.size for dimension in node.attr["value"].tensor.tensor_shape.dim)
    may_be_shape = node.attr["dtype"].type in (types_pb2.DT_INT32, types_pb2.DT_INT64)
    return bool(elements > MOST_LENGTHS or (node.ByteSize() > LARGE_NUMBERS_BYTES and not may_be_shape))


def _placeholders(messages: GraphMessages, unknown: Set[int]) -> dict[int, list[Message]]:
    """Op → placeholders for the outputs of each `unknown` op; the first one has the op's own name."""
    nodes = messages.nodes
    taken = {node.name for node in nodes}
    types = _types_of_outputs(messages, unknown)
    placeholders: dict[int, list[Message]] = {}
    for index in sorted(unknown):
        node = nodes[index]
        shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else []
        after = sorted({"^" + producer_of(text) for text in node.input})
        placeholders[index] = []
        for output in range(max(len(shapes), max(types[index]) + 1)):
            shape = attr_value_pb2.AttrValue()
            shape.shape.unknown_rank = output >= len(shapes)
            if output < len(shapes):
                shape.shape.CopyFrom(shapes[output])
            name = node.name if output == 0 else free_name(f"{node.name}/output_{output}", taken)
            placeholders[index].append(_source(name, types[index].get(output, types_pb2.DT_FLOAT), shape, after))
    return placeholders


def _types_of_outputs(messages: GraphMessages, unknown: Set[int]) -> dict[int, dict[int, int]]:
    """Op → output → DataType of each `unknown` op, as its consumers take it; float where they leave it open."""
    index_of_name = {messages.nodes[index].name: index for index in unknown}
    types: dict[int, dict[int, int]] = {index: {0: types_pb2.DT_FLOAT} for index in unknown}
    inputs = messages.types.inputs
    for node, of_node in zip(messages.nodes, inputs, strict=True):
        for position, text in enumerate(node.input):
            name, _, output = text.partition(":")
            if name in index_of_name:
                number = of_node[position] % REFS_FROM if of_node is not None else INVALID
                types[index_of_name[name]][int(output or 0)] = number or types_pb2.DT_FLOAT
    return types


def free_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or a similar name that no op has yet; adds it to `taken`."""
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted


def _source(name: str, number: int, shape: Message, after: Iterable[str]) -> Message:
    """A placeholder of DataType `number` and `shape` (an AttrValue), with the control inputs `after`."""
    source = node_def_pb2.NodeDef(name=name, op="Placeholder", input=after)
    source.attr["dtype"].type = number
    source.attr["shape"].CopyFrom(shape)
    return source


def _rename_inputs(graph: Message, nodes: Sequence[Message], names_of_outputs: Mapping[int, Sequence[str]]) -> None:
    """Rename inputs so that consumers of an unknown op's later outputs take their placeholders."""
    renamed = {
        f"{nodes[index].name}:{output}": name
        for index, names in names_of_outputs.items()
        for output, name in enumerate(names)
        if output > 0
    }
    if renamed:
        for node in graph.node:
            node.input[:] = [renamed.get(text, text) for text in node.input]
