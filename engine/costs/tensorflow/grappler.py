"""TensorFlow's analytic estimator, Grappler, on a virtual cluster of one device. Runs in the child.

Source: tensorflow/core/grappler/costs/op_level_cost_estimator.cc. An op's time there is its operations at the device's
peak plus its bytes at the device's bandwidth, so at most twice the roofline. The operations and the bytes do not depend
on the device. So one query suffices, for a device that takes a µs for an operation and a µs for a byte: its two times
are then the operations and the bytes themselves, integers, from which every kind's time follows. (A slow test queries
it for each kind.) Nothing of the graph is run.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.protobuf import device_properties_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import c_api_util
from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item as grappler_item

from engine.costs.unknown import Unknown
from engine.errors import CostError, shortened
from engine.graphs.tensorflow.input_texts import producer_of
from engine.graphs.tensorflow.messages import Message

Answer = TypeVar("Answer")
NODE_IN_REFUSAL = re.compile(r"\{\{node ([^}]*)\}\}")
"""how TensorFlow's errors name the op that it refuses"""
NANOSECONDS = 1000
"""nanoseconds in a µs"""
BOUNDLESS_BYTES = 2**60
"""memory of the virtual device: the estimator refuses a graph that does not fit, and memory does not matter here"""
MOST_OPERATIONS = 2**63 // NANOSECONDS
"""operations, or bytes, of one op: the estimator counts in ns"""
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
"""a device that takes a µs for an operation and a µs for a byte"""


@dataclass(frozen=True, slots=True)
class Work:
    """The work of the ops, the same on every device."""

    operations: NDArray[np.int64]
    """[ops] floating-point operations, a multiply-add counts as two"""
    moved_bytes: NDArray[np.int64]
    """[ops] bytes read and written"""
    temporary_bytes: NDArray[np.int64]
    """[ops] bytes held while the op runs"""
    unknown: NDArray[np.uint8]
    """[ops] why the estimator gives no answer, or `Unknown.NOT_SAID`; without one the other numbers are 0"""


def nothing_known(ops: int) -> Work:
    """The work of `ops` ops of which the estimator reached none."""
    zeros = np.zeros(ops, dtype=np.int64)
    return Work(zeros, zeros.copy(), zeros.copy(), np.full(ops, Unknown.NOT_REACHED, dtype=np.uint8))


def require_importable(content: bytes) -> None:
    """Raise CostError for a GraphDef that TensorFlow refuses: it checks attributes, types and shapes op by op.

    The check is that of `tf.import_graph_def`, without a Python object for each op: a third of the time and memory.
    """
    asked(lambda: _import(content))


def _import(content: bytes) -> None:
    graph, options = tf.Graph(), c_api_util.ScopedTFImportGraphDefOptions()  # they live until the import is done
    buffer = pywrap_tf_session.TF_NewBufferFromString(content)
    try:
        with graph._c_graph.get() as c_graph:
            results = pywrap_tf_session.TF_GraphImportGraphDefWithResults(c_graph, buffer, options.options)
            c_api_util.ScopedTFImportGraphDefResults(results)  # which frees them
    finally:
        pywrap_tf_session.TF_DeleteBuffer(buffer)


def asked(question: Callable[[], Answer]) -> Answer:
    """Return the answer of `question`, a call of TensorFlow; its refusal is the file's fault. Raises CostError."""
    try:
        return question()
    except (tf.errors.OpError, ValueError, TypeError, RuntimeError) as refusal:
        lines = str(refusal).strip().splitlines() or [type(refusal).__name__]
        named = NODE_IN_REFUSAL.search(str(refusal))
        where = "" if named is None else shortened(named[1])
        what = f"TensorFlow refuses the graph: {shortened(lines[0], 300)}"
        raise CostError(what, where=where, field="file") from None


def item_of(meta_graph: Message) -> Any:
    """The graph as Grappler's item; the ops that nobody consumes are its fetches. Raises CostError."""
    nodes = meta_graph.graph_def.node
    consumed = {producer_of(text) for node in nodes for text in node.input}
    last = [node.name for node in nodes if node.name not in consumed]
    meta_graph.collection_def["train_op"].node_list.value[:] = last or [nodes[-1].name]
    return asked(lambda: grappler_item.Item(meta_graph))


def work_of(item: Any, names: Sequence[str]) -> Work:
    """The work of the ops `names` by the estimator. Raises CostError where it refuses the graph."""
    cluster = grappler_cluster.Cluster(devices=[UNIT_DEVICE])
    measured = asked(lambda: cluster.MeasureCosts(item))
    if measured is None:
        raise CostError("TensorFlow's estimator gives no costs for the graph", field="file")
    found: Mapping[str, tuple[int, int, int]] = {
        each.node: (each.compute_time, each.memory_time, each.op_memory.temp_memory) for each in measured[0]
    }
    rows = np.array([found.get(name, (0, 0, 0)) for name in names], dtype=np.int64).reshape(-1, 3)
    reached = np.array([name in found for name in names], dtype=bool)
    sound = (rows >= 0).all(axis=1)
    unknown = np.where(reached, np.where(sound, Unknown.NOT_SAID, Unknown.ESTIMATE), Unknown.NOT_REACHED)
    rows[~sound] = 0
    return Work(rows[:, 0] // NANOSECONDS, rows[:, 1] // NANOSECONDS, rows[:, 2], unknown.astype(np.uint8))
