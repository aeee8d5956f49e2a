"""The convolutions and matrix products of a model, layer by layer: from a layer's configuration and its lengths.

The model is traced once with all lengths known, and each call of a layer gives its products by the layer's rule; the
traced graph itself is not used. A layer without a rule multiplies nothing itself, but its inner layers may; the inner
layers of a layer with a rule are not counted. A layer of the suite that loops has its number of trips
(`trips_of_body`). A model's builder gives the products outside its layers.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

import keras
import tensorflow as tf

from tests.models.products import (
    Product,
    convolution,
    einsum,
    matrix_product,
    transposed_convolution,
)

Lengths: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a layer."""

    layer: Any
    inputs: list[Lengths]
    """without masks"""
    output: Lengths
    """the first output"""
    masked: bool


ProductRule: TypeAlias = Callable[[Call], list[tuple[int, int]]]
"""call → (operations, number of operands that are weights) of each product"""


def layer_products(model: Callable[..., Any], inputs: Sequence[Any]) -> list[Product]:
    """The products of the layers when `model` is called with `inputs`, tf.TensorSpec with all lengths known."""
    with _watched() as found:
        tf.function(model).get_concrete_function(*inputs)
    return found


@contextmanager
def _watched() -> Iterator[list[Product]]:
    """The products of every call of a layer until the context ends."""
    found: list[Product] = []
    called = keras.layers.Layer.__call__
    inside: list[Any] = []

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        rule = _rule(layer)
        if rule is None or inside:
            before = len(found)
            outputs = called(layer, *args, **kwargs)
            times = getattr(layer, "trips_of_body", 1)
            found[before:] = [replace(each, flops=times * each.flops) for each in found[before:]]
            return outputs
        inside.append(layer)
        try:
            outputs = called(layer, *args, **kwargs)
        finally:
            inside.pop()
        given = {name: each for name, each in kwargs.items() if "mask" not in name}
        tensors = [each for each in tf.nest.flatten((args, given)) if tf.is_tensor(each)]
        shapes = [tuple(each.shape.as_list()) for each in tensors]
        output = tuple(tf.nest.flatten(outputs)[0].shape.as_list())
        masked = kwargs.get("mask", getattr(tensors[0], "_keras_mask", None)) is not None
        for flops, weights in rule(Call(layer, shapes, output, masked)):
            found.append(Product(flops, weights, data=_is_data(tensors[0]) and weights > 0))
        return outputs

    keras.layers.Layer.__call__ = call
    try:
        yield found
    finally:
        keras.layers.Layer.__call__ = called


def _is_data(tensor: Any) -> bool:
    """Whether the tensor is an input of the step, perhaps in another precision."""
    while tensor.op.type == "Cast":
        tensor = tensor.op.inputs[0]
    return bool(tensor.op.type == "Placeholder")


def _rule(layer: Any) -> ProductRule | None:
    return next((rule for kind, rule in RULES.items() if isinstance(layer, kind)), None)


def _convolution(call: Call) -> list[tuple[int, int]]:
    channels = call.inputs[0][1 if call.layer.data_format == "channels_first" else -1]
    return [(convolution(call.output, call.layer.kernel_size, channels, call.layer.groups), 1)]


def _transposed(call: Call) -> list[tuple[int, int]]:
    return [(transposed_convolution(call.inputs[0], call.layer.kernel_size, call.layer.filters), 1)]


def _depthwise(call: Call) -> list[tuple[int, int]]:
    return [(convolution(call.output, call.layer.kernel_size, 1), 1)]


def _separable(call: Call) -> list[tuple[int, int]]:
    """A depthwise convolution to the output's places, then a pointwise one."""
    between = call.inputs[0][-1] * call.layer.depth_multiplier
    places = call.output[:-1]
    depthwise = convolution((*places, between), call.layer.kernel_size, 1)
    return [(depthwise, 1), (convolution(call.output, (1,), between), 1)]


def _dense(call: Call) -> list[tuple[int, int]]:
    return [(matrix_product(prod(call.inputs[0][:-1]), call.inputs[0][-1], call.layer.units), 1)]


def _einsum_dense(call: Call) -> list[tuple[int, int]]:
    return [(einsum(call.layer.equation, call.inputs[0], tuple(call.layer.kernel.shape)), 1)]


def _attention(call: Call) -> list[tuple[int, int]]:
    """Projections of queries, keys and values (by default keys are the values), scores, means, a projection."""
    queries, values = call.inputs[0], call.inputs[1]
    keys = call.inputs[2] if len(call.inputs) > 2 and len(call.inputs[2]) == len(values) else values
    heads, key, value = call.layer.num_heads, call.layer.key_dim, call.layer.value_dim
    batch, places, others = queries[0], prod(queries[1:-1]), prod(values[1:-1])
    return [
        (matrix_product(batch * places, queries[-1], heads * key), 1),
        (matrix_product(batch * others, keys[-1], heads * key), 1),
        (matrix_product(batch * others, values[-1], heads * value), 1),
        (matrix_product(batch * heads * places, key, others), 0),
        (matrix_product(batch * heads * places, others, value), 0),
        (matrix_product(batch * places, heads * value, call.output[-1]), 1),
    ]


def _steps(call: Call) -> int:
    """With a mask one more: Keras computes the first step once before its loop, to know the shape of its output.

    Source: keras/src/backend/tensorflow/rnn.py, `output_time_zero`. Without a mask that output has no consumer.
    """
    return call.inputs[0][1] + call.masked


def _recurrent(gates: int) -> ProductRule:
    def rule(call: Call) -> list[tuple[int, int]]:
        """A step multiplies the input's and the state's rows by the weights of all gates."""
        batch, _, features = call.inputs[0]
        steps = _steps(call)
        width = gates * call.layer.units
        return [
            (steps * matrix_product(batch, features, width), 1),
            (steps * matrix_product(batch, call.layer.units, width), 1),
        ]

    return rule


def _cell(gates: int) -> ProductRule:
    def rule(call: Call) -> list[tuple[int, int]]:
        """One step of the cell."""
        batch, features = call.inputs[0]
        width = gates * call.layer.units
        return [(matrix_product(batch, features, width), 1), (matrix_product(batch, call.layer.units, width), 1)]

    return rule


def _recurrent_convolution(call: Call) -> list[tuple[int, int]]:
    """Four gates; the input's convolution has the layer's padding, the state's keeps its lengths."""
    batch, _, *places, channels = call.inputs[0]
    steps = _steps(call)
    if call.layer.cell.padding != "same" or any(stride != 1 for stride in call.layer.cell.strides):
        raise NotImplementedError("a recurrent convolution that changes lengths")
    output = (batch, *places, 4 * call.layer.filters)
    kernel = call.layer.kernel_size
    return [
        (steps * convolution(output, kernel, channels), 1),
        (steps * convolution(output, kernel, call.layer.filters), 1),
    ]


_LAYERS = keras.layers
RULES: dict[Any, ProductRule] = {
    _LAYERS.SeparableConv1D: _separable,
    _LAYERS.SeparableConv2D: _separable,
    _LAYERS.DepthwiseConv1D: _depthwise,
    _LAYERS.DepthwiseConv2D: _depthwise,
    _LAYERS.Conv1DTranspose: _transposed,
    _LAYERS.Conv2DTranspose: _transposed,
    _LAYERS.Conv3DTranspose: _transposed,
    _LAYERS.Conv1D: _convolution,
    _LAYERS.Conv2D: _convolution,
    _LAYERS.Conv3D: _convolution,
    _LAYERS.Dense: _dense,
    _LAYERS.EinsumDense: _einsum_dense,
    _LAYERS.MultiHeadAttention: _attention,
    _LAYERS.LSTM: _recurrent(4),
    _LAYERS.GRU: _recurrent(3),
    _LAYERS.SimpleRNN: _recurrent(1),
    _LAYERS.LSTMCell: _cell(4),
    _LAYERS.GRUCell: _cell(3),
    _LAYERS.ConvLSTM2D: _recurrent_convolution,
}
"""layer → rule; the first match counts"""
