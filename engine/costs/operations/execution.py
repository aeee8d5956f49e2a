"""One execution of an op: untrusted attributes and shapes of inputs and outputs, each checked when it is read."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.graphs.tensorflow.messages import Message

Shape: TypeAlias = tuple[int, ...]
"""all lengths known, from 0"""
FRACTION_BITS = 20
"""bits after the point of a logarithm in integers"""


class MisfitError(Exception):
    """An attribute or a shape is missing, or they do not fit each other: there is no count."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of `node`. The methods that give a shape raise MisfitError where it is unknown or does not fit."""

    node: Message
    """NodeDef"""
    inputs: Sequence[Shape | None]
    """shapes of the data inputs, None for an unknown one"""
    outputs: Sequence[Shape | None]

    def input(self, position: int, rank: int | None = None) -> Shape:
        """The shape of an input; with `rank` it must have that rank."""
        return _known(self.inputs, position, rank)

    def output(self, position: int = 0, rank: int | None = None) -> Shape:
        """The shape of an output; with `rank` it must have that rank."""
        return _known(self.outputs, position, rank)

    def matrices(self, position: int) -> tuple[Shape, int, int]:
        """The batch of an input of matrices, their rows and their columns."""
        shape = self.input(position)
        require(len(shape) >= 2)
        return shape[:-2], shape[-2], shape[-1]

    def flag(self, key: str, default: bool = False) -> bool:
        """A boolean attribute."""
        return bool(self.node.attr[key].b) if key in self.node.attr else default

    def number(self, key: str, default: int) -> int:
        """An attribute that is an integer."""
        return int(self.node.attr[key].i) if key in self.node.attr else default

    def numbers(self, key: str) -> list[int]:
        """An attribute that is a list of integers."""
        return [int(number) for number in self.node.attr[key].list.i] if key in self.node.attr else []

    def content(self, key: str, default: bytes = b"") -> bytes:
        """An attribute of text or bytes."""
        return bytes(self.node.attr[key].s) if key in self.node.attr else default


Count: TypeAlias = Callable[[Execution], int]
"""floating-point operations, a multiply-add counts as two; raises MisfitError"""


def require(fits: bool) -> None:
    """Raise MisfitError unless `fits`."""
    if not fits:
        raise MisfitError


def size(shape: Shape) -> int:
    """The number of elements."""
    return math.prod(shape)


def times_logarithm(count: int, length: int) -> int:
    """`count` times the binary logarithm of `length`, rounded down; 0 for a length below 2."""
    if length < 2:
        return 0
    steps: int = round(math.log2(length) * 2**FRACTION_BITS)
    return count * steps >> FRACTION_BITS


def broadcast(first: Shape, second: Shape) -> Shape:
    """The shape to which both shapes are broadcast."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    start = len(longer) - len(shorter)
    return longer[:start] + tuple(map(_common_length, longer[start:], shorter))


def _common_length(first: int, second: int) -> int:
    """The length to which both lengths are broadcast."""
    require(first == second or 1 in (first, second))
    return second if first == 1 else first


def _known(shapes: Sequence[Shape | None], position: int, rank: int | None) -> Shape:
    """The shape at `position`, of that rank. Raises MisfitError."""
    shape = shapes[position] if position < len(shapes) else None
    if shape is None or rank not in (None, len(shape)):
        raise MisfitError
    return shape
