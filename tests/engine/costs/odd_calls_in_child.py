"""Calls and ops that no honest file has, taken apart and evaluated. Runs in the child."""

from pathlib import Path
from typing import Any, cast

import numpy as np
from tensorflow.core.framework import graph_pb2, node_def_pb2, types_pb2

from engine.child.parent import ReportProgress, Results
from engine.costs.tensorflow.inference import bounds, handles
from engine.costs.tensorflow.inference.asking import ShapeFunctions
from engine.costs.tensorflow.inference.bounds import bounded_outputs, largest_slice
from engine.costs.tensorflow.inference.handles import outputs_of
from engine.costs.tensorflow.inference.known import OPEN, Items, Known, of_value
from engine.costs.tensorflow.inference.queries import Calls
from engine.events import Json
from engine.graphs.tensorflow.messages import Message, load_messages

DATA = Known(types_pb2.DT_FLOAT, (4, 8))


def take_apart_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """By name of a graph's text: how many ops its op `call` is, or null; `raised`, what odd ops have raised."""
    texts = cast(dict[str, str], order["texts"])
    return {}, {"ops": {name: _ops(text) for name, text in texts.items()}, "raised": cast(list[Json], _raised())}


def _ops(text: str) -> int | str | None:
    graph = load_messages("google.protobuf.text_format").Parse(text, graph_pb2.GraphDef())
    functions = {function.signature.name: function for function in graph.library.function}
    [call] = [node for node in graph.node if node.name == "call"]
    inputs = [Known(types_pb2.DT_BOOL, ()) if text == "flag" else DATA for text in call.input]
    try:
        queries = Calls(functions, graph.library, ShapeFunctions()).queries(call, inputs)
    except Exception as error:
        return repr(error)
    return None if queries is None else len(queries)


def _raised() -> list[str]:
    """What lists, handles and bounds raise, with too few inputs and odd ones."""
    odd = [
        Known(0),
        DATA,
        Known(types_pb2.DT_FLOAT, (OPEN, 3)),
        Known(types_pb2.DT_VARIANT, (), None, Items(1, (2,), 3)),
        Known(types_pb2.DT_RESOURCE, (), None, Items(1, None)),
        of_value(np.array(float("inf")), types_pb2.DT_FLOAT),
        of_value(np.array([], dtype=np.int32), types_pb2.DT_INT32),
        of_value(np.array([[-7, 2**31 - 1]], dtype=np.int32), types_pb2.DT_INT32),
    ]
    found = []
    for op_type in sorted({*handles.EVALUATED, *bounds.BOUNDS, *bounds.SLICES}):
        for node in (node_def_pb2.NodeDef(op=op_type), _with_odd_attributes(op_type)):
            for inputs in ([known] * count for count in range(5) for known in odd):
                found += _tried(node, inputs)
    return found


def _tried(node: Message, inputs: list[Any]) -> list[str]:
    output = Known(types_pb2.DT_FLOAT, (OPEN, 3))
    try:
        outputs_of(node, inputs)
        bounded_outputs(node, inputs, [output], None)
        largest_slice(node, inputs, output)
    except Exception as error:
        return [f"{node.op} of {len(inputs)}: {error!r}"]
    return []


def _with_odd_attributes(op_type: str) -> Message:
    """All attributes that an evaluation looks at, of a kind that they never are."""
    node = node_def_pb2.NodeDef(op=op_type)
    for key in ("element_dtype", "dtype", "out_type", "shape", "element_shape", "num_elements", "batch_dims"):
        node.attr[key].s = b"odd"
    for key in ("dynamic_size", "resize_if_index_out_of_bounds", "new_axis_mask", "shrink_axis_mask"):
        node.attr[key].f = 1.5
    return node
