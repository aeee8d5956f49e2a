"""Which outputs each op has, how many bytes they are, and what of it is known. Runs in the child."""

import math
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.framework import types_pb2

from engine.costs.stand_ins import GraphToCost
from engine.errors import CostError, shortened
from engine.graphs.graphdef_types import REFS_FROM
from engine.graphs.tensorflow_messages import Message

MOST_BYTES = 2**50
RESERVED_OUTPUTS = {"FusedBatchNormV3": 5}
"""an output that only a GPU library fills, with what it likes: its shape is never known, and it is small"""


@dataclass(frozen=True, slots=True)
class OutputShapes:
    """The outputs of all ops."""

    offset: NDArray[np.int64]
    """[ops + 1] as `Costs.output_offset`"""
    bytes: NDArray[np.int64]
    """[all outputs]; the least that it can be where it is not known"""
    known: NDArray[np.bool_]
    """[ops] whether the shapes of all inputs and outputs are known"""


@dataclass(frozen=True, slots=True)
class _Output:
    """One output."""

    bytes: int
    known: bool


def output_shapes(to_cost: GraphToCost, properties: dict[str, list[Message]]) -> OutputShapes:
    """The outputs, from the `properties` by node that the estimator has inferred. Raises CostError."""
    outputs: list[list[_Output]] = []
    for index, node in enumerate(to_cost.nodes):
        sources = to_cost.names_of_outputs.get(index, [node.name])
        found = [each for source in sources for each in properties.get(source, [])]
        outputs.append([_output(node, position, each) for position, each in enumerate(found)])
    index_of_name = {node.name: index for index, node in enumerate(to_cost.nodes)}
    known = np.empty(len(outputs), dtype=bool)
    for index, node in enumerate(to_cost.nodes):
        known[index] = all(output.known for output in outputs[index]) and all(
            _input_is_known(text, outputs, index_of_name) for text in node.input
        )
    counts = [len(of_op) for of_op in outputs]
    sizes = [output.bytes for of_op in outputs for output in of_op]
    return OutputShapes(
        np.concatenate(([0], np.cumsum(counts, dtype=np.int64))), np.array(sizes, dtype=np.int64), known
    )


def _input_is_known(text: str, outputs: list[list[_Output]], index_of_name: dict[str, int]) -> bool:
    """Whether the input `text` (`x`, `x:1`, `^x`) has a known shape; a control input needs none."""
    if text.startswith("^"):
        return True
    name, _, output = text.partition(":")
    of_producer = outputs[index_of_name[name]]
    position = int(output or 0)
    return position < len(of_producer) and of_producer[position].known


def _output(node: Message, position: int, properties: Message) -> _Output:
    """What is known of output `position` of `node`."""
    number = properties.dtype % REFS_FROM
    if RESERVED_OUTPUTS.get(node.op) == position:
        return _Output(0, known=True)
    if node.op == "VarHandleOp":
        return _Output(0, is_known(node.attr["shape"].shape))
    if number == types_pb2.DT_RESOURCE or (number == types_pb2.DT_VARIANT and "Dataset" in node.op):
        return _Output(0, known=True)  # a handle stays where its resource is
    if number == types_pb2.DT_STRING:
        return _Output(node.ByteSize() if node.op == "Const" else 0, known=node.op == "Const")
    size = least_bytes(number, properties.shape)
    if size > MOST_BYTES:
        what = f"output {position} has {size} bytes"
        raise CostError(what, where=shortened(node.name), allowed=f"at most {MOST_BYTES}", field="file")
    return _Output(size, is_known(properties.shape) and number in _ELEMENT_BYTES)


def is_known(shape: Message) -> bool:
    """Whether a TensorShapeProto has all its lengths."""
    return not shape.unknown_rank and all(dimension.size >= 0 for dimension in shape.dim)


def least_bytes(number: int, shape: Message) -> int:
    """Bytes of a tensor of DataType `number` and `shape`, with unknown lengths taken as one; 0 for an unknown type."""
    lengths = (1 if dimension.size < 0 else dimension.size for dimension in shape.dim)
    return _ELEMENT_BYTES.get(number, 0) * math.prod(lengths)


def _element_bytes() -> dict[int, int]:
    """DataType → bytes of one element, for types that have a fixed size."""
    sizes = {}
    for number in types_pb2.DataType.values():
        if 0 < number < REFS_FROM and number not in (types_pb2.DT_STRING, types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT):
            sizes[number] = tf.dtypes.as_dtype(number).size
    return sizes


_ELEMENT_BYTES = _element_bytes()
