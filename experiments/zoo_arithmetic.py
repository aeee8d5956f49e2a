"""Counts a zoo graph's operations and parameters from TensorFlow's own shapes. Imported only in a child."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.zoo.layers import v1

UPDATES = ("ResourceApply", "ResourceScatter")
"""prefixes of the types of ops with which an optimizer updates a variable"""


def count_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The results of `count` for the GraphDef file `path` of the order."""
    operations, parameters = count(v1.GraphDef.FromString(Path(str(order["path"])).read_bytes()))
    return {}, {"operations": operations, "parameters": parameters}


def count(definition: Any) -> tuple[int, int]:
    """Number of operations of a GraphDef's convolutions and matrix products, and of its trained parameters."""
    with tf.Graph().as_default() as graph:
        v1.import_graph_def(definition, name="")
    operations = sum(OPERATIONS[op.type](op) for op in graph.get_operations() if op.type in OPERATIONS)
    return operations, sum(_elements(op.get_attr("shape")) for op in _learned(graph))


def _learned(graph: Any) -> list[Any]:
    """Variables that an optimizer updates; without an optimizer, all but batch norm's moving averages."""
    ops = graph.get_operations()
    updated = [op.inputs[0].op for op in ops if op.type.startswith(UPDATES)]
    return updated or [op for op in ops if op.type == "VarHandleOp" and "/moving_" not in op.name]


def _elements(shape: Any) -> int:
    return math.prod(tf.TensorShape(shape).as_list())


def _convolution(result: Any, kernel: Any) -> int:
    """A multiply-add, two operations, for each element of the result and each weight of a filter."""
    height, width, channels, _ = kernel.shape.as_list()
    return 2 * _elements(result.shape) * int(height * width * channels)


def _depthwise(result: Any, kernel: Any) -> int:
    """A multiply-add for each element of the result and each weight of a filter, which has one channel."""
    height, width, _, _ = kernel.shape.as_list()
    return 2 * _elements(result.shape) * int(height * width)


def _product(op: Any, transposed: str) -> int:
    """A multiply-add for each element of the result and each index of the summed dimension."""
    summed = op.inputs[0].shape.as_list()[-2 if op.get_attr(transposed) else -1]
    return 2 * _elements(op.outputs[0].shape) * int(summed)


OPERATIONS: dict[str, Callable[[Any], int]] = {
    "Conv2D": lambda op: _convolution(op.outputs[0], op.inputs[1]),
    "Conv2DBackpropInput": lambda op: _convolution(op.inputs[2], op.inputs[1]),
    "Conv2DBackpropFilter": lambda op: _convolution(op.inputs[2], op.outputs[0]),
    "DepthwiseConv2dNative": lambda op: _depthwise(op.outputs[0], op.inputs[1]),
    "DepthwiseConv2dNativeBackpropInput": lambda op: _depthwise(op.inputs[2], op.inputs[1]),
    "DepthwiseConv2dNativeBackpropFilter": lambda op: _depthwise(op.inputs[2], op.outputs[0]),
    "MatMul": lambda op: _product(op, "transpose_a"),
    "BatchMatMulV2": lambda op: _product(op, "adj_x"),
}
"""op type → operations; a gradient takes as many as the forward op"""
