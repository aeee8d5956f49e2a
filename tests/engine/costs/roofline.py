"""Arithmetic and bytes of convolutions and matrix products, from TensorFlow's own shapes. In a child alone."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray


def arithmetic(path: Path) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """The graph's convolutions and products: name, operations (a multiply-add as two), bytes of inputs and outputs."""
    definition = tf.compat.v1.GraphDef.FromString(path.read_bytes())
    with tf.Graph().as_default() as graph:
        tf.compat.v1.import_graph_def(definition, name="")
    found = [op for op in graph.get_operations() if is_product(op.type)]
    operations = [OPERATIONS[op.type](op) for op in found]
    moved = [sum(size(tensor) * tensor.dtype.size for tensor in (*op.inputs, *op.outputs)) for op in found]
    return [op.name for op in found], np.array(operations, float), np.array(moved, float)


def is_product(op_type: str) -> bool:
    """Whether an op of that type is a convolution or a matrix product, so that `OPERATIONS` should have it."""
    return any(part in op_type for part in ("Conv2", "Conv3", "MatMul", "Einsum"))


def size(tensor: Any) -> int:
    """Number of elements."""
    return math.prod(tensor.shape.as_list())


def of_convolution(result: Any, kernel: Any) -> int:
    """Each element of the result takes one multiply-add for each weight of one filter."""
    height, width, channels, _ = kernel.shape.as_list()
    return 2 * size(result) * int(height * width * channels)


def of_depthwise(result: Any, kernel: Any) -> int:
    """Each element of the result takes one multiply-add for each weight of its own channel's filter."""
    height, width, _, _ = kernel.shape.as_list()
    return 2 * size(result) * int(height * width)


def of_product(op: Any, transpose_first: str) -> int:
    """Each element of the result takes one multiply-add for each element of the contracted dimension."""
    contracted = int(op.inputs[0].shape.as_list()[-2 if op.get_attr(transpose_first) else -1])
    return 2 * size(op.outputs[0]) * contracted


OPERATIONS = {
    "Conv2D": lambda op: of_convolution(op.outputs[0], op.inputs[1]),
    "Conv2DBackpropInput": lambda op: of_convolution(op.inputs[2], op.inputs[1]),
    "Conv2DBackpropFilter": lambda op: of_convolution(op.inputs[2], op.outputs[0]),
    "DepthwiseConv2dNative": lambda op: of_depthwise(op.outputs[0], op.inputs[1]),
    "DepthwiseConv2dNativeBackpropInput": lambda op: of_depthwise(op.inputs[2], op.inputs[1]),
    "DepthwiseConv2dNativeBackpropFilter": lambda op: of_depthwise(op.inputs[2], op.outputs[0]),
    "MatMul": lambda op: of_product(op, "transpose_a"),
    "BatchMatMul": lambda op: of_product(op, "adj_x"),
    "BatchMatMulV2": lambda op: of_product(op, "adj_x"),
}
