"""Computes small values that follow from shapes and constants: lengths, axes, numbers of trips. No op of a file runs:
these are a few functions of integers, of at most `MOST_CONTENT` elements."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from engine.costs.onnx.execution import MisfitError, OnnxExecution, require
from engine.costs.onnx.known import ValueFacts
from engine.graphs.onnx.tensors import MOST_CONTENT, tensor_of

Small = NDArray[Any]
TYPES: dict[int, type[np.generic]] = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.INT32: np.int32,
    TensorProto.INT64: np.int64,
    TensorProto.BOOL: np.bool_,
}


def computed(execution: OnnxExecution) -> list[Small] | None:
    """The contents of the op's outputs; None where they do not follow, or are large."""
    function = FUNCTIONS.get(execution.node.op_type)
    if function is None:
        return None
    try:
        with np.errstate(all="ignore"):
            found = function(execution)
        made = found if isinstance(found, list) else [found]
        return [np.asarray(each) for each in made] if all(np.size(each) <= MOST_CONTENT for each in made) else None
    except (MisfitError, ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError, MemoryError):
        return None


def _content(execution: OnnxExecution, position: int) -> Small:
    known = execution.inputs[position] if position < len(execution.inputs) else None
    if known is None or known.content is None:
        raise MisfitError
    return known.content


def _all(execution: OnnxExecution) -> list[Small]:
    return [_content(execution, position) for position in range(len(execution.inputs))]


def _optional(execution: OnnxExecution, position: int, key: str) -> list[int] | None:
    """Integers that an input gives, or in older versions an attribute; None where neither does."""
    if execution.has(position):
        return [int(number) for number in _content(execution, position).reshape(-1)]
    return execution.numbers(key) or None


def _shape(execution: OnnxExecution) -> Small:
    lengths = execution.inputs[0].lengths if execution.inputs[0] is not None else None
    require(lengths is not None)
    assert lengths is not None
    rank = len(lengths)
    start, end = execution.number("start", 0), execution.number("end", rank)
    wanted = lengths[slice(*(max(0, min(rank, each + rank if each < 0 else each)) for each in (start, end)))]
    require(None not in wanted)
    return np.array(wanted, dtype=np.int64)


def _gather(execution: OnnxExecution) -> Small:
    data, indices = _all(execution)
    return np.take(data, indices.astype(np.int64), axis=execution.number("axis", 0))


def _slice(execution: OnnxExecution) -> Small:
    data = _content(execution, 0)
    starts, ends = _optional(execution, 1, "starts"), _optional(execution, 2, "ends")
    require(starts is not None and ends is not None)
    assert starts is not None and ends is not None
    axes = _optional(execution, 3, "axes") or list(range(len(starts)))
    steps = _optional(execution, 4, "steps") or [1] * len(starts)
    cut = [slice(None)] * data.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        stop: int | None = end
        if step < 0 and end < -data.shape[axis]:
            stop = None
        cut[axis] = slice(start, stop, step)
    return data[tuple(cut)]


def _concat(execution: OnnxExecution) -> Small:
    return np.concatenate(_all(execution), axis=execution.number("axis", 0))


def _unsqueeze(execution: OnnxExecution) -> Small:
    axes = _optional(execution, 1, "axes")
    require(axes is not None)
    assert axes is not None
    return np.expand_dims(_content(execution, 0), tuple(axes))


def _squeeze(execution: OnnxExecution) -> Small:
    axes = _optional(execution, 1, "axes")
    return np.squeeze(_content(execution, 0), None if axes is None else tuple(axes))


def _reshape(execution: OnnxExecution) -> Small:
    data, wanted = _content(execution, 0), _content(execution, 1)
    shape = [int(length) for length in wanted.reshape(-1)]
    shape = [length if length else data.shape[axis] for axis, length in enumerate(shape)]
    return data.reshape(shape)


def _cast(execution: OnnxExecution) -> Small:
    target = execution.number("to", 0)
    require(target in TYPES)
    return _content(execution, 0).astype(TYPES[target])


def _divide(execution: OnnxExecution) -> Small:
    first, second = _all(execution)
    if np.issubdtype(first.dtype, np.integer):
        require(bool(np.all(second != 0)))
        return np.trunc(first.astype(np.float64) / second).astype(first.dtype)
    return first / second


def _modulo(execution: OnnxExecution) -> Small:
    first, second = _all(execution)
    require(bool(np.all(second != 0)))
    return np.fmod(first, second) if execution.number("fmod", 0) else np.mod(first, second)


def _range(execution: OnnxExecution) -> Small:
    contents = _all(execution)
    start, limit, step = (each.reshape(()).item() for each in contents)
    require(step != 0 and math.ceil((limit - start) / step) <= MOST_CONTENT)
    return np.asarray(np.arange(start, limit, step), dtype=contents[0].dtype)


def _filled(execution: OnnxExecution) -> Small:
    shape = _bounded_shape(_content(execution, 0))
    value = execution.attributes.get("value")
    if value is None:
        return np.zeros(shape, dtype=np.float32)
    require(value.t.data_type in TYPES)
    content = tensor_of(value.t).content
    require(content is not None and content.size == 1)
    assert content is not None
    return np.full(shape, content.reshape(())[()])


def _expand(execution: OnnxExecution) -> Small:
    data, wanted = _all(execution)
    shape = np.broadcast_shapes(data.shape, tuple(int(length) for length in wanted.reshape(-1)))
    require(math.prod(shape) <= MOST_CONTENT)
    return np.broadcast_to(data, shape).copy()


def _tile(execution: OnnxExecution) -> Small:
    data, repeats = _all(execution)
    require(data.size * math.prod(max(int(number), 0) for number in repeats) <= MOST_CONTENT)
    return np.tile(data, [int(number) for number in repeats])


def _bounded_shape(lengths: Small) -> tuple[int, ...]:
    shape = tuple(int(length) for length in lengths.reshape(-1))
    require(all(length >= 0 for length in shape) and math.prod(shape) <= MOST_CONTENT)
    return shape


def _reduced(function: Callable[..., Any]) -> Callable[[OnnxExecution], Small]:
    def reduce(execution: OnnxExecution) -> Small:
        axes = _optional(execution, 1, "axes")
        if axes is None and execution.number("noop_with_empty_axes", 0):
            return _content(execution, 0)
        keep = bool(execution.number("keepdims", 1))
        data = _content(execution, 0)
        return np.asarray(function(data, axis=None if axes is None else tuple(axes), keepdims=keep), dtype=data.dtype)

    return reduce


def _split(execution: OnnxExecution) -> list[Small]:
    data, axis = _content(execution, 0), execution.number("axis", 0)
    sizes = _optional(execution, 1, "split")
    count = len(execution.outputs)
    if sizes is None:
        part = -(-data.shape[axis] // count)
        sizes = [min(part, data.shape[axis] - part * index) for index in range(count)]
    return list(np.split(data, np.cumsum(sizes)[:-1], axis=axis))


def _transpose(execution: OnnxExecution) -> Small:
    return np.transpose(_content(execution, 0), execution.numbers("perm") or None)


def _flatten(execution: OnnxExecution) -> Small:
    data, axis = _content(execution, 0), execution.number("axis", 1)
    return data.reshape(math.prod(data.shape[:axis]), -1)


def _of_two(function: Callable[[Small, Small], Small]) -> Callable[[OnnxExecution], Small]:
    def compute(execution: OnnxExecution) -> Small:
        first, second = _all(execution)
        require(math.prod(np.broadcast_shapes(first.shape, second.shape)) <= MOST_CONTENT)
        return function(first, second)

    return compute


def _of_many(function: Callable[[Small, Small], Small]) -> Callable[[OnnxExecution], Small]:
    def compute(execution: OnnxExecution) -> Small:
        found, *others = _all(execution)
        for each in others:
            require(math.prod(np.broadcast_shapes(found.shape, each.shape)) <= MOST_CONTENT)
            found = function(found, each)
        return found

    return compute


def _of_one(function: Callable[[Small], Small]) -> Callable[[OnnxExecution], Small]:
    return lambda execution: np.asarray(function(_content(execution, 0)))


def _where(execution: OnnxExecution) -> Small:
    condition, first, second = _all(execution)
    require(math.prod(np.broadcast_shapes(condition.shape, first.shape, second.shape)) <= MOST_CONTENT)
    return np.where(condition, first, second)


def _power(first: Small, second: Small) -> Small:
    if np.issubdtype(first.dtype, np.integer):
        require(bool(np.all(second >= 0) and np.all(second <= 62)))
    return np.asarray(np.power(first, second), dtype=first.dtype)


FUNCTIONS: dict[str, Callable[[OnnxExecution], Small | list[Small]]] = {
    "Shape": _shape,
    "Size": lambda execution: np.asarray(math.prod(execution.input(0)), dtype=np.int64),
    "Gather": _gather,
    "Slice": _slice,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Reshape": _reshape,
    "Cast": _cast,
    "Div": _divide,
    "Mod": _modulo,
    "Range": _range,
    "ConstantOfShape": _filled,
    "Expand": _expand,
    "Tile": _tile,
    "Split": _split,
    "Transpose": _transpose,
    "Flatten": _flatten,
    "Where": _where,
    "Identity": _of_one(lambda data: data),
    "Neg": _of_one(np.negative),
    "Abs": _of_one(np.abs),
    "Floor": _of_one(np.floor),
    "Ceil": _of_one(np.ceil),
    "Round": _of_one(np.rint),
    "Sqrt": _of_one(np.sqrt),
    "Reciprocal": _of_one(np.reciprocal),
    "Sign": _of_one(np.sign),
    "Not": _of_one(np.logical_not),
    "Pow": _of_two(_power),
    "Add": _of_two(np.add),
    "Sub": _of_two(np.subtract),
    "Mul": _of_two(np.multiply),
    "Equal": _of_two(np.equal),
    "Less": _of_two(np.less),
    "LessOrEqual": _of_two(np.less_equal),
    "Greater": _of_two(np.greater),
    "GreaterOrEqual": _of_two(np.greater_equal),
    "And": _of_two(np.logical_and),
    "Or": _of_two(np.logical_or),
    "Xor": _of_two(np.logical_xor),
    "Min": _of_many(np.minimum),
    "Max": _of_many(np.maximum),
    "Sum": _of_many(np.add),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "ReduceMax": _reduced(np.max),
    "ReduceMin": _reduced(np.min),
}
"""op type → its function, of contents that are all known"""


def with_contents(outputs: Sequence[ValueFacts], contents: Sequence[Small] | None) -> list[ValueFacts]:
    """`outputs` with their contents; lengths and types of the file's own kind stay."""
    if contents is None or len(contents) < len(outputs):
        return list(outputs)
    found = []
    for known, content in zip(outputs, contents, strict=False):
        dtype = TYPES.get(known.type)
        if dtype is None or (known.shape is not None and known.shape != content.shape):
            found.append(known)
        else:
            found.append(ValueFacts(known.type, content.shape, content.astype(dtype), None, known.is_bounded))
    return found
