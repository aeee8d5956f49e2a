"""Partly known vectors through ops, and beside them the values of the same ops for drawn numbers. In a child alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from tensorflow.core.framework import node_def_pb2, types_pb2

from engine.child.parent import ReportProgress, Results
from engine.costs.tensorflow.inference.known import OPEN, Known, of_value
from engine.costs.tensorflow.inference.partial_values import ARITHMETIC, MOVES, SHAPES, partly_known
from engine.costs.tensorflow.inference.small_values import values_of
from engine.events import Json
from engine.graphs.tensorflow.messages import Message

INT32 = types_pb2.DT_INT32
DRAWS = 40
COMPLETIONS = 4
Case: TypeAlias = Callable[[np.random.Generator], tuple[dict[str, Any], list[Any]]]
"""attributes and inputs: an array of numbers in which OPEN stands for an unknown one, or a `Known`"""


def drawn(rng: np.random.Generator, length: int = 4) -> Any:
    """A vector of which some numbers are unknown."""
    return np.where(rng.random(length) < 0.5, OPEN, rng.integers(1, 9, length))


def known(*numbers: int) -> Any:
    """A vector whose numbers are all known."""
    return np.array(numbers, dtype=np.int64)


def scalar(number: int) -> Any:
    """A known scalar, or an unknown one."""
    return np.array(number, dtype=np.int64)


CASES: Mapping[str, Case] = {
    "Pack": lambda rng: ({"N": 3, "axis": 0}, [scalar(int(each)) for each in drawn(rng, 3)]),
    "ConcatV2": lambda rng: ({"N": 2}, [drawn(rng), drawn(rng, 2), scalar(0)]),
    "Concat": lambda rng: ({"N": 2}, [scalar(0), drawn(rng), drawn(rng, 2)]),
    "StridedSlice": lambda rng: (
        {"shrink_axis_mask": int(rng.integers(2))},
        [drawn(rng), known(int(rng.integers(3))), known(4), known(1)],
    ),
    "Slice": lambda rng: ({}, [drawn(rng), known(int(rng.integers(3))), known(2)]),
    "Gather": lambda rng: ({}, [drawn(rng), rng.integers(0, 4, 3)]),
    "GatherV2": lambda rng: ({}, [drawn(rng), rng.integers(0, 4, 3), scalar(0)]),
    "Unpack": lambda rng: ({"num": 4}, [drawn(rng)]),
    "Reshape": lambda rng: ({}, [drawn(rng), known(4)]),
    "ReverseV2": lambda rng: ({}, [drawn(rng), known(0)]),
    "Split": lambda rng: ({"num_split": 2}, [scalar(0), drawn(rng)]),
    "SplitV": lambda rng: ({"num_split": 2}, [drawn(rng), known(1, 3), scalar(0)]),
    "Tile": lambda rng: ({}, [drawn(rng), known(2)]),
    "DynamicStitch": lambda rng: ({"N": 2}, [known(2, 0), known(1, 3), drawn(rng, 2), drawn(rng, 2)]),
    "ParallelDynamicStitch": lambda rng: ({"N": 2}, [known(2, 0), known(1, 3), drawn(rng, 2), drawn(rng, 2)]),
    "IdentityN": lambda rng: ({}, [drawn(rng), drawn(rng)]),
    **dict.fromkeys(
        ("Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape", "Cast"),
        lambda rng: ({"DstT": INT32}, [drawn(rng)]),
    ),
    **dict.fromkeys(sorted(ARITHMETIC), lambda rng: ({}, [drawn(rng), drawn(rng)])),
}


def compare_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """By op type: `mistakes`, a sentence each; `said`, how many numbers of partly known vectors were known."""
    assert set(CASES) == set(MOVES) | ARITHMETIC, "each op type has a case"
    found: dict[str, Json] = {op_type: _compared(op_type, case) for op_type, case in CASES.items()}
    return {}, found | {"Shape": _shapes_compared()}


def _compared(op_type: str, case: Case) -> dict[str, Json]:
    rng = np.random.default_rng(7)
    mistakes: list[Json] = []
    said = 0
    for _ in range(DRAWS):
        attributes, inputs = case(rng)
        node = _node(op_type, attributes)
        partial = partly_known(node, [_partly(each) for each in inputs])
        for _ in range(COMPLETIONS):
            filled = [np.where(each == OPEN, rng.integers(1, 9, each.shape), each) for each in inputs]
            values = values_of(node, [of_value(each.astype(np.int32), INT32) for each in filled]) or []
            for numbers, value in zip(partial, values, strict=False):
                if numbers is None or value is None:
                    continue
                said += int(np.count_nonzero(numbers >= 0))
                if numbers.shape != value.shape or not np.all((numbers < 0) | (numbers == value)):
                    mistakes.append(f"{numbers.tolist()} of {value.tolist()}")
    return {"mistakes": mistakes, "said": said}


def _shapes_compared() -> dict[str, Json]:
    assert {"Shape", "ShapeN"} == SHAPES
    [numbers] = partly_known(_node("Shape", {}), [Known(types_pb2.DT_FLOAT, (8, OPEN, 3))])
    wrong = numbers is None or numbers.tolist() != [8, OPEN, 3]
    return {"mistakes": ["a shape"] if wrong else [], "said": 2}


def _int32(value: Any) -> Any:
    return None if value is None else value.astype(np.int32)


def _partly(numbers: Any) -> Known:
    if np.all(numbers != OPEN) or numbers.ndim == 0:
        return Known(INT32, numbers.shape, None if numbers.ndim == 0 and numbers == OPEN else _int32(numbers))
    return Known(INT32, numbers.shape, None, partial=tuple(numbers.tolist()) if np.any(numbers >= 0) else None)


def _node(op_type: str, attributes: Mapping[str, Any]) -> Message:
    node = node_def_pb2.NodeDef(op=op_type)
    for key, value in attributes.items():
        if key == "DstT":
            node.attr[key].type = value
        else:
            node.attr[key].i = value
    return node
