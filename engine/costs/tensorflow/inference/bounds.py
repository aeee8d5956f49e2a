"""Upper bounds of lengths that depend on data, by op type.

A filter keeps at most all of its input, and so on. Where there is no bound, a person can give the length.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from engine.costs.tensorflow.inference.known import OPEN, Known, KnownShape, is_known
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import INPUTS, READS, VARIABLES

BoundOpenLength: TypeAlias = Callable[[Message, Sequence[Known]], int]
"""the largest length of the open dimensions of an op's outputs, or OPEN"""


def bounded_outputs(
    node: Message, inputs: Sequence[Known], outputs: Sequence[Known], given: int | None
) -> tuple[list[Known], int]:
    """`outputs` with their open lengths at their bound, or at the length a person has `given`; and that length.

    The length is OPEN where neither exists; the outputs are then unchanged.
    """
    length = given if given is not None else _bound(node, inputs)
    closed = [_closed(known, length) for known in outputs]
    is_changed = any(one is not other for one, other in zip(closed, outputs, strict=True))
    return closed, length if is_changed else OPEN


def _bound(node: Message, inputs: Sequence[Known]) -> int:
    """The upper bound of the open lengths of an op's outputs, or OPEN."""
    bound = BOUNDS.get(node.op)
    if bound is None:
        return OPEN
    try:
        return bound(node, inputs)
    except (IndexError, ValueError, TypeError, OverflowError):
        return OPEN


def _closed(known: Known, length: int) -> Known:
    """`known` with each open length set to `length`; unchanged where nothing is open."""
    if known.shape is None or is_known(known.shape) or length < 0:
        return known
    return replace(known, shape=tuple(length if each < 0 else each for each in known.shape), bounded=True)


def _elements(shape: KnownShape) -> int:
    return math.prod(shape) if shape is not None and is_known(shape) else OPEN


def _all_of(index: int) -> BoundOpenLength:
    """A bound: the number of elements of input `index`."""
    return lambda _node, inputs: _elements(inputs[index].shape)


def _length_of(index: int, axis: int) -> BoundOpenLength:
    """A bound: the length of input `index` along `axis`."""

    def bound(_node: Message, inputs: Sequence[Known]) -> int:
        shape = inputs[index].shape
        return OPEN if shape is None else shape[axis]

    return bound


def _of_whole_data(bound: BoundOpenLength) -> BoundOpenLength:
    """`bound` where the shape of input 0 is known, else OPEN: an open length of the input may be one of the output."""
    return lambda node, inputs: bound(node, inputs) if is_known(inputs[0].shape) else OPEN


def _suppressed(_node: Message, inputs: Sequence[Known]) -> int:
    """The smaller of `max_output_size` and the number of boxes."""
    boxes, most = inputs[0].shape, inputs[2].value
    lengths = [boxes[0]] if boxes and boxes[0] >= 0 else []
    lengths += [] if most is None else [max(0, int(most))]
    return min(lengths, default=OPEN)


def _rows_and_fill(_node: Message, inputs: Sequence[Known]) -> int:
    """The number of all entries, plus one for each row that may be empty."""
    shape, dense = inputs[0].shape, inputs[2].value
    if not shape or shape[0] < 0 or dense is None:
        return OPEN
    return shape[0] + int(dense[0])


def _axis_of_unique(inputs: Sequence[Known]) -> int | None:
    """The axis along which distinct slices are kept; None where distinct elements are kept."""
    value = inputs[1].value if len(inputs) > 1 else None
    is_axis = value is not None and value.size == 1 and value.dtype.kind in "iu"
    return int(value.reshape(())) if value is not None and is_axis else None


def _unique(_node: Message, inputs: Sequence[Known]) -> int:
    """The number of slices along the axis, or of elements."""
    shape, axis = inputs[0].shape, _axis_of_unique(inputs)
    return _elements(shape) if shape is None or axis is None else shape[axis]


UNIQUES = frozenset({"UniqueV2", "UniqueWithCountsV2"})
BOUNDS: Mapping[str, BoundOpenLength] = {
    "Where": _all_of(0),
    **dict.fromkeys(("Unique", "UniqueWithCounts", "ListDiff"), _all_of(0)),
    **dict.fromkeys(UNIQUES, _unique),
    **dict.fromkeys(
        (
            *("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3", "NonMaxSuppressionV4"),
            *("NonMaxSuppressionV5", "NonMaxSuppressionWithOverlaps"),
        ),
        _suppressed,
    ),
    "DynamicPartition": _of_whole_data(_all_of(1)),
    "SparseFillEmptyRows": _rows_and_fill,
    **dict.fromkeys(
        (
            *("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"),
            *("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"),
        ),
        _of_whole_data(lambda node, inputs: _elements(inputs[2 if node.op.startswith("Sparse") else 1].shape)),
    ),
    **dict.fromkeys(("TopK", "TopKV2"), _of_whole_data(_length_of(0, -1))),
    "TakeManySparseFromTensorsMap": _length_of(0, 0),
}
"""op type → the bound of its open lengths"""
NOT_OF_DATA = INPUTS | VARIABLES | {READS, "_Arg", "VariableShape"}
"""op types whose open lengths are those of an input or a variable, which has its own options; where an op of any other
type leaves a length open though its inputs are known, the length depends on data, and a person can give it"""
SLICES = frozenset({"StridedSlice", "Slice"})


def closed_length(before: Sequence[Known], after: Sequence[Known]) -> int:
    """The largest length that is open in `before` and known in `after`, or OPEN."""
    lengths = [
        length
        for one, other in zip(before, after, strict=True)
        for was, length in zip(one.shape or (), other.shape or (), strict=False)
        if was < 0
    ]
    return max(lengths, default=OPEN)


def largest_slice(node: Message, inputs: Sequence[Known], output: Known) -> Known:
    """`output` at the lengths of the input, for a slice whose ends depend on data and that keeps the input's axes.

    The same holds for distinct slices along an axis, in all dimensions but that axis, which becomes OPEN.
    """
    shape = inputs[0].shape if inputs else None
    axis = _axis_of_unique(inputs) if node.op in UNIQUES else None
    if axis is None and node.op not in SLICES:
        return output
    if shape is None or output.shape is None or len(shape) != len(output.shape):
        return output
    masks = ("new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    if any(key in node.attr and node.attr[key].i for key in masks):
        return output
    lengths = tuple(mine if mine >= 0 else theirs for mine, theirs in zip(output.shape, shape, strict=True))
    if axis is not None:
        axis %= max(1, len(lengths))
        return replace(output, shape=(*lengths[:axis], OPEN, *lengths[axis + 1 :]))
    return replace(output, shape=lengths, bounded=output.bounded or lengths != output.shape)
