"""Evaluates with numpy the small tensors from which shapes, axes and conditions are computed.

Each function gets the node and its known inputs. It returns its outputs' values, None where unknown.
Nothing larger than `MOST_ELEMENTS` is made: lengths are checked before anything is built, since they may come from a
hostile file. Integers have TensorFlow's widths and wrap as TensorFlow's do. The value is unknown where TensorFlow may
round fractions differently from numpy, and where TensorFlow does not define it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from engine.costs.tensorflow.inference.known import MOST_ELEMENTS, Known, KnownValue, is_known, numpy_type
from engine.graphs.tensorflow.messages import Message

Values: TypeAlias = Sequence[KnownValue | None] | None
Evaluate: TypeAlias = Callable[[Message, Sequence[Known]], Values]
FAULTS = (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError, AttributeError, MemoryError)
"""the errors that numpy raises for inputs that do not fit each other, which no graph made by TensorFlow has"""
MOST_EXACT = 2**24
"""up to here a float32 holds every integer exactly"""


def values_of(node: Message, inputs: Sequence[Known]) -> Values:
    """[outputs] the values of the op's outputs, None for an unknown one; None where all are unknown."""
    evaluate = EVALUATED.get(node.op)
    if evaluate is None:
        return None
    try:
        with np.errstate(all="ignore"):
            values = evaluate(node, inputs)
    except FAULTS:
        return None
    if values is None:
        return None
    return [None if value is None or value.size > MOST_ELEMENTS else value for value in values]


def _attribute(node: Message, key: str, default: int = 0) -> int:
    return int(node.attr[key].i) if key in node.attr else default


def _flag(node: Message, key: str) -> bool:
    return key in node.attr and bool(node.attr[key].b)


def _type(node: Message, key: str, default: int) -> np.dtype[Any]:
    number = node.attr[key].type if key in node.attr else default
    found = numpy_type(number)
    if found is None:
        raise TypeError(number)
    return found


def _known(inputs: Sequence[Known]) -> list[KnownValue]:
    """The values of all inputs. Raises ValueError where one is unknown."""
    values = [each.value for each in inputs]
    if any(value is None for value in values):
        raise ValueError("a value is not known")
    return [value for value in values if value is not None]


def _whole(known: Known) -> tuple[int, ...]:
    """The input's whole shape. Raises ValueError where a length is unknown."""
    if known.shape is None or not is_known(known.shape):
        raise ValueError("a shape is not known")
    return known.shape


def _require_small(lengths: Sequence[int]) -> None:
    if min(lengths, default=0) < 0 or math.prod(lengths) > MOST_ELEMENTS:
        raise ValueError("too large")


def _of_values(function: Callable[..., KnownValue | np.generic]) -> Evaluate:
    """The evaluation of an elementwise op that keeps the type of its first input."""

    def evaluate(_node: Message, inputs: Sequence[Known]) -> Values:
        values = _known(inputs)
        _require_small(np.broadcast_shapes(*(value.shape for value in values)))
        return [np.asarray(function(*values)).astype(values[0].dtype)]

    return evaluate


def _tests(function: Callable[..., KnownValue | np.generic]) -> Evaluate:
    """The evaluation of an elementwise op that outputs truth values."""

    def evaluate(_node: Message, inputs: Sequence[Known]) -> Values:
        values = _known(inputs)
        _require_small(np.broadcast_shapes(*(value.shape for value in values)))
        return [np.asarray(function(*values), dtype=bool)]

    return evaluate


def _shape(node: Message, inputs: Sequence[Known]) -> Values:
    return [np.array(_whole(each), dtype=_type(node, "out_type", 3)) for each in inputs]


def _rank(_node: Message, inputs: Sequence[Known]) -> Values:
    return None if inputs[0].shape is None else [np.array(len(inputs[0].shape), dtype=np.int32)]


def _size(node: Message, inputs: Sequence[Known]) -> Values:
    return [np.array(math.prod(_whole(inputs[0])), dtype=_type(node, "out_type", 3))]


def _require_few(parts: Sequence[KnownValue]) -> None:
    """Raise ValueError if the parts together have too many elements."""
    _require_small([sum(part.size for part in parts)])


def _require_exact(*values: KnownValue) -> None:
    """Raise ValueError for fractions and large floats: sums and powers of them depend on the order of the steps."""
    for value in values:
        if value.dtype.kind == "f" and not np.all((np.abs(value) <= MOST_EXACT) & (value == np.rint(value))):
            raise ValueError("a fraction")


def _pack(node: Message, inputs: Sequence[Known]) -> Values:
    values = _known(inputs)
    _require_few(values)
    return [np.stack(values, axis=_attribute(node, "axis"))]


def _unpack(node: Message, inputs: Sequence[Known]) -> Values:
    [value] = _known(inputs)
    axis = _attribute(node, "axis")
    return [np.take(value, index, axis=axis) for index in range(value.shape[axis])]


def _concat(_node: Message, inputs: Sequence[Known]) -> Values:
    *parts, axis = _known(inputs)
    _require_few(parts)
    return [np.concatenate(parts, axis=int(axis))]


def _concat_first(_node: Message, inputs: Sequence[Known]) -> Values:
    axis, *parts = _known(inputs)
    _require_few(parts)
    return [np.concatenate(parts, axis=int(axis))]


def _strided_slice(node: Message, inputs: Sequence[Known]) -> Values:
    value, begin, end, strides = _known(inputs)
    return [np.asarray(value[sliced(node, begin, end, strides)])]


def sliced(node: Message, begin: KnownValue, end: KnownValue, strides: KnownValue) -> tuple[Any, ...]:
    """The numpy index for a StridedSlice's masks and numbers."""
    masks = {key: _attribute(node, f"{key}_mask") for key in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    index: list[Any] = []
    for position in range(len(begin)):
        bit = 1 << position
        if masks["ellipsis"] & bit:
            index.append(Ellipsis)
        elif masks["new_axis"] & bit:
            index.append(None)
        elif masks["shrink_axis"] & bit:
            index.append(int(begin[position]))
        else:
            first = None if masks["begin"] & bit else int(begin[position])
            last = None if masks["end"] & bit else int(end[position])
            index.append(slice(first, last, int(strides[position])))
    return tuple(index)


def _slice(_node: Message, inputs: Sequence[Known]) -> Values:
    value, begin, size = _known(inputs)
    last = [
        length if count < 0 else first + count for first, count, length in zip(begin, size, value.shape, strict=True)
    ]
    return [value[tuple(slice(int(first), int(end)) for first, end in zip(begin, last, strict=True))]]


def _gather(node: Message, inputs: Sequence[Known]) -> Values:
    if _attribute(node, "batch_dims"):
        return None
    value, indices, *axes = _known(inputs)
    axis = int(axes[0]) if axes else 0
    _require_small((indices.size, value.size // max(1, value.shape[axis])))
    return [np.take(value, indices, axis=axis)]


def _range(_node: Message, inputs: Sequence[Known]) -> Values:
    start, limit, delta = _known(inputs)
    _require_exact(start, limit, delta)
    steps = math.ceil((float(limit) - float(start)) / float(delta))
    _require_small((max(0, steps),))
    return [np.arange(start.item(), limit.item(), delta.item()).astype(start.dtype)]


def _reshape(_node: Message, inputs: Sequence[Known]) -> Values:
    value, shape = _known(inputs)
    return [value.reshape([int(length) for length in shape])]


def _squeeze(node: Message, inputs: Sequence[Known]) -> Values:
    [value] = _known(inputs)
    axes = tuple(node.attr["squeeze_dims"].list.i) if "squeeze_dims" in node.attr else ()
    return [np.squeeze(value, axis=axes or None)]


def _expand(_node: Message, inputs: Sequence[Known]) -> Values:
    value, axis = _known(inputs)
    return [np.expand_dims(value, int(axis.reshape(())))]


def _fill(_node: Message, inputs: Sequence[Known]) -> Values:
    shape, value = _known(inputs)
    _require_small([int(length) for length in shape])
    return [np.full(tuple(shape), value, dtype=value.dtype)]


def _tile(_node: Message, inputs: Sequence[Known]) -> Values:
    value, multiples = _known(inputs)
    _require_small([length * int(times) for length, times in zip(value.shape, multiples, strict=True)])
    return [np.tile(value, tuple(multiples))]


def _broadcast(_node: Message, inputs: Sequence[Known]) -> Values:
    value, shape = _known(inputs)
    _require_small([int(length) for length in shape])
    return [np.array(np.broadcast_to(value, tuple(shape)))]


def _reduction(function: Callable[..., Any]) -> Evaluate:
    def evaluate(node: Message, inputs: Sequence[Known]) -> Values:
        value, axes = _known(inputs)
        over = tuple(int(axis) for axis in np.atleast_1d(axes))
        found = np.asarray(function(value, axis=over, keepdims=_flag(node, "keep_dims"))).astype(value.dtype)
        _require_exact(value, found)
        return [found]

    return evaluate


def _cast(node: Message, inputs: Sequence[Known]) -> Values:
    [value] = _known(inputs)
    dtype = _type(node, "DstT", 0)
    if value.dtype.kind == "f" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not np.all((value > float(limits.min) - 1) & (value < float(limits.max))):
            return None
    return [value.astype(dtype)]


def _same(_node: Message, inputs: Sequence[Known]) -> Values:
    return [inputs[0].value]


def _same_all(_node: Message, inputs: Sequence[Known]) -> Values:
    return [each.value for each in inputs]


def _select(node: Message, inputs: Sequence[Known]) -> Values:
    condition, one, other = _known(inputs)
    if node.op == "Select" and condition.ndim == 1:  # it picks rows
        condition = condition.reshape(condition.shape + (1,) * (one.ndim - 1))
    _require_small(np.broadcast_shapes(condition.shape, one.shape, other.shape))
    return [np.where(condition, one, other).astype(one.dtype)]


def _where(_node: Message, inputs: Sequence[Known]) -> Values:
    return [np.argwhere(_known(inputs)[0]).astype(np.int64)]


def _transpose(_node: Message, inputs: Sequence[Known]) -> Values:
    value, order = _known(inputs)
    return [np.transpose(value, tuple(order))]


def _reverse(_node: Message, inputs: Sequence[Known]) -> Values:
    value, axes = _known(inputs)
    return [np.flip(value, tuple(int(axis) for axis in axes))]


def _cumulative(function: Callable[..., KnownValue]) -> Evaluate:
    def evaluate(node: Message, inputs: Sequence[Known]) -> Values:
        if _flag(node, "exclusive") or _flag(node, "reverse"):
            return None
        value, axis = _known(inputs)
        found = function(value, axis=int(axis)).astype(value.dtype)
        _require_exact(value, found)
        return [found]

    return evaluate


def _invert(_node: Message, inputs: Sequence[Known]) -> Values:
    return [np.argsort(_known(inputs)[0]).astype(_known(inputs)[0].dtype)]


def _list_diff(node: Message, inputs: Sequence[Known]) -> Values:
    one, other = _known(inputs)
    left_out = set(other.tolist())
    kept = np.array([index for index, each in enumerate(one.tolist()) if each not in left_out], dtype=np.int64)
    return [one[kept], kept.astype(_type(node, "out_idx", 3))]


def _broadcast_shapes(_node: Message, inputs: Sequence[Known]) -> Values:
    one, other = _known(inputs)
    return [np.array(np.broadcast_shapes(tuple(one), tuple(other)), dtype=one.dtype)]


def _broadcast_gradients(_node: Message, inputs: Sequence[Known]) -> Values:
    """The axes over which the gradient of a broadcast is summed, for both sides; empty where the shapes are equal."""
    one, other = _known(inputs)
    if np.array_equal(one, other):
        return [one[:0], other[:0]]
    rank = max(len(one), len(other))
    padded = [[1] * (rank - len(each)) + each.tolist() for each in (one, other)]
    return [np.array([axis for axis in range(rank) if each[axis] == 1], dtype=one.dtype) for each in padded]


def _concat_offsets(_node: Message, inputs: Sequence[Known]) -> Values:
    axis, *shapes = _known(inputs)
    offsets, offset = [], 0
    for shape in shapes:
        row = np.zeros_like(shape)
        row[int(axis)] = offset
        offset += int(shape[int(axis)])
        offsets.append(row)
    return offsets


def _stitch(_node: Message, inputs: Sequence[Known]) -> Values:
    values = _known(inputs)
    indices, data = values[: len(values) // 2], values[len(values) // 2 :]
    count = 1 + max(int(each.max(initial=-1)) for each in indices)
    inner = data[0].shape[indices[0].ndim :]
    _require_small((count, *inner))
    if len({int(each) for index in indices for each in index.ravel()}) < count:
        return None
    stitched = np.zeros((count, *inner), dtype=data[0].dtype)
    for index, part in zip(indices, data, strict=True):
        stitched[index.ravel()] = part.reshape((index.size, *inner))
    return [stitched]


def _split(node: Message, inputs: Sequence[Known]) -> Values:
    axis, value = _known(inputs)
    parts = _attribute(node, "num_split", 1)
    _require_small([parts])
    return list(np.split(value, parts, axis=int(axis)))


def _split_at(_node: Message, inputs: Sequence[Known]) -> Values:
    value, sizes, axis = _known(inputs)
    lengths = [int(size) for size in sizes]
    if -1 in lengths:
        lengths[lengths.index(-1)] = value.shape[int(axis)] - sum(lengths) - 1
    return list(np.split(value, np.cumsum(lengths)[:-1], axis=int(axis)))


def _list_length(_node: Message, inputs: Sequence[Known]) -> Values:
    items = inputs[0].items
    return None if items is None or items.count < 0 else [np.array(items.count, dtype=np.int32)]


def _element_shape(node: Message, inputs: Sequence[Known]) -> Values:
    items = inputs[0].items
    if items is None or items.shape is None or not is_known(items.shape):
        return None
    return [np.array(items.shape, dtype=_type(node, "shape_type", 3))]


def _scatter_update(_node: Message, inputs: Sequence[Known]) -> Values:
    value, indices, updates = _known(inputs)
    changed = value.copy()
    changed[tuple(np.moveaxis(indices, -1, 0))] = updates
    return [changed]


def _floor_divided(one: KnownValue, other: KnownValue) -> KnownValue:
    return np.asarray(np.floor(one / other) if one.dtype.kind == "f" else np.floor_divide(one, other))


def _divided(one: KnownValue, other: KnownValue) -> KnownValue:
    """The quotient; integers round towards zero. Raises ZeroDivisionError for an integer divided by zero."""
    if one.dtype.kind == "f":
        return np.asarray(one / other)
    if not np.all(other):
        raise ZeroDivisionError
    quotient = np.floor_divide(one, other)
    return np.asarray(quotient + ((quotient < 0) & (quotient * other != one)))


def _power(one: KnownValue, other: KnownValue) -> KnownValue:
    found = np.asarray(np.power(one, other))
    _require_exact(one, other, found)
    return found


def _rounded(value: KnownValue) -> KnownValue:
    if value.dtype.kind != "f":
        raise TypeError("TensorFlow makes zeros of integers")
    return np.asarray(np.rint(value))


EVALUATED: Mapping[str, Evaluate] = {
    "Shape": _shape,
    "ShapeN": _shape,
    "Rank": _rank,
    "Size": _size,
    "Pack": _pack,
    "Unpack": _unpack,
    "ConcatV2": _concat,
    "Concat": _concat_first,
    "StridedSlice": _strided_slice,
    "Slice": _slice,
    "GatherV2": _gather,
    "Gather": _gather,
    "Range": _range,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "ExpandDims": _expand,
    "Fill": _fill,
    "Tile": _tile,
    "BroadcastTo": _broadcast,
    "Prod": _reduction(np.prod),
    "Sum": _reduction(np.sum),
    "Max": _reduction(np.max),
    "Min": _reduction(np.min),
    "All": _reduction(np.all),
    "Any": _reduction(np.any),
    "Cast": _cast,
    **dict.fromkeys(("Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape", "DeepCopy"), _same),
    "IdentityN": _same_all,
    **dict.fromkeys(("Add", "AddV2"), _of_values(np.add)),
    "Sub": _of_values(np.subtract),
    "Mul": _of_values(np.multiply),
    "FloorDiv": _of_values(_floor_divided),
    **dict.fromkeys(("Div", "TruncateDiv", "RealDiv"), _of_values(_divided)),
    "FloorMod": _of_values(np.mod),
    "Mod": _of_values(np.fmod),
    "Pow": _of_values(_power),
    "Neg": _of_values(np.negative),
    "Abs": _of_values(np.abs),
    "Sign": _of_values(np.sign),
    "Square": _of_values(np.square),
    "Sqrt": _of_values(np.sqrt),
    "Ceil": _of_values(np.ceil),
    "Floor": _of_values(np.floor),
    **dict.fromkeys(("Round", "Rint"), _of_values(_rounded)),
    "Maximum": _of_values(np.maximum),
    "Minimum": _of_values(np.minimum),
    "ZerosLike": _of_values(np.zeros_like),
    "OnesLike": _of_values(np.ones_like),
    "Equal": _tests(np.equal),
    "NotEqual": _tests(np.not_equal),
    "Less": _tests(np.less),
    "LessEqual": _tests(np.less_equal),
    "Greater": _tests(np.greater),
    "GreaterEqual": _tests(np.greater_equal),
    "LogicalAnd": _tests(np.logical_and),
    "LogicalOr": _tests(np.logical_or),
    "LogicalNot": _tests(np.logical_not),
    **dict.fromkeys(("Select", "SelectV2"), _select),
    "Where": _where,
    "Transpose": _transpose,
    "ReverseV2": _reverse,
    "Cumsum": _cumulative(np.cumsum),
    "Cumprod": _cumulative(np.cumprod),
    "InvertPermutation": _invert,
    "ListDiff": _list_diff,
    "BroadcastArgs": _broadcast_shapes,
    "BroadcastGradientArgs": _broadcast_gradients,
    "ConcatOffset": _concat_offsets,
    **dict.fromkeys(("DynamicStitch", "ParallelDynamicStitch"), _stitch),
    "Split": _split,
    "SplitV": _split_at,
    "TensorListLength": _list_length,
    "TensorListElementShape": _element_shape,
    "TensorScatterUpdate": _scatter_update,
}
"""op type → function that evaluates its outputs"""
