"""Adds a training step or a prediction to a model's outputs, and prunes the GraphDef. Imported only in a child."""

from enum import StrEnum
from typing import Any

import tensorflow as tf

from engine.zoo.layers import UPDATES, WEIGHTS, Tensor, v1

STEP = "train_step"
"""name of the op that stands for the whole training step"""
LOSS = "loss"
"""name of the op that outputs the loss"""
PREDICTION = "prediction"
"""name of the op that outputs the answer, in inference"""


class Optimizer(StrEnum):
    """The method that updates the weights."""

    GRADIENT_DESCENT = "gradient_descent"
    MOMENTUM = "momentum"
    RMSPROP = "rmsprop"


def cross_entropy(logits: Tensor, labels: Tensor, *, name: str = "cross_entropy") -> Tensor:
    """The mean loss of `logits` [batch, classes] for `labels` [batch]."""
    with tf.name_scope(name):
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.reduce_mean(losses)


def decayed(loss: Tensor, factor: float) -> Tensor:
    """`loss` plus `factor` times half the sum of the squares of all weights; ops are named after the weights."""
    with tf.name_scope("weight_decay"):
        squares = [tf.nn.l2_loss(weights, name=weights.op.name) for weights in v1.get_collection(WEIGHTS)]
        decay = tf.multiply(factor, tf.add_n(squares, name="sum"), name="scaled")
    with tf.name_scope("total_loss/"):
        return tf.add(loss, decay, name="with_decay")


def with_auxiliary(loss: Tensor, extra: Tensor, factor: float) -> Tensor:
    """`loss` plus `factor` times the loss of a second classifier."""
    with tf.name_scope("total_loss/"):
        return tf.add(loss, tf.multiply(factor, extra, name="weighted"), name="with_auxiliary")


def training_step(
    loss: Tensor, optimizer: Optimizer, learning_rate: float, *, largest_norm: float | None = None
) -> None:
    """Add gradients, updates of the optimizer and of the moving averages, and the ops `STEP` and `LOSS`.

    With `largest_norm` the gradients are scaled down together where their norm exceeds it.
    """
    step = v1.train.get_or_create_global_step()
    chosen: Any = {
        Optimizer.GRADIENT_DESCENT: lambda: v1.train.GradientDescentOptimizer(learning_rate),
        Optimizer.MOMENTUM: lambda: v1.train.MomentumOptimizer(learning_rate, 0.9),
        Optimizer.RMSPROP: lambda: v1.train.RMSPropOptimizer(learning_rate, decay=0.9, momentum=0.9, epsilon=1.0),
    }[optimizer]()
    gradients = chosen.compute_gradients(loss)
    if largest_norm is not None:
        gradients = _clipped(gradients, largest_norm)
    applied = chosen.apply_gradients(gradients, global_step=step, name="optimizer")
    tf.identity(loss, name=LOSS)
    with tf.control_dependencies([applied, *v1.get_collection(UPDATES)]):
        tf.no_op(name=STEP)


def _clipped(gradients: list[tuple[Any, Any]], largest_norm: float) -> list[tuple[Any, Any]]:
    """The (gradient, variable) pairs, scaled down together to that norm; ops are named after the variables."""
    clipped = []
    with tf.name_scope("clipping"):
        values = [each.values if isinstance(each, tf.IndexedSlices) else each for each, _ in gradients]
        squares = [
            tf.nn.l2_loss(each, name=f"{variable.op.name}/square")
            for each, (_, variable) in zip(values, gradients, strict=True)
        ]
        norm = tf.sqrt(tf.multiply(2.0, tf.add_n(squares, name="sum"), name="squared_norm"), name="norm")
        factor = tf.divide(largest_norm, tf.maximum(norm, largest_norm, name="at_least"), name="factor")
        for each, (gradient, variable) in zip(values, gradients, strict=True):
            scaled = tf.multiply(each, factor, name=f"{variable.op.name}/scaled")
            sparse = isinstance(gradient, tf.IndexedSlices)
            clipped.append(tf.IndexedSlices(scaled, gradient.indices, gradient.dense_shape) if sparse else scaled)
    return [(each, variable) for each, (_, variable) in zip(clipped, gradients, strict=True)]


def pruned_step(graph: Any) -> Any:
    """The GraphDef of the ops that one training step runs, without initializers."""
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), [STEP, LOSS])


def pruned_prediction(graph: Any) -> Any:
    """The GraphDef of the ops that one prediction runs."""
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), [PREDICTION])
