"""FLOPs of the ops that multiply matrices: products, convolutions, attention. A multiply-add is two.

A formula takes the op's arguments as PyTorch's dispatcher passes them, and its result. Adding a
bias does not count.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

Arguments = Sequence[Any]
Formula = Callable[[Arguments, dict[str, Any], Any], "int | None"]


def _product(first: Any, second: Any) -> int:
    """`[..., m, k] @ [..., k, n]`, or vectors in place of either."""
    return int(2 * prod(first.shape) * (second.shape[-1] if second.dim() > 1 else 1))


def _of_arguments(first: int) -> Formula:
    """A product of two arguments, the first of which is at `first`."""

    def formula(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
        return _product(arguments[first], arguments[first + 1])

    return formula


def _linear(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    return int(2 * prod(arguments[0].shape) * arguments[1].shape[0])


def _of_packed_weights(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    """Each result is a sum over the last dimension of the first argument, however the weights are packed."""
    return int(2 * out.numel() * arguments[0].shape[-1])


def _trilinear(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    """`x A y` for each row, as in a layer of type Bilinear: the product of three tensors of one shape, summed.

    Each of them has the size 1 in the dimensions that are named for it.
    """
    shapes = [list(tensor.shape) for tensor in arguments[:3]]
    for shape, dimensions in zip(shapes, arguments[3:6], strict=True):
        for dimension in sorted(dimensions):
            shape.insert(dimension, 1)
    return int(3 * prod(max(sizes) for sizes in zip(*shapes, strict=True)))


def _outer(_arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    return int(2 * out.numel())


def _grouped(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    """Rows of `[rows, k]` multiply one of `[groups, k, n]` each; or the shared dimension is cut into the groups."""
    first, second = arguments[0], arguments[1]
    if first.dim() == 2 and second.dim() == 2:
        return int(2 * first.shape[0] * first.shape[1] * second.shape[1])
    return int(2 * out.numel() * first.shape[-1])


def _convolution_of(activation: Any, weight: Any) -> int:
    """Each element of the activation that the weight's first dimension belongs to meets the rest of the weight once."""
    return int(2 * activation.numel() * prod(weight.shape[1:]))


def _convolution(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    return _convolution_of(arguments[0] if arguments[6] else out, arguments[1])


def _convolution_backward(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    gradient, activation, weight, transposed, wanted = *arguments[:3], arguments[7], arguments[10]
    wanted_of_both: int = sum(wanted[:2])
    return wanted_of_both * _convolution_of(activation if transposed else gradient, weight)


def _attention_sizes(query: Any, key: Any, value: Any) -> tuple[int, int, int]:
    """Pairs of positions over batch and heads, the width of keys and that of values."""
    pairs = prod(query.shape[:-2]) * query.shape[-2] * key.shape[-2]
    return int(pairs), int(query.shape[-1]), int(value.shape[-1])


def _attention(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    """Scores and their product with the values; a causal mask saves nothing, as is the custom."""
    pairs, width, value_width = _attention_sizes(*arguments[:3])
    return 2 * pairs * (width + value_width)


def _attention_backward(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    """Five products: the scores again, and the gradients of values, of scores, of queries and of keys."""
    pairs, width, value_width = _attention_sizes(*arguments[1:4])
    return 2 * pairs * (3 * width + 2 * value_width)


def _packed_attention(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> "int | None":
    """`[batch, length, heads, width]`; with sequences of several lengths in one the pairs are in the data."""
    query, key, value = (tensor.transpose(1, 2) if tensor.dim() == 4 else None for tensor in arguments[:3])
    if query is None or arguments[3] is not None:
        return None
    return _attention((query, key, value), {}, None)


def _recurrence(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    """One layer in one direction: each step multiplies the input's and the state's weights."""
    steps = prod(arguments[0].shape[:-1])
    return int(2 * steps * (prod(arguments[1].shape) + prod(arguments[2].shape)))


def _recurrence_backward(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    return 2 * _recurrence(arguments, {}, out)


def _distance(arguments: Arguments, _keywords: dict[str, Any], out: Any) -> int:
    return int(3 * out.numel() * arguments[0].shape[-1])


def _distance_backward(arguments: Arguments, _keywords: dict[str, Any], _out: Any) -> int:
    return int(4 * arguments[0].numel() * arguments[1].shape[-1])


PRODUCTS: dict[str, Formula] = {
    **dict.fromkeys(("mm", "bmm", "matmul", "mv", "dot", "vdot", "_int_mm", "_scaled_mm"), _of_arguments(0)),
    **dict.fromkeys(("addmm", "addmm_", "_addmm_activation", "addbmm", "addmv"), _of_arguments(1)),
    **dict.fromkeys(("baddbmm", "baddbmm_"), _of_arguments(1)),
    **dict.fromkeys(("addr", "addr_", "outer", "ger"), _outer),
    "linear": _linear,
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm"), _grouped),
    **dict.fromkeys(("convolution", "_convolution", "convolution_overrideable"), _convolution),
    "convolution_backward": _convolution_backward,
    **dict.fromkeys(
        (
            "scaled_dot_product_attention",
            "_scaled_dot_product_attention_math",
            "_scaled_dot_product_flash_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_efficient_attention",
            "_scaled_dot_product_cudnn_attention",
            "_scaled_dot_product_fused_attention_overrideable",
        ),
        _attention,
    ),
    **dict.fromkeys(
        (
            "_scaled_dot_product_flash_attention_backward",
            "_scaled_dot_product_flash_attention_for_cpu_backward",
            "_scaled_dot_product_efficient_attention_backward",
            "_scaled_dot_product_cudnn_attention_backward",
            "_scaled_dot_product_fused_attention_overrideable_backward",
        ),
        _attention_backward,
    ),
    "_flash_attention_forward": _packed_attention,
    "_efficient_attention_forward": _packed_attention,
    **dict.fromkeys(("_weight_int8pack_mm", "_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu"), _of_packed_weights),
    **dict.fromkeys(("_dyn_quant_matmul_4bit", "_mixed_dtypes_linear"), _of_packed_weights),
    "_trilinear": _trilinear,
    "mkldnn_rnn_layer": _recurrence,
    "mkldnn_rnn_layer_backward": _recurrence_backward,
    "_cdist_forward": _distance,
    "_cdist_backward": _distance_backward,
}
"""by the name of the aten op"""
