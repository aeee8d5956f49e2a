"""Counts the parameters that the ops of a TensorFlow graph hold. Runs in the child."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import VARIABLES

FLOATING = frozenset({1, 2, 8, 14, 18, 19, 23, 24, 25, 26, 27, 28})
"""numbers of DataType: floats of 8 to 64 bits, complex numbers"""
MOST_ELEMENTS = 2**62


def elements_of_variables(nodes: Sequence[Message]) -> NDArray[np.int64]:
    """[ops] elements of a floating-point variable, 0 where a length is unknown and for other ops."""
    return np.array([_elements_of_variable(node) if node.op in VARIABLES else 0 for node in nodes], dtype=np.int64)


def elements_of_constants(nodes: Sequence[Message]) -> NDArray[np.int64]:
    """[ops] elements of a floating-point constant, 0 for a single number and for other ops."""
    return np.array([_elements_of_constant(node) if node.op == "Const" else 0 for node in nodes], dtype=np.int64)


def _elements_of_variable(node: Message) -> int:
    if "shape" not in node.attr or node.attr["shape"].shape.unknown_rank or not _is_floating(node):
        return 0
    return _elements([dimension.size for dimension in node.attr["shape"].shape.dim])


def _elements_of_constant(node: Message) -> int:
    if "value" not in node.attr or not _is_floating(node):
        return 0
    dimensions = node.attr["value"].tensor.tensor_shape.dim
    return _elements([dimension.size for dimension in dimensions]) if dimensions else 0


def _is_floating(node: Message) -> bool:
    return "dtype" in node.attr and node.attr["dtype"].type in FLOATING


def _elements(lengths: Sequence[int]) -> int:
    return 0 if any(length < 0 for length in lengths) else min(math.prod(lengths), MOST_ELEMENTS)
