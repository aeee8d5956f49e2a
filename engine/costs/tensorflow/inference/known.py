"""The known properties of one tensor: type, shape, small value, and the elements of a list or a variable's handle."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import tensor_util

from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES, INVALID, REFS_FROM

KnownShape: TypeAlias = tuple[int, ...] | None
"""lengths, `OPEN` for an unknown one; None: the rank is unknown too"""
KnownValue: TypeAlias = NDArray[Any]
OPEN = -1
MOST_ELEMENTS = 1024
"""elements of a value that is kept: the values behind lengths, axes and masks are small"""
MOST_CONSTANT_BYTES = 16_384
"""bytes of a constant whose value is read"""


@dataclass(frozen=True, slots=True)
class Items:
    """The common properties of a list's elements, or those of the variable of a handle."""

    number: int
    """DataType"""
    shape: KnownShape
    """shape of one element"""
    count: int = 1
    """elements, or `OPEN`"""
    value: tuple[int, ...] | None = None
    """value of all elements, where they are alike and small integers: shapes that a gradient needs again"""
    parts: "tuple[Items, ...]" = ()
    """the components of a queue's element, or the key of a table's or map's value"""

    @property
    def bytes(self) -> int | None:
        """Bytes of all elements together; None where unknown."""
        size = element_bytes(self.number)
        if not is_known(self.shape) or self.count < 0 or size is None or self.shape is None:
            return None
        return self.count * size * math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Known:
    """The known properties of one tensor."""

    number: int
    """DataType, for a ref that of its base type; `INVALID` where unknown"""
    shape: KnownShape = None
    value: KnownValue | None = None
    """value of a small tensor that does not depend on fed data; it has the shape `shape`"""
    items: Items | None = None
    """variable of a handle, or elements of a list"""
    bounded: bool = False
    """whether its shape is an upper bound, since it depends on data"""
    partial: KnownShape = None
    """numbers of an integer vector of which only some are known, `OPEN` for an unknown one"""

    @property
    def is_whole(self) -> bool:
        """Whether all that a cost needs is known."""
        if self.number == types_pb2.DT_RESOURCE:
            return True
        if self.number == types_pb2.DT_VARIANT:
            return self.items is not None and self.items.bytes is not None
        return is_known(self.shape) and element_bytes(self.number) is not None

    @property
    def bytes(self) -> int:
        """The bytes, with open lengths counted as one; 0 where nothing is known."""
        if self.number == types_pb2.DT_RESOURCE:
            return 0
        if self.number == types_pb2.DT_VARIANT:
            return (self.items and self.items.bytes) or 0
        lengths = (1 if length < 0 else length for length in self.shape or ())
        return (element_bytes(self.number) or 0) * math.prod(lengths)

    def as_bounded(self, bounded: bool) -> "Known":
        """This tensor, marked as bounded if `bounded`."""
        return self if self.bounded or not bounded else replace(self, bounded=True)


UNKNOWN = Known(INVALID)


def is_known(shape: KnownShape) -> bool:
    """Whether the rank and all lengths are known."""
    return shape is not None and all(length >= 0 for length in shape)


def of_value(value: KnownValue, number: int, bounded: bool = False) -> Known:
    """A tensor that holds `value`."""
    shape = tuple(value.shape)
    return Known(number, shape, value if value.size <= MOST_ELEMENTS else None, bounded=bounded)


def shape_of_message(shape: Message) -> KnownShape:
    """The shape in a TensorShapeProto."""
    return None if shape.unknown_rank else tuple(max(OPEN, dimension.size) for dimension in shape.dim)


def shape_in(known: Known) -> KnownShape:
    """The shape that a shape tensor holds; lengths below 0 are open, and a value that is no vector gives None."""
    if known.value is None or known.value.ndim != 1:
        return known.partial
    return tuple(max(OPEN, int(length)) for length in known.value)


def agreed(one: KnownShape, other: KnownShape) -> KnownShape:
    """The shape that joins two views of it; where they differ `one` counts."""
    if one is None or other is None or len(one) != len(other):
        return other if one is None else one
    return tuple(mine if mine >= 0 else theirs for mine, theirs in zip(one, other, strict=True))


def together(one: Known, other: Known) -> Known:
    """The tensor that joins two views of it; where they differ `one` counts."""
    number = one.number or other.number
    items = one.items or other.items
    if one.items is not None and other.items is not None:
        count = one.items.count if one.items.count >= 0 else other.items.count
        shape = agreed(one.items.shape, other.items.shape)
        parts = one.items.parts or other.items.parts
        items = Items(one.items.number or other.items.number, shape, count, one.items.value, parts)
    value = one.value if one.value is not None else other.value
    partial = None if value is not None else agreed(one.partial, other.partial)
    return Known(number, agreed(one.shape, other.shape), value, items, one.bounded or other.bounded, partial)


def largest(tensors: Sequence[Known]) -> Known:
    """A tensor as large as any of `tensors`, of which a step gives one; of unknown shape where their ranks differ."""
    first = tensors[0]
    if all(each.shape == first.shape and each.items == first.items for each in tensors):
        same = first.value is not None and all(
            each.value is not None and np.array_equal(each.value, first.value) for each in tensors
        )
        partial = first.partial if all(each.partial == first.partial for each in tensors) else None
        bounded = any(each.bounded for each in tensors)
        return replace(first, value=first.value if same else None, partial=partial, bounded=bounded)
    items = [each.items for each in tensors if each.items is not None]
    shape = longest([each.shape for each in tensors])
    return Known(first.number, shape, None, _largest_items(items) if items else None, bounded=True)


def longest(shapes: Sequence[KnownShape]) -> KnownShape:
    """The largest length of `shapes` in each dimension, open where one is open; None where their ranks differ."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len({len(shape) for shape in known}) != 1:
        return None
    return tuple(OPEN if min(lengths) < 0 else max(lengths) for lengths in zip(*known, strict=True))


def _largest_items(items: Sequence[Items]) -> Items:
    counts = [each.count for each in items]
    value = items[0].value if all(each.value == items[0].value for each in items) else None
    shape = longest([each.shape for each in items if each.shape is not None and each.count != 0] or [items[0].shape])
    return Items(items[0].number, shape, OPEN if min(counts) < 0 else max(counts), value, items[0].parts)


def value_of_constant(node: Message) -> list[KnownValue | None] | None:
    """[1] the value of a small constant of numbers; None for another constant."""
    content = node.attr["value"].tensor if "value" in node.attr else None
    if content is None or content.ByteSize() > MOST_CONSTANT_BYTES:
        return None
    elements = 1
    for dimension in content.tensor_shape.dim:
        elements *= max(0, dimension.size)
    if elements > MOST_ELEMENTS:
        return None
    try:
        value = tensor_util.MakeNdarray(content)
    except (ValueError, TypeError):
        return None
    return [value] if value.dtype.kind in "iufb" else None


def element_bytes(number: int) -> int | None:
    """Bytes of one element; None for types without a fixed size."""
    return _ELEMENT_BYTES.get(number)


def numpy_type(number: int) -> np.dtype[Any] | None:
    """The numpy type of a DataType whose values are evaluated: numbers and truth values; else None."""
    return _NUMPY_TYPES.get(number)


_ELEMENT_BYTES: dict[int, int] = {
    number: tf.dtypes.as_dtype(number).size
    for number in types_pb2.DataType.values()
    if 0 < number < REFS_FROM and number != types_pb2.DT_STRING and number not in HANDLES
}
_NUMPY_TYPES: dict[int, np.dtype[Any]] = {
    number: np.dtype(tf.dtypes.as_dtype(number).as_numpy_dtype)
    for number in (
        types_pb2.DT_INT32,
        types_pb2.DT_INT64,
        types_pb2.DT_INT16,
        types_pb2.DT_INT8,
        types_pb2.DT_UINT8,
        types_pb2.DT_UINT16,
        types_pb2.DT_UINT32,
        types_pb2.DT_UINT64,
        types_pb2.DT_BOOL,
        types_pb2.DT_FLOAT,
        types_pb2.DT_DOUBLE,
    )
}
