"""Evaluates ops on tables, queues, accumulators and maps: what they hold, and the outputs that follow from it.

TensorFlow's shape functions know what a container holds only while Python builds the graph, and of a hash table not
even then; so the output of a lookup, and all that follows it, has no shape. Here the handle carries it.
Source: tensorflow/core/ops/lookup_ops.cc, data_flow_ops.cc, map_ops.cc.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tensorflow.core.framework import types_pb2

from engine.costs.tensorflow.inference.known import OPEN, UNKNOWN, Items, Known, KnownShape, is_known, shape_of_message
from engine.graphs.tensorflow.messages import Message

Outputs: TypeAlias = Sequence[Known]
RESOURCE, VARIANT, INT64 = types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT, types_pb2.DT_INT64


def _number(node: Message, key: str) -> int:
    return int(node.attr[key].type) if key in node.attr else 0


def _shape(node: Message, key: str) -> KnownShape:
    return shape_of_message(node.attr[key].shape) if key in node.attr else None


def _scalar(known: Known) -> int:
    """The value of a known integer scalar, or OPEN."""
    return OPEN if known.value is None or known.value.size != 1 else max(OPEN, int(known.value.reshape(())))


def _rows(count: int, inner: KnownShape) -> KnownShape:
    """The shape of `count` elements of shape `inner`."""
    return None if inner is None else (count, *inner)


def _handle(items: Items) -> Outputs:
    """A container's handle. Handles of TensorFlow 1's first form, refs to text, count as resources too."""
    return [Known(RESOURCE, (), None, items)]


def _table(node: Message, inputs: Sequence[Known]) -> Outputs:
    """Make a table of values of one shape; an empty key shows the shape of its keys, which are else scalars."""
    value = _shape(node, "value_shape") if "value_shape" in node.attr else ()
    key = Items(_number(node, "key_dtype"), inputs[0].shape if inputs else (), OPEN)
    return _handle(Items(_number(node, "value_dtype"), value, OPEN, parts=(key,)))


def _looked_up(node: Message, inputs: Sequence[Known]) -> Outputs:
    """A value for each key. The default has the shape of a value, which counts where the table itself is fed."""
    items, keys, default = inputs[0].items, inputs[1], inputs[2]
    key = items.parts[0].shape if items is not None and items.parts else ()
    value = items.shape if items is not None and items.shape is not None else default.shape
    shape = None
    if keys.shape is not None and key is not None and value is not None and len(key) <= len(keys.shape):
        shape = (*keys.shape[: len(keys.shape) - len(key)], *value)
    return [Known(_number(node, "Tout"), shape, bounded=keys.bounded)]


def _exported(node: Message, inputs: Sequence[Known]) -> Outputs:
    """All keys and values of a table, whose number depends on data."""
    items = inputs[0].items
    key = items.parts[0].shape if items is not None and items.parts else None
    value = items.shape if items is not None else None
    return [Known(_number(node, "Tkeys"), _rows(OPEN, key)), Known(_number(node, "Tvalues"), _rows(OPEN, value))]


def _table_size(_node: Message, _inputs: Sequence[Known]) -> Outputs:
    return [Known(INT64, ())]


def _queue(node: Message, _inputs: Sequence[Known]) -> Outputs:
    """Make a queue or a barrier; the shapes of its components are known if its attribute gives them."""
    numbers = list(node.attr["component_types"].list.type)
    shapes: list[KnownShape] = [shape_of_message(shape) for shape in node.attr["shapes"].list.shape]
    if node.op.startswith("PriorityQueue"):
        numbers, shapes = [INT64, *numbers], [(), *shapes]
    if len(shapes) < len(numbers):
        shapes = [*shapes, *[None] * (len(numbers) - len(shapes))]
    return _handle(Items(0, None, OPEN, parts=tuple(map(Items, numbers, shapes))))


def _components(node: Message, inputs: Sequence[Known]) -> list[Items]:
    """The components of a queue's element."""
    items = inputs[0].items
    numbers = list(node.attr["component_types"].list.type)
    if items is not None and len(items.parts) == len(numbers):
        return list(items.parts)
    return [Items(number, None) for number in numbers]


def _dequeued(node: Message, inputs: Sequence[Known]) -> Outputs:
    return [Known(part.number, part.shape) for part in _components(node, inputs)]


def _dequeued_many(node: Message, inputs: Sequence[Known]) -> Outputs:
    """The given number of elements, at most so many at a queue's end."""
    count, bounded = _scalar(inputs[1]), "UpTo" in node.op
    return [Known(part.number, _rows(count, part.shape), bounded=bounded) for part in _components(node, inputs)]


def _taken_of_barrier(node: Message, inputs: Sequence[Known]) -> Outputs:
    count = _scalar(inputs[1])
    parts = [Known(part.number, _rows(count, part.shape)) for part in _components(node, inputs)]
    return [Known(INT64, (count,)), Known(types_pb2.DT_STRING, (count,)), *parts]


def _accumulator(node: Message, _inputs: Sequence[Known]) -> Outputs:
    return _handle(Items(_number(node, "dtype"), _shape(node, "shape"), OPEN))


def _average(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = inputs[0].items
    return [Known(_number(node, "dtype"), None if items is None else items.shape)]


def _sparse_average(node: Message, inputs: Sequence[Known]) -> Outputs:
    """The changed rows of a sparse average, whose number depends on data: indices, values, shape."""
    items = inputs[0].items
    shape = None if items is None else items.shape
    values = _rows(OPEN, shape[1:]) if shape else None
    return [
        Known(INT64, (OPEN,)),
        Known(_number(node, "dtype"), values),
        Known(INT64, (len(shape),) if shape else None),
    ]


def _map(items: Items) -> Outputs:
    return [Known(VARIANT, (), None, items)]


def _empty_map(_node: Message, _inputs: Sequence[Known]) -> Outputs:
    return _map(Items(0, None, 0))


def _inserted(_node: Message, inputs: Sequence[Known]) -> Outputs:
    """A map with one more entry; its values count as alike."""
    items, key, value = inputs[0].items or Items(0, None, OPEN), inputs[1], inputs[2]
    is_alike = items.count == 0 or items.shape == value.shape
    count = items.count + 1 if items.count >= 0 else OPEN
    return _map(Items(value.number, value.shape if is_alike else None, count, parts=(Items(key.number, key.shape),)))


def _erased(_node: Message, inputs: Sequence[Known]) -> Outputs:
    return [inputs[0]]


def _found(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = inputs[0].items
    return [Known(_number(node, "value_dtype"), None if items is None else items.shape)]


def _keys(node: Message, inputs: Sequence[Known]) -> Outputs:
    items = inputs[0].items
    if items is None or not items.parts:
        return [UNKNOWN]
    return [Known(_number(node, "key_dtype"), _rows(items.count, items.parts[0].shape))]


def _of_element(node: Message, _inputs: Sequence[Known]) -> Outputs | None:
    """An element of a data pipeline or an optional value, whose shapes an attribute gives; None where they are open."""
    numbers, shapes = node.attr["output_types"].list.type, node.attr["output_shapes"].list.shape
    found = [Known(number, shape_of_message(shape)) for number, shape in zip(numbers, shapes, strict=False)]
    return found if len(found) == len(numbers) and all(is_known(each.shape) for each in found) else None


def _forms(*op_types: str) -> list[str]:
    """These op types in both forms: with a ref to text as handle, and with a resource."""
    return [f"{op_type}{version}" for op_type in op_types for version in ("", "V2")]


TABLES = (
    *_forms("HashTable", "MutableHashTable", "MutableHashTableOfTensors", "MutableDenseHashTable"),
    *("AnonymousHashTable", "AnonymousMutableHashTable", "AnonymousMutableHashTableOfTensors"),
    "AnonymousMutableDenseHashTable",
)
QUEUES = (*_forms("FIFOQueue", "RandomShuffleQueue", "PriorityQueue", "PaddingFIFOQueue"), "Barrier")
EVALUATED: Mapping[str, Callable[[Message, Sequence[Known]], Outputs | None]] = {
    **dict.fromkeys(TABLES, _table),
    **dict.fromkeys(_forms("LookupTableFind"), _looked_up),
    **dict.fromkeys(_forms("LookupTableExport"), _exported),
    **dict.fromkeys(_forms("LookupTableSize"), _table_size),
    **dict.fromkeys(QUEUES, _queue),
    **dict.fromkeys(_forms("QueueDequeue"), _dequeued),
    **dict.fromkeys(_forms("QueueDequeueMany", "QueueDequeueUpTo"), _dequeued_many),
    "BarrierTakeMany": _taken_of_barrier,
    **dict.fromkeys(
        ("ConditionalAccumulator", "ResourceConditionalAccumulator", "SparseConditionalAccumulator"), _accumulator
    ),
    **dict.fromkeys(("AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient"), _average),
    "SparseAccumulatorTakeGradient": _sparse_average,
    "EmptyTensorMap": _empty_map,
    "TensorMapInsert": _inserted,
    "TensorMapErase": _erased,
    "TensorMapLookup": _found,
    "TensorMapStackKeys": _keys,
    **dict.fromkeys(("OptionalGetValue", "DatasetToSingleElement", "ReduceDataset"), _of_element),
}
"""op type → function that evaluates its outputs"""
