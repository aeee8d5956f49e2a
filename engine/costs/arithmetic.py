"""The work of heavy ops in closed form: floating-point operations and bytes, from types and shapes alone.

Shapes come from untrusted files: shapes that do not fit give None, and no loop runs over a length.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.costs.operations import convolutions, light, linear_algebra, products, recurrences, transforms
from engine.costs.operations.execution import Count, Execution, MisfitError, size
from engine.costs.operations.traffic import OF_CONTAINERS, TRAFFIC, everything
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_table import registered_ops


@dataclass(frozen=True, slots=True)
class TensorOf:
    """A tensor's type and shape."""

    number: int
    """TensorFlow's DataType number, for a ref that of its base type"""
    shape: tuple[int, ...]
    """all lengths known, from 0"""


def with_optimized(counts: dict[str, Count]) -> dict[str, Count]:
    """`counts`, and the same counts for the op types that TensorFlow's optimizer for Intel's library puts in place."""
    plain = {op_type.removeprefix("_"): count for op_type, count in counts.items()}
    return counts | {
        f"{prefix}{op_type}": count for prefix in ("_Mkl", "_MklNative") for op_type, count in plain.items()
    }


HEAVY_COUNTS = with_optimized(convolutions.COUNTS | products.COUNTS) | recurrences.COUNTS
HEAVY = frozenset(HEAVY_COUNTS)
"""op types of convolutions and matrix products, their gradients too: the ops that a closed form of a model counts"""
AGREED = frozenset({"MatMul", "SparseMatMul", "BatchMatMul", "BatchMatMulV2", "QuantizedMatMul"})
"""heavy op types for which TensorFlow's estimator counts the same, up to 2³¹ matrices in a batch"""
MISCOUNTED = frozenset(
    {
        *("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter", "DepthwiseConv2dNative"),
        *("DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"),
    }
)
"""Heavy op types that TensorFlow's estimator counts as we do, except for some shapes.

It ignores dilation without padding (twice too much for a filter of 3 × 5 on 19 × 23), takes explicit padding for SAME
(12 % off), a grouped convolution of one channel a group for a full one (too much by a factor of the number of groups),
and a gradient whose sizes are fed for the gradient of one pixel.
"""
OURS = HEAVY - AGREED - MISCOUNTED
"""Heavy op types whose count is always taken from here rather than from TensorFlow's estimator, since that

- ignores transposition: SparseTensorDenseMatMul (four times too much for 13 × 50 instead of 50 × 13);
- gives 0 for an equation with an ellipsis, a vector, a sum or an outer product: Einsum, XlaEinsum;
- gives 0 for all others: it counts their bytes alone.

`tests/engine/costs/test_arithmetic_beside_estimator.py` holds each of these.
"""
UNCOUNTED = {op_type: count for op_type, count in light.UNCOUNTED.items() if op_type in registered_ops()}
COUNTS = HEAVY_COUNTS | recurrences.LIGHT_COUNTS | linear_algebra.COUNTS | transforms.COUNTS | light.COUNTS | UNCOUNTED
ALWAYS_OURS = OURS | UNCOUNTED.keys() | OF_CONTAINERS
"""op types, light ones too, whose work is never the estimator's"""
ELEMENT_BYTES = {
    **dict.fromkeys((4, 6, 10, 11, 12, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33), 1),
    **dict.fromkeys((5, 14, 15, 16, 17, 19), 2),
    **dict.fromkeys((1, 3, 13, 22), 4),
    **dict.fromkeys((2, 8, 9, 23), 8),
    18: 16,
}
"""DataType number → bytes of an element, for types that have a fixed size"""


def operations_of(node: Message, inputs: Sequence[TensorOf | None], outputs: Sequence[TensorOf | None]) -> int | None:
    """Floating-point operations of one execution of the NodeDef `node`, a multiply-add counts as two.

    None where this module does not know the type or the shapes do not fit it. `inputs` are the data inputs.
    """
    count = COUNTS.get(node.op)
    if count is None:
        return None
    try:
        return count(_execution(node, inputs, outputs))
    except MisfitError:
        return None


def moved_bytes_of(node: Message, inputs: Sequence[TensorOf | None], outputs: Sequence[TensorOf | None]) -> int:
    """Bytes that one execution of `node` reads and writes: all known tensors, or the part that a lookup takes."""
    bytes_of_inputs, bytes_of_outputs = _bytes(inputs), _bytes(outputs)
    count = TRAFFIC.get(node.op, everything)
    execution = _execution(node, inputs, outputs)
    try:
        return count(execution, bytes_of_inputs, bytes_of_outputs)
    except MisfitError:
        return everything(execution, bytes_of_inputs, bytes_of_outputs)


def _execution(node: Message, inputs: Sequence[TensorOf | None], outputs: Sequence[TensorOf | None]) -> Execution:
    """The execution of `node` with the shapes of its tensors, without their types."""
    shapes = [[None if tensor is None else tensor.shape for tensor in tensors] for tensors in (inputs, outputs)]
    return Execution(node, *shapes)


def _bytes(tensors: Sequence[TensorOf | None]) -> list[int]:
    """The bytes of each tensor; 0 for an unknown tensor."""
    return [0 if each is None else ELEMENT_BYTES.get(each.number, 0) * size(each.shape) for each in tensors]
