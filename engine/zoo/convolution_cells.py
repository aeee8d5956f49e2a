"""Convolutional cells of searched networks (NASNet, ENAS) in TensorFlow. Imported only in a child.

Names: in a cell, `squeeze/current` and `squeeze/previous` bring its two inputs to the cell's width; `branch_0`, ... are
its blocks, each the sum (`add`) of a `left` and a `right` operation; `concat` joins them. An operation has
`separable_0` and `separable_1`, each `relu`, `depthwise/conv`, `pointwise/conv`, `batch_norm`; or `pool`; the identity
has no op, unless it halves its input. `joined_0` and `joined_1` halve an input that no block takes.
"""

import tensorflow as tf

from engine.zoo.cells import INPUTS, Cell
from engine.zoo.layers import (
    Tensor,
    average_pool,
    batch_norm,
    concatenation,
    dense,
    depthwise_convolution,
    dropout,
    max_pool,
    mean_over_space,
    plain_convolution,
    v1,
)


def searched_cell(cell: Cell, current: Tensor, previous: Tensor, filters: int, *, stride: int = 1, name: str) -> Tensor:
    """[batch, height, width, channels] → joined outputs of `filters` each, of the same size, or half for stride 2."""
    with v1.variable_scope(name):
        with v1.variable_scope("squeeze"):
            states = [_squeezed(current, filters, name="current"), _fitted(previous, current, filters)]
        for index, block in enumerate(cell.blocks):
            with v1.variable_scope(f"branch_{index}"):
                left = _operation(block.left, states, block.left_state, filters, stride, name="left")
                right = _operation(block.right, states, block.right_state, filters, stride, name="right")
                states.append(tf.add(left, right, name="add"))
        return concatenation([_joined(states, index, filters, stride) for index in cell.joined])


def classifier(net: Tensor, classes: int, dropped: float) -> Tensor:
    """[batch, height, width, channels] → [batch, classes]"""
    with v1.variable_scope("classifier"):
        pooled = mean_over_space(tf.nn.relu(net, name="relu"), name="pool")
        return dense(dropout(pooled, dropped, name="dropout"), classes, name="logits")


def _fitted(previous: Tensor, current: Tensor, filters: int) -> Tensor:
    """The previous output, reduced to the size of the current one."""
    if previous.shape[1] != current.shape[1]:
        return _halved(previous, filters, name="previous")
    return _squeezed(previous, filters, name="previous")


def _joined(states: list[Tensor], state: int, filters: int, stride: int) -> Tensor:
    """A state as a part of the cell's output."""
    return _halved(states[state], filters, name=f"joined_{state}") if state < INPUTS and stride > 1 else states[state]


def _squeezed(inputs: Tensor, filters: int, *, name: str) -> Tensor:
    """A 1x1 convolution to `filters` channels."""
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
    stride = stride if state < INPUTS else 1
    if kind == "identity":
        return inputs if stride == 1 else _halved(inputs, filters, name=name)
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
