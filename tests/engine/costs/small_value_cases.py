"""Ops on small tensors, as plain data: what `small_values.py` says of each must be what TensorFlow computes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Tensor: TypeAlias = tuple[str, Any]
"""numpy's name of a type; the value as nested lists"""
LEAST, MOST = -(2**31), 2**31 - 1
A_LIST = "list"
"""in the place of a tensor: a list of two tensors of shape [3]"""


@dataclass(frozen=True, slots=True)
class Case:
    """One op."""

    op: str
    inputs: Sequence[Tensor | str]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """int, bool, `DT_…`, or list of int; the types of inputs are written for themselves"""
    is_left: bool = False
    """whether the evaluation leaves it open, where it would have to guess"""


def ints(values: Any) -> Tensor:
    return "int32", values


def longs(values: Any) -> Tensor:
    return "int64", values


def floats(values: Any) -> Tensor:
    return "float32", values


def truths(values: Any) -> Tensor:
    return "bool", values


MATRIX = [[1, 2, 3], [4, 5, 6]]
CUBE = [[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]]
EMPTY: list[int] = []


def unary(op: str, *inputs: Tensor, **attributes: Any) -> list[Case]:
    """The op on each of the inputs."""
    return [Case(op, [each], attributes) for each in inputs]


def binary(op: str, *pairs: tuple[Tensor, Tensor]) -> list[Case]:
    return [Case(op, pair) for pair in pairs]


def arithmetic(op: str) -> list[Case]:
    """Wrap-around, broadcasting, other widths."""
    return binary(
        op,
        (ints([MOST, LEAST, 7, -7]), ints([1, -1, 3, 3])),
        (longs([2**63 - 1, -(2**63), 5]), longs([2, 3, 3])),
        (ints([[1], [-2]]), ints([3, 4, -5])),
        (floats([1.5, -2.25, 1.0, 3.0]), floats([0.5, 0.1, 0.1, 0.1])),
        (ints(5), ints(EMPTY)),
    )


def division(op: str) -> list[Case]:
    """Of negative numbers, and of the least one."""
    return binary(
        op,
        (ints([7, -7, 7, -7, LEAST, LEAST, 0]), ints([2, 2, -2, -2, 2, 3, -5])),
        (longs([-(2**63), 2**62 + 1, -9]), longs([10, 2, 4])),
        (ints(-9), ints([[2], [4]])),
    )


def comparison(op: str) -> list[Case]:
    return binary(
        op,
        (ints([1, 2, 3]), ints([2, 2, 2])),
        (floats([1.0, float("nan")]), floats([1.0, float("nan")])),
        (longs([[2**53 + 1], [2**53]]), longs([2**53])),
    )


def reduction(op: str) -> list[Case]:
    return [
        Case(op, [ints(CUBE), ints([0, 2])]),
        Case(op, [ints(CUBE), ints([-1])], {"keep_dims": True}),
        Case(op, [longs(MATRIX), ints(-2)]),
        Case(op, [ints(MATRIX), ints(EMPTY)]),
        Case(op, [ints([MOST, MOST, 3]), longs([0])]),
        Case(op, [floats([[1.0, 2.0], [3.0, 4.0]]), ints([0, 1])]),
    ]


def logical_reduction(op: str) -> list[Case]:
    cube = [[[True, False], [True, True]], [[False, False], [True, False]]]
    return [
        Case(op, [truths(cube), ints([0, 2])]),
        Case(op, [truths(cube), ints([-1])], {"keep_dims": True}),
        Case(op, [truths(EMPTY), ints([0])]),
    ]


def cumulative(op: str) -> list[Case]:
    return [
        Case(op, [ints(MATRIX), ints(1)]),
        Case(op, [ints(MATRIX), ints(-2)]),
        Case(op, [ints([MOST, 2, 3]), ints(0)]),
        Case(op, [ints(MATRIX), ints(0)], {"exclusive": True}, is_left=True),
        Case(op, [ints(MATRIX), ints(0)], {"reverse": True}, is_left=True),
        Case(op, [floats([0.1, 0.2, 0.3]), ints(0)], is_left=True),
    ]


def strided(value: Tensor, first: list[int], last: list[int], strides: list[int], **masks: int) -> Case:
    named = {f"{key}_mask": bits for key, bits in masks.items()}
    return Case("StridedSlice", [value, ints(first), ints(last), ints(strides)], named)


def gather(value: Tensor, indices: Any, axis: int) -> Case:
    return Case("GatherV2", [value, ints(indices), ints(axis)])


def stitched(op: str) -> list[Case]:
    return [
        Case(op, [ints(1), ints([0, 2]), ints([10, 11]), ints([[1, 2], [3, 4]])], {"N": 2}),
        Case(op, [ints([0, 1]), ints([[2], [0]]), longs([5, 6]), longs([[7], [8]])], {"N": 2}),
        Case(op, [ints([0]), ints([1]), floats([0.5]), floats([1.5])], {"N": 2}),
    ]


CASES: Sequence[Case] = [
    *unary("Shape", ints(CUBE), longs(EMPTY), floats(1.0)),
    Case("Shape", [ints(CUBE)], {"out_type": "DT_INT64"}),
    Case("ShapeN", [ints(CUBE), ints(1), ints(EMPTY)], {"N": 3, "out_type": "DT_INT64"}),
    Case("ShapeN", [ints(MATRIX)], {"N": 1}),
    *unary("Rank", ints(CUBE), longs(1)),
    *unary("Size", ints(CUBE), ints(EMPTY), floats(1.0)),
    Case("Size", [ints(MATRIX)], {"out_type": "DT_INT64"}),
    Case("Pack", [ints(1), ints(2), ints(3)], {"N": 3}),
    Case("Pack", [ints([1, 2]), ints([3, 4])], {"N": 2, "axis": 1}),
    Case("Pack", [ints([1, 2]), ints([3, 4])], {"N": 2, "axis": -1}),
    Case("Pack", [ints(MATRIX), ints(MATRIX)], {"N": 2, "axis": -3}),
    Case("Unpack", [ints(MATRIX)], {"num": 2}),
    Case("Unpack", [ints(MATRIX)], {"num": 3, "axis": -1}),
    Case("ConcatV2", [ints([1]), ints([2, 3]), ints(0)], {"N": 2}),
    Case("ConcatV2", [ints(MATRIX), ints(MATRIX), longs(-1)], {"N": 2}),
    Case("Concat", [ints(0), ints([1]), ints([2, 3])], {"N": 2}),
    Case("Concat", [ints(1), ints(MATRIX), ints(MATRIX)], {"N": 2}),
    strided(ints([1, 2, 3, 4, 5]), [1], [4], [2]),
    strided(ints([1, 2, 3, 4, 5]), [-1], [0], [-2]),
    strided(ints([1, 2, 3, 4, 5]), [0], [0], [-1], begin=1, end=1),
    strided(ints([1, 2, 3, 4, 5]), [-1], [0], [1], shrink_axis=1),
    strided(ints([1, 2, 3, 4, 5]), [2], [0], [1], begin=1, shrink_axis=1),
    strided(ints([1, 2, 3, 4, 5]), [-100], [100], [1]),
    strided(ints([1, 2, 3, 4, 5]), [100], [-100], [-1]),
    strided(ints([1, 2, 3, 4, 5]), [4], [1], [1]),
    strided(ints(CUBE), [0, 1], [0, 2], [1, 1], ellipsis=1),
    strided(ints(CUBE), [1, 0, 0], [2, 0, 1], [1, 1, 1], ellipsis=2, shrink_axis=5),
    strided(ints(CUBE), [0, 0, 1], [2, 0, 3], [1, 1, 1], new_axis=2),
    strided(ints(CUBE), [0, 0, 1], [2, 0, 3], [1, 1, 1], new_axis=2, shrink_axis=6),
    strided(ints(CUBE), [0, 0, 0], [0, 0, 0], [1, 1, 1], ellipsis=1, new_axis=6),
    strided(longs(MATRIX), [1], [2], [1]),
    Case("Slice", [ints(CUBE), ints([0, 1, 0]), ints([-1, 2, 1])]),
    Case("Slice", [ints([1, 2, 3]), longs([3]), longs([0])]),
    gather(ints([5, 6, 7]), [2, 0], 0),
    gather(ints(MATRIX), [[2, 0]], -1),
    Case("GatherV2", [ints(MATRIX), ints([[2, 0], [1, 1]]), ints(1)], {"batch_dims": 1}, is_left=True),
    Case("GatherV2", [ints(CUBE), ints([[1], [2]]), ints(-2)], {"batch_dims": -1}, is_left=True),
    gather(ints(MATRIX), 1, 0),
    Case("Gather", [ints([5, 6, 7]), ints([2, 0])]),
    Case("Gather", [longs(MATRIX), longs([[1], [0]])]),
    Case("Range", [ints(0), ints(5), ints(2)]),
    Case("Range", [ints(5), ints(-2), ints(-3)]),
    Case("Range", [longs(2**62), longs(2**62 + 3), longs(1)]),
    Case("Range", [ints(3), ints(3), ints(1)]),
    Case("Range", [floats(0.0), floats(0.9), floats(0.3)], is_left=True),
    Case("Range", [floats(0.0), floats(3.0), floats(1.0)]),
    Case("Reshape", [ints(MATRIX), ints([3, -1])]),
    Case("Reshape", [ints([[4]]), longs(EMPTY)]),
    Case("Squeeze", [ints([[[1], [2]]])]),
    Case("Squeeze", [ints([[[1], [2]]])], {"squeeze_dims": [-1]}),
    Case("ExpandDims", [ints([1, 2]), ints(-1)]),
    Case("ExpandDims", [ints(MATRIX), longs([1])]),
    Case("Fill", [ints([2, 3]), longs(7)]),
    Case("Fill", [longs(EMPTY), floats(0.5)]),
    Case("Fill", [ints([0, 3]), truths(True)]),
    Case("Tile", [ints(MATRIX), ints([2, 1])]),
    Case("Tile", [ints([1, 2]), longs([0])]),
    Case("BroadcastTo", [ints([[1], [2]]), ints([2, 2, 3])]),
    Case("BroadcastTo", [ints(1), longs([2])]),
    *(case for op in ("Prod", "Sum", "Max", "Min") for case in reduction(op)),
    *(case for op in ("All", "Any") for case in logical_reduction(op)),
    Case("Cast", [longs([2**32 + 5, -(2**40) - 3])], {"DstT": "DT_INT32"}),
    Case("Cast", [floats([1.9, -1.9, 0.0])], {"DstT": "DT_INT32"}),
    Case("Cast", [floats([1e30, float("nan"), -1e30])], {"DstT": "DT_INT32"}, is_left=True),
    Case("Cast", [floats([-1.0, 300.0])], {"DstT": "DT_UINT8"}, is_left=True),
    Case("Cast", [ints([0, -1, 2])], {"DstT": "DT_BOOL"}),
    Case("Cast", [truths([True, False])], {"DstT": "DT_FLOAT"}),
    Case("Cast", [ints([2**24 + 1])], {"DstT": "DT_FLOAT"}),
    *(
        case
        for op in ("Identity", "StopGradient", "PreventGradient", "Snapshot", "DeepCopy")
        for case in unary(op, ints(MATRIX), longs(EMPTY))
    ),
    Case("EnsureShape", [ints(MATRIX)], {"shape": [2, -1]}),
    Case("EnsureShape", [ints(EMPTY)], {"shape": [0]}),
    Case("IdentityN", [ints(1), longs([2, 3])]),
    Case("IdentityN", [floats(EMPTY)]),
    *(case for op in ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum") for case in arithmetic(op)),
    *(case for op in ("FloorDiv", "Div", "TruncateDiv", "FloorMod", "Mod") for case in division(op)),
    *(
        Case(op, [floats([1.0, -7.5, 7.5, 3.0]), floats([0.1, 2.0, -2.0, 0.3])])
        for op in ("FloorDiv", "Div", "RealDiv", "FloorMod", "Mod")
    ),
    Case("RealDiv", [floats([[1.0], [3.0]]), floats([3.0, 7.0])]),
    Case("Pow", [ints([2, -3, 7, 3]), ints([10, 3, 0, 40])]),
    Case("Pow", [longs(10), longs([18, 19])]),
    Case("Pow", [floats([2.0, 3.0]), floats([10.0, 2.0])]),
    Case("Sum", [floats([0.1, 0.2, 0.3, 1e8]), ints(0)], is_left=True),
    Case("Pow", [floats([1.1, 2.0, 0.5]), floats([7.0, 0.5, 3.3])], is_left=True),
    *unary("Neg", ints([5, -5, LEAST]), floats([1.5, 0.0])),
    *unary("Abs", ints([5, -5, LEAST]), floats([-1.5, 0.0])),
    *unary("Sign", ints([5, -5, 0]), floats([-1.5, 0.0])),
    *unary("Square", ints([5, -5, 2**16 + 1]), floats([-1.5, 0.1])),
    *unary("Sqrt", floats([4.0, 9.0, 2.0]), ("float64", [2.0, 144.0])),
    *unary("Ceil", floats([1.2, -1.2, 3.0]), ("float64", [0.1])),
    *unary("Floor", floats([1.2, -1.2, 3.0]), ("float64", [-0.1])),
    *unary("Round", floats([0.5, 1.5, -2.5, 2.6]), ("float64", [-0.5])),
    Case("Round", [ints([3, -3])], is_left=True),
    *unary("Rint", floats([0.5, 1.5, -2.5, 2.6]), ("float64", [-0.5])),
    *unary("ZerosLike", ints(MATRIX), longs(EMPTY)),
    *unary("OnesLike", ints(MATRIX), floats(2.0)),
    *(case for op in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual") for case in comparison(op)),
    *(
        Case(op, [truths([[True], [False]]), truths([True, False])])
        for op in ("LogicalAnd", "LogicalOr", "LogicalAnd", "LogicalOr")
    ),
    *(Case(op, [truths(True), truths([True, False, True])]) for op in ("LogicalAnd", "LogicalOr")),
    *unary("LogicalNot", truths([True, False]), truths(False)),
    Case("Select", [truths([True, False]), ints([[1, 2], [3, 4]]), ints([[5, 6], [7, 8]])]),
    Case("Select", [truths(False), ints([[1, 2], [3, 4]]), ints([[5, 6], [7, 8]])]),
    Case("Select", [truths([True, False]), ints([1, 2]), ints([5, 6])]),
    Case("SelectV2", [truths([True, False]), ints([[1, 2], [3, 4]]), ints(9)]),
    Case("SelectV2", [truths([[True], [False]]), longs([1, 2]), longs([5, 6])]),
    *unary("Where", truths([[True, False], [True, True]]), ints([0, 3, -1]), truths([False])),
    Case("Transpose", [ints(CUBE), ints([2, 0, 1])]),
    Case("Transpose", [ints(MATRIX), longs([1, 0])]),
    Case("ReverseV2", [ints(MATRIX), ints([-1])]),
    Case("ReverseV2", [ints(CUBE), longs([0, 2])]),
    Case("ReverseV2", [ints(CUBE), ints(EMPTY)]),
    *cumulative("Cumsum"),
    *cumulative("Cumprod"),
    *unary("InvertPermutation", ints([2, 0, 1]), longs([0])),
    Case("ListDiff", [ints([5, 1, 5, 3]), ints([1])]),
    Case("ListDiff", [longs([5, 1, 3]), longs([3, 3, 9])], {"out_idx": "DT_INT64"}),
    Case("BroadcastArgs", [ints([2, 1]), ints([3])]),
    Case("BroadcastArgs", [longs(EMPTY), longs([4, 5])]),
    *(
        Case("BroadcastGradientArgs", [ints(one), ints(other)])
        for one, other in (
            *(([2, 3], [2, 3]), ([2, 3], [3]), ([2, 3], [1, 3]), ([1, 3], [2, 1]), ([1], [1, 1]), ([], [2])),
            *(([1, 1], [1, 1]), ([1, 2], [1, 1]), ([4, 1, 2], [1, 2]), ([0, 1], [1, 5]), ([1], [2, 1]), ([1, 2], [2])),
        )
    ),
    Case("BroadcastGradientArgs", [longs([5, 1]), longs([1])]),
    Case("ConcatOffset", [ints(1), ints([2, 3]), ints([2, 4]), ints([2, 1])], {"N": 3}),
    Case("ConcatOffset", [ints(-2), ints([2, 3]), ints([1, 3])], {"N": 2}),
    *stitched("DynamicStitch"),
    *stitched("ParallelDynamicStitch"),
    Case("DynamicStitch", [ints([0, 1]), ints([1]), ints([5, 6]), ints([7])], {"N": 2}),
    Case("DynamicStitch", [ints([0, 3]), ints([5, 6])], {"N": 1}, is_left=True),
    Case("Split", [ints(1), ints([[1, 2, 3, 4]])], {"num_split": 2}),
    Case("Split", [ints(-2), ints(MATRIX)], {"num_split": 2}),
    Case("SplitV", [ints([1, 2, 3, 4, 5]), ints([2, -1, 1]), ints(0)], {"num_split": 3}),
    Case("SplitV", [ints(MATRIX), longs([0, 3]), ints(-1)], {"num_split": 2}),
    Case("TensorListLength", [A_LIST]),
    Case("TensorListLength", [A_LIST], {}),
    Case("TensorListElementShape", [A_LIST], {"shape_type": "DT_INT32"}),
    Case("TensorListElementShape", [A_LIST], {"shape_type": "DT_INT64"}),
    Case("TensorScatterUpdate", [ints([1, 2, 3]), ints([[2], [0]]), ints([9, 8])]),
    Case("TensorScatterUpdate", [ints(MATRIX), longs([[0, 1], [1, 2]]), ints([9, 8])]),
    Case("TensorScatterUpdate", [ints(MATRIX), ints([[1]]), ints([[7, 8, 9]])]),
]
