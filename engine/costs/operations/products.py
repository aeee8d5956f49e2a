"""Operations of matrix products: each element of a result takes a multiply-add for each contracted index.

Of an Einsum, an assignment of indices to all labels is one multiply-add where two operands are multiplied and summed,
one multiplication where nothing is summed, one addition where one operand is summed.
"""

from collections.abc import Iterable
from math import prod

from engine.costs.operations.execution import Count, Execution, MisfitError, Shape, broadcast, require, size
from engine.graphs.tensorflow.wire import BYTES, VARINT, WireError, fields, read_varint

ELLIPSIS = "..."


def einsum(execution: Execution) -> int:
    """Operations of an Einsum of one or two operands. Raises MisfitError."""
    operands, result = parts_of_equation(execution.content("equation").decode("latin-1"))
    require(len(operands) in (1, 2))
    lengths: dict[str, int] = {}
    batch: Shape = ()
    for position, labels in enumerate(operands):
        batch = broadcast(batch, _add_lengths(lengths, labels, execution.input(position)))
    require(set(result) - {ELLIPSIS} <= lengths.keys())
    sums = lengths.keys() > set(result) - {ELLIPSIS} or (batch != () and ELLIPSIS not in result)
    return size(batch) * size(tuple(lengths.values())) * (len(operands) - 1 + sums)


def parts_of_equation(equation: str) -> tuple[list[list[str]], list[str]]:
    """The labels of each operand and of the result; an ellipsis counts as one label. Raises MisfitError."""
    left, arrow, right = "".join(equation.split()).partition("->")
    require(arrow != "")
    return [_labels(operand) for operand in left.split(",")], _labels(right)


def _labels(text: str) -> list[str]:
    """The labels in `text`: letters, and at most one ellipsis."""
    before, dots, after = text.partition(ELLIPSIS)
    require(all(label.isascii() and label.isalpha() for label in before + after))
    return [*before, *([dots] if dots else []), *after]


def _add_lengths(lengths: dict[str, int], labels: Iterable[str], shape: Shape) -> Shape:
    """Note the length of each label in one operand, and return the shape under its ellipsis."""
    labels = list(labels)
    covered = len(shape) - len(labels) + 1 if ELLIPSIS in labels else 0
    require(covered >= 0 and (ELLIPSIS in labels or len(labels) == len(shape)))
    start = labels.index(ELLIPSIS) if ELLIPSIS in labels else len(labels)
    named = [label for label in labels if label != ELLIPSIS]
    for label, length in zip(named, shape[:start] + shape[start + covered :], strict=True):
        require(lengths.setdefault(label, length) == length)
    return shape[start : start + covered]


LEFT_CONTRACTED, RIGHT_CONTRACTED = 1, 2
"""fields of xla.DotDimensionNumbers"""
QUANTIZED_PRODUCTS = (
    *("", "WithBias", "WithBiasAndDequantize", "WithBiasAndRelu", "WithBiasAndReluAndRequantize"),
    "WithBiasAndRequantize",
)
"""ends of op types: further work in the same op after a quantised product"""


def product(flip_left: str, flip_right: str) -> Count:
    """Count of products of batches of matrices; the two attributes give whether a side is transposed."""

    def count(execution: Execution) -> int:
        left_batch, rows, inner = _flipped(execution.matrices(0), execution.flag(flip_left))
        right_batch, right_inner, columns = _flipped(execution.matrices(1), execution.flag(flip_right))
        require(inner == right_inner)
        return 2 * size(broadcast(left_batch, right_batch)) * rows * inner * columns

    return count


def sparse_product(execution: Execution) -> int:
    """A sparse matrix (indices, values, shape) times a dense one: a multiply-add for each value and column."""
    (values,) = execution.input(1, rank=1)
    _, rows, columns = execution.matrices(3)
    return 2 * values * (rows if execution.flag("adjoint_b") else columns)


def numbered_product(execution: Execution) -> int:
    """A product whose attribute names the contracted axes."""
    left, right = execution.input(0), execution.input(1)
    message = execution.content("dimension_numbers")
    contracted = _lengths(left, numbers_in(message, LEFT_CONTRACTED))
    require(contracted == _lengths(right, numbers_in(message, RIGHT_CONTRACTED)))
    return 2 * size(execution.output()) * prod(contracted)


def numbers_in(message: bytes, number: int) -> list[int]:
    """The integers of a repeated field of a serialized message, packed or one by one."""
    found: list[int] = []
    try:
        for field in fields(message):
            if field.number == number and field.wire_type in (VARINT, BYTES):
                at = field.payload
                while at < field.end:
                    value, at = read_varint(message, at, field.end)
                    found.append(value)
    except WireError as fault:
        raise MisfitError from fault
    return found


def _flipped(matrices: tuple[Shape, int, int], flip: bool) -> tuple[Shape, int, int]:
    """Batch, rows, columns; transposed with `flip`."""
    batch, rows, columns = matrices
    return (batch, columns, rows) if flip else matrices


def _lengths(shape: Shape, axes: list[int]) -> list[int]:
    """The lengths of those axes."""
    require(len(set(axes)) == len(axes) and all(axis < len(shape) for axis in axes))
    return [shape[axis] for axis in axes]


TRANSPOSED = product("transpose_a", "transpose_b")
ADJOINT = product("adj_x", "adj_y")
COUNTS: dict[str, Count] = {
    **dict.fromkeys(("MatMul", "_FusedMatMul", "SparseMatMul", "RiscDot"), TRANSPOSED),
    **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "FusedBatchMatMulV2"), ADJOINT),
    **{f"QuantizedMatMul{fused}": TRANSPOSED for fused in QUANTIZED_PRODUCTS},
    "_QuantizedMatMul": TRANSPOSED,
    **dict.fromkeys(("UniformQuantizedDot", "UniformQuantizedDotHybrid"), TRANSPOSED),
    "SparseTensorDenseMatMul": sparse_product,
    **dict.fromkeys(("XlaDot", "XlaDotV2"), numbered_product),
    **dict.fromkeys(("Einsum", "XlaEinsum"), einsum),
}
