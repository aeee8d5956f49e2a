"""Grappler's analytic estimator on a virtual cluster of one device: the child's side of `estimated.py`.

Source: tensorflow/core/grappler/costs/op_level_cost_estimator.cc. An op's time there is its arithmetic at the device's
peak plus its bytes at the device's bandwidth, so at most twice the roofline. Nothing of the graph is run.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.protobuf import device_properties_pb2, meta_graph_pb2
from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item as grappler_item

from engine.child import ReportProgress, Results
from engine.clusters.catalogue import CATALOGUE, DeviceKind
from engine.costs.costs import Source
from engine.costs.shapes import least_bytes, output_shapes
from engine.costs.stand_ins import GraphToCost, graph_to_cost, without_feeds
from engine.errors import CostError, shortened
from engine.events import Json
from engine.graphs.graphdef_messages import read_messages
from engine.graphs.must_colocate import shared_resource
from engine.graphs.tensorflow_messages import Message

TIMES_SLOWER = 100
"""the estimator gives whole µs: it is told of a device that is so many times slower, and its answer is divided"""
STAGE = "estimating the costs"
Answer = TypeVar("Answer")
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
NANOSECONDS = 1000.0
"""in a µs"""
BOUNDLESS_BYTES = 2**60
"""memory of the virtual device: the estimator refuses a graph that does not fit, which is not the question here"""
DEVICE_NAME = "/job:localhost/replica:0/task:0/device:{}:0"


def estimate_in_child(order: dict[str, Json], _folder: Path, report_progress: ReportProgress) -> Results:
    """Times by kind, bytes of outputs and variables, and what of it is known."""
    kinds = cast(list[str], order["kinds"])
    steps = len(kinds) + 1
    report_progress(STAGE, 0, steps)
    messages = read_messages(Path(cast(str, order["path"])).read_bytes(), cast(str, order["suffix"]))
    to_cost = graph_to_cost(messages)
    _require_importable(to_cost.graph)
    item = _item(without_feeds(to_cost.graph))
    shapes = output_shapes(to_cost, _asked(item.GetOpProperties))
    times = np.zeros((len(kinds), len(messages.nodes)))
    covered = np.ones(len(messages.nodes), dtype=bool)
    for row, kind in enumerate(kinds):
        report_progress(STAGE, row + 1, steps)
        times[row] = _times(item, to_cost, CATALOGUE[kind])
        covered &= ~np.isnan(times[row])
    known = shapes.known & covered & to_cost.estimable
    report_progress(STAGE, steps, steps)
    arrays: dict[str, NDArray[np.generic]] = {
        "time_us": np.nan_to_num(times, nan=0.0),
        "output_offset": shapes.offset,
        "output_bytes": shapes.bytes,
        "persistent_bytes": _persistent_bytes(messages.nodes),
        "source": np.where(known, Source.ESTIMATED, Source.UNKNOWN).astype(np.uint8),
    }
    return arrays, {"op_names": [node.name for node in messages.nodes]}


def _require_importable(graph: Message) -> None:
    """TensorFlow takes the graph: it checks attributes, types and shapes op by op, and runs nothing."""

    def import_graph() -> None:
        with tf.Graph().as_default():
            tf.compat.v1.import_graph_def(graph, name="")

    _asked(import_graph)


def _asked(question: Callable[[], Answer]) -> Answer:
    """TensorFlow's answer; what it refuses is the file's fault."""
    try:
        return question()
    except (tf.errors.OpError, ValueError, TypeError) as refusal:
        lines = str(refusal).strip().splitlines() or [type(refusal).__name__]
        raise CostError(f"TensorFlow refuses the graph: {shortened(lines[0], 300)}", field="file") from None


def _item(graph: Message) -> Any:
    """The graph as Grappler's item; what nobody consumes is what it is run for."""
    meta_graph = meta_graph_pb2.MetaGraphDef()
    meta_graph.graph_def.CopyFrom(graph)
    consumed = {text.lstrip("^").partition(":")[0] for node in graph.node for text in node.input}
    last = [node.name for node in graph.node if node.name not in consumed]
    meta_graph.collection_def["train_op"].node_list.value.extend(last or [graph.node[-1].name])
    return _asked(lambda: grappler_item.Item(meta_graph))


def _times(item: Any, to_cost: GraphToCost, kind: DeviceKind) -> NDArray[np.float64]:
    """[ops] µs on a device of `kind`; NaN for what the estimator has not come to."""
    properties, slower = _device_properties(kind)
    device = device_properties_pb2.NamedDevice(name=DEVICE_NAME.format(kind.device_class), properties=properties)
    with_one_device = grappler_cluster.Cluster(devices=[device])
    measured = _asked(lambda: with_one_device.MeasureCosts(item))
    if measured is None:
        raise CostError("TensorFlow's estimator gives no costs for the graph", field="file")
    performances, _, _ = measured
    time_of_name = {each.node: each.compute_cost / NANOSECONDS / slower for each in performances}
    return np.array([time_of_name.get(node.name, np.nan) for node in to_cost.nodes])


def _device_properties(kind: DeviceKind) -> tuple[Message, float]:
    """`kind` about `TIMES_SLOWER` times slower, as the estimator is told of it, and how much slower exactly."""
    speed = kind.frequency_mhz * kind.grappler_cores
    slow_speed = max(1, round(speed / TIMES_SLOWER))
    slower = speed / slow_speed
    properties = device_properties_pb2.DeviceProperties(
        type=kind.device_class,
        frequency=slow_speed,
        num_cores=1,
        bandwidth=round(kind.grappler_bandwidth_kb_per_second / slower),
        memory_size=BOUNDLESS_BYTES,
    )
    if kind.architecture:
        properties.environment["architecture"] = kind.architecture
    return properties, slower


def _persistent_bytes(nodes: Sequence[Message]) -> NDArray[np.int64]:
    """[ops] of variables, optimizer slots among them; one that several handles name counts at the first of them."""
    counted: set[tuple[str, bytes, bytes]] = set()
    found = np.zeros(len(nodes), dtype=np.int64)
    for index, node in enumerate(nodes):
        if node.op not in VARIABLES:
            continue
        resource = shared_resource(node)
        if resource is None or resource not in counted:
            found[index] = least_bytes(node.attr["dtype"].type, node.attr["shape"].shape)
        if resource is not None:
            counted.add(resource)
    return found
