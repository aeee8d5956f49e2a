"""Small TensorFlow graphs of all kinds that tie ops together, and a way to run placed ones. Used in a child alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2

from engine.child import ReportProgress, Results
from engine.events import Json
from engine.zoo.settings import TinySettings
from engine.zoo.tiny_cnn import build as build_tiny_cnn

v1 = tf.compat.v1


def resource_variables() -> Any:
    """The zoo's own smallest training step."""
    return build_tiny_cnn(TinySettings(batch=2))


def ref_variables() -> Any:
    """Two dense layers with ref variables, momentum, gradients beside their ops."""
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, 8], name="inputs")
        first = v1.get_variable("first", [8, 8], use_resource=False)
        second = v1.get_variable("second", [8, 2], use_resource=False)
        loss = tf.reduce_sum(tf.matmul(tf.nn.relu(tf.matmul(inputs, first)), second) ** 2.0, name="loss")
        optimizer = v1.train.MomentumOptimizer(0.1, 0.9)
        pairs = optimizer.compute_gradients(loss, colocate_gradients_with_ops=True)
        optimizer.apply_gradients(pairs, name="train_step")
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["train_step", "loss"])


def while_loop() -> Any:
    """A loop of version 1 with a ref variable in its body, trained: two frames with stacks between them."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, 8], name="inputs")
        weights = v1.get_variable("weights", [8, 8], use_resource=False)
        state = (tf.constant(0), inputs)
        _, last = v1.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, tf.tanh(tf.matmul(x, weights))), state)
        loss = tf.reduce_sum(last, name="loss")
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train_step")
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["train_step", "loss"])


def condition() -> Any:
    """Switch and Merge, a resource variable assigned in one branch."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        inputs = v1.get_variable("inputs", [4, 8], use_resource=False) + 1.0
        weights = v1.get_variable("weights", [8], use_resource=True)
        chosen = v1.cond(
            tf.reduce_sum(inputs) > 0.0,
            lambda: tf.identity(weights.assign_add(tf.ones([8]))) + inputs,
            lambda: inputs * weights,
        )
        tf.reduce_sum(chosen, name="loss")
        tf.no_op(name="train_step")
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["train_step", "loss"])


def queue_and_table() -> Any:
    """A queue, a hash table, a tensor array and an iterator: handles that several ops take."""
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, 8], name="inputs")
        queue = tf.queue.FIFOQueue(10, [tf.float32], shapes=[[4, 8]])
        with tf.control_dependencies([queue.enqueue(inputs)]):
            taken = queue.dequeue()
        table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, 0.5, -1, -2)
        with tf.control_dependencies([table.insert(tf.constant([1], tf.int64), [2.0])]):
            looked_up = table.lookup(tf.constant([1, 3], tf.int64))
        array = tf.TensorArray(tf.float32, 2).write(0, taken).write(1, taken * 2.0)
        tf.add(tf.reduce_sum(array.stack()), tf.reduce_sum(looked_up), name="loss")
        tf.no_op(name="train_step")
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), ["train_step", "loss"])


def two_handles() -> Any:
    """Two handle ops that name one variable: on two devices they would be two variables."""
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, 8], name="inputs")
        handles = [
            tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[4, 8], shared_name="shared", container="", name=name)
            for name in ("writer", "reader")
        ]
        tf.raw_ops.AssignVariableOp(resource=handles[0], value=inputs, name="train_step")
        with tf.control_dependencies([graph.get_operation_by_name("train_step")]):
            tf.reduce_sum(tf.raw_ops.ReadVariableOp(resource=handles[1], dtype=tf.float32), name="loss")
    return graph.as_graph_def()


SAMPLES: dict[str, Callable[[], Any]] = {
    "resource_variables": resource_variables,
    "ref_variables": ref_variables,
    "while_loop": while_loop,
    "condition": condition,
    "queue_and_table": queue_and_table,
    "two_handles": two_handles,
}


def build_samples_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Write each sample as `<name>.pb` into the folder that the order names."""
    for name, build in SAMPLES.items():
        (Path(cast(str, order["folder"])) / f"{name}.pb").write_bytes(build().SerializeToString())
    return {}, {}


def run_placed_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Import and run the placed graphs of each job with soft placement off, beside the unplaced one.

    `mismatches` lists, by job, nodes that were imported onto, or ran on, another device than the written one, and a
    loss that is not the unplaced graph's; `executed_ops` counts what ran.
    """
    devices = cast(int, order["devices"])
    texts: dict[str, Json] = {}
    for name, job in cast(dict[str, dict[str, Any]], order["jobs"]).items():
        expected = _run(_load(job["plain"]), devices)[0]
        found = [_compared(_load(path), expected, devices) for path in job["placed"]]
        texts[name] = {
            "mismatches": [mismatch for mismatches, _ in found for mismatch in mismatches],
            "executed_ops": sum(executed for _, executed in found),
            "loss": expected,
        }
    return {}, texts


def _compared(graph: Any, expected: float, devices: int) -> tuple[list[Json], int]:
    """The mismatches of one placed graph, and how many of its ops ran."""
    loss, imported, executed = _run(graph, devices)
    mismatches: list[Json] = [
        [node.name, node.device, found]
        for node in graph.node
        for found in (imported[node.name], *executed.get(node.name, ()))
        if found != node.device
    ]
    return mismatches + [["loss", expected, loss]] * (loss != expected), len(executed)


def scatter_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Write a graph whose ops are each anywhere, whatever ties them together."""
    graph = _load(cast(str, order["source"]))
    rng = np.random.default_rng(0)
    for node in graph.node:
        node.device = f"/device:CPU:{rng.integers(cast(int, order['devices']))}"
    Path(cast(str, order["target"])).write_bytes(graph.SerializeToString())
    return {}, {}


def _load(path: str) -> Any:
    return v1.GraphDef.FromString(Path(path).read_bytes())


def _run(definition: Any, devices: int) -> tuple[float, dict[str, str], dict[str, list[str]]]:
    """Loss, imported device by op, executed devices by op: `/device:CPU:1`."""
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(0)
        v1.import_graph_def(definition, name="")
        imported = {op.name: op.device for op in graph.get_operations()}
        settings = config_pb2.ConfigProto(device_count={"CPU": devices}, allow_soft_placement=False)
        settings.graph_options.rewrite_options.disable_meta_optimizer = True
        settings.graph_options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
        settings.graph_options.rewrite_options.constant_folding = rewriter_config_pb2.RewriterConfig.OFF
        with v1.Session(graph=graph, config=settings) as session:
            session.run(_initializers(graph))
            options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE, output_partition_graphs=True)
            metadata = config_pb2.RunMetadata()
            loss, _ = session.run(["loss:0", "train_step"], _feeds(graph), options, metadata)
    executed: dict[str, list[str]] = {}
    for partition in metadata.partition_graphs:
        for node in partition.node:
            if node.name in imported:
                executed.setdefault(node.name, []).append("/device:" + node.device.split("/device:")[1])
    return float(loss), imported, executed


def _initializers(graph: Any) -> list[Any]:
    """Assignments of fixed numbers to all variables, each on its variable's device."""
    initializers = []
    for op in list(graph.get_operations()):
        if op.type not in ("VarHandleOp", "VariableV2"):
            continue
        shape = tf.TensorShape(op.get_attr("shape")).as_list()
        values = np.random.default_rng(len(op.name)).uniform(0.5, 1.0, shape)
        values = values.astype(tf.as_dtype(op.get_attr("dtype")).as_numpy_dtype)
        with tf.device(op.device):
            if op.type == "VarHandleOp":
                initializers.append(tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=values))
            else:
                initializers.append(v1.assign(op.outputs[0], values).op)
    return initializers


def _feeds(graph: Any) -> dict[Any, Any]:
    """Fixed numbers for all placeholders."""
    feeds = {}
    for op in graph.get_operations():
        if op.type == "Placeholder":
            output = op.outputs[0]
            feeds[output] = np.arange(output.shape.num_elements()).reshape(output.shape.as_list()) % 7
    return feeds
