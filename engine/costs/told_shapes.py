"""Shapes that the file tells (`_output_shapes`) where they cannot be inferred. Runs in the child.

What is inferred goes first, since it follows what a person says of the inputs. Where it leaves an output open and the
file does not, the consumers take that output through an `EnsureShape` of the shape in the file, and so on downstream.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tensorflow.core.framework import types_pb2

from engine.costs.stand_ins import GraphToCost, free_name
from engine.graphs.graphdef_types import REFS_FROM
from engine.graphs.tensorflow_messages import Message

Properties: TypeAlias = dict[str, list[Message]]
"""node → OpInfo.TensorProperties of each output"""
ToldShapes: TypeAlias = Mapping[str, Mapping[int, str]]
"""node → output → the node that gives it its shape"""
NEXT_ITERATION = "NextIteration"
"""with anything between it and its Merge, the loop would be a cycle like any other, which TensorFlow refuses"""
HANDLES = (types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT)


def add_told_shapes(to_cost: GraphToCost, properties: Properties) -> ToldShapes:
    """Change the graph so that the shapes in the file help; empty where they tell nothing new."""
    told: dict[str, dict[int, str]] = {}
    taken = {node.name for node in to_cost.graph.node}
    for index, node in enumerate(to_cost.nodes):
        if node.op == NEXT_ITERATION or "_output_shapes" not in node.attr or index in to_cost.names_of_outputs:
            continue
        shapes = node.attr["_output_shapes"].list.shape
        for position, (shape, found) in enumerate(zip(shapes, properties.get(node.name, []), strict=False)):
            if found.dtype < REFS_FROM and found.dtype not in HANDLES and _tells_more(shape, found.shape):
                name = free_name(f"{node.name}/told_shape_{position}", taken)
                told.setdefault(node.name, {})[position] = name
    if told:
        _let_consumers_take(to_cost.graph, told)
        _add_shapes(to_cost, properties, told)
    return told


def is_known(shape: Message) -> bool:
    """Whether a TensorShapeProto has all its lengths."""
    return not shape.unknown_rank and all(dimension.size >= 0 for dimension in shape.dim)


def _tells_more(shape: Message, found: Message) -> bool:
    """Whether the file's whole `shape` agrees with what has been `found`, which is not whole."""
    if not is_known(shape) or is_known(found):
        return False
    return found.unknown_rank or (
        len(found.dim) == len(shape.dim)
        and all(one.size < 0 or one.size == other.size for one, other in zip(found.dim, shape.dim, strict=True))
    )


def _let_consumers_take(graph: Message, told: ToldShapes) -> None:
    for node in graph.node:
        node.input[:] = [_name_taken(text, told) for text in node.input]


def _name_taken(text: str, told: ToldShapes) -> str:
    name, _, output = text.partition(":")
    return told.get(name, {}).get(int(output or 0), text)


def _add_shapes(to_cost: GraphToCost, properties: Properties, told: ToldShapes) -> None:
    of_name: dict[str, Sequence[Message]] = {
        node.name: node.attr["_output_shapes"].list.shape for node in to_cost.nodes if node.name in told
    }
    for name, outputs in told.items():
        for position, new_name in outputs.items():
            node = to_cost.graph.node.add(name=new_name, op="EnsureShape", input=[f"{name}:{position}"])
            node.attr["T"].type = properties[name][position].dtype
            node.attr["shape"].shape.CopyFrom(of_name[name][position])
