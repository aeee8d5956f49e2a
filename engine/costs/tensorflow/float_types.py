"""The data type in which an op computes. Importing this loads TensorFlow's messages."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tensorflow.core.framework import types_pb2

from engine.clusters.device_kinds import FLOAT_TYPES, FloatType
from engine.costs.arithmetic import HEAVY
from engine.costs.tensorflow.inference.known import Known
from engine.graphs.tensorflow.messages import Message

OF_NUMBER = {
    types_pb2.DT_FLOAT: FloatType.FLOAT32,
    types_pb2.DT_DOUBLE: FloatType.FLOAT64,
    types_pb2.DT_HALF: FloatType.FLOAT16,
    types_pb2.DT_BFLOAT16: FloatType.BFLOAT16,
}
REFERENCE = 100
"""added to the number of a type for a reference to a tensor of it"""
ATTRIBUTES = ("T", "dtype")


def float_types(nodes: Sequence[Message], outputs: Sequence[Sequence[Known]]) -> NDArray[np.uint8]:
    """[ops] an index of `FLOAT_TYPES`: by the op's type attribute, else its first output; float32 for other types.

    TensorFlow lets products and convolutions of float32 round to TensorFloat-32, where a GPU can
    (`tf.config.experimental.enable_tensor_float_32_execution`).
    """
    types = [_float_type(node, of_op) for node, of_op in zip(nodes, outputs, strict=True)]
    return np.array([FLOAT_TYPES.index(each) for each in types], dtype=np.uint8)


def _float_type(node: Message, outputs: Sequence[Known]) -> FloatType:
    numbers = [node.attr[name].type for name in ATTRIBUTES if name in node.attr] + [out.number for out in outputs[:1]]
    known = (OF_NUMBER.get(number % REFERENCE) for number in numbers)
    found = next((each for each in known if each is not None), FloatType.FLOAT32)
    return FloatType.TENSORFLOAT32 if found == FloatType.FLOAT32 and node.op in HEAVY else found
