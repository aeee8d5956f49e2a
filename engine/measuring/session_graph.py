"""Makes an uploaded graph ready to run in a session: checks, imports and fills inputs and variables. In the child.

Values are random, the same in every run: labels and indices are 0 or 1, weights are small, vectors (biases, scales,
variances) are positive, counters start at 0. Times of kernels hardly depend on them.
"""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, types_pb2
from tensorflow.core.protobuf import config_pb2

from engine.child.parent import ReportProgress
from engine.costs.tensorflow.input_shapes import declared_shape, given_shapes, shape_text
from engine.errors import GraphError, LimitError, PlacetoError, shortened
from engine.graphs.reading_options import ReadingOptions
from engine.graphs.tensorflow.graphdef_messages import GraphMessages
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.op_types import HANDLES, INPUTS, VARIABLES
from engine.measuring.captured_variables import is_handle, with_variables
from engine.measuring.runnable import require_runnable
from engine.measuring.selection import Selection, select

v1 = tf.compat.v1
COLOCATION = "_class"
MOST_ELEMENTS = 2**40
_NODE = re.compile(r"\{\{node ([^}]*)\}\}")
_SAY_WHERE = re.compile(
    r"Graph execution error:|Detected at node|Node: |From /job:|=+$|\d+ root error|\d+ successful op|\d+ derived error"
)
"""how lines of TensorFlow's messages begin that only say where, or that part the errors of several processes"""
_OUT_OF_MEMORY = re.compile(r"OOM when .*")


@dataclass(frozen=True, slots=True)
class RunnableGraph:
    """A graph that a session can run."""

    graph: Message
    """GraphDef of the needed ops, without devices"""
    selection: Selection
    feeds: Mapping[str, Any]
    """name of a placeholder → its value"""


def runnable_graph(messages: GraphMessages, options: ReadingOptions, fetches: Sequence[str]) -> RunnableGraph:
    """The ops of the graph that a step runs, with values for its inputs. Raises GraphError, SettingsError."""
    selection = select(messages.nodes, fetches)
    needed = [node for node in messages.nodes if node.name in selection.needed]
    calls = require_runnable(needed, messages)
    shapes = _shapes_of_inputs(messages, selection.needed, options)
    graph = graph_pb2.GraphDef()
    graph.CopyFrom(messages.rest)
    graph.node.extend(needed)
    if not calls:
        graph.ClearField("library")  # which was not checked
    for node in graph.node:
        _keep_colocation(node, selection.needed)
    for function in graph.library.function:
        _clear_private(function)
        for node in function.node_def:
            node.ClearField("device")
            _clear_private(node)
    with_variables(graph, shapes)
    return RunnableGraph(graph, selection, _feeds(graph, shapes))


def _keep_colocation(node: Message, names: frozenset[str]) -> None:
    """Remove the node's device and private attributes, except co-location with ops in `names`."""
    labels = [
        label for label in node.attr[COLOCATION].list.s if label[len(b"loc:@") :].decode("utf-8", "replace") in names
    ]
    node.ClearField("device")
    _clear_private(node)
    if labels:
        node.attr[COLOCATION].list.s.extend(labels)


def _clear_private(message: Message) -> None:
    """Remove attributes that begin with `_` from a node or function: they switch on compilers and the like."""
    for key in [key for key in message.attr if key.startswith("_")]:
        del message.attr[key]


def _shapes_of_inputs(messages: GraphMessages, needed: frozenset[str], options: ReadingOptions) -> dict[str, Message]:
    """Name → TensorShapeProto of each needed input that gets a value; a handle of unknown content is left out."""
    given = given_shapes(messages, options)
    shapes: dict[str, Message] = {}
    for index, node in enumerate(messages.nodes):
        if node.name not in needed or node.op not in INPUTS:
            continue
        if index in given:
            shapes[node.name] = given[index][0]
        elif node.op != "PlaceholderWithDefault" and not is_handle(node):
            shapes[node.name] = declared_shape(node, messages.rest.versions.producer)
    return shapes


def _feeds(graph: Message, shapes: Mapping[str, Message]) -> dict[str, Any]:
    """Name → random value of each input. Raises GraphError."""
    rng = np.random.default_rng(0)
    feeds: dict[str, Any] = {}
    for node in graph.node:
        if node.op not in INPUTS or node.name not in shapes:
            continue
        _require_numbers(node)
        shape = shapes[node.name]
        if shape.unknown_rank or any(dimension.size < 0 for dimension in shape.dim):
            raise GraphError(
                f"the shape of this input is not known: {shape_text(shape)}",
                where=shortened(node.name),
                allowed="a batch size, or its shape among the input shapes",
                field="input_shapes",
            )
        feeds[node.name] = _value(node, [dimension.size for dimension in shape.dim], rng)
    return feeds


def _require_numbers(node: Message) -> None:
    """Raise GraphError for a placeholder of a type without random values."""
    number = node.attr["dtype"].type
    known = number in types_pb2.DataType.values() and number != types_pb2.DT_INVALID
    if not known or number in HANDLES or number == types_pb2.DT_STRING:
        name = tf.dtypes.as_dtype(number).name if known else f"number {number}"
        what = f"this input is of type {name}, for which there are no random values"
        raise GraphError(what, where=shortened(node.name), allowed="inputs of numbers")


def _value(node: Message, lengths: list[int], rng: np.random.Generator) -> Any:
    """A random value for a placeholder. Raises GraphError for too large a one."""
    if math.prod(lengths) > MOST_ELEMENTS:
        what = f"this input has {math.prod(lengths)} elements"
        raise GraphError(what, where=shortened(node.name), allowed=f"at most {MOST_ELEMENTS}")
    dtype = tf.dtypes.as_dtype(node.attr["dtype"].type)
    if dtype.is_floating or dtype.is_complex:
        return rng.standard_normal(lengths, dtype=np.float32).astype(dtype.as_numpy_dtype)
    return rng.integers(0, 2, lengths, dtype=np.int8).astype(dtype.as_numpy_dtype)


def initializers(operations: Sequence[Any]) -> list[Any]:
    """Add to the default graph ops that set all variables among `operations`. Raises GraphError."""
    return [_initializer(seed, op) for seed, op in enumerate(operations) if op.type in VARIABLES]


def _initializer(seed: int, op: Any) -> Any:
    shape, dtype = tf.TensorShape(op.get_attr("shape")), tf.dtypes.as_dtype(op.get_attr("dtype"))
    if not shape.is_fully_defined() or not (dtype.is_floating or dtype.is_integer or dtype.is_bool or dtype.is_complex):
        what = f"this variable is of type {dtype.name} and shape {shape}"
        raise GraphError(what, where=shortened(op.name), allowed="variables of numbers with known shapes")
    lengths = shape.as_list()
    if dtype.is_floating:
        width = math.prod(lengths[:-1])
        normal = tf.raw_ops.RandomStandardNormal(shape=lengths, dtype=tf.float32, seed=seed + 1, seed2=1)
        scaled = normal / math.sqrt(max(1, width)) if len(lengths) > 1 else tf.abs(normal) + 0.1
        value = tf.cast(scaled, dtype)
    else:
        value = tf.zeros(lengths, dtype)
    if op.type == "VarHandleOp":
        return tf.raw_ops.AssignVariableOp(resource=op.outputs[0], value=value)
    return tf.raw_ops.Assign(ref=op.outputs[0], value=value).op


def with_constants(graph: Message, feeds: Mapping[str, Any]) -> Message:
    """A copy of `graph` in which the inputs are constants of the values in `feeds`, on the devices that have them.

    A session of several processes would send values that it feeds to them anew in each step.
    """
    filled = type(graph)()
    filled.CopyFrom(graph)
    for node in filled.node:
        if node.name in feeds:
            dtype = tf.dtypes.as_dtype(node.attr["dtype"].type)
            value = tf.make_tensor_proto(feeds[node.name], dtype)
            node.op = "Const"
            del node.input[:]
            node.attr["value"].tensor.CopyFrom(value)
            for key in [key for key in node.attr if key not in ("dtype", "value", COLOCATION)]:
                del node.attr[key]
            node.attr["dtype"].type = dtype.as_datatype_enum
    return filled


def session_settings(threads: int, parallel_ops: int, cpu_devices: int = 1) -> Message:
    """A ConfigProto without graph rewriting, so that measured ops have the graph's names.

    `threads` of each op (0: as many as there are processors), `parallel_ops` ops at once, `cpu_devices` virtual CPUs.
    """
    settings = config_pb2.ConfigProto(
        device_count={"CPU": cpu_devices},
        inter_op_parallelism_threads=parallel_ops,
        intra_op_parallelism_threads=threads,
    )
    settings.gpu_options.allow_growth = True
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    settings.graph_options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
    settings.graph_options.optimizer_options.global_jit_level = config_pb2.OptimizerOptions.OFF
    settings.experimental.disable_functional_ops_lowering = True
    return settings


@dataclass(slots=True)
class Steps:
    """Reports the steps of a run one by one."""

    report_progress: ReportProgress
    stage: str
    done: int
    total: int

    def next(self) -> None:
        self.report_progress(self.stage, self.done, self.total)
        self.done += 1


def import_graph(graph: Message) -> None:
    """Import `graph` into the default graph. Raises GraphError if TensorFlow refuses it."""
    try:
        v1.import_graph_def(graph, name="")
    except (tf.errors.OpError, ValueError, TypeError) as refusal:
        raise _refused(refusal) from None


def run(session: Any, fetches: Sequence[Any], feeds: Mapping[Any, Any], **tracing: Any) -> None:
    """Run `fetches` and drop their values. Raises GraphError or LimitError with TensorFlow's own words."""
    try:
        session.run(list(fetches), feeds, **tracing)
    except (tf.errors.OpError, ValueError, TypeError) as refusal:
        raise _refused(refusal) from None


@dataclass(frozen=True, slots=True)
class StepTimes:
    """The times of some steps in µs, [steps] each."""

    wall_us: tuple[float, ...]
    processor_us: tuple[float, ...]
    """time of all threads together; with one thread, the step time on an otherwise idle machine"""


def timed(
    session: Any,
    fetches: Sequence[Any],
    feeds: Mapping[Any, Any],
    steps: int,
    progress: Steps,
    processor_seconds: Callable[[], float] = time.process_time,
) -> StepTimes:
    """Run `steps` steps and take their times; `processor_seconds` is the clock of all that runs. Raises as `run`."""
    wall_us, processor_us = [], []
    for _ in range(steps):
        progress.next()
        wall, processor = time.perf_counter(), processor_seconds()
        run(session, fetches, feeds)
        wall_us.append((time.perf_counter() - wall) * 1e6)
        processor_us.append((processor_seconds() - processor) * 1e6)
    return StepTimes(tuple(wall_us), tuple(processor_us))


def _refused(refusal: Exception) -> PlacetoError:
    """The error with TensorFlow's first sentence, and the op that it names, if any."""
    message = str(getattr(refusal, "message", "") or refusal)
    named = _NODE.search(message)
    where = shortened(named[1]) if named else ""
    sentence = _sentence(message) or type(refusal).__name__
    if isinstance(refusal, tf.errors.ResourceExhaustedError):
        out_of_memory = _OUT_OF_MEMORY.search(message)
        sentence = out_of_memory[0] if out_of_memory else sentence
        what = f"TensorFlow has too little memory to run the graph: {shortened(sentence, 300)}"
        return LimitError(what, where=where, allowed="tensors that the machine can hold", field="file")
    return GraphError(f"TensorFlow cannot run the graph: {shortened(sentence, 300)}", where=where)


def _sentence(message: str) -> str:
    """The first line of `message` that says what went wrong: others say where."""
    lines = (line.strip() for line in message.splitlines())
    says = next((line for line in lines if line and not _SAY_WHERE.match(line)), "")
    return _NODE.sub(r"\1", says.partition(" for '{{node ")[0])
