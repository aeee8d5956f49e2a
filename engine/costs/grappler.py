"""Grappler's analytic estimator on a virtual cluster of one device: the child's side of `estimated.py`.

Source: tensorflow/core/grappler/costs/op_level_cost_estimator.cc. An op's time there is its arithmetic at the device's
peak plus its bytes at the device's bandwidth, so at most twice the roofline, and neither depends on the device. So the
estimator is asked once, about a device on which an operation takes a µs and a byte another one: its two answers are
then the operations and the bytes themselves, whole numbers, from which every kind's time follows. (A slow test asks it
about each kind.) Nothing of the graph is run.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import device_properties_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import c_api_util
from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item as grappler_item

from engine.child import ReportProgress, Results
from engine.clusters.catalogue import CATALOGUE, DeviceKind
from engine.costs.costs import Source
from engine.costs.handles import passed_on
from engine.costs.input_shapes import given_shapes
from engine.costs.shapes import OutputShapes, least_bytes, output_shapes
from engine.costs.stand_ins import GraphToCost, graph_to_cost, replace_feeds
from engine.costs.told_shapes import add_told_shapes
from engine.costs.unknown import Unknown
from engine.errors import CostError, shortened
from engine.events import Json
from engine.graphs.graphdef_messages import GraphMessages, read_messages
from engine.graphs.must_colocate import shared_resource
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow_messages import Message

STAGE = "estimating the costs"
STEPS = 5
Answer = TypeVar("Answer")
NODE_IN_REFUSAL = re.compile(r"\{\{node ([^}]*)\}\}")
"""how TensorFlow names the op that it will not take"""
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
READS = "ReadVariableOp"
NANOSECONDS = 1000
"""in a µs"""
BOUNDLESS_BYTES = 2**60
"""memory of the virtual device: the estimator refuses a graph that does not fit, which is not the question here"""
MOST_OPERATIONS = 2**63 // NANOSECONDS
"""of one op, and bytes: the estimator counts in ns"""
UNIT_DEVICE = device_properties_pb2.NamedDevice(
    name="/job:localhost/replica:0/task:0/device:CPU:0",
    properties=device_properties_pb2.DeviceProperties(
        type="CPU",
        frequency=1,  # MHz, and one operation a cycle
        num_cores=1,
        bandwidth=1000,  # KB/s
        memory_size=BOUNDLESS_BYTES,
    ),
)
"""an operation takes a µs, a byte another one"""


@dataclass(frozen=True, slots=True)
class Work:
    """What the ops have to do, on whatever device."""

    operations: NDArray[np.int64]
    """[ops] of arithmetic, a multiply-add counts as two; -1 where the estimator has not come to the op"""
    moved_bytes: NDArray[np.int64]
    """[ops] read and written"""
    temporary_bytes: NDArray[np.int64]
    """[ops]"""

    def time_us(self, kind: DeviceKind) -> NDArray[np.float64]:
        """[ops] on a device of `kind`."""
        arithmetic_us = np.maximum(self.operations, 0) / (kind.peak_gflops * 1e3)
        return np.asarray(arithmetic_us + self.moved_bytes / kind.memory_bandwidth_bytes_per_us, dtype=np.float64)


def estimate_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """Times by kind, bytes of outputs and variables, and what of it is known."""
    report_progress(STAGE, 0, STEPS)
    options = ReadingOptions.from_json(cast(dict[str, Json], order["options"]))
    messages = read_messages(Path(cast(str, order["path"])).read_bytes(), cast(str, order["suffix"]))
    to_cost = _checked(messages, options, report_progress)
    persistent_bytes = _persistent_bytes(to_cost)
    replace_feeds(to_cost.graph)
    item, shapes = _shapes(to_cost, report_progress)
    _add_captured(persistent_bytes, to_cost, shapes)
    work = _work(item, [node.name for node in messages.nodes])
    reasons = (to_cost.unknown, np.where(work.operations < 0, Unknown.NOT_REACHED, Unknown.NOT_SAID), shapes.unknown)
    unknown = np.select([each > 0 for each in reasons], reasons, Unknown.NOT_SAID).astype(np.uint8)
    report_progress(STAGE, STEPS, STEPS)
    arrays: dict[str, NDArray[np.generic]] = {
        "time_us": np.array([work.time_us(CATALOGUE[kind]) for kind in cast(list[str], order["kinds"])]),
        "output_offset": shapes.offset,
        "output_bytes": shapes.bytes,
        "persistent_bytes": persistent_bytes,
        "temporary_bytes": work.temporary_bytes,
        "source": np.where(unknown > 0, Source.UNKNOWN, Source.ESTIMATED).astype(np.uint8),
        "unknown": unknown,
    }
    return arrays, {"op_names": [node.name for node in messages.nodes]}


def _checked(messages: GraphMessages, options: ReadingOptions, report_progress: ReportProgress) -> GraphToCost:
    """The graph to cost, which TensorFlow takes: it checks attributes, types and shapes op by op, and runs nothing."""
    report_progress(STAGE, 1, STEPS)
    to_cost = graph_to_cost(messages, given_shapes(messages, options))
    report_progress(STAGE, 2, STEPS)
    content = to_cost.graph.SerializeToString()
    _asked(lambda: _import_without_python_ops(content))
    return to_cost


def _import_without_python_ops(content: bytes) -> None:
    """What `tf.import_graph_def` does, but for a Python object for each op: a third of the time and of the memory."""
    graph, options = tf.Graph(), c_api_util.ScopedTFImportGraphDefOptions()  # they live until the import is done
    buffer = pywrap_tf_session.TF_NewBufferFromString(content)
    try:
        with graph._c_graph.get() as c_graph:
            results = pywrap_tf_session.TF_GraphImportGraphDefWithResults(c_graph, buffer, options.options)
            c_api_util.ScopedTFImportGraphDefResults(results)  # which frees them
    finally:
        pywrap_tf_session.TF_DeleteBuffer(buffer)


def _asked(question: Callable[[], Answer]) -> Answer:
    """TensorFlow's answer; what it refuses is the file's fault."""
    try:
        return question()
    except (tf.errors.OpError, ValueError, TypeError) as refusal:
        lines = str(refusal).strip().splitlines() or [type(refusal).__name__]
        named = NODE_IN_REFUSAL.search(str(refusal))
        where = "" if named is None else shortened(named[1])
        what = f"TensorFlow refuses the graph: {shortened(lines[0], 300)}"
        raise CostError(what, where=where, field="file") from None


def _shapes(to_cost: GraphToCost, report_progress: ReportProgress) -> tuple[Any, OutputShapes]:
    """Grappler's item, and the shapes that it infers, with the file's help where it tells more."""
    report_progress(STAGE, 3, STEPS)
    item = _item(to_cost.meta_graph)
    properties = _asked(item.GetOpProperties)
    told = add_told_shapes(to_cost, properties)
    if told:
        item = _item(to_cost.meta_graph)
        properties = _asked(item.GetOpProperties)
    report_progress(STAGE, 4, STEPS)
    return item, output_shapes(to_cost, properties, told)


def _item(meta_graph: Message) -> Any:
    """The graph as Grappler's item; what nobody consumes is what it is run for."""
    nodes = meta_graph.graph_def.node
    consumed = {text.lstrip("^").partition(":")[0] for node in nodes for text in node.input}
    last = [node.name for node in nodes if node.name not in consumed]
    meta_graph.collection_def["train_op"].node_list.value[:] = last or [nodes[-1].name]
    return _asked(lambda: grappler_item.Item(meta_graph))


def _work(item: Any, names: Sequence[str]) -> Work:
    """What the estimator says of the ops `names`. Raises CostError for more than it can count."""
    cluster = grappler_cluster.Cluster(devices=[UNIT_DEVICE])
    measured = _asked(lambda: cluster.MeasureCosts(item))
    if measured is None:
        raise CostError("TensorFlow's estimator gives no costs for the graph", field="file")
    found: Mapping[str, tuple[int, int, int]] = {
        each.node: (each.compute_time, each.memory_time, each.op_memory.temp_memory) for each in measured[0]
    }
    unreached = (-NANOSECONDS, 0, 0)
    rows = np.array([found.get(name, unreached) for name in names], dtype=np.int64).reshape(-1, 3)
    for op in np.flatnonzero((rows[:, :2] < 0).any(axis=1)).tolist():
        if names[op] in found:
            what = "its operations, or the bytes that it reads and writes, are too many to count"
            raise CostError(what, where=shortened(names[op]), allowed=f"at most {MOST_OPERATIONS}", field="file")
    return Work(rows[:, 0] // NANOSECONDS, rows[:, 1] // NANOSECONDS, rows[:, 2])


def _persistent_bytes(to_cost: GraphToCost) -> NDArray[np.int64]:
    """[ops] of variables, optimizer slots among them; one that several handles name counts at the first of them."""
    index_of_name = {node.name: index for index, node in enumerate(to_cost.nodes)}
    counted: set[tuple[str, bytes, bytes]] = set()
    found = np.zeros(len(to_cost.nodes), dtype=np.int64)
    for node in to_cost.graph.node:
        if node.op not in VARIABLES:
            continue
        resource = shared_resource(node)
        if resource is None or resource not in counted:
            found[index_of_name[node.name]] = least_bytes(node.attr["dtype"].type, node.attr["shape"].shape)
        if resource is not None:
            counted.add(resource)
    return found


def _add_captured(persistent_bytes: NDArray[np.int64], to_cost: GraphToCost, shapes: OutputShapes) -> None:
    """Add the variables that a function has captured: their handles are fed, so that only who reads them tells."""
    captured = {
        node.name: index
        for index, node in enumerate(to_cost.nodes)
        if node.op == "Placeholder" and node.attr["dtype"].type == types_pb2.DT_RESOURCE
    }
    handle_of_name = passed_on(to_cost.nodes, captured)
    for index, node in enumerate(to_cost.nodes):
        name = handle_of_name.get(node.input[0].partition(":")[0]) if node.op == READS and node.input else None
        handle = None if name is None else captured[name]
        if handle is not None and shapes.offset[index] < shapes.offset[index + 1]:
            read_bytes = shapes.bytes[shapes.offset[index]]
            persistent_bytes[handle] = max(persistent_bytes[handle], read_bytes)
