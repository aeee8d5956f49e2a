"""Puts variables in place of inputs that are handles of variables, as in TF2 functions. Runs in the child."""

from collections.abc import Mapping, Sequence

from tensorflow.core.framework import types_pb2

from engine.errors import GraphError, shortened
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message

TYPE_ATTRIBUTES = ("dtype", "T")


def is_handle(node: Message) -> bool:
    """Whether a placeholder stands for a variable."""
    return bool(node.op == "Placeholder" and node.attr["dtype"].type == types_pb2.DT_RESOURCE)


def with_variables(graph: Message, shapes: Mapping[str, Message]) -> None:
    """Turn each placeholder of a handle in `graph` into a variable of its shape in `shapes` (TensorShapeProto).

    Raises GraphError for a missing shape.
    """
    handles = [node for node in graph.node if is_handle(node)]
    consumers = _consumers(graph.node) if handles else {}
    for node in handles:
        if node.name not in shapes:
            raise GraphError(
                "this input is the handle of a variable, whose shape is not known",
                where=shortened(node.name),
                allowed="the variable's shape among the input shapes",
                field="input_shapes",
            )
        number = _type_read(node.name, consumers)
        node.op = "VarHandleOp"
        node.attr["dtype"].type = number
        node.attr["shape"].shape.CopyFrom(shapes[node.name])
        node.attr["shared_name"].s = node.name.encode()


def _consumers(nodes: Sequence[Message]) -> dict[str, list[Message]]:
    consumers: dict[str, list[Message]] = {}
    for node in nodes:
        for text in node.input:
            if not text.startswith("^"):
                consumers.setdefault(producer_of(text), []).append(node)
    return consumers


def _type_read(name: str, consumers: Mapping[str, Sequence[Message]]) -> int:
    """The DataType read from the handle `name`, also through ops that pass it on; float where no reader shows it."""
    waiting, seen = [name], {name}
    while waiting:
        for node in consumers.get(waiting.pop(), ()):
            numbers = [int(node.attr[key].type) for key in TYPE_ATTRIBUTES if key in node.attr]
            known = [number for number in numbers if number not in (types_pb2.DT_RESOURCE, types_pb2.DT_INVALID)]
            if known:
                return known[0]
            if node.name not in seen:
                seen.add(node.name)
                waiting.append(node.name)
    return int(types_pb2.DT_FLOAT)
