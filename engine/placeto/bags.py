"""Sums of table rows over bags, with a gradient: compiled on the CPU, torch's own embedding bag elsewhere."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from engine.simulator.compiled import compiled


def sum_bags(table: Tensor, index: Tensor, offset: Tensor) -> Tensor:
    """[bags, width]: bag i is the sum of the rows `index[offset[i] : offset[i + 1]]` of `table` [rows, width].

    `offset` is [bags + 1], `index` [members]. torch's embedding bag does the same; its gradient on the CPU sorts all
    the members first, which is most of a training step.
    """
    if table.device.type == "cpu":
        return _SumBags.apply(table, index, offset)  # type: ignore[no-untyped-call,no-any-return]  # torch has no type for it
    return functional.embedding_bag(index, table, offset, mode="sum", include_last_offset=True)


class _SumBags(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, table: Tensor, index: Tensor, offset: Tensor) -> Tensor:
        ctx.save_for_backward(index, offset)
        ctx.rows = len(table)  # type: ignore[attr-defined]  # torch's way to hand a number on
        return torch.from_numpy(_sum_bags(table.detach().numpy(), index.numpy(), offset.numpy()))

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *gradients: Tensor) -> tuple[Tensor, None, None]:
        index, offset = ctx.saved_tensors  # type: ignore[attr-defined]  # set by save_for_backward
        rows: int = ctx.rows  # type: ignore[attr-defined]  # set in forward
        gradient = gradients[0].contiguous().numpy()
        return torch.from_numpy(_spread_bags(gradient, index.numpy(), offset.numpy(), rows)), None, None


@compiled
def _sum_bags(table: NDArray[np.float32], index: NDArray[np.int64], offset: NDArray[np.int64]) -> NDArray[np.float32]:
    sums = np.zeros((len(offset) - 1, table.shape[1]), dtype=table.dtype)
    for bag in range(len(sums)):
        row = sums[bag]
        for member in range(offset[bag], offset[bag + 1]):
            added = table[index[member]]
            for column in range(len(row)):
                row[column] += added[column]
    return sums


@compiled
def _spread_bags(
    gradient: NDArray[np.float32], index: NDArray[np.int64], offset: NDArray[np.int64], rows: int
) -> NDArray[np.float32]:
    """The gradient of the table: each row gets those of the bags that hold it."""
    spread = np.zeros((rows, gradient.shape[1]), dtype=gradient.dtype)
    for bag in range(len(gradient)):
        added = gradient[bag]
        for member in range(offset[bag], offset[bag + 1]):
            row = spread[index[member]]
            for column in range(len(added)):
                row[column] += added[column]
    return spread
