"""Models as TensorFlow 1 writes them: one graph, its loops and branches made of Switch and Merge, ref variables."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tests.models.model import Built
from tests.models.products import convolution, matrix_product

v1 = tf.compat.v1
STEPS, FEATURES, UNITS, CLASSES = 20, 24, 32, 5


@dataclass(frozen=True, slots=True)
class Graph1:
    """A graph and its input and output tensors."""

    graph: Any
    """tf.Graph"""
    feeds: dict[str, Any]
    fetches: dict[str, Any]


def recurrent_training(batch: int) -> Built:
    """A while loop over the steps, its gradients, a condition, Adam with ref variables."""
    with _old_control_flow(), tf.Graph().as_default() as graph:
        v1.set_random_seed(0)
        sequences = v1.placeholder(tf.float32, [None, STEPS, FEATURES], "sequences")
        labels = v1.placeholder(tf.int32, [None], "labels")
        training = v1.placeholder_with_default(True, [], "training")
        state = _looped(sequences)
        state = v1.cond(training, lambda: tf.nn.dropout(state, 0.1, seed=1), lambda: tf.identity(state))
        logits = _dense(state, CLASSES, "logits")
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        loss = tf.reduce_mean(losses, name="loss")
        train = v1.train.AdamOptimizer(1e-3).minimize(loss, name="train")
        with tf.control_dependencies([train]):
            trained_loss = tf.identity(loss, "trained_loss")
        graph1 = Graph1(graph, {"sequences": sequences, "labels": labels}, {"loss": trained_loss})
    steps = STEPS * (matrix_product(batch, FEATURES, UNITS) + matrix_product(batch, UNITS, UNITS))
    return _built(graph1, 3 * (steps + matrix_product(batch, UNITS, CLASSES)))


def recurrent_inference(batch: int) -> Built:
    """The loop without training, and a condition on its numbers."""
    with _old_control_flow(), tf.Graph().as_default() as graph:
        v1.set_random_seed(0)
        sequences = v1.placeholder(tf.float32, [None, STEPS, FEATURES], "sequences")
        state = _looped(sequences)
        large = tf.reduce_mean(state) > 0
        state = v1.cond(large, lambda: _dense(state, UNITS, "more"), lambda: tf.identity(state))
        answers = tf.nn.softmax(_dense(state, CLASSES, "logits"), name="answers")
        graph1 = Graph1(graph, {"sequences": sequences}, {"answers": answers})
    steps = STEPS * (matrix_product(batch, FEATURES, UNITS) + matrix_product(batch, UNITS, UNITS))
    return _built(graph1, steps + matrix_product(batch, UNITS, UNITS) + matrix_product(batch, UNITS, CLASSES))


def convolutional_training(batch: int) -> Built:
    """Convolutions, Momentum with resource variables, a decayed rate and clipped gradients.

    The images' gradient is computed although unused: `tf.gradients` ties an op's gradients together.
    """
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(0)
        images = v1.placeholder(tf.float32, [None, 28, 28, 1], "images")
        labels = v1.placeholder(tf.int32, [None], "labels")
        net, channels, flops, size = images, 1, 0, 28
        for index, filters in enumerate((8, 16)):
            kernel = v1.get_variable(f"kernel_{index}", [3, 3, channels, filters], use_resource=True)
            net = tf.nn.relu(tf.nn.conv2d(net, kernel, 1, "SAME"))
            flops += 3 * convolution((batch, size, size, filters), (3, 3), channels)
            net, channels, size = tf.nn.max_pool2d(net, 2, 2, "SAME"), filters, size // 2
        logits = _dense(tf.reshape(net, [-1, size * size * channels]), CLASSES, "logits", resource=True)
        flops += 3 * matrix_product(batch, size * size * channels, CLASSES)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits), name="loss")
        step = v1.train.get_or_create_global_step()
        optimizer = v1.train.MomentumOptimizer(v1.train.exponential_decay(0.1, step, 100, 0.9), 0.9)
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
        train = optimizer.apply_gradients(zip(clipped, variables, strict=True), step, name="train")
        with tf.control_dependencies([train]):
            trained_loss = tf.identity(loss, "trained_loss")
        graph1 = Graph1(graph, {"images": images, "labels": labels}, {"loss": trained_loss})
    return _built(graph1, flops)


def _looped(sequences: Any) -> Any:
    """The last state [batch, units] of h = tanh(xW + hU)."""
    rows = tf.TensorArray(tf.float32, STEPS, element_shape=[None, FEATURES]).unstack(tf.transpose(sequences, (1, 0, 2)))
    with v1.variable_scope("cell"):
        of_input = v1.get_variable("of_input", [FEATURES, UNITS], use_resource=False)
        of_state = v1.get_variable("of_state", [UNITS, UNITS], use_resource=False)

    def body(at: Any, state: Any) -> Any:
        return at + 1, tf.tanh(tf.matmul(rows.read(at), of_input) + tf.matmul(state, of_state))

    start = (tf.constant(0), tf.zeros([tf.shape(sequences)[0], UNITS]))
    return v1.while_loop(lambda at, _: at < STEPS, body, start)[1]


def _dense(inputs: Any, outputs: int, name: str, *, resource: bool = False) -> Any:
    with v1.variable_scope(name):
        weights = v1.get_variable("weights", [int(inputs.shape[1]), outputs], use_resource=resource)
        return tf.matmul(inputs, weights) + v1.get_variable("bias", [outputs], use_resource=resource)


@contextmanager
def _old_control_flow() -> Iterator[None]:
    """Switch and Merge for loops and conditions until the context ends."""
    v1.disable_control_flow_v2()
    try:
        yield
    finally:
        v1.enable_control_flow_v2()


def _built(graph1: Graph1, flops: int) -> Built:
    """The model of `graph1`, whose step holds all variables of the graph."""
    with graph1.graph.as_default():
        held = tuple(v1.global_variables())
    return Built(graph1, None, (), flops, held)
