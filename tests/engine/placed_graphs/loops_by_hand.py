"""Loops whose layers or replicas people put on GPUs of their own, and a decoder that is too large for one GPU.

Used in a child alone, where TensorFlow is loaded.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from experiments.placed.samples import zipped

v1 = tf.compat.v1
WIDTH, TRIPS = 16, 5
DECODER_WIDTH = 43_000
"""a layer of the decoder holds 7.4 GB"""


def _gpu(index: int) -> Any:
    return tf.device(f"/device:GPU:{index}")


def stack_of_version_1(folder: Path) -> Path:
    """Two recurrent layers in one loop, as GNMT has them: ref variables, Enter, Switch, NextIteration."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        steps = tf.TensorArray(tf.float32, TRIPS).unstack(v1.placeholder(tf.float32, [TRIPS, 4, WIDTH], name="inputs"))
        weights = []
        for layer in range(2):
            with _gpu(layer):
                weights.append(v1.get_variable(f"weights_{layer}", [2 * WIDTH, WIDTH], use_resource=False))

        def body(time: Any, below: Any, above: Any) -> Any:
            with _gpu(0):
                below = tf.tanh(tf.matmul(tf.concat([steps.read(time), below], 1), weights[0], name="below"))
            with _gpu(1):
                above = tf.tanh(tf.matmul(tf.concat([below, above], 1), weights[1], name="above"))
            return time + 1, below, above

        states = (tf.zeros([4, WIDTH]), tf.zeros([4, WIDTH]))
        tf.reduce_mean(v1.while_loop(lambda time, *_: time < TRIPS, body, (0, *states))[2], name="loss")
    return _written(folder, graph, "loss")


def stack_of_version_2(folder: Path) -> Path:
    """The same as a SavedModel, whose loop is a functional While."""
    model = tf.Module()
    model.weights = [tf.Variable(tf.ones([2 * WIDTH, WIDTH]) * 0.01 * (layer + 1)) for layer in range(2)]

    def serve(inputs: Any) -> Any:
        below = above = tf.zeros([4, WIDTH])
        for time in tf.range(TRIPS):
            with _gpu(0):
                below = tf.tanh(tf.matmul(tf.concat([inputs[time], below], 1), model.weights[0], name="below"))
            with _gpu(1):
                above = tf.tanh(tf.matmul(tf.concat([below, above], 1), model.weights[1], name="above"))
        return {"outputs": above}

    return _saved(folder, model, serve, (TRIPS, 4, WIDTH))


def replicas(folder: Path) -> Path:
    """Training steps of two replicas in a loop over the steps."""
    model = tf.Module()
    model.weights = [tf.Variable(tf.ones([WIDTH, WIDTH]) * 0.01) for _ in range(2)]

    def train(inputs: Any) -> Any:
        total = 0.0
        for step in tf.range(TRIPS):
            gradients = []
            for replica, (weights, name) in enumerate(zip(model.weights, ("below", "above"), strict=True)):
                with _gpu(replica), tf.GradientTape() as tape:
                    rows = inputs[step][replica * 4 : replica * 4 + 4]
                    loss = tf.reduce_mean(tf.matmul(rows, weights, name=name) ** 2)
                    gradients.append(tape.gradient(loss, weights))
                    total += loss
            for replica, weights in enumerate(model.weights):
                with _gpu(replica):
                    weights.assign_sub(0.05 * (gradients[0] + gradients[1]))
        return {"loss": total}

    return _saved(folder, model, train, (TRIPS, 8, WIDTH))


def decoder(folder: Path) -> Path:
    """Two layers of `DECODER_WIDTH`, gone through 20 times in a loop."""
    return _decoder(folder, lambda step, state: v1.while_loop(lambda t, _: t < 20, step, (0, state))[1])


def decoder_without_a_loop(folder: Path) -> Path:
    """The same layers, gone through once."""
    return _decoder(folder, lambda step, state: step(0, state)[1])


def _decoder(folder: Path, decode: Callable[[Any, Any], Any]) -> Path:
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        start = v1.zeros_initializer()
        shape = [DECODER_WIDTH, DECODER_WIDTH]
        weights = [v1.get_variable(name, shape, use_resource=True, initializer=start) for name in ("below", "above")]

        def step(time: Any, state: Any) -> Any:
            for each in weights:
                state = tf.tanh(tf.matmul(state, each))
            return time + 1, state

        tf.identity(decode(step, v1.placeholder(tf.float32, [8, DECODER_WIDTH], name="inputs")), name="outputs")
    return _written(folder, graph, "outputs")


def _written(folder: Path, graph: Any, output: str) -> Path:
    path = folder / "graph.pb"
    definition = v1.graph_util.extract_sub_graph(graph.as_graph_def(), [output])
    path.write_bytes(definition.SerializeToString(deterministic=True))
    return path


def _saved(folder: Path, model: Any, serve: Callable[[Any], Any], shape: tuple[int, ...]) -> Path:
    serving = tf.function(serve, [tf.TensorSpec(shape, tf.float32, name="inputs")])
    tf.saved_model.save(model, str(folder / "saved"), signatures=serving)
    return zipped(folder, "saved", folder / "saved")


BY_HAND: dict[str, Callable[[Path], Path]] = {
    "stack of version 1": stack_of_version_1,
    "stack of version 2": stack_of_version_2,
    "replicas": replicas,
}
BUILDERS = BY_HAND | {"decoder": decoder, "decoder without a loop": decoder_without_a_loop}
