"""Layers of the zoo, from plain TensorFlow ops with resource variables and known shapes. Imported in a child alone."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

Tensor: TypeAlias = Any

BATCH_NORM_EPSILON = 0.001
MOVING_AVERAGE_DECAY = 0.9997
UPDATES = "updates"
"""collection of ops that belong to a training step beside the optimizer's"""
WEIGHTS = "weights"
"""collection of the variables that weight decay holds for"""

v1 = tf.compat.v1


def variable(name: str, shape: Sequence[int], initial: Any, *, trainable: bool = True) -> Any:
    """A resource variable of the current scope."""
    return v1.get_variable(name, shape, tf.float32, initializer=initial, trainable=trainable, use_resource=True)


def weights(shape: Sequence[int]) -> Any:
    """Weights with He's initial values; the last dimension is the outputs'."""
    deviation = (2.0 / float(np.prod(shape[:-1]))) ** 0.5
    kernel = variable("weights", shape, v1.truncated_normal_initializer(stddev=deviation, seed=1))
    v1.add_to_collection(WEIGHTS, kernel)
    return kernel


def convolution(
    inputs: Tensor, filters: int, kernel: tuple[int, int], *, stride: int = 1, padding: str = "SAME", name: str
) -> Tensor:
    """Convolution, batch norm, ReLU on `inputs` [batch, height, width, channels]."""
    with v1.variable_scope(name):
        channels = int(inputs.shape[3])
        outputs = tf.nn.conv2d(inputs, weights([*kernel, channels, filters]), stride, padding, name="conv")
        return tf.nn.relu(batch_norm(outputs), name="relu")


def batch_norm(inputs: Tensor) -> Tensor:
    """Batch norm with the batch's own mean and variance; the moving averages' updates go to `UPDATES`."""
    with v1.variable_scope("batch_norm"):
        channels = [int(inputs.shape[3])]
        scale = variable("gamma", channels, v1.ones_initializer())
        offset = variable("beta", channels, v1.zeros_initializer())
        outputs, mean, variance = v1.nn.fused_batch_norm(
            inputs, scale, offset, epsilon=BATCH_NORM_EPSILON, is_training=True, name="normalize"
        )
        _update_average("moving_mean", mean, v1.zeros_initializer())
        _update_average("moving_variance", variance, v1.ones_initializer())
        return outputs


def _update_average(name: str, value: Tensor, initial: Any) -> None:
    """A moving average of `value`."""
    average = variable(name, [int(value.shape[0])], initial, trainable=False)
    with tf.name_scope(f"update_{name}"):
        change = (average.read_value() - value) * (1.0 - MOVING_AVERAGE_DECAY)
        v1.add_to_collection(UPDATES, average.assign_sub(change, read_value=False))


def max_pool(inputs: Tensor, *, window: int = 3, stride: int = 2, padding: str = "VALID", name: str) -> Tensor:
    """Maximum over windows."""
    return tf.nn.max_pool2d(inputs, window, stride, padding, name=name)


def average_pool(inputs: Tensor, *, window: int = 3, stride: int = 1, padding: str = "SAME", name: str) -> Tensor:
    """Mean over windows."""
    return tf.nn.avg_pool2d(inputs, window, stride, padding, name=name)


def dense(inputs: Tensor, outputs: int, *, name: str) -> Tensor:
    """A matrix product and a bias on `inputs` [batch, features]."""
    with v1.variable_scope(name):
        product = tf.matmul(inputs, weights([int(inputs.shape[1]), outputs]), name="matmul")
        return tf.nn.bias_add(product, variable("bias", [outputs], v1.zeros_initializer()), name="add_bias")


def mean_over_space(inputs: Tensor, *, name: str) -> Tensor:
    """[batch, height, width, channels] → [batch, channels]"""
    return tf.reduce_mean(inputs, axis=[1, 2], name=name)


def concatenation(branches: Sequence[Tensor]) -> Tensor:
    """The branches of a block, by channel."""
    return tf.concat(branches, axis=3, name="concat")
