"""TensorFlow's own shape functions, asked about one op at a time.

Each op is made in a graph of its own making: its inputs are placeholders of the shapes that are known, or constants
where a value is, so that TensorFlow infers from what is known alone and evaluates nothing. Ops that are alike in type,
attributes and inputs are asked about once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import node_def_pb2
from tensorflow.python.framework import ops as tensorflow_ops

from engine.costs.evaluation.known import OPEN, Known, KnownShape, KnownValue
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES, INVALID, REFS_FROM

REFUSALS = (ValueError, TypeError, IndexError, KeyError, AttributeError, tf.errors.OpError)
"""what TensorFlow raises for inputs that do not fit an op"""
Key = tuple[Any, ...]


def key_of_input(known: Known) -> Key:
    """What of an input counts for the shapes that an op gives."""
    if known.value is not None and known.number not in HANDLES:
        return known.number, known.shape, known.value.tobytes()
    return known.number, known.shape if known.number not in HANDLES else None, None


def cleaned(node: Message) -> Message:
    """The node's type and attributes alone, without what TensorFlow's own passes have written beside them."""
    clean = node_def_pb2.NodeDef(op=node.op)
    for key, value in node.attr.items():
        if not key.startswith("_"):
            clean.attr[key].CopyFrom(value)
    return clean


class ShapeFunctions:
    """TensorFlow's answers, kept for as long as the graph is evaluated."""

    def __init__(self) -> None:
        self._graph = tf.Graph()
        self._tensors: dict[Key, Any] = {}
        self._answers: dict[Key, list[tuple[int, KnownShape]] | None] = {}

    def outputs(self, clean: Message, content: bytes, inputs: Sequence[Known]) -> list[tuple[int, KnownShape]] | None:
        """[outputs] type and shape of a `cleaned` node's outputs; None where TensorFlow refuses it.

        `content` are the bytes by which the node is known.
        """
        keys = tuple(key_of_input(each) for each in inputs)
        key = (content, keys)
        if key not in self._answers:
            self._answers[key] = self._ask(clean, keys, inputs)
        return self._answers[key]

    def _ask(self, clean: Message, keys: Sequence[Key], inputs: Sequence[Known]) -> list[tuple[int, KnownShape]] | None:
        try:
            tensors = [self._tensor(key, known) for key, known in zip(keys, inputs, strict=True)]
            return [
                (output.dtype.as_datatype_enum % REFS_FROM, _shape(output)) for output in self._made(clean, tensors)
            ]
        except REFUSALS:
            return None

    def _made(self, clean: Message, inputs: Sequence[Any]) -> Sequence[Any]:
        """The outputs of a new op."""
        clean.name = f"op_{len(self._answers)}_{len(self._tensors)}"
        outputs: Sequence[Any] = tensorflow_ops.Operation.from_node_def(clean, self._graph, list(inputs)).outputs
        return outputs

    def _tensor(self, key: Key, known: Known) -> Any:
        """What stands for an input."""
        if key not in self._tensors:
            if known.number == INVALID:
                raise ValueError("the type of an input is not known")
            constant = known.value is not None and known.number not in HANDLES
            node = stand_in(known.number, known.shape, known.value if constant else None)
            self._tensors[key] = self._made(node, [])[0]
        return self._tensors[key]


def stand_in(number: int, shape: KnownShape, value: KnownValue | None) -> Message:
    """A nameless NodeDef: a constant where there is a value, else a placeholder."""
    node = node_def_pb2.NodeDef(op="Placeholder" if value is None else "Const")
    node.attr["dtype"].type = number
    if value is None:
        write_shape(node.attr["shape"].shape, shape)
        return node
    content = node.attr["value"].tensor
    content.dtype = number
    write_shape(content.tensor_shape, tuple(value.shape))
    content.tensor_content = np.ascontiguousarray(value).tobytes()
    return node


def write_shape(message: Message, shape: KnownShape) -> None:
    """Into a TensorShapeProto."""
    message.unknown_rank = shape is None
    for length in shape or ():
        message.dim.add(size=length)


def _shape(output: Any) -> KnownShape:
    if output.shape.rank is None:
        return None
    return tuple(OPEN if length is None else int(length) for length in output.shape.as_list())
