"""Transformers that are not a plain stack of blocks: windows, encoder and decoder, memory, convolutions, transforms."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

from tests.models.model import Built
from tests.models.products import matrix_product
from tests.models.steps import inference
from tests.models.transformers import PlaceEmbedding, block

HEADS = 4


def swin(batch: int) -> Built:
    """Attention within windows, every other time shifted, and a merging of patches between two stages."""
    keras.utils.set_random_seed(0)
    size, window, width = 16, 4, 48
    images = keras.Input((64, 64, 3), name="images")
    net = layers.LayerNormalization()(layers.Conv2D(width, 4, strides=4)(images))
    for stage in range(2):
        for shift in (0, window // 2):
            net = _window_block(net, size, window, shift, width)
        if stage == 0:
            size, width = size // 2, 2 * width
            net = layers.Reshape((size, 2, size, 2, width // 2))(net)
            net = layers.Reshape((size, size, 2 * width))(layers.Permute((1, 3, 2, 4, 5))(net))
            net = layers.Dense(width, use_bias=False)(layers.LayerNormalization()(net))
    net = layers.GlobalAveragePooling2D()(layers.LayerNormalization()(net))
    return inference(keras.Model(images, layers.Dense(10)(net)), batch)


def _window_block(net: Any, size: int, window: int, shift: int, width: int) -> Any:
    """[batch, size, size, width]: windows of `window` × `window` places attend within themselves."""
    ops, count, places = keras.ops, size // window, window * window
    normal = layers.LayerNormalization()(net)
    if shift:
        normal = ops.roll(normal, (-shift, -shift), axis=(1, 2))
    parts = ops.transpose(ops.reshape(normal, (-1, count, window, count, window, width)), (0, 1, 3, 2, 4, 5))
    parts = ops.reshape(parts, (-1, places, width))
    attended = layers.MultiHeadAttention(HEADS, width // HEADS)(parts, parts)
    parts = ops.transpose(ops.reshape(attended, (-1, count, count, window, window, width)), (0, 1, 3, 2, 4, 5))
    parts = ops.reshape(parts, (-1, size, size, width))
    if shift:
        parts = ops.roll(parts, (shift, shift), axis=(1, 2))
    net = net + parts
    hidden = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(net))
    return net + layers.Dense(width)(hidden)


T5_WIDTH, T5_BLOCKS, ENCODED, DECODED = 64, 2, 32, 24


def t5(batch: int) -> Built:
    """An encoder and a decoder whose attention is biased by the distance of two places."""
    keras.utils.set_random_seed(0)
    asked = keras.Input((ENCODED,), dtype="int32", name="asked")
    answered = keras.Input((DECODED,), dtype="int32", name="answered")
    embedding = layers.Embedding(800, T5_WIDTH)
    bias = [DistanceBias(causal=False), DistanceBias(causal=True)]
    encoded = embedding(asked)
    for _ in range(T5_BLOCKS):
        encoded = encoded + _attended(encoded, encoded, bias[0])
        encoded = _feed_forward(encoded)
    net = embedding(answered)
    for _ in range(T5_BLOCKS):
        net = net + _attended(net, net, bias[1])
        net = net + _attended(net, encoded, None)
        net = _feed_forward(net)
    model = keras.Model([asked, answered], layers.Dense(800, use_bias=False)(net))
    pairs = ((ENCODED, ENCODED), (DECODED, DECODED), (DECODED, ENCODED))
    key = T5_WIDTH // HEADS
    more_flops = sum(T5_BLOCKS * 2 * matrix_product(batch * HEADS * one, key, other) for one, other in pairs)
    return inference(model, batch, more_flops)


def _attended(net: Any, others: Any, bias: Any) -> Any:
    """Attention from matrix products, as T5 writes it: no scale, and only the bias of the distances."""
    ops, key = keras.ops, T5_WIDTH // HEADS
    normal = layers.LayerNormalization(center=False)(net)
    queries, keys, values = (
        ops.transpose(
            ops.reshape(layers.Dense(T5_WIDTH, use_bias=False)(each), (-1, each.shape[1], HEADS, key)), (0, 2, 1, 3)
        )
        for each in (normal, others, others)
    )
    scores = ops.matmul(queries, ops.transpose(keys, (0, 1, 3, 2)))
    if bias is not None:
        scores = bias(scores)
    means = ops.matmul(layers.Softmax()(scores), values)
    joined = ops.reshape(ops.transpose(means, (0, 2, 1, 3)), (-1, net.shape[1], T5_WIDTH))
    return layers.Dense(T5_WIDTH, use_bias=False)(joined)


def _feed_forward(net: Any) -> Any:
    hidden = layers.Dense(4 * T5_WIDTH, activation="relu", use_bias=False)(layers.LayerNormalization(center=False)(net))
    return net + layers.Dense(T5_WIDTH, use_bias=False)(hidden)


class DistanceBias(layers.Layer):
    """Adds to scores [batch, heads, places, others] a learned number for each head and distance."""

    FARTHEST = 16

    def __init__(self, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.numbers = self.add_weight(shape=(2 * self.FARTHEST + 1, HEADS), name="numbers")

    def call(self, inputs: Any) -> Any:
        shape = tf.shape(inputs)
        distance = tf.range(shape[3])[None, :] - tf.range(shape[2])[:, None]
        near = tf.clip_by_value(distance, -self.FARTHEST, self.FARTHEST) + self.FARTHEST
        bias = tf.transpose(tf.gather(tf.convert_to_tensor(self.numbers), near), (2, 0, 1))
        later = tf.where(distance > 0, -1e9, 0.0) if self.causal else 0.0
        return inputs + bias[None] + later


def conformer(batch: int) -> Built:
    """Two halves of a feed-forward network round attention and a depthwise convolution."""
    keras.utils.set_random_seed(0)
    length, features, width = 64, 40, 64
    frames = keras.Input((length, features), name="frames")
    net = layers.Dense(width)(frames)
    for _ in range(2):
        net = net + 0.5 * _swish_network(net, width)
        normal = layers.LayerNormalization()(net)
        net = net + layers.MultiHeadAttention(HEADS, width // HEADS)(normal, normal)
        net = net + _convolved(net, width)
        net = layers.LayerNormalization()(net + 0.5 * _swish_network(net, width))
    return inference(keras.Model(frames, layers.Dense(30)(net)), batch)


def _swish_network(net: Any, width: int) -> Any:
    return layers.Dense(width)(layers.Dense(4 * width, activation="swish")(layers.LayerNormalization()(net)))


def _convolved(net: Any, width: int) -> Any:
    both = layers.Conv1D(2 * width, 1)(layers.LayerNormalization()(net))
    gated = both[..., :width] * keras.ops.sigmoid(both[..., width:])
    inner = layers.DepthwiseConv1D(15, padding="same")(gated)
    return layers.Conv1D(width, 1)(layers.Activation("swish")(layers.BatchNormalization()(inner)))


SEGMENTS, SEGMENT, XL_WIDTH = 6, 16, 64


def transformer_xl(batch: int) -> Built:
    """A loop over segments; each attends to itself and to the memory of the segment before it."""
    keras.utils.set_random_seed(0)
    tokens = keras.Input((SEGMENTS * SEGMENT,), dtype="int32", name="tokens")
    net = WithMemory()(layers.Embedding(500, XL_WIDTH)(tokens))
    return inference(keras.Model(tokens, layers.Dense(500)(net)), batch)


class WithMemory(layers.Layer):
    """[batch, segments × places, width] segment after segment, the one before as memory."""

    trips_of_body = SEGMENTS

    def __init__(self) -> None:
        super().__init__()
        self.attention = layers.MultiHeadAttention(HEADS, XL_WIDTH // HEADS)
        self.inner = layers.Dense(4 * XL_WIDTH, activation="relu")
        self.outer = layers.Dense(XL_WIDTH)

    def build(self, _shape: Any) -> None:
        shape = (None, SEGMENT, XL_WIDTH)
        self.attention.build(shape, (None, 2 * SEGMENT, XL_WIDTH))
        self.inner.build(shape)
        self.outer.build((None, SEGMENT, 4 * XL_WIDTH))

    def call(self, inputs: Any) -> Any:
        batch = tf.shape(inputs)[0]
        segments = tf.transpose(tf.reshape(inputs, [batch, SEGMENTS, SEGMENT, XL_WIDTH]), (1, 0, 2, 3))
        found = tf.TensorArray(tf.float32, SEGMENTS, element_shape=[inputs.shape[0], SEGMENT, XL_WIDTH])

        def body(at: Any, memory: Any, found: Any) -> Any:
            segment = tf.ensure_shape(segments[at], [inputs.shape[0], SEGMENT, XL_WIDTH])
            net = segment + self.attention(segment, tf.concat([tf.stop_gradient(memory), segment], 1))
            net = net + self.outer(self.inner(net))
            return at + 1, segment, found.write(at, net)

        start = (tf.constant(0), tf.zeros_like(segments[0]), found)
        _, _, found = tf.while_loop(lambda at, *_: at < SEGMENTS, body, start)
        return tf.reshape(tf.transpose(found.stack(), (1, 0, 2, 3)), [batch, SEGMENTS * SEGMENT, XL_WIDTH])


def fnet(batch: int) -> Built:
    """Fourier transforms instead of attention."""
    keras.utils.set_random_seed(0)
    length, width = 64, 64
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    net = PlaceEmbedding(length, width)(layers.Embedding(500, width)(tokens))
    for _ in range(2):
        net = layers.LayerNormalization()(net + Fourier()(net))
        net = layers.LayerNormalization()(net + layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(net)))
    return inference(keras.Model(tokens, layers.Dense(5)(net[:, 0])), batch)


class Fourier(layers.Layer):
    """The real part of a transform over places and features."""

    def call(self, inputs: Any) -> Any:
        return tf.math.real(tf.signal.fft2d(tf.cast(inputs, tf.complex64)))


def einsum_transformer(batch: int) -> Built:
    """A block whose projections are EinsumDense and whose attention is written as einsums, heads of keys shared."""
    keras.utils.set_random_seed(0)
    length, width, key = 40, 64, 16
    ops = keras.ops
    vectors = keras.Input((length, width), name="vectors")
    queries = layers.EinsumDense("btd,dhk->bthk", (None, HEADS, key), bias_axes="hk")(vectors)
    keys = layers.EinsumDense("btd,dk->btk", (None, key))(vectors)
    values = layers.EinsumDense("...d,dk->...k", key)(vectors)
    scores = ops.softmax(ops.einsum("bthk,bsk->bhts", queries, keys) / np.sqrt(key).astype("float32"), axis=-1)
    means = ops.einsum("bhts,bsk->bthk", scores, values)
    net = vectors + layers.EinsumDense("bthk,hkd->btd", (None, width))(means)
    net = block(net, width, HEADS)
    more_flops = 2 * matrix_product(batch * HEADS * length, key, length)
    return inference(keras.Model(vectors, net), batch, more_flops)
