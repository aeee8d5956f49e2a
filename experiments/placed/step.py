"""Runs one step of a placed graph in TensorFlow, to compare devices with the file and numbers with the unplaced graph.

The graph is imported with soft placement off on virtual CPU devices, and one step is traced. For every op the written
device is compared with the device after the import, the device of its partition, and the device on which it ran. The
step's numbers, the variables afterwards included, are compared with those of the unplaced graph. This runs the graph:
use it only in a child process and only with our own graphs.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.protobuf import config_pb2

from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import VARIABLES

v1 = tf.compat.v1
VARIABLE = "variable "
"""prefix of a variable's name among the numbers"""
NOT_FETCHED = (tf.resource, tf.variant)
UNKNOWN_LENGTH = 2
"""of an open dimension of a fed tensor"""
OF_SQUARES = ("velocity", "Adam_1", "variance")
"""in the names of variables that hold means of squares, which are not negative"""
OF_RATES, RATE = "learning_rate", 1e-3
"""in the names of variables that hold a learning rate, and a usual one"""
Numbers = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class PlacedStep:
    """How one step of a graph is run."""

    fetches: tuple[str, ...] = ()
    """tensors (`loss:0`) and ops (`train_step`) to run; empty: all ops without a consumer"""
    starts: tuple[str, ...] = ()
    """initializers, run before the step one after the other"""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """of placeholders whose shape the graph lacks"""
    feeds: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """numbers of placeholders that do not take arbitrary ones"""


@dataclass(frozen=True, slots=True)
class Ran:
    """The devices and numbers of one step."""

    imported: Mapping[str, str]
    """op → its device after the import, such as `/device:CPU:1`, or empty"""
    executed: Mapping[str, tuple[str, ...]]
    """op → the devices of the partitions that hold it and those on which it ran"""
    numbers: Numbers
    """the fetched tensors, and the variables afterwards"""


def mismatches(definition: Message, ran: Ran) -> list[tuple[str, str, str]]:
    """(op, written device, TensorFlow's device) for each difference."""
    return [
        (node.name, node.device, found)
        for node in definition.node
        for found in (ran.imported[node.name], *ran.executed.get(node.name, ()))
        if found != device_part(node.device)
    ]


def unequal_numbers(one: Numbers, other: Numbers) -> list[str]:
    """The names whose numbers differ, in any bit but those of a NaN."""
    return sorted(name for name in one.keys() | other.keys() if not _equal(one.get(name), other.get(name)))


def far_numbers(one: Numbers, other: Numbers, tolerance: float) -> list[str]:
    """The names whose numbers differ by more than `tolerance`, absolute and relative together."""
    return sorted(name for name in one.keys() | other.keys() if not _near(one.get(name), other.get(name), tolerance))


def _near(one: NDArray[Any] | None, other: NDArray[Any] | None, tolerance: float) -> bool:
    if one is None or other is None or one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype.kind in "OSUb":
        return bool(np.array_equal(one, other))
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    return bool(np.allclose(one.astype(wide), other.astype(wide), rtol=tolerance, atol=tolerance, equal_nan=True))


def _equal(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None or one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


def device_part(text: str) -> str:
    """`/device:CPU:1` of a full device string; empty if it names none."""
    _, found, device = text.rpartition("/device:")
    return found + device


def run_step(definition: Message, step: PlacedStep, devices: int) -> Ran:
    """Run one step on `devices` virtual CPU devices, with fixed numbers in the variables."""
    with tf.Graph().as_default() as graph:
        v1.import_graph_def(definition, name="")
        ops = graph.get_operations()
        imported = {op.name: device_part(op.device) for op in ops}
        fetched = [graph.as_graph_element(name) for name in step.fetches] or list(_unconsumed(ops))
        fetches = {part.name: part for element in fetched for part in _fetchable(element)}
        initializers, reads = _variables(ops)
        feeds = dict(_feeds(ops, step))
        with v1.Session(graph=graph, config=session_settings(devices)) as session:
            session.run(initializers)
            for start in step.starts:
                session.run(graph.get_operation_by_name(start), feeds)
            options = config_pb2.RunOptions(trace_level=config_pb2.RunOptions.FULL_TRACE, output_partition_graphs=True)
            metadata = config_pb2.RunMetadata()
            numbers = session.run(fetches, feeds, options, metadata)
            numbers |= session.run(reads)
    arrays = {name: np.asarray(value) for name, value in numbers.items() if value is not None}
    return Ran(imported, executed_devices(metadata, imported), arrays)


def session_settings(devices: int) -> Message:
    """Settings without optimizers that rename, fold or move ops; one thread an op, so that sums have one order."""
    settings = config_pb2.ConfigProto(
        device_count={"CPU": devices}, allow_soft_placement=False, intra_op_parallelism_threads=1
    )
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    settings.graph_options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
    return settings


def _unconsumed(ops: Sequence[Any]) -> Iterator[Any]:
    """The ops without a consumer."""
    consumed = {source.op.name for op in ops for source in op.inputs}
    consumed |= {source.name for op in ops for source in op.control_inputs}
    return (op for op in ops if op.name not in consumed)


def _fetchable(element: Any) -> list[Any]:
    """A tensor, or an op's tensors that can be fetched, or the op itself without any."""
    outputs = getattr(element, "outputs", [])
    return [each for each in outputs if each.dtype not in NOT_FETCHED and not each.dtype._is_ref_dtype] or [element]


def _variables(ops: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Assignments of fixed numbers to all variables and reads of them, each on its variable's device."""
    initializers, reads = [], {}
    for op in ops:
        if op.type not in VARIABLES:
            continue
        dtype = op.get_attr("dtype")
        shape = tf.TensorShape(op.get_attr("shape")).as_list()
        value = fixed_numbers(op.name, shape, dtype)
        with tf.device(op.device):
            if op.type == "VarHandleOp":
                initializers.append(tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=value))
                reads[VARIABLE + op.name] = tf.raw_ops.ReadVariableOp(resource=op.outputs[0], dtype=dtype)
            else:
                initializers.append(v1.assign(op.outputs[0], value).op)
                reads[VARIABLE + op.name] = tf.identity(op.outputs[0])
    return initializers, reads


def _feeds(ops: Sequence[Any], step: PlacedStep) -> Iterator[tuple[Any, NDArray[Any]]]:
    """Fixed numbers for all placeholders."""
    for op in ops:
        if op.type == "Placeholder":
            output = op.outputs[0]
            known = output.shape.as_list() if output.shape.rank is not None else []
            shape = step.shapes.get(op.name, [UNKNOWN_LENGTH if length is None else length for length in known])
            given = step.feeds.get(op.name)
            yield output, fixed_numbers(op.name, shape, output.dtype) if given is None else given


def fixed_numbers(name: str, shape: Sequence[int], dtype: Any) -> NDArray[Any]:
    """Numbers that depend on the name alone: small weights, positive vectors (variances), 0 and 1 for integers."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    kind = np.dtype(dtype.base_dtype.as_numpy_dtype)
    if kind.kind == "O":
        return np.full(shape, b"1", dtype=object)
    if kind.kind in "iub":
        return rng.integers(0, 2, shape).astype(kind)
    if OF_RATES in name:
        return np.full(shape, RATE, dtype=kind)
    matrix = len(shape) >= 2
    numbers = np.asarray(rng.uniform(-0.1 if matrix else 0.5, 0.1 if matrix else 1.0, shape))
    return (np.abs(numbers) if any(mark in name for mark in OF_SQUARES) else numbers).astype(kind)


def executed_devices(metadata: Message, known: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The devices of each op in the partitions and in the step stats."""
    found: dict[str, set[str]] = {}
    for partition in metadata.partition_graphs:
        for node in partition.node:
            found.setdefault(node.name, set()).add(device_part(node.device))
    for device in metadata.step_stats.dev_stats:
        for stats in device.node_stats:
            found.setdefault(stats.node_name, set()).add(device_part(device.device))
    return {name: tuple(sorted(devices)) for name, devices in found.items() if name in known}
