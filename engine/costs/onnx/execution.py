"""One execution of an ONNX op: untrusted attributes and shapes of inputs and outputs, each checked when it is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from onnx import AttributeProto, NodeProto

from engine.costs.onnx.known import ValueFacts
from engine.costs.operations.execution import MisfitError, Shape, require

__all__ = ["MisfitError", "OnnxCount", "OnnxExecution", "Shape", "require"]


@dataclass(frozen=True)
class OnnxExecution:
    """One execution of `node`. The methods that give a shape raise MisfitError where it is unknown or does not fit."""

    node: NodeProto
    inputs: Sequence[ValueFacts | None]
    """None for an input that is left out"""
    outputs: Sequence[ValueFacts | None]
    version: int = 1
    """of its operator's domain"""

    @cached_property
    def attributes(self) -> dict[str, AttributeProto]:
        return {each.name: each for each in self.node.attribute}

    def has(self, position: int) -> bool:
        """Whether the op has this input."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def input(self, position: int, rank: int | None = None) -> Shape:
        """The shape of an input; with `rank` it must have that rank."""
        return _shape(self.inputs, position, rank)

    def output(self, position: int = 0, rank: int | None = None) -> Shape:
        """The shape of an output; with `rank` it must have that rank."""
        return _shape(self.outputs, position, rank)

    def number(self, key: str, default: int) -> int:
        """An attribute that is an integer."""
        return int(self.attributes[key].i) if key in self.attributes else default

    def numbers(self, key: str) -> list[int]:
        """An attribute that is a list of integers."""
        return [int(number) for number in self.attributes[key].ints] if key in self.attributes else []

    def text(self, key: str, default: str = "") -> str:
        """An attribute of text."""
        return self.attributes[key].s.decode("utf-8", "replace") if key in self.attributes else default

    def axis(self, rank: int, default: int, key: str = "axis") -> int:
        """An attribute that names one of `rank` axes, from 0."""
        axis = self.number(key, default)
        require(-rank <= axis < rank)
        return axis % rank


OnnxCount: TypeAlias = Callable[[OnnxExecution], int]
"""floating-point operations, a multiply-add counts as two; raises MisfitError"""
OnnxTraffic: TypeAlias = Callable[[OnnxExecution, Sequence[int], Sequence[int]], int]
"""an execution, bytes of each input and of each output → bytes read and written; raises MisfitError"""


def _shape(values: Sequence[ValueFacts | None], position: int, rank: int | None) -> Shape:
    known = values[position] if position < len(values) else None
    shape = None if known is None else known.shape
    if shape is None or rank not in (None, len(shape)):
        raise MisfitError
    return shape
