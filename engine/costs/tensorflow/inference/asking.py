"""Calls TensorFlow's own shape functions on one op at a time.

Each op is made in a separate graph: its inputs are placeholders of the known shapes, or constants of the known values,
so that TensorFlow infers from these alone and evaluates nothing. Ops that are alike in type, attributes and inputs are
asked about once.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import node_def_pb2, types_pb2
from tensorflow.python.framework import ops as tensorflow_ops

from engine.costs.tensorflow.inference.known import OPEN, Known, KnownShape, KnownValue
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES, INVALID, REFS_FROM

REFUSALS = (ValueError, TypeError, IndexError, KeyError, AttributeError, tf.errors.OpError)
"""the errors that TensorFlow raises for inputs that do not fit an op"""
Key = tuple[Any, ...]


def key_of_input(known: Known) -> Key:
    """The part of an input on which the shapes of an op's outputs depend."""
    if known.value is not None and known.number not in HANDLES:
        return known.number, known.shape, known.value.tobytes()
    return known.number, known.shape if known.number not in HANDLES else None, known.partial


def cleaned(node: Message) -> Message:
    """A copy of the node with its type and attributes alone, without those that TensorFlow's own passes add."""
    clean = node_def_pb2.NodeDef(op=node.op)
    for key, value in node.attr.items():
        if not key.startswith("_"):
            clean.attr[key].CopyFrom(value)
    return clean


class ShapeFunctions:
    """TensorFlow's shape functions, with their answers kept while the graph is evaluated."""

    def __init__(self) -> None:
        self._graph = tf.Graph()
        self._tensors: dict[Key, Any] = {}
        self._answers: dict[Key, list[tuple[int, KnownShape]] | None] = {}

    def outputs(self, clean: Message, content: bytes, inputs: Sequence[Known]) -> list[tuple[int, KnownShape]] | None:
        """[outputs] type and shape of a `cleaned` node's outputs; None where TensorFlow refuses it.

        `content` are the node's serialized bytes, the key of the kept answers.
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
        """The outputs of a new op made from the node."""
        clean.name = f"op_{len(self._answers)}_{len(self._tensors)}"
        outputs: Sequence[Any] = tensorflow_ops.Operation.from_node_def(clean, self._graph, list(inputs)).outputs
        return outputs

    def _tensor(self, key: Key, known: Known) -> Any:
        """A placeholder or constant that stands for an input, made once for each key."""
        if key not in self._tensors:
            if known.number == INVALID:
                raise ValueError("the type of an input is not known")
            constant = known.value is not None and known.number not in HANDLES
            if not constant and known.partial is not None:
                self._tensors[key] = self._partly(known)
                return self._tensors[key]
            node = stand_in(known.number, known.shape, known.value if constant else None)
            self._tensors[key] = self._made(node, [])[0]
        return self._tensors[key]

    def _partly(self, known: Known) -> Any:
        """A shape tensor of which some lengths are known: the shape of a placeholder that leaves the others open."""
        source = self._made(stand_in(types_pb2.DT_BOOL, known.partial, None), [])[0]
        node = node_def_pb2.NodeDef(op="Shape")
        node.attr["T"].type, node.attr["out_type"].type = types_pb2.DT_BOOL, known.number
        return self._made(node, [source])[0]


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
    """Write `shape` into a TensorShapeProto."""
    message.unknown_rank = shape is None
    for length in shape or ():
        message.dim.add(size=length)


def _shape(output: Any) -> KnownShape:
    if output.shape.rank is None:
        return None
    return tuple(OPEN if length is None else int(length) for length in output.shape.as_list())
