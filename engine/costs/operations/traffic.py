"""The bytes that an op reads and writes, where these are not simply all of its inputs and outputs."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from engine.costs.operations.execution import Execution
from engine.costs.operations.light import CHANGES, ND_CHANGES, SPARSE_SUMS

Traffic: TypeAlias = Callable[[Execution, Sequence[int], Sequence[int]], int]
"""an execution, bytes of each input and of each output (0 where not known) → bytes read and written"""


def everything(_: Execution, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """All inputs are read and all outputs written."""
    return sum(inputs) + sum(outputs)


def nothing(_: Execution, _inputs: Sequence[int], _outputs: Sequence[int]) -> int:
    """No bytes: the output is a view of the input, or only its shape."""
    return 0


def gathered(_: Execution, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """Only the part of the first input that is output is read; the other inputs are read whole."""
    return sum(inputs[1:]) + 2 * sum(outputs)


def scattered(_: Execution, inputs: Sequence[int], _outputs: Sequence[int]) -> int:
    """The changed part of a variable is read and written: as many bytes as the last input, the change, has."""
    return sum(inputs[1:]) + 2 * sum(inputs[2:3])


def summed_rows(execution: Execution, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """Only the rows of the first input that the second one names are read. Raises MisfitError."""
    data, (rows,) = execution.input(0), execution.input(1, rank=1)
    held = data[0] if data else 0
    return (inputs[0] * rows // held if held else 0) + sum(inputs[1:]) + sum(outputs)


def copied_list(_: Execution, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """The elements of a list, of unknown bytes, are read and written: twice the known side."""
    return 2 * (sum(inputs[:1]) + sum(outputs[:1]))


def copied_array(_: Execution, inputs: Sequence[int], outputs: Sequence[int]) -> int:
    """The elements of an array, of unknown bytes, are read and written: twice the known tensor, the largest one."""
    return 2 * max((*inputs, *outputs), default=0)


VIEWS = (
    *("Identity", "IdentityN", "Reshape", "Squeeze", "ExpandDims", "StopGradient", "PreventGradient", "EnsureShape"),
    *("NoOp", "Shape", "ShapeN", "Size", "Rank", "Bitcast", "Const", "ReadVariableOp", "VariableV2", "VarHandleOp"),
    *("EmptyTensorList", "TensorListReserve", "TensorListLength", "TensorListElementShape", "TensorListResize"),
    *("TensorListConcatLists", "TensorListGetItem", "TensorListSetItem", "TensorListPushBack", "TensorListPopBack"),
)
VERSIONS = ("", "V2", "V3")
GATHERS = ("Gather", "GatherV2", "GatherNd", "ResourceGather", "ResourceGatherNd")
LIST_COPIES = (
    *("TensorListStack", "TensorListGather", "TensorListConcat", "TensorListConcatV2", "TensorListFromTensor"),
    *("TensorListScatter", "TensorListScatterV2", "TensorListSplit"),
)
STACKS_AND_ARRAYS = (
    *("Stack", "StackPush", "StackPop", "StackClose", "StackV2", "StackPushV2", "StackPopV2", "StackCloseV2"),
    *(f"TensorArray{name}{version}" for name in ("", "Grad", "Write", "Read", "Size", "Close") for version in VERSIONS),
    "TensorArrayGradWithShape",
)
"""op types that hand on elements, or none, by reference"""
ARRAY_COPIES = (
    *(f"TensorArray{name}{version}" for name in ("Gather", "Scatter", "Concat", "Split") for version in VERSIONS),
    *("TensorArrayPack", "TensorArrayUnpack"),
)
OF_CONTAINERS = frozenset((*STACKS_AND_ARRAYS, *ARRAY_COPIES))
"""op types of stacks and arrays: the estimator counts elements that are handed on, and not those that are copied"""
TRAFFIC: dict[str, Traffic] = {
    **dict.fromkeys(VIEWS, nothing),
    **dict.fromkeys(GATHERS, gathered),
    **{f"{kind}Scatter{change}": scattered for kind in ("", "Resource") for change in (*CHANGES, "Update")},
    **{f"{kind}ScatterNd{change}": scattered for kind in ("", "Resource") for change in (*ND_CHANGES, "Update")},
    **dict.fromkeys(SPARSE_SUMS, summed_rows),
    **dict.fromkeys(LIST_COPIES, copied_list),
    **dict.fromkeys(STACKS_AND_ARRAYS, nothing),
    **dict.fromkeys(ARRAY_COPIES, copied_array),
}
