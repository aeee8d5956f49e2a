"""SavedModels with custom ops: models whose ops get other types than TensorFlow's in the file. In a child alone."""

import shutil
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import op_def_registry

from engine.child.parent import Limits, ReportProgress, Results, no_progress
from engine.events import Json
from engine.formats.format import PLACED_FILE, Placing, SourceFile
from engine.formats.graphdef import serialized
from engine.formats.reading import read_file
from engine.formats.saved_model import saved_model
from experiments.placed.samples import zipped

OWN = "OwnLibrary>"
"""what makes a custom type of one of TensorFlow's"""
DEFINED = frozenset(
    {
        *("Relu", "ResourceGather", "AssignAddVariableOp", "TopKV2", "SplitV", "Pack", "Minimum", "Assert"),
        "LookupTableFindV2",
    }
)
"""types with inputs of resources, several outputs under one name and under two, side effects, and no outputs at all"""
UNDEFINED = frozenset({"Relu", "ResourceGather", "SplitV", "AssignAddVariableOp", "Tanh", "Square"})
"""types that are found without definitions; Tanh and Square have each other alone as neighbours"""
NAMED = frozenset({"TopKV2"})
"""a type with two outputs by name, whose order only a definition states"""

SAMPLES: dict[str, tuple[frozenset[str], bool]] = {
    "own": (frozenset(), False),
    "defined": (DEFINED, True),
    "undefined": (UNDEFINED, False),
    "without an order": (NAMED, False),
    "unused": (frozenset({"RandomUniform"}), True),
}
"""name → (types that become custom ones, whether the file defines them)"""
DEVICE = "/device:CPU:0"


def save_model(folder: Path) -> None:
    """A model with these ops in a call, in the sides of a condition, and in a loop in a loop."""
    model = tf.Module()
    model.table = tf.Variable(tf.reshape(tf.range(32.0), [8, 4]) / 32.0, name="table")
    model.count = tf.Variable(0.0, name="count")
    words = tf.lookup.KeyValueTensorInitializer(tf.constant([1, 2], tf.int64), tf.constant([3, 4], tf.int64))
    model.words = tf.lookup.StaticHashTable(words, tf.constant(5, tf.int64))

    @tf.function  # type: ignore[untyped-decorator]
    def looked_up(numbers: Any) -> Any:
        model.count.assign_add(1.0)
        return tf.nn.relu(tf.gather(model.table, model.words.lookup(numbers)) - 0.3)

    def serve(numbers: Any) -> Any:
        net = looked_up(numbers) + tf.square(tf.tanh(tf.square(looked_up(numbers))))
        noise = tf.random.uniform([4], seed=3)
        for _ in tf.range(3):
            net = tf.stack([tf.nn.relu(net[0]), net[1]])
            for step in tf.range(2):
                parts = tf.split(net, [1, 3], axis=1)
                net = tf.concat([parts[1], tf.minimum(parts[0], 0.5 + tf.cast(step, tf.float32))], 1)
            if tf.reduce_sum(net) > 2.0:
                values, places = tf.nn.top_k(net, 3)
                net = net + tf.reduce_sum(values) * 0.1 + tf.cast(tf.reduce_max(places), tf.float32)
            else:
                tf.debugging.Assert(tf.reduce_all(net < 1e6), [net])
                model.count.assign_add(net[0, 0])
        return {"net": net, "noise": tf.shape(noise)[0], "count": model.count.read_value()}

    served = tf.function(serve, input_signature=[tf.TensorSpec([2], tf.int64, name="numbers")])
    tf.saved_model.save(model, str(folder), signatures={"serving_default": served})


def rename(content: bytes, types: frozenset[str], *, define: bool) -> bytes:
    """The saved_model.pb with ops of the `types` as custom ones, with their definitions or without."""
    message = saved_model_pb2.SavedModel.FromString(content)
    meta_graph = message.meta_graphs[0]
    for nodes in (meta_graph.graph_def.node, *(each.node_def for each in meta_graph.graph_def.library.function)):
        for node in nodes:
            if node.op in types:
                node.op = OWN + node.op
    listed = meta_graph.meta_info_def.stripped_op_list.op
    kept = [definition for definition in listed if definition.name not in types]
    for name in sorted(types) if define else ():
        definition = op_def_pb2.OpDef()
        definition.CopyFrom(op_def_registry.get(name))
        definition.name = OWN + name
        kept.append(definition)
    del listed[:]
    listed.extend(kept)
    return cast(bytes, message.SerializeToString())


def rename_back(content: bytes) -> bytes:
    """The graph in `content`, a GraphDef, with TensorFlow's own types and their default attributes."""
    graph = tf.compat.v1.GraphDef.FromString(content)
    for node in [*graph.node, *(node for function in graph.library.function for node in function.node_def)]:
        if node.op.startswith(OWN):
            node.op = node.op.removeprefix(OWN)
            for attribute in op_def_registry.get(node.op).attr:
                if attribute.HasField("default_value") and attribute.name not in node.attr:
                    node.attr[attribute.name].CopyFrom(attribute.default_value)
    return cast(bytes, graph.SerializeToString(deterministic=True))


def read_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Save, read and write the samples: files in the order's folder, and the reader's notes."""
    target = Path(cast(str, order["folder"]))
    save_model(folder / "model")
    content = (folder / "model" / "saved_model.pb").read_bytes()
    said: dict[str, Json] = {}
    for name, (types, define) in SAMPLES.items():
        (folder / "model" / "saved_model.pb").write_bytes(rename(content, types, define=define))
        source = SourceFile(zipped(target, name, folder / "model"), ".zip", Limits().file_bytes)
        file = read_file(source, no_progress)
        said[name] = list(file.origin.notes)
        (target / f"{name}.pb").write_bytes(serialized(file))
        (target / f"{name}-back.pb").write_bytes(rename_back(serialized(file)))
        placing = Placing(dict.fromkeys(file.graph.graph.op_names, DEVICE), ".zip", short=False, keep_pins=True)
        (folder / name).mkdir()
        saved_model.write(source, placing, folder / name, no_progress)
        (folder / name / PLACED_FILE).rename(target / f"{name}-placed.zip")
    return {}, said


def served_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Name → what the placed SavedModel gives in two calls, its custom ops as TensorFlow's own again."""
    given: dict[str, Json] = {}
    for name, path in order.items():
        model = folder / f"{name}-served"
        shutil.unpack_archive(cast(str, path), model)
        message = saved_model_pb2.SavedModel.FromString((model / "saved_model.pb").read_bytes())
        graph = message.meta_graphs[0].graph_def
        graph.CopyFrom(tf.compat.v1.GraphDef.FromString(rename_back(graph.SerializeToString())))
        (model / "saved_model.pb").write_bytes(message.SerializeToString())
        serve = tf.saved_model.load(str(model)).signatures["serving_default"]
        calls = [serve(numbers=tf.constant([1, 7], tf.int64)) for _ in range(2)]
        given[name] = [{key: np.asarray(value).tolist() for key, value in call.items()} for call in calls]
    return {}, given
