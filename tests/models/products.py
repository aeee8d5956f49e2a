"""Floating-point operations of convolutions and matrix products, from sizes alone; a multiply-add counts as two."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

MULTIPLY_ADD = 2


@dataclass(frozen=True, slots=True)
class Product:
    """One product of a step, or several equal ones."""

    flops: int
    """of the forward pass"""
    weights: int = 1
    """operands that are weights: 1, or 0 where activations meet activations"""
    data: bool = False
    """whether its other operand is the step's input, which needs no gradient"""

    @property
    def trained_flops(self) -> int:
        """Operations of forward and backward pass: each operand's gradient is an equally large product."""
        operands = 2 - self.data
        return self.flops * (1 + operands)


def matrix_product(rows: int, inner: int, columns: int) -> int:
    """[rows, inner] times [inner, columns]"""
    return MULTIPLY_ADD * rows * inner * columns


def convolution(output: Sequence[int], kernel: Sequence[int], channels: int, groups: int = 1) -> int:
    """A convolution to `output` (any layout, with batch and channels): each element sums kernel × channels products."""
    return MULTIPLY_ADD * prod(output) * prod(kernel) * channels // groups


def transposed_convolution(inputs: Sequence[int], kernel: Sequence[int], filters: int) -> int:
    """A transposed convolution of `inputs`: each element goes to kernel × filters sums."""
    return MULTIPLY_ADD * prod(inputs) * prod(kernel) * filters


def einsum(equation: str, *shapes: Sequence[int]) -> int:
    """A product of two operands, `ab,bc->ac`; an ellipsis stands for the other leading lengths."""
    sizes: dict[str, int] = {}
    for labels, shape in zip(equation.split("->")[0].split(","), shapes, strict=True):
        named, rest = labels.replace("...", ""), list(shape)
        if "..." in labels:
            spare = len(shape) - len(named)
            at = labels.index("...")
            sizes["..."] = prod(rest[at : at + spare])
            rest[at : at + spare] = []
        sizes |= dict(zip(named, rest, strict=True))
    return MULTIPLY_ADD * prod(sizes.values())
