"""Which outputs each op has, how many bytes they are, and what of it is known. Runs in the child."""

import math
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.framework import types_pb2

from engine.costs.stand_ins import GraphToCost
from engine.costs.told_shapes import Properties, ToldShapes, is_known
from engine.costs.unknown import Unknown
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
    unknown: NDArray[np.uint8]
    """[ops] why the shapes of its inputs and outputs are not all known, or `Unknown.NOT_SAID`"""


@dataclass(frozen=True, slots=True)
class _Output:
    """One output."""

    bytes: int
    unknown: Unknown = Unknown.NOT_SAID


def output_shapes(to_cost: GraphToCost, properties: Properties, told: ToldShapes) -> OutputShapes:
    """The outputs, from the `properties` that the estimator has inferred. Raises CostError."""
    outputs: list[list[_Output]] = []
    for index, node in enumerate(to_cost.nodes):
        sources = to_cost.names_of_outputs.get(index, [node.name])
        found = [each for source in sources for each in properties.get(source, [])]
        for position, name in told.get(node.name, {}).items():
            found[position] = properties[name][0]
        outputs.append([_output(node, position, each) for position, each in enumerate(found)])
    index_of_name = {node.name: index for index, node in enumerate(to_cost.nodes)}
    unknown = np.zeros(len(outputs), dtype=np.uint8)
    for index, node in enumerate(to_cost.nodes):
        if not all(_input_is_known(text, outputs, index_of_name) for text in node.input):
            unknown[index] = Unknown.INPUT_SHAPE
        elif reasons := [output.unknown for output in outputs[index] if output.unknown]:
            unknown[index] = reasons[0]
    counts = [len(of_op) for of_op in outputs]
    sizes = [output.bytes for of_op in outputs for output in of_op]
    return OutputShapes(
        np.concatenate(([0], np.cumsum(counts, dtype=np.int64))), np.array(sizes, dtype=np.int64), unknown
    )


def _input_is_known(text: str, outputs: list[list[_Output]], index_of_name: dict[str, int]) -> bool:
    """Whether the input `text` (`x`, `x:1`, `^x`) has a known shape; a control input needs none."""
    if text.startswith("^"):
        return True
    name, _, output = text.partition(":")
    of_producer = outputs[index_of_name[name]]
    position = int(output or 0)
    return position < len(of_producer) and not of_producer[position].unknown


def _output(node: Message, position: int, properties: Message) -> _Output:
    """What is known of output `position` of `node`."""
    number = properties.dtype % REFS_FROM
    if RESERVED_OUTPUTS.get(node.op) == position:
        return _Output(0)
    if node.op == "VarHandleOp":
        return _Output(0, Unknown.NOT_SAID if is_known(node.attr["shape"].shape) else Unknown.OUTPUT_SHAPE)
    if number == types_pb2.DT_RESOURCE or (number == types_pb2.DT_VARIANT and "Dataset" in node.op):
        return _Output(0)  # a handle stays where its resource is
    if number == types_pb2.DT_STRING:
        return _Output(node.ByteSize()) if node.op == "Const" else _Output(0, Unknown.TEXT)
    size = least_bytes(number, properties.shape)
    if size > MOST_BYTES:
        what = f"output {position} has {size} bytes"
        raise CostError(what, where=shortened(node.name), allowed=f"at most {MOST_BYTES}", field="file")
    if number not in _ELEMENT_BYTES:
        return _Output(size, Unknown.CONTENT)
    return _Output(size, Unknown.NOT_SAID if is_known(properties.shape) else Unknown.OUTPUT_SHAPE)


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
