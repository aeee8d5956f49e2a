"""Writes a built model's file in each usual form. For child processes only: loads TensorFlow."""

import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tests.models.model import (
    FROZEN,
    META_GRAPH,
    SAVED_MODEL,
    WITH_SHAPES,
    WITHOUT_SHAPES,
    Built,
)
from tests.models.tensorflow1 import Graph1

SIGNATURE = "serving_default"
OPTIONS = tf.saved_model.SaveOptions(
    experimental_custom_gradients=False, experimental_variable_policy="expand_distributed_variables"
)
"""each replica saves its copy of a variable; gradients of reductions over replicas cannot be saved"""
v1 = tf.compat.v1


def write(built: Built, form: str, path: Path, work: Path) -> None:
    """Write `path`; `work` is an empty folder for temporary files."""
    WRITERS[form](built, path, work)


def _saved_model(built: Built, path: Path, work: Path) -> None:
    """Write a SavedModel as `model.export` does; a module other than a Keras model has its step as signature."""
    folder = exported(built, work / "model")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            archive.write(file, file.relative_to(folder))


def exported(built: Built, folder: Path) -> Path:
    """The folder of the SavedModel."""
    if isinstance(built.holder, Graph1):
        graph1 = built.holder
        with graph1.graph.as_default(), v1.Session(graph=graph1.graph) as session:
            session.run(v1.global_variables_initializer())
            v1.saved_model.simple_save(session, str(folder), graph1.feeds, graph1.fetches)
        return folder
    if isinstance(built.holder, keras.Model):
        built.holder.export(str(folder), verbose=False)
    else:
        module = tf.Module()
        module.held = built.holder
        signature = built.step if built.step.input_signature else named(built)
        tf.saved_model.save(module, str(folder), {SIGNATURE: signature}, OPTIONS)
    return folder


def named(built: Built) -> Any:
    """The step as a signature: inputs by name, outputs in a dict."""

    def step(**inputs: Any) -> dict[str, Any]:
        outputs = tf.nest.flatten(built.step(*(inputs[spec.name] for spec in built.inputs)))
        return {f"output_{index}": output for index, output in enumerate(outputs)}

    return tf.function(step).get_concrete_function(**{spec.name: spec for spec in built.inputs})


def _graph(with_shapes: bool) -> Callable[[Built, Path, Path], None]:
    def write_graph(built: Built, path: Path, _work: Path) -> None:
        holder = built.holder
        is_old = isinstance(holder, Graph1)
        graph = holder.graph if is_old else built.step.get_concrete_function(*built.inputs).graph
        _put(path, graph.as_graph_def(add_shapes=with_shapes))

    return write_graph


def _frozen(built: Built, path: Path, _work: Path) -> None:
    frozen = convert_variables_to_constants_v2(built.step.get_concrete_function(*built.inputs))
    _put(path, frozen.graph.as_graph_def())


def _meta_graph(built: Built, path: Path, work: Path) -> None:
    """Write TensorFlow 1's export of its graph, or of a loaded SavedModel; the outputs are the training ops."""
    if isinstance(built.holder, Graph1):
        with built.holder.graph.as_default():
            _export_meta_graph(path, built.holder.fetches.values())
        return
    folder = str(exported(built, work / "model"))
    with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
        loaded = v1.saved_model.load(session, ["serve"], folder)
        outputs = loaded.signature_def[SIGNATURE].outputs.values()
        _export_meta_graph(path, [graph.as_graph_element(output.name) for output in outputs])


def _export_meta_graph(path: Path, outputs: Iterable[Any]) -> None:
    """Of the default graph."""
    for output in outputs:
        v1.add_to_collection(v1.GraphKeys.TRAIN_OP, output.op)
    v1.train.export_meta_graph(str(path))


def _put(path: Path, definition: Any) -> None:
    path.write_bytes(definition.SerializeToString(deterministic=True))


WRITERS: dict[str, Callable[[Built, Path, Path], None]] = {
    SAVED_MODEL: _saved_model,
    WITH_SHAPES: _graph(with_shapes=True),
    WITHOUT_SHAPES: _graph(with_shapes=False),
    FROZEN: _frozen,
    META_GRAPH: _meta_graph,
}
