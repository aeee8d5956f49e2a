"""NASNet-A, a full training step or inference. Imported only in a child.

Source: Zoph et al. 2017, "Learning Transferable Architectures for Scalable Image Recognition" (arXiv 1707.07012),
figures 2 and 4 and appendix A. The defaults are its mobile form, 4 @ 1056: 12 normal cells, images of 224. Placeto's
paper names no form; of the published ones this is nearest to its 12,942 ops, and it fits one K80 at batch 64, where the
paper ran it. The large form, 6 @ 4032, is `cells=6, filters=168, stem_filters=96, image_size=331`, without the paths
that it, unlike the mobile form, drops in training. RMSProp as in the paper; the labels are not smoothed and the
gradients not clipped.

Names, from the outside in:

- `stem/conv`, then `stem/reduction_cell_0` and `_1`; `cell_0`, `cell_1`, ... are the normal cells; `reduction_cell_0`
  and `reduction_cell_1` stand between the three stages;
- in a cell, `branch_0` to `branch_4` are its five blocks; `convolution_cells.py` lists the names in them;
- `classifier` and `auxiliary`;
- gradients carry the name of their forward op (`gradients/cell_3/branch_2/left/pool_grad/...`), except the sums of
  several (`gradients/AddN_7`), which TensorFlow only numbers; `weight_decay/...` and updates
  (`optimizer/update_...`) carry the name of their variable (`cell_3/branch_2/left/separable_0/depthwise/weights`).
"""

from typing import Any

import tensorflow as tf

from engine.zoo.cells import Block, Cell
from engine.zoo.convolution_cells import classifier, searched_cell
from engine.zoo.layers import Tensor, average_pool, batch_norm, convolution, dense, for_inference, plain_convolution, v1
from engine.zoo.settings import NasnetSettings
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

DROPPED = 0.5
AUXILIARY_WEIGHT = 0.4
WEIGHT_DECAY = 0.00004
LEARNING_RATE = 0.04


NORMAL = Cell(
    (
        Block("separable_5x5", 0, "separable_3x3", 1),
        Block("separable_5x5", 1, "separable_3x3", 1),
        Block("average_pool", 0, "identity", 1),
        Block("average_pool", 1, "average_pool", 1),
        Block("separable_3x3", 0, "identity", 0),
    ),
    (1, 2, 3, 4, 5, 6),
)
REDUCTION = Cell(
    (
        Block("separable_5x5", 0, "separable_7x7", 1),
        Block("max_pool", 0, "separable_7x7", 1),
        Block("average_pool", 0, "separable_5x5", 1),
        Block("identity", 3, "average_pool", 2),
        Block("separable_3x3", 2, "max_pool", 0),
    ),
    (3, 4, 5, 6),
)


def build(settings: NasnetSettings) -> Any:
    """Build the GraphDef."""
    graph = tf.Graph()
    with graph.as_default():
        for_inference(settings.inference)
        images = v1.placeholder(tf.float32, [settings.batch, settings.image_size, settings.image_size, 3], "images")
        middle, last = _stages(*_stem(images, settings), settings)
        logits = classifier(last, settings.classes, DROPPED)
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


def _stem(images: Tensor, settings: NasnetSettings) -> tuple[Tensor, Tensor]:
    """The last two outputs: [batch, 224, 224, 3] → [batch, 56, 56, filters], [batch, 28, 28, 2 · filters]."""
    with v1.variable_scope("stem"):
        with v1.variable_scope("conv"):
            first = batch_norm(plain_convolution(images, settings.stem_filters, (3, 3), stride=2, padding="VALID"))
        one = searched_cell(REDUCTION, first, first, settings.filters // 4, stride=2, name="reduction_cell_0")
        two = searched_cell(REDUCTION, one, first, settings.filters // 2, stride=2, name="reduction_cell_1")
        return one, two


def _stages(previous: Tensor, current: Tensor, settings: NasnetSettings) -> tuple[Tensor, Tensor]:
    """The outputs of the second stage [batch, 14, 14, 12 · filters] and of the third [batch, 7, 7, 24 · filters]."""
    outputs = []
    for stage in range(3):
        filters = settings.filters * 2**stage
        if stage > 0:
            reduced = searched_cell(REDUCTION, current, previous, filters, stride=2, name=f"reduction_cell_{stage - 1}")
            previous, current = current, reduced
        for index in range(stage * settings.cells, (stage + 1) * settings.cells):
            previous, current = current, searched_cell(NORMAL, current, previous, filters, name=f"cell_{index}")
        outputs.append(current)
    return outputs[1], outputs[2]


def _auxiliary_classifier(net: Tensor, classes: int) -> Tensor:
    """[batch, 14, 14, 12 · filters] → [batch, classes]"""
    with v1.variable_scope("auxiliary"):
        net = average_pool(tf.nn.relu(net, name="relu"), window=5, stride=3, padding="VALID", name="pool")
        net = convolution(net, 128, (1, 1), name="conv_1x1")
        net = convolution(net, 768, (int(net.shape[1]), int(net.shape[2])), padding="VALID", name="conv_all")
        return dense(tf.reshape(net, [int(net.shape[0]), 768], name="flat"), classes, name="logits")
