"""A training graph of TensorFlow 1 in all its files, and a way to run placed ones. Used in a child alone."""

from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.events import Json

v1 = tf.compat.v1
ROWS, WIDTH, CLASSES, LENGTH = 2000, 16, 4, 6
LARGE = 1_100_000
"""characters of a comment that makes a text one that TensorFlow parses"""


def training_graph(folder: Path) -> tuple[Any, Any]:
    """An embedding and a dense layer, trained; initialisers, a sharded saver and summaries. With its saver."""
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int64, [None, LENGTH], name="ids")
        rows = v1.get_variable("embedding", [ROWS, WIDTH], initializer=v1.random_normal_initializer(seed=1))
        dense = v1.get_variable("dense", [WIDTH, CLASSES], initializer=v1.ones_initializer(), use_resource=True)
        logits = tf.matmul(tf.reduce_mean(tf.gather(rows, ids), 1), dense, name="logits")
        loss = tf.reduce_mean(logits, name="loss")
        v1.summary.scalar("loss_summary", loss)
        v1.summary.histogram("dense_summary", dense)
        v1.summary.merge_all()
        train = v1.train.AdagradOptimizer(0.1).minimize(loss, name="train")
        v1.global_variables_initializer()
        saver = v1.train.Saver(sharded=True)
        v1.train.export_meta_graph(str(folder / "plain.meta"), graph=graph)
        v1.add_to_collection(v1.GraphKeys.TRAIN_OP, train)
        v1.train.export_meta_graph(str(folder / "training.meta"), graph=graph)
        v1.train.export_meta_graph(str(folder / "text.meta"), graph=graph, as_text=True)
    return graph, saver


def save_models(folder: Path) -> None:
    """SavedModels of TensorFlow 1: one graph as text, and two graphs, one without tags."""
    for name, all_tags, as_text in (("text", (("serve",),), True), ("hub", ((), ("train",)), False)):
        builder = v1.saved_model.Builder(str(folder / name))
        for tags in all_tags:
            with tf.Graph().as_default(), v1.Session() as session:
                images = v1.placeholder(tf.float32, [None, 8, 8, 3], name="images")
                kernel = v1.get_variable("kernel", [3, 3, 3, 2 + 2 * len(tags)], initializer=v1.ones_initializer())
                sums = tf.reduce_sum(tf.nn.conv2d(images, kernel, 1, "SAME"), [1, 2])
                session.run(v1.global_variables_initializer())
                signature = {"default": v1.saved_model.predict_signature_def({"images": images}, {"sums": sums})}
                if builder._has_saved_variables:
                    builder.add_meta_graph(list(tags), signature)
                else:
                    builder.add_meta_graph_and_variables(session, list(tags), signature)
        builder.save(as_text=as_text)


def build_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Leave the files in the folder that the order names."""
    folder = Path(cast(str, order["folder"]))
    graph, _ = training_graph(folder)
    tf.io.write_graph(graph, str(folder), "training.pb", as_text=False)
    tf.io.write_graph(graph, str(folder), "training.pbtxt", as_text=True)
    for name in ("text.meta", "training.pbtxt"):
        (folder / f"large_{name}").write_text(f"# {'x' * LARGE}\n" + (folder / name).read_text())
    save_models(folder)
    return {}, {}


def run_in_child(order: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Import the placed GraphDef on three virtual CPUs, soft placement off; initialise, train, save, restore.

    Gives the dense layer after two steps, after it was restored, and as `reference` has it, the unplaced file.
    """
    found: dict[str, Json] = {}
    for name in ("placed", "reference"):
        definition = v1.GraphDef.FromString(Path(cast(str, order[name])).read_bytes())
        for node in definition.node:
            node.device = node.device.replace("GPU:1", "CPU:2").replace("GPU:0", "CPU:1")
        config = v1.ConfigProto(device_count={"CPU": 3}, allow_soft_placement=False)
        with tf.Graph().as_default() as graph, v1.Session(config=config) as session:
            tf.import_graph_def(definition, name="")
            session.run("init")
            feeds = {"ids:0": np.arange(4 * LENGTH).reshape(4, LENGTH), "save/Const:0": str(folder / name / "saved")}
            (folder / name).mkdir()
            session.run(["train", "Merge/MergeSummary:0"], feeds)
            session.run("save/Identity:0", feeds)
            first = session.run("dense/Read/ReadVariableOp:0")
            session.run("train", feeds)
            second = session.run("dense/Read/ReadVariableOp:0")
            session.run("save/restore_all", feeds)
            found[name] = [first.tolist(), second.tolist()]
            found[f"{name} restored"] = session.run("dense/Read/ReadVariableOp:0").tolist()
            del graph
    return {}, found
