"""Use the shapes in the file (`_output_shapes`) for outputs that TensorFlow cannot infer. Runs in the child.

Inferred shapes go first, since they follow the input shapes that a person gives. Where inference leaves an output open
and the file does not, an `EnsureShape` of the shape in the file feeds the output's consumers, and so on downstream.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from engine.costs.tensorflow.placeholders import GraphToCost, free_name
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES, REFS_FROM

Properties: TypeAlias = dict[str, list[Message]]
"""node → OpInfo.TensorProperties of each output"""
AnnotatedShapes: TypeAlias = Mapping[str, Mapping[int, str]]
"""node → output → the node that gives it its shape"""
NEXT_ITERATION = "NextIteration"
"""a node between it and its Merge would make the loop an ordinary cycle, which TensorFlow refuses"""


def add_annotated_shapes(to_cost: GraphToCost, properties: Properties) -> AnnotatedShapes:
    """Add the file's shapes to the graph where they are more precise; empty where they add nothing."""
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
    """Whether all lengths of a TensorShapeProto are known."""
    return not shape.unknown_rank and all(dimension.size >= 0 for dimension in shape.dim)


def _is_more_precise(shape: Message, found: Message) -> bool:
    """Whether the file's `shape` is complete and agrees with the inferred shape `found`, which is not complete."""
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
