"""Small models behind lookups and open lengths, with the closed forms of their products. For child processes only.

Each builder saves a file and returns the operations of its convolutions and matrix products at `BATCH`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import keras
import tensorflow as tf
from keras import layers

from tests.models.products import convolution, matrix_product

tf1 = tf.compat.v1
BATCH = 8
WORDS = [f"w{index}" for index in range(50)]
Build: TypeAlias = Callable[[Path], int]
"""writes the SavedModel folder, or the GraphDef, and returns the operations"""


def _dense(inner: int, *widths: int, rows: int = BATCH) -> int:
    """The operations of dense layers one after another."""
    total = 0
    for width in widths:
        total, inner = total + matrix_product(rows, inner, width), width
    return total


def _tower(name: str, *widths: int) -> tuple[Any, Any]:
    """An input of words, and what dense layers make of its embedding of 16 numbers."""
    given = keras.Input((1,), dtype="string", name=name)
    net = layers.Flatten()(layers.Embedding(51, 16)(layers.StringLookup(vocabulary=WORDS)(given)))
    for width in widths:
        net = layers.Dense(width, activation="relu")(net)
    return given, net


def user_tower(path: Path) -> int:
    """A vocabulary, an embedding, two dense layers."""
    given, net = _tower("user", 512, 1)
    keras.Model(given, net).export(str(path), verbose=False)
    return _dense(16, 512, 1)


def retrieval(path: Path) -> int:
    """Two towers and the products of all users with all items of the batch."""
    (user, of_user), (item, of_item) = _tower("user", 256, 64), _tower("item", 128, 64)
    scores = keras.ops.matmul(of_user, keras.ops.transpose(of_item))
    keras.Model([user, item], scores).export(str(path), verbose=False)
    return _dense(16, 256, 64) + _dense(16, 128, 64) + matrix_product(BATCH, 64, BATCH)


def recommender(path: Path) -> int:
    """DLRM with four vocabularies: pairs of vectors multiplied, dense layers below and above."""
    numbers = keras.Input((13,), name="numbers")
    towers = [_tower(f"category_{index}") for index in range(4)]
    bottom = layers.Dense(16, activation="relu")(layers.Dense(64, activation="relu")(numbers))
    vectors = keras.ops.stack([bottom, *(net for _, net in towers)], axis=1)
    pairs = keras.ops.matmul(vectors, keras.ops.transpose(vectors, (0, 2, 1)))
    top = layers.Dense(128, activation="relu")(layers.Concatenate()([bottom, layers.Flatten()(pairs)]))
    keras.Model([numbers, *(given for given, _ in towers)], layers.Dense(1)(top)).export(str(path), verbose=False)
    return _dense(13, 64, 16) + matrix_product(BATCH * 5, 16, 5) + _dense(16 + 25, 128, 1)


def tabular(path: Path) -> int:
    """Numbers normalized, a number in buckets, a vocabulary as one-hot, dense layers: a TFX-like estimator."""
    numbers = keras.Input((8,), name="numbers")
    miles = keras.Input((1,), name="miles")
    company = keras.Input((1,), dtype="string", name="company")
    buckets = layers.CategoryEncoding(num_tokens=5, output_mode="one_hot")(
        layers.Discretization(bin_boundaries=[1.0, 2.0, 4.0, 8.0])(miles)
    )
    named = layers.StringLookup(vocabulary=WORDS, output_mode="one_hot")(company)
    net = layers.Concatenate()([layers.Normalization(mean=[0.0] * 8, variance=[1.0] * 8)(numbers), buckets, named])
    for width in (100, 70, 1):
        net = layers.Dense(width, activation="relu")(net)
    keras.Model([numbers, miles, company], net).export(str(path), verbose=False)
    return _dense(8 + 5 + 51, 100, 70, 1)


def text_classifier(path: Path) -> int:
    """Words of a text, an embedding, a convolution over them, a dense layer."""
    text = keras.Input((), dtype="string", name="text")
    words = layers.TextVectorization(vocabulary=WORDS, output_sequence_length=20)(text)
    net = layers.Conv1D(64, 5, activation="relu", padding="same")(layers.Embedding(52, 32)(words))
    keras.Model(text, layers.Dense(4)(layers.GlobalMaxPooling1D()(net))).export(str(path), verbose=False)
    return convolution((BATCH, 20, 64), (5,), 32) + _dense(64, 4)


def recurrent_words(path: Path) -> int:
    """Words of a text, an embedding, an LSTM over 20 of them in a loop."""
    text = keras.Input((20,), dtype="string", name="words")
    net = layers.LSTM(48)(layers.Embedding(51, 32)(layers.StringLookup(vocabulary=WORDS)(text)))
    keras.Model(text, layers.Dense(4)(net)).export(str(path), verbose=False)
    return 20 * (matrix_product(BATCH, 32, 4 * 48) + matrix_product(BATCH, 48, 4 * 48)) + _dense(48, 4)


def sentence_encoder(path: Path) -> int:
    """A module like TensorFlow Hub's: a text of any length, words by a table, the mean of their rows, a product."""

    class Encoder(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            keys, values = tf.constant(WORDS), tf.range(len(WORDS), dtype=tf.int64)
            self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), 0)
            self.rows, self.weights = tf.Variable(tf.ones([50, 128])), tf.Variable(tf.ones([128, 256]))

        @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string, name="words")])  # type: ignore[untyped-decorator]
        def __call__(self, words: Any) -> Any:
            return tf.matmul(tf.reduce_mean(tf.gather(self.rows, self.table.lookup(words)), axis=1), self.weights)

    tf.saved_model.save(Encoder(), str(path))
    return _dense(128, 256)


def picture_features(path: Path) -> int:
    """A module like TensorFlow Hub's: pictures of any size, resized to 96 × 96, three convolutions, their mean."""

    class Features(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = ((3, 16), (16, 32), (32, 64))
            self.filters = [tf.Variable(tf.ones([3, 3, channels, filters])) for channels, filters in sizes]

        @tf.function(input_signature=[tf.TensorSpec([None, None, None, 3], tf.float32, name="images")])  # type: ignore[untyped-decorator]
        def __call__(self, images: Any) -> Any:
            net = tf.image.resize(images, [96, 96])
            for filters in self.filters:
                net = tf.nn.relu(tf.nn.conv2d(net, filters, 2, "SAME"))
            return tf.reduce_mean(net, axis=[1, 2])

    tf.saved_model.save(Features(), str(path))
    convolutions = ((48, 3, 16), (24, 16, 32), (12, 32, 64))
    return sum(convolution((BATCH, side, side, to), (3, 3), of) for side, of, to in convolutions)


def detector(path: Path) -> int:
    """TensorFlow 1: pictures of any size, each resized in a loop, two convolutions, boxes of each, suppressed."""
    tf1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        images = tf1.placeholder(tf.uint8, [None, None, None, 3], name="images")
        resized = tf.map_fn(
            lambda each: tf1.image.resize_images(each, [64, 64]),
            tf.cast(images, tf.float32),
            fn_output_signature=tf.float32,
        )
        net = tf.nn.relu6(tf.nn.conv2d(resized, tf.ones([3, 3, 3, 16]), 2, "SAME"))
        net = tf.nn.relu6(tf.nn.conv2d(net, tf.ones([3, 3, 16, 32]), 2, "SAME"))
        boxes = tf.reshape(tf.nn.conv2d(net, tf.ones([1, 1, 32, 4]), 1, "SAME"), [tf.shape(net)[0], -1, 4])
        best = tf.map_fn(
            lambda each: tf.gather(each, tf.image.non_max_suppression(each, each[:, 0], 10)),
            boxes,
            fn_output_signature=tf.float32,
        )
        tf.matmul(tf.reshape(best, [-1, 4]), tf.ones([4, 20]), name="scores")
    tf1.enable_control_flow_v2()
    path.with_suffix(".pb").write_bytes(graph.as_graph_def().SerializeToString())
    convolutions = ((32, 3, 16, 3), (16, 16, 32, 3), (16, 32, 4, 1))
    products = sum(convolution((BATCH, side, side, to), (size, size), of) for side, of, to, size in convolutions)
    return products + matrix_product(BATCH * 10, 4, 20)


def segmentation(path: Path) -> int:
    """TensorFlow 1: a map whose height and width stay open until they are given, enlarged to its picture's own."""
    with tf.Graph().as_default() as graph:
        images = tf1.placeholder(tf.float32, [None, None, None, 3], name="images")
        net = tf.nn.relu(tf.nn.conv2d(images, tf.ones([3, 3, 3, 16]), 4, "SAME"))
        net = tf1.image.resize_bilinear(net, tf.shape(images)[1:3])
        tf.nn.conv2d(net, tf.ones([3, 3, 16, 5]), 1, "SAME", name="classes")
    path.with_suffix(".pb").write_bytes(graph.as_graph_def().SerializeToString())
    return convolution((BATCH, 24, 16, 16), (3, 3), 3) + convolution((BATCH, 96, 64, 5), (3, 3), 16)


def served_queue(path: Path) -> int:
    """TensorFlow 1: a batch that a queue gives, whose rows a table of rows gives, two products."""
    with tf.Graph().as_default() as graph:
        queue = tf1.FIFOQueue(100, [tf.int64], shapes=[[]])
        keys = queue.dequeue_many(BATCH)
        rows = tf.raw_ops.MutableHashTableOfTensorsV2(key_dtype=tf.int64, value_dtype=tf.float32, value_shape=[64])
        found = tf.raw_ops.LookupTableFindV2(table_handle=rows, keys=keys, default_value=tf.zeros([64]))
        hidden = tf.raw_ops.MatMul(a=found, b=tf.ones([64, 128]))
        tf.matmul(hidden, tf.ones([128, 10]), name="scores")
    path.with_suffix(".pb").write_bytes(graph.as_graph_def().SerializeToString())
    return _dense(64, 128, 10)


MODELS: Mapping[str, Build] = {
    "user_tower": user_tower,
    "retrieval": retrieval,
    "recommender": recommender,
    "tabular": tabular,
    "text_classifier": text_classifier,
    "recurrent_words": recurrent_words,
    "sentence_encoder": sentence_encoder,
    "picture_features": picture_features,
    "detector": detector,
    "segmentation": segmentation,
    "served_queue": served_queue,
}
INPUT_SHAPES: Mapping[str, Mapping[str, tuple[int, ...]]] = {"segmentation": {"images": (-1, 96, 64, 3)}}
"""shapes that a batch size does not give"""
