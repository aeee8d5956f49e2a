"""Graphs whose inputs leave lengths open, and models behind lookups, as TensorFlow writes them. In a child alone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.events import Json

tf1 = tf.compat.v1


def detector() -> list[Any]:
    """The beginning of a detector: pictures of any size become ones of 64 × 64, then two convolutions and a check."""
    image = tf1.placeholder(tf.uint8, [None, None, None, 3], name="image_tensor")
    x = tf.map_fn(
        lambda each: tf1.image.resize_images(each, [64, 64]), tf.cast(image, tf.float32), fn_output_signature=tf.float32
    )
    for index, (channels, filters) in enumerate([(3, 16), (16, 32)]):
        x = tf.nn.conv2d(x, tf.ones([3, 3, channels, filters]), 2, "SAME", name=f"conv_{index}")
    with tf.control_dependencies([tf1.assert_equal(tf.shape(x)[1], 16)]):
        return [tf.identity(x, name="result")]


def segmentation() -> list[Any]:
    """A map of any height and width, whose channels a product takes: its shape is cut and joined."""
    image = tf1.placeholder(tf.float32, [None, None, None, 16], name="image")
    shape = tf.shape(image)
    rows = tf.reshape(image, tf.stack([shape[0] * 4, -1, 16]))
    pooled = tf.reduce_mean(rows, axis=1)
    return [tf.matmul(pooled, tf.ones([16, 8]), name="product")]


def tokens() -> list[Any]:
    """Tokens of any number: rows of a table, their mean, a product."""
    words = tf1.placeholder(tf.int32, [None, None], name="tokens")
    mean = tf.reduce_mean(tf.gather(tf.ones([100, 32]), words), axis=1)
    return [tf.matmul(mean, tf.ones([32, 10]), name="product")]


def table() -> Any:
    """A table of two words."""
    words = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
    return tf.lookup.StaticHashTable(words, 0)


def lookup() -> list[Any]:
    """Words, their numbers, rows of a table, a product."""
    words = tf1.placeholder(tf.string, [None], name="words")
    rows = tf.gather(tf.ones([100, 64]), table().lookup(words))
    return [tf.matmul(rows, tf.ones([64, 512]), name="product")]


def lookup_with_text_handle() -> list[Any]:
    """The same through the first form of tables, whose handle is text."""
    words = tf1.placeholder(tf.string, [None], name="words")
    handle = _raw("HashTable", [], key_dtype=tf.string, value_dtype=tf.int64)
    found = _raw("LookupTableFind", [handle, words, tf.constant(0, tf.int64)], Tin=tf.string, Tout=tf.int64)
    rows = tf.gather(tf.ones([100, 64]), found)
    return [tf.raw_ops.MatMul(a=rows, b=tf.ones([64, 512]), name="product")]


def lookup_of_rows() -> list[Any]:
    """A table whose values are the rows."""
    keys = tf1.placeholder(tf.int64, [None], name="keys")
    handle = tf.raw_ops.MutableHashTableOfTensorsV2(key_dtype=tf.int64, value_dtype=tf.float32, value_shape=[64])
    rows = tf.raw_ops.LookupTableFindV2(table_handle=handle, keys=keys, default_value=tf.zeros([64]))
    return [tf.matmul(rows, tf.ones([64, 512]), name="product")]


def decoded() -> list[Any]:
    """A picture in a file: only the file knows its lengths."""
    content = tf1.placeholder(tf.string, [], name="content")
    picture = tf.cast(tf.image.decode_jpeg(content, channels=3), tf.float32)[tf.newaxis]
    return [tf.nn.conv2d(picture, tf.ones([3, 3, 3, 16]), 1, "SAME", name="conv")]


def _raw(op_type: str, inputs: list[Any], **types: Any) -> Any:
    attributes = {key: tf1.AttrValue(type=value.as_datatype_enum) for key, value in types.items()}
    graph = tf1.get_default_graph()
    return graph._create_op_internal(op_type, inputs, None, name=op_type, attrs=attributes).outputs[0]


GRAPHS: Mapping[str, Callable[[], list[Any]]] = {
    "detector": detector,
    "segmentation": segmentation,
    "tokens": tokens,
    "lookup": lookup,
    "lookup with text handle": lookup_with_text_handle,
    "lookup of rows": lookup_of_rows,
    "decoded": decoded,
}


def build_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Write each graph, and a Keras model with a vocabulary, into the folder of the order."""
    folder = Path(cast(str, order["folder"]))
    tf1.disable_control_flow_v2()
    for name, make in GRAPHS.items():
        with tf.Graph().as_default() as graph:
            fetched = [tensor.op.name for tensor in make()]
        kept = tf1.graph_util.extract_sub_graph(graph.as_graph_def(), fetched)
        (folder / f"{name}.pb").write_bytes(kept.SerializeToString())
    tf1.enable_control_flow_v2()
    _user_tower().export(str(folder / "user_tower"), verbose=False)
    return {}, {}


def _user_tower() -> Any:
    """A vocabulary, an embedding, two dense layers."""
    import keras

    tf1.enable_eager_execution()
    given = keras.Input((1,), dtype="string")
    x = keras.layers.StringLookup(vocabulary=[f"u{index}" for index in range(50)])(given)
    x = keras.layers.Flatten()(keras.layers.Embedding(51, 16)(x))
    x = keras.layers.Dense(512, activation="relu")(x)
    return keras.Model(given, keras.layers.Dense(1)(x))
