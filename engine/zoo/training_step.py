"""From a model's outputs to what is run, a training step or a prediction, as a pruned GraphDef. In a child alone."""

from enum import StrEnum
from typing import Any

import tensorflow as tf

from engine.zoo.layers import UPDATES, WEIGHTS, Tensor, v1

STEP = "train_step"
"""name of the op that stands for the whole training step"""
LOSS = "loss"
"""name of the op that gives the loss"""
PREDICTION = "prediction"
"""name of the op that gives the answer, in inference"""


class Optimizer(StrEnum):
    """How the weights are updated."""

    GRADIENT_DESCENT = "gradient_descent"
    MOMENTUM = "momentum"
    RMSPROP = "rmsprop"


def cross_entropy(logits: Tensor, labels: Tensor, *, name: str = "cross_entropy") -> Tensor:
    """Mean loss of `logits` [batch, classes] at `labels` [batch]."""
    with tf.name_scope(name):
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        return tf.reduce_mean(losses)


def weight_decay(factor: float) -> Tensor:
    """`factor` times the sum of half the squares of all weights."""
    with tf.name_scope("weight_decay"):
        return factor * tf.add_n([tf.nn.l2_loss(weights) for weights in v1.get_collection(WEIGHTS)])


def training_step(
    loss: Tensor, optimizer: Optimizer, learning_rate: float, *, largest_norm: float | None = None
) -> None:
    """Add gradients, the optimizer's updates and the moving averages'; `STEP` and `LOSS` are then in the graph.

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
        clipped, _ = tf.clip_by_global_norm([gradient for gradient, _ in gradients], largest_norm, name="clipping")
        gradients = [(gradient, variable) for gradient, (_, variable) in zip(clipped, gradients, strict=True)]
    applied = chosen.apply_gradients(gradients, global_step=step, name="optimizer")
    tf.identity(loss, name=LOSS)
    with tf.control_dependencies([applied, *v1.get_collection(UPDATES)]):
        tf.no_op(name=STEP)


def pruned_step(graph: Any) -> Any:
    """The GraphDef of what one training step runs: no initializers, no leftovers."""
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), [STEP, LOSS])


def pruned_prediction(graph: Any) -> Any:
    """The GraphDef of what one prediction runs."""
    return v1.graph_util.extract_sub_graph(graph.as_graph_def(), [PREDICTION])
