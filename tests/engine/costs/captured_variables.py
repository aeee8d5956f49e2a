"""Writes a small Keras model as TensorFlow 2 exports it: a function's graph, a SavedModel. Used in a child alone."""

import shutil
from pathlib import Path
from typing import Any, cast

import tensorflow as tf

from engine.child.parent import ReportProgress, Results
from engine.events import Json

IMAGE = (32, 32, 3)


def export_in_child(order: dict[str, Json], child_folder: Path, _report_progress: ReportProgress) -> Results:
    """`bare.pb`, `shapes.pb` (with `_output_shapes`), `saved.zip` in the order's `folder`; bytes of all variables."""
    folder = Path(cast(str, order["folder"]))
    layers: Any = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input(IMAGE),
            layers.Conv2D(16, 3, activation="relu"),
            layers.SeparableConv2D(8, 3),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )
    graph = tf.function(model).get_concrete_function(tf.TensorSpec([None, *IMAGE], name="images")).graph
    (folder / "bare.pb").write_bytes(graph.as_graph_def().SerializeToString())
    (folder / "shapes.pb").write_bytes(graph.as_graph_def(add_shapes=True).SerializeToString())
    tf.saved_model.save(model, str(child_folder / "saved"))
    shutil.make_archive(str(folder / "saved"), "zip", child_folder / "saved")
    return {}, {"bytes": sum(4 * int(tf.size(variable)) for variable in model.trainable_variables)}
