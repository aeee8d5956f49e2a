"""Operations of convolutions, matrix products, recurrent layers and attention, from their shapes."""

from collections.abc import Callable
from math import prod

from engine.costs.onnx.execution import OnnxCount, OnnxExecution, require
from engine.costs.operations.execution import Shape, broadcast, size

SOFTMAX = 5
"""operations an element: largest, difference, exponential, sum, quotient"""
GATES = {"RNN": (1, 2), "GRU": (3, 10), "LSTM": (4, 12)}
"""op type → matrices, and operations an element of the state beside the products"""


def matrix_shape(first: Shape, second: Shape) -> Shape:
    """The shape of a product of matrices, of vectors too."""
    require(bool(first) and bool(second))
    rows = first[-2:-1]
    columns = second[-1:] if len(second) > 1 else ()
    require(first[-1] == (second[-2] if len(second) > 1 else second[0]))
    return (*broadcast(first[:-2], second[:-2]), *rows, *columns)


def matrix_product(second: int = 1) -> Callable[[OnnxExecution], int]:
    """Count of a product of the input 0 with the one at `second`."""

    def count(execution: OnnxExecution) -> int:
        first = execution.input(0)
        return 2 * size(matrix_shape(first, execution.input(second))) * first[-1]

    return count


def general_product(bias: int = 2, second: int = 1) -> Callable[[OnnxExecution], int]:
    """Count of Gemm, whose bias is the input at `bias`."""

    def count(execution: OnnxExecution) -> int:
        first = execution.input(0, rank=2)
        inner = first[0] if execution.number("transA", 0) else first[1]
        made = size(execution.output(rank=2))
        require(inner in execution.input(second, rank=2))
        return made * (2 * inner + execution.has(bias))

    return count


def convolution(filters: int = 1, bias: int = 2) -> Callable[[OnnxExecution], int]:
    """Count of a product of each window with the filters at `filters`, and a sum with the bias."""

    def count(execution: OnnxExecution) -> int:
        shape = execution.input(filters)
        require(len(shape) >= 2 and len(execution.input(0)) == len(shape))
        return size(execution.output()) * (2 * prod(shape[1:]) + execution.has(bias))

    return count


def transposed_convolution(execution: OnnxExecution) -> int:
    """Each element of the input goes into a window of the output."""
    image, filters = execution.input(0), execution.input(1)
    require(len(image) == len(filters) >= 2)
    return 2 * size(image) * prod(filters[1:]) + size(execution.output()) * execution.has(2)


def deformed_convolution(execution: OnnxExecution) -> int:
    """A convolution whose windows are interpolated between four pixels."""
    image, filters = execution.input(0), execution.input(1)
    require(len(image) == len(filters) >= 2)
    made = execution.output()
    sampled = made[0] * image[1] * prod(made[2:]) * prod(filters[2:])
    return 2 * size(made) * prod(filters[1:]) + 8 * sampled


def recurrence(execution: OnnxExecution) -> int:
    """All steps of a recurrent layer in both its directions."""
    gates, pointwise = GATES[execution.node.op_type]
    steps, batch, width = execution.input(0, rank=3)
    directions, rows, state = execution.input(2, rank=3)
    require(rows == gates * state)
    return directions * steps * batch * state * (2 * gates * (width + state) + pointwise)


def einsum(execution: OnnxExecution) -> int:
    """Products of two operands after the other, from the left."""
    left, arrow, right = execution.text("equation").replace(" ", "").partition("->")
    operands = left.split(",")
    require(len(operands) == len(execution.inputs))
    lengths: dict[str, int] = {}
    labels = [_labels(text, execution.input(position), lengths) for position, text in enumerate(operands)]
    every = [label for each in labels for label in each]
    if arrow:
        kept = set(right.replace("...", "")) | {label for label in lengths if label.startswith("...")}
    else:
        kept = {label for label in lengths if every.count(label) == 1 or label.startswith("...")}
    if len(labels) == 1:
        return prod(lengths.values()) if set(labels[0]) - kept else 0
    operations, current = 0, set(labels[0])
    for index, other in enumerate(labels[1:], 2):
        joint = current | set(other)
        later = {label for each in labels[index:] for label in each}
        summed = joint - kept - later
        operations += (2 if summed else 1) * prod(lengths[label] for label in joint)
        current = joint - summed
    return operations


def _labels(text: str, shape: Shape, lengths: dict[str, int]) -> list[str]:
    """The labels of an operand's axes; adds their lengths."""
    before, dots, after = text.partition("...")
    hidden = len(shape) - len(before) - len(after)
    require(hidden >= 0 and (bool(dots) or not hidden))
    labels = [*before, *(f"...{hidden - axis}" for axis in range(hidden)), *after]
    for label, length in zip(labels, shape, strict=True):
        require(lengths.get(label, 1) in (1, length) or length == 1)
        lengths[label] = max(lengths.get(label, 1), length)
    return labels


def attention(execution: OnnxExecution) -> int:
    """ONNX's own Attention: queries with all keys, and weights with all values."""
    query, key, value = (execution.input(position) for position in range(3))
    if len(query) == 4:
        batch, heads, length, each = query
    else:
        require(len(query) == 3)
        heads = execution.number("q_num_heads", 1)
        require(heads > 0)
        batch, length, each = query[0], query[1], query[2] // heads
    past = execution.input(4, rank=4)[2] if execution.has(4) else 0
    total = past + (key[2] if len(key) == 4 else key[1])
    groups = execution.number("kv_num_heads", 1)
    require(groups > 0)
    of_value = value[3] if len(value) == 4 else value[2] // groups
    return batch * heads * length * total * (2 * (each + of_value) + SOFTMAX)


COUNTS: dict[str, OnnxCount] = {
    "MatMul": matrix_product(),
    "MatMulInteger": matrix_product(),
    "QLinearMatMul": matrix_product(3),
    "Gemm": general_product(),
    "Conv": convolution(),
    "ConvInteger": convolution(bias=99),
    "QLinearConv": convolution(3, 8),
    "ConvTranspose": transposed_convolution,
    "DeformConv": deformed_convolution,
    **dict.fromkeys(GATES, recurrence),
    "Einsum": einsum,
    "Attention": attention,
}
"""op type → its operations"""
