"""Evaluates integer vectors of which some numbers are known: shapes with open lengths, and what is cut and joined of
them.

An op that only moves numbers (a slice, a concatenation) is evaluated twice by `small_values`: on the numbers, with
zeros for the unknown ones, and on ones and zeros that tell which numbers are known. Sums and products are known where
both operands are. TensorFlow's shape functions do the same inside one graph.
Source: tensorflow/core/common_runtime/shape_refiner.cc, ConstantPartialShape.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.costs.tensorflow.inference.known import OPEN, Known, numpy_type
from engine.costs.tensorflow.inference.small_values import values_of
from engine.graphs.tensorflow.messages import Message

Partial: TypeAlias = NDArray[np.int64]
"""the numbers of a scalar or vector from 0, `OPEN` for an unknown one"""
INTEGERS = (3, 9)
"""DataType numbers of int32 and int64"""


def partly_known(node: Message, inputs: Sequence[Known]) -> list[Partial | None]:
    """[outputs] the numbers of scalars and vectors, `OPEN` for an unknown one; None for an output without any.

    Empty where the op is of another kind, or no input is partly known.
    """
    if node.op in SHAPES:
        return [_worth_it(np.array(each.shape, dtype=np.int64)) if each.shape else None for each in inputs]
    if node.op in SPLITS_OF_TEXT:
        rows = inputs[0].shape[0] if inputs[0].shape else OPEN
        return [None, None, _worth_it(np.array([rows, OPEN], dtype=np.int64))]
    positions = MOVES.get(node.op)
    if positions is None and node.op not in ARITHMETIC:
        return []
    if node.op != "Pack" and all(each.partial is None for each in inputs):
        return []
    parts = [_numbers(each) for each in inputs]
    found = _computed(node, inputs, parts) if positions is None else _moved(node, inputs, parts, positions(len(inputs)))
    return [None if numbers is None else _worth_it(numbers) for numbers in found]


def _numbers(known: Known) -> Partial | None:
    """The numbers of an integer scalar or vector, `OPEN` for an unknown one; None for any other tensor."""
    if known.number not in INTEGERS:
        return None
    if known.value is not None:
        return np.maximum(known.value.astype(np.int64), OPEN) if known.value.ndim <= 1 else None
    if known.partial is not None:
        return np.array(known.partial, dtype=np.int64)
    return np.array(OPEN, dtype=np.int64) if known.shape == () else None


def _moved(
    node: Message, inputs: Sequence[Known], parts: Sequence[Partial | None], data: Sequence[int]
) -> list[Partial | None]:
    """The outputs of an op that moves the numbers of the inputs `data`; the others must be known."""
    sides: list[list[Known]] = [[], []]
    for position, known in enumerate(inputs):
        numbers = parts[position] if position in data else None
        if position in data and numbers is None:
            return []
        for side in sides:
            if numbers is None:
                side.append(known)
            else:
                held = np.maximum(numbers, 0) if side is sides[0] else np.asarray(numbers >= 0)
                side.append(Known(known.number, numbers.shape, held.astype(numpy_type(known.number))))
    values, is_known = (values_of(node, side) for side in sides)
    if values is None or is_known is None:
        return []
    return [
        None if value is None or known is None else np.where(known.astype(bool), value, OPEN)
        for value, known in zip(values, is_known, strict=True)
    ]


def _computed(node: Message, inputs: Sequence[Known], parts: Sequence[Partial | None]) -> list[Partial | None]:
    """The outputs of an elementwise op on numbers, known where those of all operands are."""
    arrays = [part for part in parts if part is not None]
    if len(arrays) < len(parts):
        return []
    filled = [  # with ones for the unknown, so that no quotient is one by zero
        Known(known.number, part.shape, np.where(part < 0, 1, part).astype(numpy_type(known.number)))
        for known, part in zip(inputs, arrays, strict=True)
    ]
    values = values_of(node, filled)
    if not values or values[0] is None:
        return []
    is_known = np.all(np.broadcast_arrays(*[part >= 0 for part in arrays]), axis=0)
    return [np.where(is_known, values[0], OPEN)]


def _worth_it(numbers: NDArray[np.int64]) -> Partial | None:
    """The numbers from 0, if any of them is known."""
    return np.maximum(numbers, OPEN) if numbers.ndim <= 1 and numbers.size and numbers.max() >= 0 else None


def _first(count: int) -> Sequence[int]:
    return range(min(1, count))


def _all(count: int) -> Sequence[int]:
    return range(count)


def _all_but_last(count: int) -> Sequence[int]:
    return range(count - 1)


def _all_but_first(count: int) -> Sequence[int]:
    return range(1, count)


def _second_half(count: int) -> Sequence[int]:
    return range(count // 2, count)


SHAPES = frozenset({"Shape", "ShapeN"})
SPLITS_OF_TEXT = frozenset({"StringSplit", "StringSplitV2"})
"""op types that give a sparse matrix of words: indices, values, shape, of which the number of rows is known"""
MOVES: Mapping[str, Callable[[int], Sequence[int]]] = {
    **dict.fromkeys(("Pack", "IdentityN"), _all),
    **dict.fromkeys(("ConcatV2",), _all_but_last),
    **dict.fromkeys(("Concat", "Split"), _all_but_first),
    **dict.fromkeys(("DynamicStitch", "ParallelDynamicStitch"), _second_half),
    **dict.fromkeys(
        (
            *(
                "Identity",
                "StopGradient",
                "PreventGradient",
                "Snapshot",
                "EnsureShape",
                "Cast",
                "StridedSlice",
                "Slice",
            ),
            *("Gather", "GatherV2", "Unpack", "Reshape", "ReverseV2", "SplitV", "Tile"),
        ),
        _first,
    ),
}
"""op type → number of inputs → positions of those whose numbers it moves; it needs the others whole"""
ARITHMETIC = frozenset({"Add", "AddV2", "Sub", "Mul", "FloorDiv", "Maximum", "Minimum", "FloorMod", "Mod"})
"""elementwise op types"""
