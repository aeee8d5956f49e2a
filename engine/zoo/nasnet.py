"""NASNet-A, a full training step or inference. Imported in a child alone.

Source: Zoph et al. 2017, "Learning Transferable Architectures for Scalable Image Recognition" (arXiv 1707.07012),
figures 2 and 4 and appendix A. The defaults are its mobile form, 4 @ 1056: 12 normal cells, images of 224. Placeto's
paper names no form; of the published ones this is nearest to its 12,942 ops, and it fits one K80 at batch 64, where the
paper ran it. The large form, 6 @ 4032, is `cells=6, filters=168, stem_filters=96, image_size=331`, but for the paths
that it drops in training and the mobile form does not. RMSProp as in the paper; the labels are not smoothed and the
gradients not clipped.

Names, from the outside in:

- `stem/conv`, then `stem/reduction_cell_0` and `_1`; `cell_0`, `cell_1`, ... are the normal cells; `reduction_cell_0`
  and `reduction_cell_1` stand between the three stages;
- in a cell, `squeeze/current` and `squeeze/previous` bring its two inputs to the cell's width; `branch_0` to `branch_4`
  are its five blocks, each the sum (`add`) of a `left` and a `right` operation; `concat` joins them;
- in an operation, `separable_0` and `separable_1`, each `relu`, `depthwise/conv`, `pointwise/conv`, `batch_norm`; or
  `pool`; what is passed on as it is has no op;
- `classifier` and `auxiliary`;
- gradients carry the name of what they are the gradient of (`gradients/cell_3/branch_2/left/pool_grad/...`), but for
  the sums of several (`gradients/AddN_7`), which TensorFlow only counts; `weight_decay/...` and updates
  (`optimizer/update_...`) carry the name of their variable (`cell_3/branch_2/left/separable_0/depthwise/weights`).
"""

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from engine.zoo.layers import (
    Tensor,
    average_pool,
    batch_norm,
    concatenation,
    convolution,
    dense,
    depthwise_convolution,
    dropout,
    for_inference,
    max_pool,
    mean_over_space,
    plain_convolution,
    v1,
)
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


@dataclass(frozen=True, slots=True)
class Block:
    """A pair of operations, each on one of the states of a cell, whose results are added."""

    left: str
    left_state: int
    right: str
    right_state: int


@dataclass(frozen=True, slots=True)
class Cell:
    """Five blocks. State 0 is the cell's input, 1 the one before it, and block i gives state i + 2."""

    blocks: tuple[Block, ...]
    joined: tuple[int, ...]
    """states that no block takes: the cell's output"""


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
    """The GraphDef."""
    graph = tf.Graph()
    with graph.as_default():
        for_inference(settings.inference)
        images = v1.placeholder(tf.float32, [settings.batch, settings.image_size, settings.image_size, 3], "images")
        middle, last = _stages(*_stem(images, settings), settings)
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


def _stem(images: Tensor, settings: NasnetSettings) -> tuple[Tensor, Tensor]:
    """The last two outputs: [batch, 224, 224, 3] → [batch, 56, 56, filters], [batch, 28, 28, 2 · filters]."""
    with v1.variable_scope("stem"):
        with v1.variable_scope("conv"):
            first = batch_norm(plain_convolution(images, settings.stem_filters, (3, 3), stride=2, padding="VALID"))
        one = _cell(REDUCTION, first, first, settings.filters // 4, name="reduction_cell_0")
        two = _cell(REDUCTION, one, first, settings.filters // 2, name="reduction_cell_1")
        return one, two


def _stages(previous: Tensor, current: Tensor, settings: NasnetSettings) -> tuple[Tensor, Tensor]:
    """The outputs of the second stage [batch, 14, 14, 12 · filters] and of the third [batch, 7, 7, 24 · filters]."""
    outputs = []
    for stage in range(3):
        filters = settings.filters * 2**stage
        if stage > 0:
            reduced = _cell(REDUCTION, current, previous, filters, name=f"reduction_cell_{stage - 1}")
            previous, current = current, reduced
        for index in range(stage * settings.cells, (stage + 1) * settings.cells):
            previous, current = current, _cell(NORMAL, current, previous, filters, name=f"cell_{index}")
        outputs.append(current)
    return outputs[1], outputs[2]


def _cell(cell: Cell, current: Tensor, previous: Tensor, filters: int, *, name: str) -> Tensor:
    """[batch, height, width, channels] → as large, or half as large for a reduction."""
    stride = 2 if cell is REDUCTION else 1
    with v1.variable_scope(name):
        with v1.variable_scope("squeeze"):
            states = [_squeezed(current, filters, name="current"), _fitted(previous, current, filters)]
        for index, block in enumerate(cell.blocks):
            with v1.variable_scope(f"branch_{index}"):
                left = _operation(block.left, states, block.left_state, filters, stride, name="left")
                right = _operation(block.right, states, block.right_state, filters, stride, name="right")
                states.append(tf.add(left, right, name="add"))
        return concatenation([states[index] for index in cell.joined])


def _fitted(previous: Tensor, current: Tensor, filters: int) -> Tensor:
    """The previous output, as large as the current one."""
    if previous.shape[1] != current.shape[1]:
        return _halved(previous, filters, name="previous")
    return _squeezed(previous, filters, name="previous")


def _squeezed(inputs: Tensor, filters: int, *, name: str) -> Tensor:
    """A 1x1 convolution to so many filters."""
    with v1.variable_scope(name):
        return batch_norm(plain_convolution(tf.nn.relu(inputs, name="relu"), filters, (1, 1)))


def _halved(inputs: Tensor, filters: int, *, name: str) -> Tensor:
    """Half the height and width, by two 1x1 convolutions with stride 2, one of them moved by a pixel."""
    with v1.variable_scope(name):
        active = tf.nn.relu(inputs, name="relu")
        with v1.variable_scope("even"):
            even = plain_convolution(average_pool(active, window=1, stride=2, name="pool"), filters // 2, (1, 1))
        with v1.variable_scope("odd"):
            moved = tf.pad(active[:, 1:, 1:, :], [[0, 0], [0, 1], [0, 1], [0, 0]], name="moved")
            odd = plain_convolution(
                average_pool(moved, window=1, stride=2, name="pool"), filters - filters // 2, (1, 1)
            )
        return batch_norm(concatenation([even, odd]))


def _operation(kind: str, states: list[Tensor], state: int, filters: int, stride: int, *, name: str) -> Tensor:
    """One operation of a block; only the cell's own inputs are reduced."""
    inputs = states[state]
    stride = stride if state < 2 else 1
    if kind == "identity":
        return inputs
    with v1.variable_scope(name):
        if kind == "average_pool":
            return average_pool(inputs, stride=stride, name="pool")
        if kind == "max_pool":
            return max_pool(inputs, stride=stride, padding="SAME", name="pool")
        window = int(kind[-1])
        inputs = _separable(inputs, filters, window, stride, name="separable_0")
        return _separable(inputs, filters, window, 1, name="separable_1")


def _separable(inputs: Tensor, filters: int, window: int, stride: int, *, name: str) -> Tensor:
    """ReLU, a convolution of each channel, one over the channels, batch norm."""
    with v1.variable_scope(name):
        active = tf.nn.relu(inputs, name="relu")
        with v1.variable_scope("depthwise"):
            inner = depthwise_convolution(active, window, stride=stride)
        with v1.variable_scope("pointwise"):
            outputs = plain_convolution(inner, filters, (1, 1))
        return batch_norm(outputs)


def _classifier(net: Tensor, classes: int) -> Tensor:
    """[batch, 7, 7, 24 · filters] → [batch, classes]"""
    with v1.variable_scope("classifier"):
        pooled = mean_over_space(tf.nn.relu(net, name="relu"), name="pool")
        return dense(dropout(pooled, DROPPED, name="dropout"), classes, name="logits")


def _auxiliary_classifier(net: Tensor, classes: int) -> Tensor:
    """[batch, 14, 14, 12 · filters] → [batch, classes]"""
    with v1.variable_scope("auxiliary"):
        net = average_pool(tf.nn.relu(net, name="relu"), window=5, stride=3, padding="VALID", name="pool")
        net = convolution(net, 128, (1, 1), name="conv_1x1")
        net = convolution(net, 768, (int(net.shape[1]), int(net.shape[2])), padding="VALID", name="conv_all")
        return dense(tf.reshape(net, [int(net.shape[0]), 768], name="flat"), classes, name="logits")
