"""Inception-V3, a full training step or inference. Imported only in a child.

Source: Szegedy et al. 2015, "Rethinking the Inception Architecture for Computer Vision" (arXiv 1512.00567), sections 6
and 8 and figures 5 to 10; RMSProp with decay 0.9, epsilon 1 and learning rate 0.045 there.
"""

from typing import Any

import tensorflow as tf

from engine.zoo.layers import (
    Tensor,
    average_pool,
    concatenation,
    convolution,
    dense,
    dropout,
    for_inference,
    max_pool,
    mean_over_space,
    v1,
)
from engine.zoo.settings import InceptionSettings
from engine.zoo.training_step import (
    PREDICTION,
    Optimizer,
    cross_entropy,
    decayed,
    pruned_prediction,
    pruned_step,
    training_step,
    with_auxiliary,
)

DROPPED = 0.2
AUXILIARY_WEIGHT = 0.4
WEIGHT_DECAY = 0.00004
LEARNING_RATE = 0.045


def build(settings: InceptionSettings) -> Any:
    """Build the GraphDef."""
    graph = tf.Graph()
    with graph.as_default():
        for_inference(settings.inference)
        images = v1.placeholder(tf.float32, [settings.batch, settings.image_size, settings.image_size, 3], "images")
        middle, last = _blocks(_stem(images))
        logits = _classifier(last, settings.classes)
        if settings.inference:
            tf.nn.softmax(logits, name=PREDICTION)
            return pruned_prediction(graph)
        labels = v1.placeholder(tf.int32, [settings.batch], name="labels")
        loss = cross_entropy(logits, labels)
        if settings.auxiliary:
            extra = _auxiliary_classifier(middle, settings.classes)
            extra_loss = cross_entropy(extra, labels, name="auxiliary_cross_entropy")
            loss = with_auxiliary(loss, extra_loss, AUXILIARY_WEIGHT)
        training_step(decayed(loss, WEIGHT_DECAY), Optimizer.RMSPROP, LEARNING_RATE)
    return pruned_step(graph)


def _stem(images: Tensor) -> Tensor:
    """[batch, 299, 299, 3] → [batch, 35, 35, 192]"""
    with v1.variable_scope("stem"):
        net = convolution(images, 32, (3, 3), stride=2, padding="VALID", name="conv_1")
        net = convolution(net, 32, (3, 3), padding="VALID", name="conv_2")
        net = convolution(net, 64, (3, 3), name="conv_3")
        net = max_pool(net, name="pool_1")
        net = convolution(net, 80, (1, 1), padding="VALID", name="conv_4")
        net = convolution(net, 192, (3, 3), padding="VALID", name="conv_5")
        return max_pool(net, name="pool_2")


def _blocks(net: Tensor) -> tuple[Tensor, Tensor]:
    """The mixed blocks: the middle stage's last one [batch, 17, 17, 768] and the last of all [batch, 8, 8, 2048]."""
    for index, pooled in enumerate((32, 64, 64)):
        net = _block_35(net, pooled, name=f"mixed_35_{index}")
    net = _reduction_to_17(net, name="mixed_17_reduction")
    for index, inner in enumerate((128, 160, 160, 192)):
        net = _block_17(net, inner, name=f"mixed_17_{index}")
    middle = net
    net = _reduction_to_8(net, name="mixed_8_reduction")
    for index in range(2):
        net = _block_8(net, name=f"mixed_8_{index}")
    return middle, net


def _block_35(net: Tensor, pooled: int, *, name: str) -> Tensor:
    """Figure 5: 5x5 as two 3x3."""
    with v1.variable_scope(name):
        with v1.variable_scope("branch_0"):
            one = convolution(net, 64, (1, 1), name="conv_1x1")
        with v1.variable_scope("branch_1"):
            five = convolution(net, 48, (1, 1), name="conv_1x1")
            five = convolution(five, 64, (5, 5), name="conv_5x5")
        with v1.variable_scope("branch_2"):
            three = convolution(net, 64, (1, 1), name="conv_1x1")
            three = convolution(three, 96, (3, 3), name="conv_3x3_a")
            three = convolution(three, 96, (3, 3), name="conv_3x3_b")
        with v1.variable_scope("branch_3"):
            pool = convolution(average_pool(net, name="pool"), pooled, (1, 1), name="conv_1x1")
        return concatenation([one, five, three, pool])


def _reduction_to_17(net: Tensor, *, name: str) -> Tensor:
    """Figure 10: [batch, 35, 35, 288] → [batch, 17, 17, 768]"""
    with v1.variable_scope(name):
        with v1.variable_scope("branch_0"):
            one = convolution(net, 384, (3, 3), stride=2, padding="VALID", name="conv_3x3")
        with v1.variable_scope("branch_1"):
            three = convolution(net, 64, (1, 1), name="conv_1x1")
            three = convolution(three, 96, (3, 3), name="conv_3x3_a")
            three = convolution(three, 96, (3, 3), stride=2, padding="VALID", name="conv_3x3_b")
        with v1.variable_scope("branch_2"):
            pool = max_pool(net, name="pool")
        return concatenation([one, three, pool])


def _block_17(net: Tensor, inner: int, *, name: str) -> Tensor:
    """Figure 6: 7x7 as 1x7 and 7x1."""
    with v1.variable_scope(name):
        with v1.variable_scope("branch_0"):
            one = convolution(net, 192, (1, 1), name="conv_1x1")
        with v1.variable_scope("branch_1"):
            seven = convolution(net, inner, (1, 1), name="conv_1x1")
            seven = convolution(seven, inner, (1, 7), name="conv_1x7")
            seven = convolution(seven, 192, (7, 1), name="conv_7x1")
        with v1.variable_scope("branch_2"):
            twice = convolution(net, inner, (1, 1), name="conv_1x1")
            twice = convolution(twice, inner, (7, 1), name="conv_7x1_a")
            twice = convolution(twice, inner, (1, 7), name="conv_1x7_a")
            twice = convolution(twice, inner, (7, 1), name="conv_7x1_b")
            twice = convolution(twice, 192, (1, 7), name="conv_1x7_b")
        with v1.variable_scope("branch_3"):
            pool = convolution(average_pool(net, name="pool"), 192, (1, 1), name="conv_1x1")
        return concatenation([one, seven, twice, pool])


def _reduction_to_8(net: Tensor, *, name: str) -> Tensor:
    """[batch, 17, 17, 768] → [batch, 8, 8, 1280]"""
    with v1.variable_scope(name):
        with v1.variable_scope("branch_0"):
            three = convolution(net, 192, (1, 1), name="conv_1x1")
            three = convolution(three, 320, (3, 3), stride=2, padding="VALID", name="conv_3x3")
        with v1.variable_scope("branch_1"):
            seven = convolution(net, 192, (1, 1), name="conv_1x1")
            seven = convolution(seven, 192, (1, 7), name="conv_1x7")
            seven = convolution(seven, 192, (7, 1), name="conv_7x1")
            seven = convolution(seven, 192, (3, 3), stride=2, padding="VALID", name="conv_3x3")
        with v1.variable_scope("branch_2"):
            pool = max_pool(net, name="pool")
        return concatenation([three, seven, pool])


def _block_8(net: Tensor, *, name: str) -> Tensor:
    """Figure 7: 3x3 as 1x3 beside 3x1."""
    with v1.variable_scope(name):
        with v1.variable_scope("branch_0"):
            one = convolution(net, 320, (1, 1), name="conv_1x1")
        with v1.variable_scope("branch_1"):
            three = convolution(net, 384, (1, 1), name="conv_1x1")
            three = _beside_each_other(three)
        with v1.variable_scope("branch_2"):
            twice = convolution(net, 448, (1, 1), name="conv_1x1")
            twice = convolution(twice, 384, (3, 3), name="conv_3x3")
            twice = _beside_each_other(twice)
        with v1.variable_scope("branch_3"):
            pool = convolution(average_pool(net, name="pool"), 192, (1, 1), name="conv_1x1")
        return concatenation([one, three, twice, pool])


def _beside_each_other(net: Tensor) -> Tensor:
    """A 1x3 and a 3x1 convolution of the same input, by channel."""
    return concatenation(
        [convolution(net, 384, (1, 3), name="conv_1x3"), convolution(net, 384, (3, 1), name="conv_3x1")]
    )


def _classifier(net: Tensor, classes: int) -> Tensor:
    """[batch, 8, 8, 2048] → [batch, classes]"""
    with v1.variable_scope("classifier"):
        pooled = mean_over_space(net, name="pool")
        return dense(dropout(pooled, DROPPED, name="dropout"), classes, name="logits")


def _auxiliary_classifier(net: Tensor, classes: int) -> Tensor:
    """Figure 8: [batch, 17, 17, 768] → [batch, classes]"""
    with v1.variable_scope("auxiliary"):
        net = average_pool(net, window=5, stride=3, padding="VALID", name="pool")
        net = convolution(net, 128, (1, 1), name="conv_1x1")
        window = int(net.shape[1]), int(net.shape[2])  # 5x5 at the published size of images
        net = convolution(net, 768, window, padding="VALID", name="conv_5x5")
        return dense(tf.reshape(net, [int(net.shape[0]), 768], name="flat"), classes, name="logits")
