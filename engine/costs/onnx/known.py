"""What is known of a value of an ONNX model before it runs: its type and lengths, and the content of a small tensor."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from onnx import TypeProto

from engine.graphs.onnx.tensors import MOST_RANK, Content, bytes_of

Lengths: TypeAlias = tuple[int | None, ...]
"""of a tensor, None for one that is not known"""


@dataclass(frozen=True, slots=True)
class ValueFacts:
    """A value."""

    type: int = 0
    """element type, 0 where unknown"""
    lengths: Lengths | None = None
    """None: the rank is unknown too"""
    content: Content | None = None
    """the numbers, where they follow from shapes and constants"""
    other: TypeProto | None = None
    """the type of a value that is no tensor"""
    is_bounded: bool = False
    """whether lengths are upper bounds of what depends on data"""

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The lengths, where all are known."""
        if self.lengths is None or None in self.lengths:
            return None
        return tuple(length for length in self.lengths if length is not None)

    @property
    def bytes(self) -> int:
        """Bytes of the tensor; an unknown length counts as one."""
        if self.lengths is None:
            return bytes_of(self.type, 1)
        return bytes_of(self.type, math.prod(1 if length is None else length for length in self.lengths))

    def message(self) -> TypeProto:
        """The type as ONNX's functions take it."""
        if self.other is not None:
            return self.other
        found = TypeProto()
        found.tensor_type.elem_type = self.type
        if self.lengths is not None:
            found.tensor_type.shape.SetInParent()
            for length in self.lengths:
                dimension = found.tensor_type.shape.dim.add()
                if length is not None:
                    dimension.dim_value = length
        return found


UNKNOWN = ValueFacts()


def known_of(message: TypeProto | None, lengths_of: Mapping[str, int]) -> ValueFacts:
    """What a type in the file says; `lengths_of` gives dimensions by their names."""
    if message is None or message.WhichOneof("value") is None:
        return UNKNOWN
    if message.WhichOneof("value") != "tensor_type":
        return ValueFacts(other=message)
    tensor = message.tensor_type
    if not tensor.HasField("shape") or len(tensor.shape.dim) > MOST_RANK:
        return ValueFacts(tensor.elem_type)
    lengths: list[int | None] = []
    for dimension in tensor.shape.dim:
        if dimension.HasField("dim_value") and dimension.dim_value >= 0:
            lengths.append(dimension.dim_value)
        else:
            lengths.append(lengths_of.get(dimension.dim_param) if dimension.dim_param else None)
    return ValueFacts(tensor.elem_type, tuple(lengths))


def joined(inferred: ValueFacts, declared: ValueFacts) -> ValueFacts:
    """What is inferred, with what only the file says."""
    if inferred.other is not None or declared.other is not None:
        return inferred if inferred.other is not None else declared
    element = inferred.type or declared.type
    if inferred.lengths is None or declared.lengths is None:
        lengths = inferred.lengths if declared.lengths is None else declared.lengths
    elif len(inferred.lengths) != len(declared.lengths):
        lengths = inferred.lengths
    else:
        pairs = zip(inferred.lengths, declared.lengths, strict=True)
        lengths = tuple(other if one is None else one for one, other in pairs)
    return ValueFacts(element, lengths, inferred.content, None, inferred.is_bounded)


def wider(first: ValueFacts, second: ValueFacts) -> ValueFacts:
    """What holds of both: of the two sides of a branch."""
    if first.lengths is None or second.lengths is None or len(first.lengths) != len(second.lengths):
        return ValueFacts(first.type or second.type, None, None, first.other or second.other)
    lengths = tuple(one if one == other else None for one, other in zip(first.lengths, second.lengths, strict=True))
    return ValueFacts(first.type or second.type, lengths, None, first.other or second.other)


def without_content(known: Sequence[ValueFacts]) -> list[ValueFacts]:
    """The same types and lengths."""
    return [ValueFacts(each.type, each.lengths, None, each.other, each.is_bounded) for each in known]
