"""Transformers, from Keras layers."""

from typing import Any

import keras
from keras import layers

from tests.models.model import Built
from tests.models.steps import inference

BLOCKS = 3


def gpt(batch: int) -> Built:
    """Token and place embeddings, blocks with causal attention, logits of each next token."""
    return inference(gpt_model(), batch)


def gpt_model(vocabulary: int = 1000, length: int = 64, width: int = 128, heads: int = 4) -> Any:
    keras.utils.set_random_seed(0)
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    net = layers.Embedding(vocabulary, width)(tokens)
    net = PlaceEmbedding(length, width)(net)
    for _ in range(BLOCKS):
        net = block(net, width, heads, causal=True)
    return keras.Model(tokens, layers.Dense(vocabulary)(layers.LayerNormalization()(net)))


def vit(batch: int) -> Built:
    """Patches by a convolution, a class token, blocks, a head on the class token."""
    return inference(vit_model(), batch)


def vit_model(size: int = 64, patch: int = 8, width: int = 128, heads: int = 4, classes: int = 10) -> Any:
    keras.utils.set_random_seed(0)
    images = keras.Input((size, size, 3), name="images")
    net = layers.Conv2D(width, patch, strides=patch)(images)
    net = layers.Reshape((-1, width))(net)
    net = ClassToken(width)(net)
    net = PlaceEmbedding((size // patch) ** 2 + 1, width)(net)
    for _ in range(BLOCKS):
        net = block(net, width, heads)
    net = layers.LayerNormalization()(net)
    return keras.Model(images, layers.Dense(classes, activation="softmax")(net[:, 0]))


def bert(batch: int) -> Built:
    """Three embeddings with a mask, blocks that leave padding out, a pooled head and one a token."""
    return inference(bert_model(), batch)


def bert_model(vocabulary: int = 1000, length: int = 48, width: int = 96, heads: int = 4) -> Any:
    keras.utils.set_random_seed(0)
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    segments = keras.Input((length,), dtype="int32", name="segments")
    net = layers.Embedding(vocabulary, width, mask_zero=True)(tokens) + layers.Embedding(2, width)(segments)
    net = PlaceEmbedding(length, width)(net)
    net = layers.LayerNormalization()(net)
    mask = keras.ops.not_equal(tokens, 0)[:, None, :]
    for _ in range(BLOCKS):
        attended = layers.MultiHeadAttention(heads, width // heads)(net, net, attention_mask=mask)
        net = layers.LayerNormalization()(net + attended)
        hidden = layers.Dense(4 * width, activation="gelu")(net)
        net = layers.LayerNormalization()(net + layers.Dense(width)(hidden))
    pooled = layers.Dense(width, activation="tanh")(net[:, 0])
    return keras.Model([tokens, segments], [layers.Dense(2)(pooled), layers.Dense(vocabulary)(net)])


def block(net: Any, width: int, heads: int, *, causal: bool = False) -> Any:
    """Attention and two dense layers, normalised before each."""
    normal = layers.LayerNormalization()(net)
    net = net + layers.MultiHeadAttention(heads, width // heads)(normal, normal, use_causal_mask=causal)
    hidden = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(net))
    return net + layers.Dense(width)(hidden)


class PlaceEmbedding(layers.Layer):
    """Adds a learned row to each place of a sequence [batch, places, width]."""

    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.rows = self.add_weight(shape=(places, width), initializer="random_normal", name="rows")

    def call(self, inputs: Any) -> Any:
        return inputs + self.rows


class ClassToken(layers.Layer):
    """Puts one learned row before each sequence."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.row = self.add_weight(shape=(1, 1, width), initializer="random_normal", name="row")

    def call(self, inputs: Any) -> Any:
        first = keras.ops.broadcast_to(self.row, (keras.ops.shape(inputs)[0], 1, inputs.shape[-1]))
        return keras.ops.concatenate([first, inputs], axis=1)
