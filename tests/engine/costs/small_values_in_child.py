"""What `small_values.py` says beside what TensorFlow computes, for each case. Runs in the child."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import node_def_pb2, types_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework import ops as tensorflow_ops

from engine.child.parent import ReportProgress, Results
from engine.costs.tensorflow.inference.handles import a_list
from engine.costs.tensorflow.inference.known import Items, Known, of_value
from engine.costs.tensorflow.inference.small_values import EVALUATED, values_of
from engine.events import Json
from engine.graphs.tensorflow.messages import Message
from tests.engine.costs.small_value_cases import A_LIST, CASES, Case

FLOAT = types_pb2.DT_FLOAT


def compare_in_child(_order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """`cases`: a case's two answers as text; `evaluated`, the op types; `odd`, what too few inputs have raised."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    answers = cast(list[Json], [_compared(case) for case in CASES])
    return {}, {"cases": answers, "evaluated": list[Json](sorted(EVALUATED)), "odd": cast(list[Json], _raised())}


def _compared(case: Case) -> list[str | None]:
    with tf.Graph().as_default() as graph:
        tensors = [_tensor(each) for each in case.inputs]
        node = _node(case, tensors)
        made = tensorflow_ops.Operation.from_node_def(node, graph, tensors)
        with tf.compat.v1.Session(graph=graph) as session:
            computed = session.run(made.outputs)
    found = values_of(node, [_known(each) for each in case.inputs])
    if found is None or any(value is None for value in found):
        return [_text(computed), None]
    return [_text(computed), _text(found)]


def _text(values: Any) -> str:
    """Types, shapes and values; a negative zero is a zero."""
    arrays = [np.asarray(value) for value in values]
    return "; ".join(f"{each.dtype} {each.shape} {_plain(each)}" for each in arrays)


def _plain(array: Any) -> str:
    return str((array + 0.0 if array.dtype.kind == "f" else array).tolist())


def _tensor(given: Any) -> Any:
    if given != A_LIST:
        return tf.constant(given[1], dtype=given[0])
    empty = tf.raw_ops.EmptyTensorList(element_shape=[3], max_num_elements=-1, element_dtype=tf.float32)
    for _ in range(2):
        empty = tf.raw_ops.TensorListPushBack(input_handle=empty, tensor=tf.zeros([3]))
    return empty


def _known(given: Any) -> Known:
    if given == A_LIST:
        return a_list(Items(FLOAT, (3,), 2))
    return of_value(np.array(given[1], dtype=given[0]), tf.as_dtype(given[0]).as_datatype_enum)


def _node(case: Case, tensors: list[Any]) -> Message:
    """A NodeDef with the types that its inputs have."""
    node = node_def_pb2.NodeDef(op=case.op, name="op")
    for key, setting in case.attributes.items():
        _write(node.attr[key], setting, key)
    left = list(tensors)
    for argument in op_def_registry.get(case.op).input_arg:
        count = node.attr[argument.number_attr].i if argument.number_attr else 1
        if argument.type_list_attr:
            node.attr[argument.type_list_attr].list.type.extend(each.dtype.as_datatype_enum for each in left)
            break
        if argument.type_attr and left:
            node.attr[argument.type_attr].type = left[0].dtype.as_datatype_enum
        del left[:count]
    return node


def _write(attribute: Message, setting: Any, key: str) -> None:
    if isinstance(setting, bool):
        attribute.b = setting
    elif isinstance(setting, int):
        attribute.i = setting
    elif isinstance(setting, str):
        attribute.type = types_pb2.DataType.Value(setting)
    elif key == "shape":
        for length in setting:
            attribute.shape.dim.add(size=length)
    else:
        attribute.list.i.extend(setting)


def _raised() -> list[str]:
    """What the evaluation has raised: for all op types, with too few inputs, unknown ones, and odd values."""
    odd = [
        Known(0),
        of_value(np.array([]), FLOAT),
        of_value(np.array(float("inf")), FLOAT),
        of_value(np.array([[-1, 2**31 - 1]], dtype=np.int32), types_pb2.DT_INT32),
        of_value(np.array([2**63 - 1, -(2**63)], dtype=np.int64), types_pb2.DT_INT64),
        of_value(np.array(True), types_pb2.DT_BOOL),
        Known(FLOAT, (2**62, 2**62, 0)),
    ]
    found = []
    for op_type in EVALUATED:
        for node in (node_def_pb2.NodeDef(op=op_type), _with_odd_attributes(op_type)):
            for count in range(5):
                for known in odd:
                    try:
                        values_of(node, [known] * count)
                    except Exception as error:
                        found.append(f"{op_type} of {count}: {error!r}")
    return found


def _with_odd_attributes(op_type: str) -> Message:
    """All attributes that an evaluation looks at, of a kind that they never are."""
    node = node_def_pb2.NodeDef(op=op_type)
    for key in ("axis", "num", "N", "num_split", "T", "DstT", "out_type", "out_idx", "shape_type", "keep_dims"):
        node.attr[key].s = b"odd"
    for key in ("squeeze_dims", "begin_mask", "shrink_axis_mask", "batch_dims", "exclusive"):
        node.attr[key].f = 1.5
    return node
