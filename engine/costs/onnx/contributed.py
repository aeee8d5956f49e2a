"""Operators beside ONNX's own: shapes and operations of those of ONNX Runtime (`com.microsoft`) and of forests.

Source: ContribOperators.md of ONNX Runtime 1.32
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from onnx import TensorProto

from engine.costs.onnx.execution import OnnxCount, OnnxExecution, require
from engine.costs.onnx.known import UNKNOWN, ValueFacts
from engine.costs.onnx.products import SOFTMAX, matrix_shape
from engine.costs.operations.execution import broadcast, size

DOMAINS = ("com.microsoft",)
Rule: TypeAlias = Callable[[OnnxExecution], list[ValueFacts]]


def _type(execution: OnnxExecution, position: int = 0) -> int:
    known = execution.inputs[position]
    return 0 if known is None else known.type


def _like(position: int = 0) -> Rule:
    """The first output is like an input."""
    return lambda execution: [ValueFacts(_type(execution, position), execution.input(position))]


def _skip_normalization(execution: OnnxExecution) -> list[ValueFacts]:
    """The normalised sum, mean and variance, the sum."""
    found = ValueFacts(_type(execution), execution.input(0))
    return [found, UNKNOWN, UNKNOWN, found]


def _broadcast(execution: OnnxExecution) -> list[ValueFacts]:
    """QLinearAdd and the like: tensors at 0 and 3 with their scales and zero points."""
    return [ValueFacts(_type(execution), broadcast(execution.input(0), execution.input(3)))]


def _product(second: int = 1, element: int | None = None) -> Rule:
    def rule(execution: OnnxExecution) -> list[ValueFacts]:
        first = _transposed(execution.input(0), execution.number("transA", 0))
        other = _transposed(execution.input(second), execution.number("transB", 0))
        return [ValueFacts(_type(execution) if element is None else element, matrix_shape(first, other))]

    return rule


def _transposed(shape: tuple[int, ...], flag: int) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if flag and len(shape) >= 2 else shape


def _few_bits(execution: OnnxExecution) -> list[ValueFacts]:
    """A product with a matrix [N, K] of few bits an element."""
    columns = execution.number("N", 0)
    require(columns > 0)
    return [ValueFacts(_type(execution), (*execution.input(0)[:-1], columns))]


def _attention(execution: OnnxExecution) -> list[ValueFacts]:
    """Attention and QAttention: the weights make query, key and value of one input; past and present in one tensor."""
    batch, length, _ = execution.input(0, rank=3)
    sizes = execution.numbers("qkv_hidden_sizes")
    hidden = sizes[2] if len(sizes) == 3 else execution.input(1, rank=2)[1] // 3
    element = _type(execution, 3) if execution.node.op_type == "QAttention" else _type(execution)
    past = _past(execution)
    heads = execution.number("num_heads", 1)
    require(heads > 0)
    return [
        ValueFacts(element, (batch, length, hidden)),
        ValueFacts(element, (2, batch, heads, past + length, hidden // heads)),
    ]


def _past(execution: OnnxExecution) -> int:
    """The length of the state that the op is given."""
    position = 8 if execution.node.op_type == "QAttention" else 4
    return execution.input(position, rank=5)[3] if execution.has(position) else 0


def _many_heads(execution: OnnxExecution) -> list[ValueFacts]:
    query, heads = execution.input(0), execution.number("num_heads", 1)
    require(heads > 0 and len(query) in (3, 5))
    if len(query) == 5:  # query, key and value packed: [batch, length, heads, 3, size]
        batch, length, _, _, each = query
        total, hidden = length, heads * each
    else:
        batch, length, hidden = query
        value = execution.input(2) if execution.has(2) else query
        hidden = value[2] if len(value) == 3 else value[1] * value[3]
        key = execution.input(1) if execution.has(1) else query
        total = key[1] if len(key) != 4 else key[2]
    past = execution.input(6, rank=4)[2] if execution.has(6) else 0
    state = ValueFacts(_type(execution), (batch, heads, past + total, hidden // heads))
    return [ValueFacts(_type(execution), (batch, length, hidden)), state, state]


def _grouped_heads(execution: OnnxExecution) -> list[ValueFacts]:
    batch, length, hidden = execution.input(0, rank=3)
    heads, groups = execution.number("num_heads", 1), execution.number("kv_num_heads", 1)
    require(heads > 0 and groups > 0)
    each = hidden // heads if execution.has(1) else hidden // (heads + 2 * groups)
    state = ValueFacts(_type(execution), (batch, groups, _total(execution, length), each))
    return [ValueFacts(_type(execution), (batch, length, heads * each)), state, state]


def _total(execution: OnnxExecution, length: int) -> int:
    """Past and new positions of a GroupQueryAttention."""
    given = execution.inputs[6].content if execution.has(6) and execution.inputs[6] is not None else None
    past = execution.input(3, rank=4)[2] if execution.has(3) else 0
    return max(int(given.reshape(-1)[0]), past) if given is not None and given.size == 1 else past + length


def _embeddings(execution: OnnxExecution) -> list[ValueFacts]:
    batch, length = execution.input(0, rank=2)
    hidden = execution.input(2, rank=2)[1]
    found = ValueFacts(_type(execution, 2), (batch, length, hidden))
    return [found, ValueFacts(TensorProto.INT32, (batch,)), found]


_LIKE_INPUT = (
    *("Gelu", "FastGelu", "BiasGelu", "QuickGelu", "SimplifiedLayerNormalization", "RotaryEmbedding", "BiasAdd"),
    *("GroupNorm", "QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "BiasSoftmax", "Inverse", "BiasDropout"),
    *("MoE", "QMoE"),
)
SHAPES: dict[str, Rule] = {
    **dict.fromkeys(_LIKE_INPUT, _like()),
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), _skip_normalization),
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), _broadcast),
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul"), _product()),
    **dict.fromkeys(("DynamicQuantizeMatMul", "MatMulIntegerToFloat"), _product(1, TensorProto.FLOAT)),
    **dict.fromkeys(("MatMulNBits", "MatMulBnb4"), _few_bits),
    **dict.fromkeys(("Attention", "QAttention"), _attention),
    "MultiHeadAttention": _many_heads,
    "GroupQueryAttention": _grouped_heads,
    "EmbedLayerNormalization": _embeddings,
    "QuantizeLinear": lambda execution: [ValueFacts(TensorProto.UINT8, execution.input(0))],
    "DequantizeLinear": lambda execution: [ValueFacts(TensorProto.FLOAT, execution.input(0))],
}
"""op type of `com.microsoft` → its outputs"""


def _each(operations: int, position: int = 0) -> OnnxCount:
    return lambda execution: operations * size(execution.input(position))


def _few_bits_count(execution: OnnxExecution) -> int:
    """Two an element of the product, and one to scale each element of the matrix."""
    rows, columns, inner = size(execution.input(0)[:-1]), execution.number("N", 0), execution.number("K", 0)
    require(columns > 0 and inner > 0)
    return 2 * rows * columns * inner + columns * inner


def _product_count(execution: OnnxExecution) -> int:
    first = _transposed(execution.input(0), execution.number("transA", 0))
    return 2 * size(execution.output()) * (first[-1] if first else 1)


def attended(batch: int, heads: int, length: int, total: int, sizes: Sequence[int]) -> int:
    """Products of queries with keys and of weights with values, and the softmax between."""
    return batch * heads * length * total * (2 * sum(sizes) + SOFTMAX)


def _attention_count(execution: OnnxExecution) -> int:
    batch, length, inner = execution.input(0, rank=3)
    made, hidden = execution.input(1, rank=2)[1], execution.output(rank=3)[2]
    heads = execution.number("num_heads", 1)
    require(heads > 0)
    query = (made - hidden) // 2
    products = 2 * batch * length * inner * made
    total = _past(execution) + length
    return products + attended(batch, heads, length, total, (query // heads, hidden // heads))


def _many_heads_count(execution: OnnxExecution) -> int:
    batch, length, hidden = execution.output(rank=3)
    heads = execution.number("num_heads", 1)
    require(heads > 0)
    [_, state, _] = _many_heads(execution)
    assert state.shape is not None
    each = hidden // heads
    return attended(batch, heads, length, state.shape[2], (each, each))


def _grouped_heads_count(execution: OnnxExecution) -> int:
    batch, length, hidden = execution.output(rank=3)
    heads = execution.number("num_heads", 1)
    require(heads > 0)
    each = hidden // heads
    return attended(batch, heads, length, _total(execution, length), (each, each))


def _experts(execution: OnnxExecution) -> int:
    """Each row goes through k experts, each of two or three products."""
    rows = size(execution.input(0)[:-1])
    weights = [execution.input(position)[1:] for position in (2, 4, 6) if execution.has(position)]
    return 2 * rows * execution.number("k", 1) * sum(map(prod, weights))


COUNTS: dict[str, OnnxCount] = {
    **dict.fromkeys(("Gelu", "BiasGelu"), _each(6)),
    "FastGelu": _each(9),
    "QuickGelu": _each(6),
    "BiasAdd": _each(2),
    "BiasSoftmax": _each(SOFTMAX + 1),
    "BiasDropout": _each(3),
    **dict.fromkeys(("SkipLayerNormalization", "EmbedLayerNormalization"), lambda e: 10 * size(e.output())),
    "SimplifiedLayerNormalization": _each(5),
    "SkipSimplifiedLayerNormalization": _each(6),
    "GroupNorm": _each(8),
    "RotaryEmbedding": _each(3),
    **dict.fromkeys(("QLinearSigmoid", "QLinearLeakyRelu"), _each(4)),
    "QLinearSoftmax": _each(SOFTMAX + 3),
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), lambda e: 6 * size(e.output())),
    "QuantizeLinear": _each(3),
    "DequantizeLinear": _each(2),
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul"), _product_count),
    **dict.fromkeys(("DynamicQuantizeMatMul", "MatMulIntegerToFloat"), _product_count),
    **dict.fromkeys(("MatMulNBits", "MatMulBnb4"), _few_bits_count),
    **dict.fromkeys(("Attention", "QAttention"), _attention_count),
    "MultiHeadAttention": _many_heads_count,
    "GroupQueryAttention": _grouped_heads_count,
    **dict.fromkeys(("MoE", "QMoE"), _experts),
}
"""op type of `com.microsoft` → its operations"""
