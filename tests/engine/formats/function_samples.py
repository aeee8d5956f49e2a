"""Small SavedModels, a MetaGraphDef and graphs that call functions, and a way to run them. Used in a child alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from engine.child.parent import ReportProgress, Results
from engine.events import Json

v1 = tf.compat.v1
WIDTH = 8


def make_model() -> Any:
    """A model whose functions call functions."""
    model = tf.Module()
    model.weights = tf.Variable(tf.ones([WIDTH, WIDTH]) * 0.1, name="weights")
    model.count = tf.Variable(np.int64(0), name="count")

    def loop(x: Any) -> Any:
        """A functional While and a functional If, each with a variable."""
        for _ in tf.range(3):
            x = tf.tanh(x @ model.weights)
        if tf.reduce_sum(x) > 0.0:
            model.count.assign_add(1)
            x = x + 1.0
        else:
            x = x - 1.0
        return {"y": x}

    def train(x: Any) -> Any:
        """A training step."""
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(x, model.weights) ** 2.0)
        model.weights.assign_sub(0.1 * tape.gradient(loss, model.weights))
        return {"loss": loss}

    model.loop = tf.function(loop, input_signature=[tf.TensorSpec([4, WIDTH], name="x")])
    model.train = tf.function(train, input_signature=[tf.TensorSpec([None, WIDTH], name="x")])
    return model


def save_module(folder: Path) -> None:
    """A SavedModel with two signatures, neither of them the usual one."""
    model = make_model()
    tf.saved_model.save(model, str(folder), signatures={"loop": model.loop, "train": model.train})


def save_keras(folder: Path) -> None:
    """A SavedModel as Keras exports it, for batches of any size."""
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input([16, 16, 3], name="images"),
            layers.Conv2D(4, 3, name="conv"),
            layers.BatchNormalization(name="norm"),
            layers.Flatten(name="flat"),
            layers.Dense(10, name="dense"),
        ]
    )
    model.export(str(folder), verbose=False)


def meta_graph() -> Any:
    """What TensorFlow 1 writes beside a checkpoint: a training step, summaries, a saver, an initializer."""
    with tf.Graph().as_default():
        inputs = v1.placeholder(tf.float32, [4, WIDTH], name="inputs")
        weights = v1.get_variable("weights", [WIDTH, WIDTH], use_resource=False)
        loss = tf.reduce_sum(tf.matmul(inputs, weights) ** 2.0, name="loss")
        v1.summary.scalar("loss_summary", loss)
        train_op = v1.train.AdamOptimizer(0.1).minimize(loss, name="train_step")
        v1.add_to_collection(v1.GraphKeys.TRAIN_OP, train_op)
        v1.global_variables_initializer()
        return v1.train.export_meta_graph(saver_def=v1.train.Saver().as_saver_def())


def calls() -> Any:
    """A graph of version 1 that calls functions: one in another, one that assigns, one in a loop."""
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, WIDTH], name="inputs")
        weights = v1.get_variable("weights", [WIDTH, WIDTH], use_resource=True)

        inner = tf.function(lambda x: tf.nn.relu(tf.matmul(x, weights)))

        def outer(x: Any) -> Any:
            y = inner(inner(x))
            weights.assign_add(tf.matmul(y, y, transpose_a=True) * 0.01)
            return y

        with tf.device("/device:CPU:0"):
            first = tf.function(outer)(inputs)
        state = tf.while_loop(lambda x: tf.reduce_sum(x) < 1e4, lambda x: (inner(x) + 1.0,), (first,))
        tf.reduce_sum(state[0], name="loss")
    return graph.as_graph_def()


def dataset() -> Any:
    """A data pipeline whose functions stay functions, and a call beside it."""
    with tf.Graph().as_default() as graph:
        data = tf.data.Dataset.range(100).map(lambda x: tf.cast(x, tf.float32) * 2.0).filter(lambda x: x > 3.0)
        batch = v1.data.make_one_shot_iterator(data.batch(4)).get_next()
        tf.reduce_sum(tf.function(lambda x: tf.sqrt(x) + 1.0)(batch), name="loss")
    return graph.as_graph_def()


def compiled() -> Any:
    """A call that XLA compiles whole, and one that it does not."""
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, WIDTH], name="inputs")
        whole = tf.function(lambda x: tf.tanh(x) * 2.0, jit_compile=True)(inputs)
        tf.reduce_sum(tf.function(lambda x: x + 1.0)(whole), name="loss")
    return graph.as_graph_def()


def captured() -> Any:
    """The graph of a function by itself: its variables are inputs, which have no shape."""
    model = make_model()
    return model.loop.get_concrete_function().graph.as_graph_def()


def branches() -> Any:
    """A functional Case, and functional forms that bear no mark that they may be lowered."""
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, WIDTH], name="inputs")
        index = tf.cast(tf.reduce_sum(inputs), tf.int32) % 3
        chosen = tf.switch_case(index, [lambda: inputs, lambda: inputs * 2.0, lambda: tf.tanh(inputs)])
        chosen = tf.cond(tf.reduce_sum(chosen) > 1.0, lambda: chosen + 1.0, lambda: chosen - 1.0)
        tf.reduce_sum(chosen, name="loss")
    definition = graph.as_graph_def()
    for node in definition.node:
        if node.op in ("If", "StatelessIf", "Case", "StatelessCase"):
            del node.attr["_lower_using_switch_merge"]
    return definition


def pruned() -> Any:
    """Calls that do not name their side effects, and take constants: plain, in a loop, in another call; one output is
    not taken."""
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, WIDTH], name="inputs")
        count = v1.get_variable("count", [], use_resource=True)

        def clip(x: Any, low: Any, high: Any) -> Any:
            clipped = tf.clip_by_value(x, low, high)
            return clipped * count.assign_add(high).read_value(), clipped + 1.0

        wrapped = v1.wrap_function(clip, [tf.TensorSpec([4, WIDTH]), tf.TensorSpec([]), tf.TensorSpec([])])
        inner = wrapped.prune(wrapped.inputs[:3], wrapped.outputs)
        around = v1.wrap_function(
            lambda x: inner(x, tf.constant(0.1), tf.constant(0.5))[0], [tf.TensorSpec([4, WIDTH])]
        )
        outer = around.prune(around.inputs[:1], around.outputs[0])
        first, _ = inner(inputs, tf.constant(0.0), tf.constant(0.6))
        second = outer(first)
        body = lambda step, x: (step + 1, inner(x, tf.constant(-1.0), tf.constant(0.7))[0])  # noqa: E731
        _, third = tf.while_loop(lambda step, _: step < 3, body, (0, second))
        tf.reduce_sum(third, name="loss")
    return graph.as_graph_def()


def not_inlined() -> Any:
    """A call with Switch and Merge in its function, whose side effect may not run, and constants among its inputs."""
    with tf.Graph().as_default() as graph:
        inputs = v1.placeholder(tf.float32, [4, WIDTH], name="inputs")
        count = v1.get_variable("count", [], use_resource=True)

        def choose(x: Any, low: Any, high: Any) -> Any:
            below, above = tf.raw_ops.Switch(data=high, pred=tf.reduce_sum(x) > low)
            with tf.control_dependencies([above]):
                counted = count.assign_add(0.5).read_value()
            y, _ = tf.raw_ops.Merge(inputs=[below * 2.0, above + counted])
            return x * y, x + high

        wrapped = v1.wrap_function(choose, [tf.TensorSpec([4, WIDTH]), tf.TensorSpec([]), tf.TensorSpec([])])
        pruned_one = wrapped.prune(wrapped.inputs[:3], wrapped.outputs)
        first, _ = pruned_one(inputs, tf.constant(0.0), tf.constant(0.6))
        tf.reduce_sum(first, name="loss")
    return graph.as_graph_def()


SAVED_MODELS: dict[str, Callable[[Path], None]] = {"module": save_module, "keras": save_keras}
GRAPHS: dict[str, Callable[[], Any]] = {
    "calls": calls,
    "dataset": dataset,
    "compiled": compiled,
    "captured": captured,
    "branches": branches,
    "pruned": pruned,
    "not inlined": not_inlined,
}


def build_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Into the order's folder: SavedModels as folders, with their graph beside them; graphs; a MetaGraphDef."""
    folder = Path(cast(str, order["folder"]))
    for name, save in SAVED_MODELS.items():
        save(folder / name)
        saved_model = saved_model_pb2.SavedModel.FromString((folder / name / "saved_model.pb").read_bytes())
        (folder / f"{name}.pb").write_bytes(saved_model.meta_graphs[0].graph_def.SerializeToString())
    v1.enable_control_flow_v2()
    for name, build in GRAPHS.items():
        (folder / f"{name}.pb").write_bytes(build().SerializeToString())
    v1.disable_control_flow_v2()
    meta = meta_graph()
    (folder / "training.meta").write_bytes(meta.SerializeToString())
    (folder / "training.pb").write_bytes(meta.graph_def.SerializeToString())
    return {}, {}


def run_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """For each job {name: [paths, fetches]}: what each graph gives in two steps, and what its variables then hold."""
    texts: dict[str, Json] = {}
    for name, job in order.items():
        paths, fetches = cast(tuple[list[str], list[str]], job)
        texts[name] = [_run(path, fetches) for path in paths]
    return {}, texts


def _run(path: str, fetches: list[str]) -> list[Json]:
    definition = v1.GraphDef.FromString(Path(path).read_bytes())
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(0)
        v1.import_graph_def(definition, name="")
        variables = [op for op in graph.get_operations() if op.type in ("VarHandleOp", "VariableV2")]
        initializers = [_initializer(op) for op in variables]
        wanted = [graph.get_operation_by_name(name) for name in fetches]
        tensors = [op.outputs[0] if op.outputs else op for op in wanted]
        with v1.Session(graph=graph) as session:
            session.run(initializers)
            found = [session.run(tensors, _feeds(graph)) for _ in range(2)]
            held = {op.name: session.run(_value(op)).tolist() for op in variables}
    given: list[Json] = [[np.asarray(value).tolist() for value in step if value is not None] for step in found]
    return [given, held]


def _shape(op: Any) -> list[int]:
    return cast(list[int], tf.TensorShape(op.get_attr("shape")).as_list())


def _initializer(op: Any) -> Any:
    values = np.random.default_rng(len(op.name)).uniform(0.1, 0.5, _shape(op))
    values = values.astype(tf.as_dtype(op.get_attr("dtype")).as_numpy_dtype)
    if op.type == "VarHandleOp":
        return tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=values)
    return v1.assign(op.outputs[0], values).op


def _value(op: Any) -> Any:
    if op.type == "VarHandleOp":
        return tf.raw_ops.ReadVariableOp(resource=op.outputs[0], dtype=op.get_attr("dtype"))
    return op.outputs[0]


def _feeds(graph: Any) -> dict[Any, Any]:
    """Fixed numbers for all inputs; two examples where the file says of none how many."""
    feeds = {}
    for op in graph.get_operations():
        if op.type == "Placeholder" and op.outputs[0].dtype == tf.float32:
            shape = [2 if length is None else length for length in op.outputs[0].shape.as_list()]
            feeds[op.outputs[0]] = np.arange(np.prod(shape)).reshape(shape) % 7 / 7
    return feeds
