"""Runs steps of a zoo graph. In a child alone."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from engine.child import ReportProgress, Results
from engine.events import Json

v1 = tf.compat.v1

UPDATES = ("ResourceApply", "ResourceScatter")
"""how the types of ops begin that an optimizer updates a variable with"""


def train_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The losses of some steps on one batch of random examples, from random weights; which variables moved.

    Texts: `still`, the trained variables that the steps left as they were.
    """
    with imported(order).as_default() as graph, v1.Session(config=plain_session()) as session:
        rng = np.random.default_rng(0)
        session.run(initializers(graph, rng))
        trained = sorted({handle.name: handle for handle in _trained(graph)}.items())
        reads = [tf.raw_ops.ReadVariableOp(resource=handle.outputs[0], dtype=tf.float32) for _, handle in trained]
        before = session.run(reads)
        feeds = random_feeds(graph, rng)
        losses = [session.run(["loss:0", "train_step"], feeds)[0] for _ in range(int(str(order["steps"])))]
        after = session.run(reads)
    changed = [bool(np.any(old != new)) for old, new in zip(before, after, strict=True)]
    still: list[Json] = [name for (name, _), moved in zip(trained, changed, strict=True) if not moved]
    return {"losses": np.array(losses, dtype=np.float64)}, {"still": still, "trained": len(trained)}


def predict_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The prediction on one batch of random examples, twice, from random weights."""
    with imported(order).as_default() as graph, v1.Session(config=plain_session()) as session:
        rng = np.random.default_rng(0)
        session.run(initializers(graph, rng))
        feeds = random_feeds(graph, rng)
        return {name: session.run("prediction:0", feeds) for name in ("prediction", "again")}, {}


def imported(order: dict[str, Json]) -> Any:
    """The graph in the order's `path`."""
    graph = tf.Graph()
    with graph.as_default():
        v1.import_graph_def(v1.GraphDef.FromString(Path(str(order["path"])).read_bytes()), name="")
    return graph


def plain_session() -> Any:
    """Without the optimizations that take longer than the steps."""
    settings = config_pb2.ConfigProto()
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    return settings


def initializers(graph: Any, rng: np.random.Generator) -> list[Any]:
    """An assignment to each variable."""
    return [_initializer(op, rng) for op in graph.get_operations() if op.type == "VarHandleOp"]


def random_feeds(graph: Any, rng: np.random.Generator) -> dict[Any, Any]:
    """Normal numbers for features; for labels and words small whole numbers."""
    feeds = {}
    for op in graph.get_operations():
        if op.type == "Placeholder":
            tensor, shape = op.outputs[0], op.outputs[0].shape.as_list()
            feeds[tensor] = rng.integers(2, 10, shape) if tensor.dtype.is_integer else rng.normal(size=shape)
    return feeds


def _trained(graph: Any) -> list[Any]:
    """The handles of the variables that an optimizer updates; its own slots are not among them."""
    updates = [op for op in graph.get_operations() if op.type.startswith(UPDATES)]
    return [update.inputs[0].op for update in updates]


def _initializer(op: Any, rng: np.random.Generator) -> Any:
    """What the builder's own initializers would have given."""
    shape = tf.TensorShape(op.get_attr("shape")).as_list()
    dtype = tf.as_dtype(op.get_attr("dtype"))
    if op.name.endswith("weights"):
        inputs = np.prod(shape[:2]) if "depthwise" in op.name else np.prod(shape[:-1])
        values = rng.normal(size=shape) * (2.0 / inputs) ** 0.5
    else:
        ones = op.name.endswith(("gamma", "moving_variance", "RMSProp"))
        values = np.full(shape, 1.0 if ones else 0.0)
    return tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=values.astype(dtype.as_numpy_dtype))
