"""Evaluates what makes a dense tensor of a ragged one, whose number of rows TensorFlow's shape function leaves open.

Source: tensorflow/core/ops/ragged_conversion_ops.cc; tensorflow/core/util/ragged_to_dense_util.h.
"""

from collections.abc import Callable, Mapping, Sequence

from engine.costs.tensorflow.inference.known import OPEN, Known, agreed, shape_in
from engine.graphs.tensorflow.messages import Message

ROWS, SPLITS = b"FIRST_DIM_SIZE", b"ROW_SPLITS"


def _dense(node: Message, inputs: Sequence[Known]) -> Sequence[Known] | None:
    """The dense tensor: the given shape, the number of rows that the first partition shows, the values' inner shape."""
    wanted, values, partitions = inputs[0], inputs[1], inputs[3:]
    kinds = [bytes(kind) for kind in node.attr["row_partition_types"].list.s]
    if values.shape is None or not values.shape or len(kinds) != len(partitions) or not kinds:
        return None
    outer = [OPEN] * (len(kinds) + 1 - (kinds[0] == ROWS))
    outer[0] = _rows(kinds[0], partitions[0])
    shape = agreed(shape_in(wanted), (*outer, *values.shape[1:]))
    return [Known(values.number, shape, bounded=values.bounded)]


def _rows(kind: bytes, partition: Known) -> int:
    """The number of rows: a number itself, or one less than the number of their ends."""
    if kind == ROWS:
        return OPEN if partition.value is None or partition.value.size != 1 else int(partition.value.reshape(()))
    if kind == SPLITS and partition.shape and partition.shape[0] > 0:
        return partition.shape[0] - 1
    return OPEN


EVALUATED: Mapping[str, Callable[[Message, Sequence[Known]], Sequence[Known] | None]] = {"RaggedTensorToTensor": _dense}
"""op type → function that evaluates its outputs"""
