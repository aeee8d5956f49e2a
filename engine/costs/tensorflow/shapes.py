"""The outputs of each op, their bytes, and why a shape is unknown. Runs in the child."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tensorflow.core.framework import types_pb2

from engine.costs.tensorflow.annotated_shapes import AnnotatedShapes, Properties
from engine.costs.tensorflow.inference.known import Known, element_bytes, is_known, shape_of_message
from engine.costs.tensorflow.placeholders import GraphToCost
from engine.costs.tensorflow.work_of_types import WITHOUT_COST
from engine.costs.unknown import Unknown
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.op_types import HANDLES, REFS_FROM

TEXT_HANDLES = frozenset(
    op_type
    for op_type, signature in registered_ops().items()
    if any(output.is_ref and output.type == "DT_STRING" for output in signature.outputs)
) | {"TensorArrayV2", "TensorArrayGradV2"}
"""op types of TensorFlow 1 whose handles of tables, queues and the like are text"""
MOST_BYTES = 2**50
"""largest size of one output"""
RESERVED_OUTPUTS = {"FusedBatchNormV3": 5}
"""op type → an output that a GPU library alone uses: its shape is never known, and it is small"""


@dataclass(frozen=True, slots=True)
class OutputShapes:
    """The outputs of all ops."""

    offset: NDArray[np.int64]
    """[ops + 1] as `Costs.output_offset`"""
    bytes: NDArray[np.int64]
    """[all outputs] bytes, a lower bound where they are unknown"""
    unknown: NDArray[np.uint8]
    """[ops] why the shapes of its inputs and outputs are not all known, or `Unknown.NOT_SAID`"""


def inferred_outputs(to_cost: GraphToCost, properties: Properties, annotated: AnnotatedShapes) -> list[list[Known]]:
    """[ops] the outputs, from the `properties` that the estimator inferred."""
    outputs: list[list[Known]] = []
    for index, node in enumerate(to_cost.nodes):
        sources = to_cost.names_of_outputs.get(index, [node.name])
        found = [each for source in sources for each in properties.get(source, [])]
        for position, name in annotated.get(node.name, {}).items():
            found[position] = properties[name][0]
        outputs.append([_inferred(node, position, each) for position, each in enumerate(found)])
    return outputs


def _inferred(node: Message, position: int, properties: Message) -> Known:
    number = properties.dtype % REFS_FROM
    if RESERVED_OUTPUTS.get(node.op) == position:
        return Known(number, (0,))
    return Known(number, shape_of_message(properties.shape))


def output_shapes(nodes: Sequence[Message], outputs: Sequence[Sequence[Known]]) -> OutputShapes:
    """The bytes of the ops' `outputs`, and why a shape is unknown."""
    index_of_name = {node.name: index for index, node in enumerate(nodes)}
    reasons = [[_why_unknown(node, each) for each in of_op] for node, of_op in zip(nodes, outputs, strict=True)]
    unknown = np.zeros(len(outputs), dtype=np.uint8)
    for index, node in enumerate(nodes):
        if node.op not in WITHOUT_COST and not all(
            _input_is_known(text, reasons, index_of_name) for text in node.input
        ):
            unknown[index] = Unknown.INPUT_SHAPE
        elif of_op := [reason for reason in reasons[index] if reason]:
            unknown[index] = of_op[0]
    sizes = [_bytes(node, each) for node, of_op in zip(nodes, outputs, strict=True) for each in of_op]
    offset = np.concatenate(([0], np.cumsum([len(of_op) for of_op in outputs], dtype=np.int64)))
    return OutputShapes(offset, np.array(sizes, dtype=np.int64), unknown)


def _input_is_known(text: str, reasons: Sequence[Sequence[Unknown]], index_of_name: dict[str, int]) -> bool:
    """Whether the input `text` (`x`, `x:1`, `^x`) has a known shape; a control input needs none."""
    if text.startswith("^"):
        return True
    name, _, output = text.partition(":")
    of_producer = reasons[index_of_name[name]]
    position = int(output or 0)
    return position < len(of_producer) and not of_producer[position]


def _is_handle(node: Message, known: Known) -> bool:
    """Whether the tensor is a handle that stays on the device of its resource."""
    return known.number == types_pb2.DT_RESOURCE or (known.number == types_pb2.DT_VARIANT and "Dataset" in node.op)


def _why_unknown(node: Message, known: Known) -> Unknown:
    """Why an output of `node` has no known bytes, or `Unknown.NOT_SAID`."""
    if node.op == "VarHandleOp":
        return Unknown.NOT_SAID if _variable_is_known(node) else Unknown.OUTPUT_SHAPE
    if _is_handle(node, known) or node.op in TEXT_HANDLES:
        return Unknown.NOT_SAID
    if known.number == types_pb2.DT_STRING:
        return Unknown.NOT_SAID if node.op == "Const" else Unknown.TEXT
    if known.bytes > MOST_BYTES:
        return Unknown.OVERFLOW
    if known.number in HANDLES:
        return Unknown.NOT_SAID if known.is_whole else Unknown.CONTENT
    if element_bytes(known.number) is None:
        return Unknown.CONTENT
    return Unknown.NOT_SAID if is_known(known.shape) else Unknown.OUTPUT_SHAPE


def _bytes(node: Message, known: Known) -> int:
    """The bytes of an output of `node`; 0 where they are too many to count."""
    if known.number == types_pb2.DT_STRING:
        return node.ByteSize() if node.op == "Const" else 0
    size = 0 if _is_handle(node, known) else known.bytes
    return size if size <= MOST_BYTES else 0


def _variable_is_known(node: Message) -> bool:
    return is_known(shape_of_message(node.attr["shape"].shape) if "shape" in node.attr else ())


def least_bytes(number: int, shape: Message) -> int:
    """Bytes of a tensor of DataType `number` and `shape`, with unknown lengths taken as one; 0 for an unknown type."""
    size = Known(number, shape_of_message(shape) or ()).bytes if number not in HANDLES else 0
    return size if size <= MOST_BYTES else 0
