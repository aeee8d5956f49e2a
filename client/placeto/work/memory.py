"""Bytes that an op reads and writes."""

from collections.abc import Iterable
from typing import Any

ROWS_OF_FIRST = frozenset(
    (
        *("embedding", "index_select", "gather", "index", "_unsafe_index", "take", "masked_select"),
        *("_embedding_bag", "_embedding_bag_forward_only", "grid_sampler_2d"),
    )
)
"""ops that read of their first argument only what they give"""
ROWS_OF_SELF = frozenset(
    (
        *("index_put_", "_index_put_impl_", "index_add_", "index_copy_", "index_fill_", "index_reduce_", "put_"),
        *("scatter_", "scatter_add_", "scatter_reduce_", "masked_scatter_"),
    )
)
"""ops that write into their first argument only what their other arguments say"""
OVERWRITES = frozenset(
    ("copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "random_", "exponential_", "log_normal_", "set_")
)
"""ops that write their first argument and do not read it"""
RESERVES = {"mkldnn_rnn_layer": (3, 6)}
"""ops of which fake tensors hide what they keep for the backward pass: which output it is, and its size in sizes of the
first output: the gates, the cell and the state of each step"""


def tensor_bytes(tensor: Any) -> int:
    """Bytes of all elements, as a copy of the tensor takes them."""
    return int(tensor.numel() * tensor.element_size())


def distinct_bytes(tensor: Any) -> int:
    """Bytes of the elements that lie apart: those of a dimension of stride 0 are one."""
    count = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        if size == 0:
            return 0
        if stride:
            count *= size
    return int(count * tensor.element_size())


def bytes_accessed(name: str, reads: Iterable[Any], written: Iterable[Any], results: Iterable[Any]) -> int:
    """What one op reads and writes.

    Args:
        name: The aten op.
        reads: Its tensor arguments, the first first.
        written: Those among them that it writes in place.
        results: The tensors that it makes.
    """
    if name.endswith("_like") or name.startswith("new_"):
        return sum(map(distinct_bytes, results))
    inputs = list({id(tensor): tensor for tensor in reads}.values())
    overwritten = list(written)
    made = list(results)
    total = sum(map(distinct_bytes, made))
    if name in ROWS_OF_FIRST and inputs:
        rows = distinct_bytes(inputs[0]) if not made else min(distinct_bytes(inputs[0]), distinct_bytes(made[0]))
        return total + rows + sum(map(distinct_bytes, inputs[1:]))
    if name in ROWS_OF_SELF and inputs:
        others = [distinct_bytes(tensor) for tensor in inputs[1:]]
        return total + sum(others) + 2 * min(distinct_bytes(inputs[0]), max(others, default=0))
    if name in OVERWRITES and inputs:
        return total + sum(map(distinct_bytes, inputs))
    return total + sum(map(distinct_bytes, inputs)) + sum(map(distinct_bytes, overwritten))
