"""Runs steps of a zoo graph. In a child alone."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from engine.child import ReportProgress, Results
from engine.events import Json

v1 = tf.compat.v1


def train_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The losses of some steps on one batch of random images, from random weights."""
    definition = v1.GraphDef.FromString(Path(str(order["path"])).read_bytes())
    rng = np.random.default_rng(0)
    with tf.Graph().as_default() as graph:
        v1.import_graph_def(definition, name="")
        start = [_initializer(op, rng) for op in graph.get_operations() if op.type == "VarHandleOp"]
        images, labels = graph.get_tensor_by_name("images:0"), graph.get_tensor_by_name("labels:0")
        feeds = {images: rng.normal(size=images.shape.as_list()), labels: np.arange(labels.shape[0]) % 10}
        settings = config_pb2.ConfigProto()
        settings.graph_options.rewrite_options.disable_meta_optimizer = True  # it takes longer than the steps
        with v1.Session(config=settings) as session:
            session.run(start)
            steps = range(int(str(order["steps"])))
            losses = [session.run(["loss:0", "train_step"], feeds)[0] for _ in steps]
    return {"losses": np.array(losses, dtype=np.float64)}, {}


def _initializer(op: Any, rng: np.random.Generator) -> Any:
    """What the builder's own initializers would have given."""
    shape = tf.TensorShape(op.get_attr("shape")).as_list()
    dtype = tf.as_dtype(op.get_attr("dtype"))
    if op.name.endswith("weights"):
        values = rng.normal(size=shape) * (2.0 / np.prod(shape[:-1])) ** 0.5
    else:
        ones = op.name.endswith(("gamma", "moving_variance", "RMSProp"))
        values = np.full(shape, 1.0 if ones else 0.0)
    return tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=values.astype(dtype.as_numpy_dtype))
