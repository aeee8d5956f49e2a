"""Recommenders, mixtures of experts, mixed precision."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from numpy.typing import NDArray

from tests.models.model import Built
from tests.models.products import matrix_product
from tests.models.steps import inference

DENSE_FEATURES, TABLES, ROWS, WIDTH = 13, 8, 500, 32
WORDS, TAGS = 5, 3
"""of each example, in bags"""


def dlrm(batch: int) -> Built:
    """Dense features and embedding tables, with the products of all pairs of their vectors."""
    keras.utils.set_random_seed(0)
    numbers = keras.Input((DENSE_FEATURES,), name="numbers")
    categories = keras.Input((TABLES,), dtype="int32", name="categories")
    bottom = layers.Dense(WIDTH, activation="relu")(layers.Dense(64, activation="relu")(numbers))
    looked_up = [layers.Embedding(ROWS, WIDTH)(categories[:, table]) for table in range(TABLES)]
    vectors = keras.ops.stack([bottom, *looked_up], axis=1)
    pairs = keras.ops.matmul(vectors, keras.ops.transpose(vectors, (0, 2, 1)))
    net = layers.Concatenate()([bottom, layers.Flatten()(pairs)])
    for width in (128, 64):
        net = layers.Dense(width, activation="relu")(net)
    model = keras.Model([numbers, categories], layers.Dense(1, activation="sigmoid")(net))
    vectors_each = TABLES + 1
    return inference(model, batch, matrix_product(batch * vectors_each, WIDTH, vectors_each))


def mixture_of_experts(batch: int) -> Built:
    """Four experts a token, added up by a softmax gate."""
    keras.utils.set_random_seed(0)
    length, width, experts = 32, 64, 4
    tokens = keras.Input((length,), dtype="int32", name="tokens")
    net = layers.Embedding(1000, width)(tokens)
    gate = layers.Dense(experts, activation="softmax")(net)
    answers = [layers.Dense(width)(layers.Dense(4 * width, activation="relu")(net)) for _ in range(experts)]
    mixed = keras.ops.sum(keras.ops.stack(answers, axis=-1) * gate[:, :, None, :], axis=-1)
    net = layers.LayerNormalization()(net + mixed)
    return inference(keras.Model(tokens, layers.Dense(10)(layers.GlobalAveragePooling1D()(net))), batch)


def dlrm_sparse(batch: int) -> Built:
    """Bags of words of any length, one kind as a sparse tensor, one ragged, with repeated words."""
    keras.utils.set_random_seed(0)
    words = tf.Variable(tf.random.normal([ROWS, WIDTH]), name="words")
    tags = tf.Variable(tf.random.normal([ROWS, WIDTH]), name="tags")
    top = keras.Sequential([keras.Input((2 * WIDTH + DENSE_FEATURES,)), layers.Dense(64, "relu"), layers.Dense(1)])

    def step(numbers: Any, indices: Any, words_of: Any, tags_of: Any, tags_each: Any) -> Any:
        sparse = tf.SparseTensor(indices, words_of, tf.stack([tf.shape(numbers, tf.int64)[0], 50]))
        bag = tf.nn.embedding_lookup_sparse(words, sparse, None, combiner="mean")
        ragged = tf.RaggedTensor.from_row_lengths(tf.nn.embedding_lookup(tags, tags_of), tags_each)
        return top(tf.concat([numbers, bag, tf.reduce_sum(ragged, axis=1)], axis=1))

    inputs = (
        tf.TensorSpec([None, DENSE_FEATURES], name="numbers"),
        tf.TensorSpec([None, 2], tf.int64, name="indices"),
        tf.TensorSpec([None], tf.int64, name="words"),
        tf.TensorSpec([None], tf.int64, name="tags"),
        tf.TensorSpec([None], tf.int64, name="tags_each"),
    )
    flops = matrix_product(batch, 2 * WIDTH + DENSE_FEATURES, 64) + matrix_product(batch, 64, 1)
    held = (words, tags, *top.variables)
    return Built(list(held), tf.function(step), inputs, flops, held)


def in_precision(policy: str) -> Callable[[int], Built]:
    """A convolutional network with attention on top, its layers in `policy`."""

    def build(batch: int) -> Built:
        keras.utils.set_random_seed(0)
        images = keras.Input((32, 32, 3), name="images")
        net = layers.Conv2D(32, 3, strides=2, activation="relu", dtype=policy)(images)
        net = layers.BatchNormalization(dtype=policy)(net)
        net = layers.Conv2D(64, 3, strides=2, activation="relu", dtype=policy)(net)
        net = layers.Reshape((49, 64), dtype=policy)(net)
        net = net + layers.MultiHeadAttention(4, 16, dtype=policy)(net, net)
        net = layers.GlobalAveragePooling1D(dtype=policy)(net)
        return inference(keras.Model(images, layers.Dense(10, dtype="float32")(net)), batch)

    return build


mixed_float16, mixed_bfloat16 = in_precision("mixed_float16"), in_precision("mixed_bfloat16")


def sparse_feeds(batch: int) -> dict[str, NDArray[Any]]:
    """Bags that fit together: rows in order, five words and three tags each, two of the tags' bags of other lengths."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(batch), WORDS)
    each = np.full(batch, TAGS)
    each[:2] += 1, -1
    return {
        "numbers": rng.uniform(size=(batch, DENSE_FEATURES)).astype(np.float32),
        "indices": np.stack([rows, np.tile(np.arange(WORDS), batch)], axis=1),
        "words": rng.integers(0, 20, batch * WORDS),
        "tags": rng.integers(0, ROWS, batch * TAGS),
        "tags_each": each,
    }
