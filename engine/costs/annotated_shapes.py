"""Shapes that the file has (`_output_shapes`) where they cannot be inferred. Runs in the child.

What is inferred goes first, since it follows what a person says of the inputs. Where it leaves an output open and the
file does not, the consumers take that output through an `EnsureShape` of the shape in the file, and so on downstream.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from engine.costs.placeholders import GraphToCost, free_name
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES, REFS_FROM

Properties: TypeAlias = dict[str, list[Message]]
"""node → OpInfo.TensorProperties of each output"""
AnnotatedShapes: TypeAlias = Mapping[str, Mapping[int, str]]
"""node → output → the node that gives it its shape"""
NEXT_ITERATION = "NextIteration"
"""with anything between it and its Merge, the loop would be a cycle like any other, which TensorFlow refuses"""


def add_annotated_shapes(to_cost: GraphToCost, properties: Properties) -> AnnotatedShapes:
    """Change the graph so that the shapes in the file help; empty where they add nothing."""
    annotated: dict[str, dict[int, str]] = {}
    taken = {node.name for node in to_cost.graph.node}
    for index, node in enumerate(to_cost.nodes):
        if node.op == NEXT_ITERATION or "_output_shapes" not in node.attr or index in to_cost.names_of_outputs:
            continue
        shapes = node.attr["_output_shapes"].list.shape
        for position, (shape, found) in enumerate(zip(shapes, properties.get(node.name, []), strict=False)):
            if found.dtype < REFS_FROM and found.dtype not in HANDLES and _is_more_precise(shape, found.shape):
                name = free_name(f"{node.name}/annotated_shape_{position}", taken)
                annotated.setdefault(node.name, {})[position] = name
    if annotated:
        _let_consumers_take(to_cost.graph, annotated)
        _add_shapes(to_cost, properties, annotated)
    return annotated


def is_known(shape: Message) -> bool:
    """Whether a TensorShapeProto has all its lengths."""
    return not shape.unknown_rank and all(dimension.size >= 0 for dimension in shape.dim)


def _is_more_precise(shape: Message, found: Message) -> bool:
    """Whether the file's whole `shape` agrees with what has been `found`, which is not whole."""
    if not is_known(shape) or is_known(found):
        return False
    return found.unknown_rank or (
        len(found.dim) == len(shape.dim)
        and all(one.size < 0 or one.size == other.size for one, other in zip(found.dim, shape.dim, strict=True))
    )


def _let_consumers_take(graph: Message, annotated: AnnotatedShapes) -> None:
    for node in graph.node:
        node.input[:] = [_name_taken(text, annotated) for text in node.input]


def _name_taken(text: str, annotated: AnnotatedShapes) -> str:
    name, _, output = text.partition(":")
    return annotated.get(name, {}).get(int(output or 0), text)


def _add_shapes(to_cost: GraphToCost, properties: Properties, annotated: AnnotatedShapes) -> None:
    of_name: dict[str, Sequence[Message]] = {
        node.name: node.attr["_output_shapes"].list.shape for node in to_cost.nodes if node.name in annotated
    }
    for name, outputs in annotated.items():
        for position, new_name in outputs.items():
            node = to_cost.graph.node.add(name=new_name, op="EnsureShape", input=[f"{name}:{position}"])
            node.attr["T"].type = properties[name][position].dtype
            node.attr["shape"].shape.CopyFrom(of_name[name][position])
