"""Builds a zoo graph and runs steps of it. In a child alone."""

import importlib
from pathlib import Path
from typing import Any, cast

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.protobuf import config_pb2

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.zoo import ZOO
from experiments.zoo_arithmetic import UPDATES, count

v1 = tf.compat.v1


def try_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Train each model of the order, name → [settings, steps], on one batch, and predict with its inference form.

    Arrays: `name.losses` [steps]; `name.prediction`, and `name.again` from the same inputs. Texts: `name.still`, the
    trained variables that the steps left as they were, of so many `name.trained`; `name.unknown`, types of ops with an
    output whose shape is not known.
    """
    arrays: dict[str, NDArray[np.generic]] = {}
    texts: dict[str, Json] = {}
    for name, (settings, steps) in cast(dict[str, tuple[dict[str, Json], int]], order).items():
        training, inference = _imported(name, settings), _imported(name, settings | {"inference": True})
        losses, trained, still = _train(training, steps)
        arrays[f"{name}.losses"] = np.array(losses)
        arrays[f"{name}.prediction"], arrays[f"{name}.again"] = _predict(inference)
        unknown = {op.type for graph in (training, inference) for op in graph.get_operations() if not _is_known(op)}
        texts |= {f"{name}.still": list(still), f"{name}.trained": trained, f"{name}.unknown": sorted(unknown)}
    return arrays, texts


def build_in_child(order: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Names and types of the ops of each model, by label; `order` holds their name and settings.

    Those for inference with what `arithmetic.count` says of them.
    """
    texts: dict[str, Json] = {}
    for label, (name, settings) in cast(dict[str, tuple[str, dict[str, Json]]], order).items():
        definition = _definition(name, settings)
        names, types = [node.name for node in definition.node], [node.op for node in definition.node]
        texts[label] = {"names": names, "types": types}
        if settings.get("inference"):
            texts[f"{label} counted"] = list(count(definition))
    return {}, texts


def _definition(name: str, settings: dict[str, Json]) -> Any:
    """The GraphDef of model `name`."""
    module, _, function = ZOO[name].builder.partition(":")
    return getattr(importlib.import_module(module), function)(ZOO[name].settings(settings))


def _imported(name: str, settings: dict[str, Json]) -> Any:
    """The graph of model `name`, read again from its GraphDef."""
    with tf.Graph().as_default() as graph:
        v1.import_graph_def(_definition(name, settings), name="")
    return graph


def _train(graph: Any, steps: int) -> tuple[list[float], int, list[str]]:
    """The loss before each step; how many variables are trained, and those that have not moved."""
    rng = np.random.default_rng(0)
    with graph.as_default(), _session() as session:
        session.run(_initializers(graph, rng))
        handles = [op.inputs[0] for op in graph.get_operations() if op.type.startswith(UPDATES)]
        reads = [tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) for handle in handles]
        before = session.run(reads)
        feeds = _feeds(graph, rng)
        losses = [float(session.run(["loss:0", "train_step"], feeds)[0]) for _ in range(steps)]
        after = session.run(reads)
    rows = zip(handles, before, after, strict=True)
    return losses, len(handles), [handle.op.name for handle, old, new in rows if np.array_equal(old, new)]


def _predict(graph: Any) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """The prediction on one batch, twice."""
    rng = np.random.default_rng(0)
    with graph.as_default(), _session() as session:
        session.run(_initializers(graph, rng))
        feeds = _feeds(graph, rng)
        return session.run("prediction:0", feeds), session.run("prediction:0", feeds)


def _session() -> Any:
    """Without the optimizations that take longer than the steps."""
    settings = config_pb2.ConfigProto()
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    return v1.Session(config=settings)


def _feeds(graph: Any, rng: np.random.Generator) -> dict[Any, Any]:
    """Normal numbers for features; small integers for labels and words."""
    placeholders = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
    return {
        each: rng.integers(2, 10, each.shape) if each.dtype.is_integer else rng.normal(size=each.shape)
        for each in placeholders
    }


def _initializers(graph: Any, rng: np.random.Generator) -> list[Any]:
    """An assignment to each variable."""
    return [_initializer(op, rng) for op in graph.get_operations() if op.type == "VarHandleOp"]


def _initializer(op: Any, rng: np.random.Generator) -> Any:
    """What the builder's own initializers would have given."""
    shape = tf.TensorShape(op.get_attr("shape")).as_list()
    dtype = tf.as_dtype(op.get_attr("dtype"))
    if op.name.endswith("weights"):
        inputs = np.prod(shape[:2] if "depthwise" in op.name else shape[:-1])
        values = rng.normal(size=shape) * (2.0 / inputs) ** 0.5
    else:
        ones = op.name.endswith(("gamma", "moving_variance", "RMSProp"))
        values = np.full(shape, 1.0 if ones else 0.0)
    return tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=values.astype(dtype.as_numpy_dtype))


def _is_known(op: Any) -> bool:
    """Whether TensorFlow knows the shapes of all its outputs."""
    return all(output.shape.is_fully_defined() for output in op.outputs)
