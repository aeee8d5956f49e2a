"""Seeds that TensorFlow makes: a graph of many families of ops, texts, recorded times. Used in a child alone."""

import importlib
from pathlib import Path
from typing import Any, cast

import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.errors import PlacetoError
from engine.events import Json
from tests.engine.formats import function_samples
from tests.fuzz.reading import read_input
from tests.fuzz.seeds import seeds_of

v1 = tf.compat.v1
AS_TEXT = ("calls", "branches")
"""seeds that are written as text too"""


def families() -> Any:
    """Ops of many families, of which each has arithmetic of its own, and a loop of version 1."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        images = v1.placeholder(tf.float32, [None, 8, 8, 3], name="images")
        filters = v1.get_variable("filters", [3, 3, 3, 4], use_resource=True)
        with tf.device("/device:GPU:0"):
            convolved = tf.nn.conv2d(images, filters, 1, "SAME", name="conv")
            pooled = tf.nn.max_pool2d(convolved, 2, 2, "VALID")
        deep = tf.nn.depthwise_conv2d(pooled, tf.ones([3, 3, 4, 2]), [1, 1, 1, 1], "SAME")
        flat = tf.reshape(deep, [-1, 128], name="flat")
        product = tf.einsum("ij,jk->ik", flat, tf.ones([128, 16]), name="product")
        chosen = tf.boolean_mask(product, tf.reduce_sum(product, 1) > 0.0, name="chosen")
        top = tf.math.top_k(chosen, 4, name="top")
        words = tf.gather(tf.ones([100, 8]), top.indices, name="words")
        waves = tf.math.abs(tf.signal.rfft(tf.reshape(words, [-1, 8])))
        roots = tf.linalg.cholesky(tf.eye(4, batch_shape=[3]) * 2.0)
        both = tf.concat([tf.reshape(waves, [-1]), tf.reshape(roots, [-1])], 0)
        array = tf.TensorArray(tf.float32, 5, element_shape=[])

        limit = tf.reduce_max(chosen)

        def body(index: Any, total: Any, held: Any) -> Any:
            return index + 1, total * 0.5 + tf.reduce_sum(both), held.write(index, total)

        _, total, array = tf.while_loop(lambda _index, total, _array: total < limit, body, (0, 0.0, array), name="loop")
        labels = tf.strings.as_string(tf.cast(tf.unique(tf.reshape(top.indices, [-1])).y, tf.int64))
        loss = total + tf.reduce_sum(top.values) + tf.reduce_sum(array.stack()) + tf.cast(tf.size(labels), tf.float32)
        v1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
    return graph.as_graph_def()


def recorded() -> bytes:
    """RunMetadata of two steps of `function_samples.meta_graph()`."""
    meta = function_samples.meta_graph()
    with tf.Graph().as_default() as graph:
        v1.import_graph_def(meta.graph_def, name="")
        times = v1.RunMetadata()
        options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
        with v1.Session(graph=graph) as session:
            session.run("init")
            feed = {"inputs:0": [[1.0] * function_samples.WIDTH] * 4}
            session.run("loss:0", feed, options=options, run_metadata=times)
    return cast(bytes, times.SerializeToString())


def build_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Into the order's folder: what `function_samples` builds, `families.pb`, texts, `recorded.times`."""
    function_samples.build_in_child(order, folder, report_progress)
    target = Path(cast(str, order["folder"]))
    (target / "families.pb").write_bytes(families().SerializeToString())
    text_format = importlib.import_module("google.protobuf.text_format")
    for name in AS_TEXT:
        definition = v1.GraphDef.FromString((target / f"{name}.pb").read_bytes())
        (target / f"{name}.pbtxt").write_text(text_format.MessageToString(definition))
    (target / "recorded.times").write_bytes(recorded())
    return {}, {}


def read_in_child(order: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Build the seeds and read each: how it was made, in which format → why it was refused, empty where it was read."""
    build_in_child(order, folder, report_progress)
    texts: dict[str, Json] = {}
    for number, seed in enumerate(seeds_of(Path(cast(str, order["folder"])))):
        place = folder / str(number)
        place.mkdir()
        try:
            read_input(seed, place)
            texts[f"{number} {seed.format}, {seed.made}"] = ""
        except PlacetoError as error:
            texts[f"{number} {seed.format}, {seed.made}"] = str(error)
    return {}, texts
