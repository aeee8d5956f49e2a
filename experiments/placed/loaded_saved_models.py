"""Calls two SavedModels with the same numbers and traces the placed one. For child processes: loads TensorFlow."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.protobuf import config_pb2, saved_model_pb2
from tensorflow.python.eager import context

from engine.events import Json
from engine.formats.saved_model.archive import SAVED_MODEL_FILE
from engine.graphs.tensorflow.messages import Message
from experiments.placed.step import (
    UNKNOWN_LENGTH,
    Numbers,
    device_part,
    executed_devices,
    fixed_numbers,
    session_settings,
)

v1 = tf.compat.v1
TOLERANCE = 1e-5
"""of outputs, absolute and relative"""
SHOWN = 5
"""faults of each kind that are reported"""
ARGUMENT = "_Arg"
"""the op of a fed value, which is on the caller's device"""
ExecutedDevices: TypeAlias = Mapping[str, tuple[str, ...]]
"""op → the devices of the partitions that hold it and those on which it ran"""


def give_devices(count: int) -> None:
    """Give this process `count` CPU devices, and let TensorFlow move, fold or rename no op."""
    virtual = [tf.config.LogicalDeviceConfiguration()] * count
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], virtual)
    tf.config.set_soft_device_placement(False)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


def compared(before: Path, after: Path, devices: int) -> dict[str, Json]:
    """Compare the SavedModel in the folder `after`, or in the only folder there, with the one in `before`.

    Returns the fields of `placed.saved_model.Checked`.
    """
    before, after = (next(folder.rglob(SAVED_MODEL_FILE)).parent for folder in (before, after))
    [meta_graph] = saved_model_pb2.SavedModel.FromString((after / SAVED_MODEL_FILE).read_bytes()).meta_graphs
    written = {node.name: node.device for node in meta_graph.graph_def.node}
    [name] = meta_graph.signature_def
    function = tf.saved_model.load(str(before)).signatures[name]
    feeds = _feeds(function)
    expected = _arrays(function(**feeds))
    numbers, executed = _called(after, name, feeds)
    in_session, session_executed = _called_in_session(after, meta_graph, feeds, devices)
    faults: list[str] = []
    pairs = 0
    for found in (executed, session_executed):
        pairs += sum(map(len, found.values()))
        faults += list(_elsewhere(written, found))
    differences = {
        (way, key): _difference(expected.get(key), given.get(key))
        for way, given in (("function", numbers), ("session", in_session))
        for key in expected.keys() | given.keys()
    }
    unequal = [f"{key} ({way})" for (way, key), (_, equal) in sorted(differences.items()) if not equal]
    return {
        "ops": len(written),
        "executed": len(executed),
        "compared": pairs,
        "mismatches": len(faults),
        "outputs": len(differences),
        "unequal": len(unequal),
        "largest_difference": max((largest for largest, _ in differences.values()), default=0.0),
        "examples": [*faults[:SHOWN], *unequal[:SHOWN]],
    }


def _feeds(function: Any) -> dict[str, Any]:
    """Fixed numbers for each input, by name; all open lengths are the same."""
    feeds = {}
    for name, spec in sorted(function.structured_input_signature[1].items()):
        shape = [UNKNOWN_LENGTH if length is None else length for length in spec.shape.as_list()]
        feeds[name] = tf.constant(fixed_numbers(name, shape, spec.dtype), spec.dtype)
    return feeds


def _arrays(outputs: Mapping[str, Any]) -> Numbers:
    return {name: np.asarray(value.numpy()) for name, value in outputs.items()}


def _called(folder: Path, signature: str, feeds: Mapping[str, Any]) -> tuple[Numbers, ExecutedDevices]:
    """Load the model as a Python program does, and call its signature as a function."""
    function = tf.saved_model.load(str(folder)).signatures[signature]
    context.enable_graph_collection()
    context.export_run_metadata()  # drops the traces of other functions
    try:
        numbers = _arrays(function(**feeds))
        metadata = context.export_run_metadata()
    finally:
        context.disable_graph_collection()
    known = {operation.name: "" for operation in function.graph.get_operations()}
    executed: dict[str, set[str]] = {}
    for graphs in metadata.function_graphs:
        for partition in graphs.partition_graphs:
            for node in partition.node:
                if node.name in known and node.op != ARGUMENT:
                    executed.setdefault(node.name, set()).add(device_part(node.device))
    return numbers, {name: tuple(sorted(found)) for name, found in executed.items()}


def _called_in_session(
    folder: Path, meta_graph: Message, feeds: Mapping[str, Any], devices: int
) -> tuple[Numbers, ExecutedDevices]:
    """Run the whole graph in a session as TensorFlow Serving does: variables restored, tables initialised."""
    [signature] = meta_graph.signature_def.values()
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=session_settings(devices)) as session:
        v1.saved_model.load(session, list(meta_graph.meta_info_def.tags), str(folder))
        fed = {signature.inputs[name].name: value.numpy() for name, value in feeds.items()}
        fetches = {name: tensor.name for name, tensor in signature.outputs.items()}
        options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE, output_partition_graphs=True)
        metadata = config_pb2.RunMetadata()
        numbers = session.run(fetches, fed, options, metadata)
        known = {operation.name: "" for operation in graph.get_operations()}
    return {name: np.asarray(value) for name, value in numbers.items()}, executed_devices(metadata, known)


def _elsewhere(written: Mapping[str, str], executed: ExecutedDevices) -> Iterable[str]:
    """A sentence for each op that ran on another device than the written one."""
    for name, found in sorted(executed.items()):
        for device in found:
            if name in written and device != device_part(written[name]):
                yield f"{name}: {written[name]}, not {device}"


def _difference(one: NDArray[Any] | None, other: NDArray[Any] | None) -> tuple[float, bool]:
    """The largest difference of two numbers, and whether all are equal within the tolerance."""
    if one is None or other is None or one.dtype != other.dtype or one.shape != other.shape:
        return float("inf"), False
    if one.dtype.kind not in "fciub":
        return 0.0, bool(np.array_equal(one, other))
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    one, other = one.astype(wide), other.astype(wide)
    largest = float(np.max(np.abs(one - other), initial=0.0))
    return largest, bool(np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
