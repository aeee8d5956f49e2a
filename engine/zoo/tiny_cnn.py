"""A small convolutional network, a full training step or inference: it runs fast, for tests and first trials.

Two parallel branches between a stem and a classifier, on images of 16 x 16. Imported only in a child.
"""

from typing import Any

import tensorflow as tf

from engine.zoo.layers import concatenation, convolution, dense, for_inference, max_pool, mean_over_space, v1
from engine.zoo.settings import TinySettings
from engine.zoo.training_step import (
    PREDICTION,
    Optimizer,
    cross_entropy,
    pruned_prediction,
    pruned_step,
    training_step,
)

IMAGE_SIZE = 16
CLASSES = 10
LEARNING_RATE = 0.1


def build(settings: TinySettings) -> Any:
    """Build the GraphDef."""
    graph = tf.Graph()
    with graph.as_default():
        for_inference(settings.inference)
        images = v1.placeholder(tf.float32, [settings.batch, IMAGE_SIZE, IMAGE_SIZE, 3], name="images")
        stem = max_pool(convolution(images, 8, (3, 3), name="stem"), window=2, name="pool")
        with v1.variable_scope("branch_0"):
            wide = convolution(stem, 8, (3, 3), name="conv_3x3")
        with v1.variable_scope("branch_1"):
            narrow = convolution(stem, 8, (1, 1), name="conv_1x1")
        logits = dense(mean_over_space(concatenation([wide, narrow]), name="pool_all"), CLASSES, name="logits")
        if settings.inference:
            tf.nn.softmax(logits, name=PREDICTION)
            return pruned_prediction(graph)
        labels = v1.placeholder(tf.int32, [settings.batch], name="labels")
        training_step(cross_entropy(logits, labels), Optimizer.MOMENTUM, LEARNING_RATE)
    return pruned_step(graph)
