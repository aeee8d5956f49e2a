"""Arithmetic and bytes of convolutions and matrix products, from TensorFlow's own shapes. In a child alone."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from engine.child import ReportProgress, Results
from engine.events import Json


def arithmetic_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """By op: floating point operations, a multiply-add as two, and bytes of its inputs and outputs."""
    definition = tf.compat.v1.GraphDef.FromString(Path(str(order["path"])).read_bytes())
    with tf.Graph().as_default() as graph:
        tf.compat.v1.import_graph_def(definition, name="")
    names: list[Json] = []
    operations, moved = [], []
    for op in graph.get_operations():
        if op.type in OPERATIONS:
            names.append(op.name)
            operations.append(OPERATIONS[op.type](op))
            moved.append(sum(size(tensor) * tensor.dtype.size for tensor in (*op.inputs, *op.outputs)))
    return {"operations": np.array(operations, float), "bytes": np.array(moved, float)}, {"names": names}


def size(tensor: Any) -> int:
    """Number of elements."""
    return math.prod(tensor.shape.as_list())


def of_convolution(result: Any, kernel: Any) -> int:
    """Each element of the result takes one multiply-add for each weight of one filter."""
    height, width, channels, _ = kernel.shape.as_list()
    return 2 * size(result) * int(height * width * channels)


def of_product(op: Any) -> int:
    """Each element of the result takes one multiply-add for each element of the contracted dimension."""
    contracted = int(op.inputs[0].shape.as_list()[0 if op.get_attr("transpose_a") else 1])
    return 2 * size(op.outputs[0]) * contracted


OPERATIONS = {
    "Conv2D": lambda op: of_convolution(op.outputs[0], op.inputs[1]),
    "Conv2DBackpropInput": lambda op: of_convolution(op.inputs[2], op.inputs[1]),
    "Conv2DBackpropFilter": lambda op: of_convolution(op.inputs[2], op.outputs[0]),
    "MatMul": of_product,
}
