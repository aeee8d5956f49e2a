"""Whether TensorFlow's kernels really share buffers, by the addresses in traces of small runs. In a child alone."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.costs.tensorflow.shared_buffers import (
    ANY_IN_PLACE,
    BINARY_IN_PLACE,
    FIRST_IS_PASSED_ON,
    FIRST_OR_SECOND_OF_THREE,
)
from engine.costs.tensorflow.shared_buffers import UNARY_IN_PLACE as UNARY
from engine.events import Json

v1, raw = tf.compat.v1, tf.raw_ops
SIDE = 64
OF_ITS_OWN_KIND = frozenset(
    {
        *("Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration", "LoopCond", "RefIdentity"),
        *("TensorListSetItem", "TensorListPushBack", "TensorListGetItem", "DestroyTemporaryVariable"),
    }
)
"""op types that cannot stand alone, or whose value is no tensor"""
ARGUMENTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "BiasAdd": lambda: {"bias": tf.zeros([SIDE])},
    "BiasAddV1": lambda: {"bias": tf.zeros([SIDE])},
    "Bitcast": lambda: {"type": tf.int32},
    "CheckNumerics": lambda: {"message": ""},
    "ClipByValue": lambda: {"clip_value_min": 0.0, "clip_value_max": 1.0},
    "EnsureShape": lambda: {"shape": [SIDE, SIDE]},
    "ExpandDims": lambda: {"axis": 0},
    "InplaceAdd": lambda: {"i": [1], "v": tf.zeros([1, SIDE])},
    "InplaceUpdate": lambda: {"i": [1], "v": tf.zeros([1, SIDE])},
    "MatrixBandPart": lambda: {"num_lower": 1, "num_upper": 1},
    "MatrixSetDiag": lambda: {"diagonal": tf.zeros([SIDE])},
    "PlaceholderWithDefault": lambda: {"shape": [SIDE, SIDE]},
    "Reshape": lambda: {"shape": [SIDE * SIDE]},
}
"""op type → its arguments beside those that it may write into"""


def share_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """`free`: op type → [positions] whether its output is the input there, which nothing else needs; `used`: op type →
    whether its output is its first input although another op needs it."""
    free: dict[str, Json] = {}
    for op_type, positions in _positions().items():
        free[op_type] = [_is_shared(op_type, position, positions, False) for position in range(positions)]
    passing = sorted(FIRST_IS_PASSED_ON - OF_ITS_OWN_KIND)
    return {}, {"free": free, "used": {op_type: _is_shared(op_type, 0, 1, True) for op_type in passing}}


def _positions() -> dict[str, int]:
    """Op type → number of first inputs into which it may write."""
    return {
        **dict.fromkeys(sorted(UNARY), 1),
        **dict.fromkeys(sorted(BINARY_IN_PLACE), 2),
        **dict.fromkeys(sorted(ANY_IN_PLACE), 3),
        **dict.fromkeys(sorted(FIRST_OR_SECOND_OF_THREE), 2),
    }


def _is_shared(op_type: str, position: int, positions: int, also_used: bool) -> bool:
    with tf.Graph().as_default():
        drawn = raw.RandomUniform(shape=tf.constant([SIDE, SIDE]), dtype=tf.float32, name="drawn")
        is_logical = op_type.startswith("Logical")
        given = raw.Less(x=drawn, y=tf.constant(0.5), name="given") if is_logical else raw.Exp(x=drawn, name="given")
        constant = tf.constant(np.ones((SIDE, SIDE)), given.dtype)
        taken = [given if place == position else constant for place in range(positions)]
        made = tf.nest.flatten(_made(op_type, taken))[0]
        needed = [tf.reduce_sum(tf.cast(made, tf.float32))]
        if also_used:
            with tf.control_dependencies(needed):
                needed.append(tf.reduce_sum(given))
        addresses = _addresses(needed)
        return addresses[given.op.name] == addresses[made.op.name]


def _made(op_type: str, taken: Sequence[Any]) -> Any:
    op = getattr(raw, op_type)
    first = list(inspect.signature(op).parameters)
    more = ARGUMENTS[op_type]() if op_type in ARGUMENTS else {}
    if op_type in ANY_IN_PLACE:
        return op(inputs=list(taken))
    if op_type in FIRST_OR_SECOND_OF_THREE:
        return op(**{first[0]: tf.constant(np.ones((SIDE, SIDE)), tf.bool), first[1]: taken[0], first[2]: taken[1]})
    if op_type == "IdentityN":
        return op(input=list(taken))
    return op(**dict(zip(first, taken, strict=False)), **more)


def _addresses(fetches: Sequence[Any]) -> dict[str, int]:
    """Op → the address of its first output."""
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    with v1.Session(config=config) as session:
        metadata = v1.RunMetadata()
        session.run(fetches, options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), run_metadata=metadata)
    return {
        node.node_name: node.output[0].tensor_description.allocation_description.ptr
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        if node.output
    }
