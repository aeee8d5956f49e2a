"""Evaluates ops on lists and arrays of tensors and on variables' handles: the elements that they hold, their outputs.

TensorFlow's shape functions know a list's elements only while Python builds the graph; a file does not keep them.
Source: tensorflow/core/ops/list_ops.cc, resource_variable_ops.cc.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from tensorflow.core.framework import types_pb2

from engine.costs.tensorflow.inference import containers, ragged
from engine.costs.tensorflow.inference.containers import Outputs
from engine.costs.tensorflow.inference.known import (
    OPEN,
    Items,
    Known,
    KnownShape,
    agreed,
    is_known,
    longest,
    numpy_type,
    shape_in,
    shape_of_message,
)
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES

VARIANT, INT32 = types_pb2.DT_VARIANT, types_pb2.DT_INT32


def outputs_of(node: Message, inputs: Sequence[Known]) -> Outputs | None:
    """[outputs] the outputs of an op on a list or a handle; None for any other op, or one whose inputs do not fit."""
    evaluate = EVALUATED.get(node.op)
    if evaluate is None:
        return None
    try:
        return evaluate(node, inputs)
    except (IndexError, ValueError, TypeError, OverflowError):
        return None


def a_list(items: Items, bounded: bool = False) -> Known:
    """A list's handle, of the given elements."""
    return Known(VARIANT, (), None, items, bounded)


def _number(node: Message, key: str = "element_dtype") -> int:
    return int(node.attr[key].type) if key in node.attr else 0


def _items(known: Known, node: Message) -> Items:
    return known.items or Items(_number(node), None, OPEN)


def _scalar(known: Known) -> int:
    """The value of a known integer scalar, or OPEN."""
    return OPEN if known.value is None or known.value.size != 1 else max(OPEN, int(known.value.reshape(())))


def _element_shape(known: Known) -> KnownShape:
    """The shape in an `element_shape` input; None for a scalar -1, which leaves it open."""
    return shape_in(known)


def _tensor(items: Items, shape: KnownShape, bounded: bool) -> Known:
    return Known(items.number, shape, None, None, bounded)


def _reserve(node: Message, inputs: Sequence[Known]) -> Outputs:
    return [a_list(Items(_number(node), _element_shape(inputs[0]), _scalar(inputs[1])), inputs[1].bounded)]


def _empty(node: Message, inputs: Sequence[Known]) -> Outputs:
    return [a_list(Items(_number(node), _element_shape(inputs[0]), 0))]


def _from_tensor(node: Message, inputs: Sequence[Known]) -> Outputs:
    shape = inputs[0].shape
    inner = _element_shape(inputs[1]) if shape is None else agreed(shape[1:], _element_shape(inputs[1]))
    return [a_list(Items(_number(node), inner, OPEN if not shape else shape[0]), inputs[0].bounded)]


def _with(items: Items, element: KnownShape) -> tuple[KnownShape, bool]:
    """The shape of a list's elements with one more of shape `element`; whether it is a maximum of different shapes."""
    if items.count == 0 or element is None or items.shape is None or len(element) != len(items.shape):
        return agreed(element, items.shape), False
    shape = agreed(longest([element, items.shape]), agreed(element, items.shape))
    return shape, any(agreed(each, shape) != shape for each in (items.shape, element))


def _set_item(node: Message, inputs: Sequence[Known]) -> Outputs:
    """Write an element; a list that may grow grows by one where the index is unknown, as when it is filled."""
    items = _items(inputs[0], node)
    shape, is_largest = _with(items, inputs[2].shape)
    bounded = inputs[0].bounded or inputs[2].bounded or is_largest
    count, index = items.count, _scalar(inputs[1])
    key = "resize_if_index_out_of_bounds"
    if key in node.attr and node.attr[key].b and count >= 0:
        bounded = bounded or index < 0
        count = max(count, index + 1) if index >= 0 else count + 1
    return [a_list(Items(items.number, shape, count), bounded)]


def _get_item(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _items(inputs[0], node)
    return [_tensor(items, agreed(items.shape, _element_shape(inputs[2])), inputs[0].bounded)]


def _push(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _items(inputs[0], node)
    count = items.count + 1 if items.count >= 0 else OPEN
    value = _numbers(inputs[1])
    if items.count != 0 and items.value != value:
        value = None
    shape, is_largest = _with(items, inputs[1].shape)
    return [a_list(Items(items.number, shape, count, value), is_largest or inputs[0].bounded or inputs[1].bounded)]


def _numbers(known: Known) -> tuple[int, ...] | None:
    """The integers of a vector or a scalar, None where they are unknown."""
    if known.value is None or known.value.dtype.kind not in "iu" or known.value.ndim > 1:
        return None
    return tuple(int(number) for number in known.value.reshape(-1))


def _push_batch(node: Message, inputs: Sequence[Known]) -> Outputs:
    shape = inputs[1].shape
    items = _items(inputs[0], node)
    count = items.count + 1 if items.count >= 0 else OPEN
    element, is_largest = _with(items, shape[1:] if shape else None)
    bounded = is_largest or inputs[0].bounded or inputs[1].bounded
    return [Known(VARIANT, inputs[0].shape, None, Items(items.number, element, count), bounded)]


def _pop(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _items(inputs[0], node)
    count = max(0, items.count - 1) if items.count >= 0 else OPEN
    shape = agreed(items.shape, _element_shape(inputs[1]))
    bounded = inputs[0].bounded
    element = _tensor(items, shape, bounded)
    dtype = numpy_type(items.number)
    if items.value is not None and dtype is not None and shape is not None and len(shape) <= 1:
        element = replace(element, value=np.array(items.value, dtype=dtype).reshape([len(items.value)] * len(shape)))
    return [a_list(Items(items.number, items.shape, count, items.value), bounded), element]


def _stack(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _items(inputs[0], node)
    claimed = int(node.attr["num_elements"].i) if "num_elements" in node.attr else OPEN
    inner = agreed(items.shape, _element_shape(inputs[1]))
    count = items.count if items.count >= 0 else max(OPEN, claimed)
    return [_tensor(items, None if inner is None else (count, *inner), inputs[0].bounded)]


def _concat(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _items(inputs[0], node)
    inner = items.shape
    total = items.count * inner[0] if inner and inner[0] >= 0 and items.count >= 0 else OPEN
    shape = None if not inner else (total, *inner[1:])
    return [_tensor(items, shape, inputs[0].bounded), Known(types_pb2.DT_INT64, (items.count,))]


def _gather(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _items(inputs[0], node)
    inner, indices = agreed(items.shape, _element_shape(inputs[2])), inputs[1].shape
    return [_tensor(items, None if inner is None or indices is None else (*indices, *inner), inputs[0].bounded)]


def _scatter(node: Message, inputs: Sequence[Known]) -> Outputs:
    shape = inputs[0].shape
    count = _scalar(inputs[3]) if len(inputs) > 3 else OPEN
    count = count if count >= 0 else _count_by(inputs[1])
    return [a_list(Items(_number(node), shape[1:] if shape else _element_shape(inputs[2]), count), inputs[0].bounded)]


def _count_by(indices: Known) -> int:
    """The length of a list that has elements at `indices`."""
    return OPEN if indices.value is None else 1 + int(indices.value.max(initial=-1))


def _scatter_more(node: Message, inputs: Sequence[Known]) -> Outputs:
    """Write elements; the list grows where an index lies behind its end."""
    items, rows = _items(inputs[0], node), inputs[1].shape
    count = _count_by(inputs[2])
    shape, is_largest = _with(items, rows[1:] if rows else None)
    count = max(items.count, count) if min(items.count, count) >= 0 else OPEN
    return [a_list(Items(items.number, shape, count), is_largest or inputs[0].bounded or inputs[1].bounded)]


def _split(node: Message, inputs: Sequence[Known]) -> Outputs:
    """Split a tensor into a list; all elements count as long as the longest."""
    shape, lengths = inputs[0].shape, inputs[2]
    inner: KnownShape = None
    alike = True
    if shape and lengths.value is not None and lengths.value.size:
        inner = (int(lengths.value.max()), *shape[1:])
        alike = bool(lengths.value.min() == lengths.value.max())
    count = lengths.shape[0] if lengths.shape else OPEN
    return [a_list(Items(_number(node), inner, count), bounded=inputs[0].bounded or not alike)]


def _resize(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _items(inputs[0], node)
    return [a_list(Items(items.number, items.shape, _scalar(inputs[1])), inputs[0].bounded)]


def _joined(node: Message, inputs: Sequence[Known]) -> Outputs:
    first, second = _items(inputs[0], node), _items(inputs[1], node)
    count = first.count + second.count if min(first.count, second.count) >= 0 else OPEN
    shape, is_largest = _with(first, second.shape)
    return [a_list(Items(first.number, shape, count), is_largest or inputs[0].bounded or inputs[1].bounded)]


def _passed(_node: Message, inputs: Sequence[Known]) -> Outputs | None:
    """Pass on a list, a handle or an array's flow, or compute a list elementwise."""
    return [inputs[0]] if inputs[0].number in HANDLES or inputs[0].items is not None else None


def _variable(node: Message, _inputs: Sequence[Known]) -> Outputs:
    shape = shape_of_message(node.attr["shape"].shape) if "shape" in node.attr else None
    return [Known(types_pb2.DT_RESOURCE, (), None, Items(_number(node, "dtype"), shape))]


def _read(node: Message, inputs: Sequence[Known]) -> Outputs:
    return [_tensor(Items(_number(node, "dtype"), None), inputs[0].items.shape if inputs[0].items else None, False)]


def _variable_shape(node: Message, inputs: Sequence[Known]) -> Outputs | None:
    items = inputs[0].items
    if items is None or items.shape is None:
        return None
    number = _number(node, "out_type") or INT32
    value = np.array(items.shape, dtype=numpy_type(number)) if is_known(items.shape) else None
    return [Known(number, (len(items.shape),), value)]


def _resource_gather(node: Message, inputs: Sequence[Known]) -> Outputs | None:
    items, indices = inputs[0].items, inputs[1].shape
    if items is None or items.shape is None or indices is None:
        return None
    batch = int(node.attr["batch_dims"].i) if "batch_dims" in node.attr else 0
    return [Known(_number(node, "dtype"), (*indices, *items.shape[1 + batch :]), bounded=inputs[1].bounded)]


def _resource_gather_nd(node: Message, inputs: Sequence[Known]) -> Outputs | None:
    items, indices = inputs[0].items, inputs[1].shape
    if items is None or items.shape is None or not indices or not is_known(indices):
        return None
    return [Known(_number(node, "dtype"), (*indices[:-1], *items.shape[indices[-1] :]), bounded=inputs[1].bounded)]


def _array(node: Message, inputs: Sequence[Known]) -> Outputs:
    """Make an array of TensorFlow 1: its elements travel with its flow, in its oldest forms with its handle."""
    shape = shape_of_message(node.attr["element_shape"].shape) if "element_shape" in node.attr else None
    grows = "dynamic_size" in node.attr and node.attr["dynamic_size"].b
    items = Items(_number(node, "dtype"), shape, OPEN if grows else _scalar(inputs[0]))
    return [Known(types_pb2.DT_RESOURCE, (2,), None, items), *_flow(items)][: 2 if node.op.endswith("V3") else 1]


def _flow(items: Items) -> Outputs:
    return [Known(types_pb2.DT_FLOAT, (), None, items)]


def _held(handle: Known, flow: Known) -> Items:
    """The elements of an array, from its flow, which knows more, or from its handle."""
    return flow.items or handle.items or Items(0, None, OPEN)


def _array_write(_node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _held(inputs[0], inputs[3])
    return _flow(Items(items.number or inputs[2].number, agreed(items.shape, inputs[2].shape), items.count))


def _array_read(node: Message, inputs: Sequence[Known]) -> Outputs:
    return [Known(_number(node, "dtype"), _held(inputs[0], inputs[2]).shape)]


def _array_gather(node: Message, inputs: Sequence[Known]) -> Outputs:
    items, indices = _held(inputs[0], inputs[2]), inputs[1].shape
    claimed = shape_of_message(node.attr["element_shape"].shape) if "element_shape" in node.attr else None
    inner = agreed(items.shape, claimed)
    count = indices[0] if indices and indices[0] >= 0 else items.count
    return [Known(_number(node, "dtype"), None if inner is None else (count, *inner))]


def _array_scatter(_node: Message, inputs: Sequence[Known]) -> Outputs:
    items, shape = _held(inputs[0], inputs[3]), inputs[2].shape
    count = items.count if items.count >= 0 else _count_by(inputs[1])
    return _flow(Items(inputs[2].number, agreed(items.shape, shape[1:] if shape else None), count))


def _array_concat(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _held(inputs[0], inputs[1])
    inner = items.shape
    total = items.count * inner[0] if inner and inner[0] >= 0 and items.count >= 0 else OPEN
    return [
        Known(_number(node, "dtype"), None if not inner else (total, *inner[1:])),
        Known(types_pb2.DT_INT64, (items.count,)),
    ]


def _array_split(_node: Message, inputs: Sequence[Known]) -> Outputs:
    """Write the parts of a tensor; all count as long as the longest."""
    items, shape, lengths = _held(inputs[0], inputs[3]), inputs[1].shape, inputs[2]
    longest_part = OPEN if lengths.value is None or not lengths.value.size else int(lengths.value.max())
    inner = (longest_part, *shape[1:]) if shape else items.shape
    count = lengths.shape[0] if lengths.shape else items.count
    return _flow(Items(inputs[1].number, inner, count))


def _array_gradient(node: Message, inputs: Sequence[Known]) -> Outputs:
    """Make the array of the gradients: as many elements as the array has, of the same shape."""
    items = _held(inputs[0], inputs[1])
    if node.op == "TensorArrayGradWithShape":
        before = _element_shape(inputs[2])
        shape = None if before is None or items.shape is None else (*before, *items.shape)
        items = replace(items, shape=shape)
    return [Known(types_pb2.DT_RESOURCE, (2,), None, items), *_flow(items)][
        : 1 if node.op in _arrays("Grad")[:2] else 2
    ]


def _array_pack(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = _held(inputs[0], inputs[1])
    return [Known(_number(node, "dtype"), None if items.shape is None else (items.count, *items.shape))]


def _array_unpack(_node: Message, inputs: Sequence[Known]) -> Outputs:
    shape = inputs[1].shape
    return _flow(Items(inputs[1].number, shape[1:] if shape else None, shape[0] if shape else OPEN))


def _array_size(_node: Message, inputs: Sequence[Known]) -> Outputs:
    count = _held(inputs[0], inputs[1]).count
    return [Known(INT32, (), np.array(count, dtype=np.int32) if count >= 0 else None)]


def _arrays(op_type: str) -> list[str]:
    """An op type on TensorFlow 1's arrays in its three forms."""
    return [f"TensorArray{op_type}{version}" for version in ("", "V2", "V3")]


EVALUATED: Mapping[str, Callable[[Message, Sequence[Known]], Outputs | None]] = {
    "TensorListReserve": _reserve,
    "EmptyTensorList": _empty,
    "TensorListFromTensor": _from_tensor,
    "TensorListSetItem": _set_item,
    "TensorListGetItem": _get_item,
    "TensorListPushBack": _push,
    "TensorListPushBackBatch": _push_batch,
    "TensorListPopBack": _pop,
    "TensorListStack": _stack,
    **dict.fromkeys(("TensorListConcat", "TensorListConcatV2"), _concat),
    "TensorListGather": _gather,
    **dict.fromkeys(("TensorListScatter", "TensorListScatterV2"), _scatter),
    "TensorListScatterIntoExistingList": _scatter_more,
    "TensorListSplit": _split,
    "TensorListResize": _resize,
    "TensorListConcatLists": _joined,
    **dict.fromkeys(("AddN", "AddV2", "ZerosLike", "Identity", "StopGradient", "Snapshot"), _passed),
    "VarHandleOp": _variable,
    "ReadVariableOp": _read,
    "VariableShape": _variable_shape,
    "ResourceGather": _resource_gather,
    "ResourceGatherNd": _resource_gather_nd,
    **dict.fromkeys(_arrays(""), _array),
    **dict.fromkeys(_arrays("Write"), _array_write),
    **dict.fromkeys(_arrays("Read"), _array_read),
    **dict.fromkeys(_arrays("Gather"), _array_gather),
    **dict.fromkeys(_arrays("Scatter"), _array_scatter),
    **dict.fromkeys(_arrays("Size"), _array_size),
    **dict.fromkeys(_arrays("Concat"), _array_concat),
    **dict.fromkeys(_arrays("Split"), _array_split),
    **dict.fromkeys((*_arrays("Grad"), "TensorArrayGradWithShape"), _array_gradient),
    "TensorArrayPack": _array_pack,
    "TensorArrayUnpack": _array_unpack,
    **containers.EVALUATED,
    **ragged.EVALUATED,
}
"""op type → function that evaluates its outputs"""
