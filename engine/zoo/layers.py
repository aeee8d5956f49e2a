"""Layers of the zoo, from plain TensorFlow ops with resource variables and known shapes. Imported only in a child."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

Tensor: TypeAlias = Any

BATCH_NORM_EPSILON = 0.001
MOVING_AVERAGE_DECAY = 0.9997
UPDATES = "updates"
"""collection of the ops of a training step other than the optimizer's"""
WEIGHTS = "weights"
"""collection of the variables under weight decay"""
INFERENCE = "inference"
"""collection that marks a graph for inference if not empty: no dropout, batch norm with the moving averages"""

v1 = tf.compat.v1


def variable(name: str, shape: Sequence[int], initial: Any, *, trainable: bool = True) -> Any:
    """A new resource variable in the current scope."""
    return v1.get_variable(name, shape, tf.float32, initializer=initial, trainable=trainable, use_resource=True)


def for_inference(inference: bool) -> None:
    """Mark the current graph as one for inference if `inference`; call it before the first layer."""
    if inference:
        v1.add_to_collection(INFERENCE, inference)


def is_for_inference() -> bool:
    """Whether the current graph is for inference."""
    return bool(v1.get_collection(INFERENCE))


def weights(shape: Sequence[int], *, inputs: int | None = None) -> Any:
    """Weights with He's initial values for `inputs` of an output; None: the product of all dimensions but the last."""
    deviation = (2.0 / float(np.prod(shape[:-1]) if inputs is None else inputs)) ** 0.5
    kernel = variable("weights", shape, v1.truncated_normal_initializer(stddev=deviation, seed=1))
    v1.add_to_collection(WEIGHTS, kernel)
    return kernel


def convolution(
    inputs: Tensor, filters: int, kernel: tuple[int, int], *, stride: int = 1, padding: str = "SAME", name: str
) -> Tensor:
    """Convolution, batch norm, ReLU on `inputs` [batch, height, width, channels]."""
    with v1.variable_scope(name):
        outputs = plain_convolution(inputs, filters, kernel, stride=stride, padding=padding)
        return tf.nn.relu(batch_norm(outputs), name="relu")


def plain_convolution(
    inputs: Tensor, filters: int, kernel: tuple[int, int], *, stride: int = 1, padding: str = "SAME"
) -> Tensor:
    """Convolution alone, with the weights of the current scope."""
    channels = int(inputs.shape[3])
    return tf.nn.conv2d(inputs, weights([*kernel, channels, filters]), stride, padding, name="conv")


def depthwise_convolution(inputs: Tensor, window: int, *, stride: int = 1) -> Tensor:
    """Convolution of each channel by itself, with the weights of the current scope."""
    kernel = weights([window, window, int(inputs.shape[3]), 1], inputs=window * window)
    return tf.nn.depthwise_conv2d(inputs, kernel, [1, stride, stride, 1], "SAME", name="conv")


def batch_norm(inputs: Tensor) -> Tensor:
    """Batch norm with the batch's own mean and variance; the moving averages' updates go to `UPDATES`.

    In inference it uses the moving averages.
    """
    with v1.variable_scope("batch_norm"):
        channels = [int(inputs.shape[3])]
        scale = variable("gamma", channels, v1.ones_initializer())
        offset = variable("beta", channels, v1.zeros_initializer())
        if is_for_inference():
            return _normalized(inputs, scale, offset, channels)
        outputs, mean, variance = v1.nn.fused_batch_norm(
            inputs, scale, offset, epsilon=BATCH_NORM_EPSILON, is_training=True, name="normalize"
        )
        _update_average("moving_mean", mean, v1.zeros_initializer())
        _update_average("moving_variance", variance, v1.ones_initializer())
        return outputs


def _normalized(inputs: Tensor, scale: Any, offset: Any, channels: list[int]) -> Tensor:
    """Batch norm with the moving averages from training."""
    mean = variable("moving_mean", channels, v1.zeros_initializer(), trainable=False)
    variance = variable("moving_variance", channels, v1.ones_initializer(), trainable=False)
    outputs, _, _ = v1.nn.fused_batch_norm(
        inputs, scale, offset, mean, variance, epsilon=BATCH_NORM_EPSILON, is_training=False, name="normalize"
    )
    return outputs


def _update_average(name: str, value: Tensor, initial: Any) -> None:
    """Add a moving average of `value`, whose update goes to `UPDATES`."""
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


def dropout(inputs: Tensor, rate: float, *, name: str) -> Tensor:
    """`inputs` with a share `rate` of them set to zero; unchanged in inference."""
    return inputs if is_for_inference() or rate == 0 else tf.nn.dropout(inputs, rate=rate, seed=1, name=name)


def mean_over_space(inputs: Tensor, *, name: str) -> Tensor:
    """[batch, height, width, channels] → [batch, channels]"""
    return tf.reduce_mean(inputs, axis=[1, 2], name=name)


def concatenation(branches: Sequence[Tensor]) -> Tensor:
    """The branches of a block, by channel."""
    return tf.concat(branches, axis=3, name="concat")
