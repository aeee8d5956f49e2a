"""The graph that the estimator is shown: the uploaded one, with stand-ins for what it cannot take. Runs in the child.

- Ops that TensorFlow does not know: one placeholder for each output that is used, of the shape that the file tells.
- Large constants: their bytes do not matter, only their shape; a placeholder, too.
- Devices are dropped: everything is on the one device of the virtual cluster.
- The estimator forgets the shape of whatever is fed, so a variable stands in for each placeholder in the end.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2, types_pb2

from engine.graphs.graphdef_messages import GraphMessages
from engine.graphs.graphdef_types import INVALID, REFS_FROM, NodeTypes
from engine.graphs.op_table import registered_ops
from engine.graphs.tensorflow_messages import Message

LARGE_CONSTANT_BYTES = 64 * 1024
CALLS = frozenset(
    {
        *("PartitionedCall", "StatefulPartitionedCall", "RemoteCall", "SymbolicGradient", "BatchFunction", "XlaLaunch"),
        *("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "For", "_While", "_If"),
        *("PyFunc", "PyFuncStateless", "EagerPyFunc", "MapDefun"),
    }
)
"""ops whose work is in functions that the estimator does not look into"""


@dataclass(frozen=True, slots=True)
class GraphToCost:
    """What the estimator is shown, and how it belongs to the uploaded nodes."""

    graph: Message
    """GraphDef"""
    nodes: Sequence[Message]
    """[ops] as uploaded"""
    names_of_outputs: dict[int, list[str]]
    """for ops that TensorFlow does not know: the stand-in of each output"""
    estimable: NDArray[np.bool_]
    """[ops] whether the estimator knows what the op does"""


def graph_to_cost(messages: GraphMessages) -> GraphToCost:
    """Make the stand-ins; the uploaded messages stay as they are."""
    functions = {function.signature.name for function in messages.rest.library.function}
    known_types = registered_ops().keys() | functions
    unknown = {index for index, node in enumerate(messages.nodes) if node.op not in known_types}
    stand_ins = _stand_ins(messages, unknown) if unknown else {}
    graph = graph_pb2.GraphDef()
    graph.CopyFrom(messages.rest)
    for index, node in enumerate(messages.nodes):
        if index in unknown:
            graph.node.extend(stand_ins[index])
        else:
            _add_known(graph, node)
    names = {index: [source.name for source in sources] for index, sources in stand_ins.items()}
    _rename_inputs(graph, messages.nodes, names)
    estimable = [node.op in known_types and node.op not in CALLS | functions for node in messages.nodes]
    return GraphToCost(graph, messages.nodes, names, np.array(estimable))


def without_feeds(graph: Message) -> Message:
    """`graph` with variables in place of its placeholders; one with a default passes its default on."""
    fed = graph_pb2.GraphDef()
    fed.CopyFrom(graph)
    for node in fed.node:
        if node.op == "Placeholder":
            node.op = "VariableV2"
            if "shape" not in node.attr:
                node.attr["shape"].shape.unknown_rank = True
        elif node.op == "PlaceholderWithDefault":
            node.op = "EnsureShape"
            node.attr["T"].CopyFrom(node.attr["dtype"])
            del node.attr["dtype"]
    return fed


def _add_known(graph: Message, node: Message) -> None:
    """Add a node of a known type, or what stands in for it."""
    if node.op == "Const" and _is_large(node):
        shape = attr_value_pb2.AttrValue(shape=node.attr["value"].tensor.tensor_shape)
        graph.node.append(_source(node.name, node.attr["dtype"].type, shape, node.input))
    else:
        added = graph.node.add()
        added.CopyFrom(node)
        added.ClearField("device")


def _is_large(node: Message) -> bool:
    """Whether a constant has many bytes, or claims many elements (it can hold one value for all of them)."""
    if "value" not in node.attr or "dtype" not in node.attr:
        return False
    lengths = [dimension.size for dimension in node.attr["value"].tensor.tensor_shape.dim]
    return bool(node.ByteSize() > LARGE_CONSTANT_BYTES or math.prod(lengths) > LARGE_CONSTANT_BYTES)


def _stand_ins(messages: GraphMessages, unknown: Set[int]) -> dict[int, list[Message]]:
    """Sources for the outputs of the `unknown` ops; the first one bears the op's own name."""
    nodes = messages.nodes
    taken = {node.name for node in nodes}
    types = _types_of_outputs(messages, unknown)
    stand_ins: dict[int, list[Message]] = {}
    for index in sorted(unknown):
        node = nodes[index]
        shapes = node.attr["_output_shapes"].list.shape if "_output_shapes" in node.attr else []
        after = sorted({"^" + text.lstrip("^").partition(":")[0] for text in node.input})
        stand_ins[index] = []
        for output in range(max(len(shapes), max(types[index]) + 1)):
            shape = attr_value_pb2.AttrValue()
            shape.shape.unknown_rank = output >= len(shapes)
            if output < len(shapes):
                shape.shape.CopyFrom(shapes[output])
            name = node.name if output == 0 else _free_name(f"{node.name}/output_{output}", taken)
            stand_ins[index].append(_source(name, types[index].get(output, types_pb2.DT_FLOAT), shape, after))
    return stand_ins


def _types_of_outputs(messages: GraphMessages, unknown: Set[int]) -> dict[int, dict[int, int]]:
    """DataType by output of each `unknown` op, as its consumers take it; float where they do not tell."""
    index_of_name = {messages.nodes[index].name: index for index in unknown}
    types: dict[int, dict[int, int]] = {index: {0: types_pb2.DT_FLOAT} for index in unknown}
    inputs = NodeTypes(messages.nodes, messages.rest.library).inputs
    for node, of_node in zip(messages.nodes, inputs, strict=True):
        for position, text in enumerate(node.input):
            name, _, output = text.partition(":")
            if name in index_of_name:
                number = of_node[position] % REFS_FROM if of_node is not None else INVALID
                types[index_of_name[name]][int(output or 0)] = number or types_pb2.DT_FLOAT
    return types


def _free_name(wanted: str, taken: set[str]) -> str:
    """`wanted`, or something like it that no op is called yet; it is then taken."""
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted


def _source(name: str, number: int, shape: Message, after: Iterable[str]) -> Message:
    """A placeholder for something of type `number` and `shape` (an AttrValue), behind control inputs."""
    source = node_def_pb2.NodeDef(name=name, op="Placeholder", input=after)
    source.attr["dtype"].type = number
    source.attr["shape"].CopyFrom(shape)
    return source


def _rename_inputs(graph: Message, nodes: Sequence[Message], names_of_outputs: Mapping[int, Sequence[str]]) -> None:
    """Let consumers of an unknown op's later outputs take them from their stand-ins."""
    renamed = {
        f"{nodes[index].name}:{output}": name
        for index, names in names_of_outputs.items()
        for output, name in enumerate(names)
        if output > 0
    }
    if renamed:
        for node in graph.node:
            node.input[:] = [renamed.get(text, text) for text in node.input]
