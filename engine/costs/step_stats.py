"""Reads the step stats of a RunMetadata file, op by op, with protobuf's messages alone. Runs in a child.

Every op's stats are counted before they are parsed, and parsed one at a time. How TensorFlow names the devices:

- `/job:localhost/replica:0/task:0/device:CPU:0`, `/device:GPU:0`, `/gpu:0`: times by the executor. On a GPU that is the
  time to launch the kernels, not the time of the kernels.
- `.../device:GPU:0/stream:all`: the kernels' own times; `/stream:7`: the same times for one stream; `/memcpy`: copies.
"""

import math
import re
from dataclasses import dataclass, field

import numpy as np

from engine.child.parent import Results
from engine.errors import GraphError, shortened
from engine.events import Json
from engine.graphs.tensorflow.graphdef_messages import noun_of_first_bytes
from engine.graphs.tensorflow.messages import Message, parsed
from engine.graphs.tensorflow.op_types import HANDLES, REFS_FROM
from engine.graphs.tensorflow.wire import BYTES, Field, WireError, fields

FIELD = "run_metadata"
ALLOWED = "RunMetadata (.pb) of a run with full tracing"
MOST_STATS = 1_000_000
LONGEST_US = 1e12
"""longest time of one op: eleven days"""
MOST_BYTES = 2**50
STEP_STATS, DEVICE_STATS, DEVICE_NAME, NODE_STATS = 1, 1, 1, 2
"""numbers of RunMetadata.step_stats, StepStats.dev_stats, DeviceStepStats.device and .node_stats"""
ELEMENT_BYTES = {
    number: size
    for size, numbers in {
        1: (4, 6, 10, 11, 12, 24, 25),
        2: (5, 14, 15, 16, 17, 19),
        4: (1, 3, 13, 22),
        8: (2, 8, 9, 23),
        16: (18,),
    }.items()
    for number in numbers
}
"""DataType → bytes of an element, for types of a fixed size. Source: tensorflow/core/framework/types.proto"""

_DEVICE = re.compile(r"(?P<device>.*/(?:device:)?(?P<class>CPU|GPU):[0-9]{1,9})(?P<part>/.*)?\Z", re.IGNORECASE)
_KERNELS, _ONE_STREAM = "/stream:all", re.compile(r"/stream:[0-9]+\Z")


@dataclass(slots=True)
class OpStats:
    """The stats of one op on one device, over all its executions in the step."""

    time_us: float = 0.0
    temporary_bytes: int = 0
    output_bytes: dict[int, int] = field(default_factory=dict)
    """output → bytes"""


@dataclass(slots=True)
class DeviceStats:
    """The stats of one device: op name in the file → stats."""

    device_class: str
    executor: dict[str, OpStats] = field(default_factory=dict)
    kernels: dict[str, OpStats] = field(default_factory=dict)
    """stats of `/stream:all`"""
    streams: dict[str, OpStats] = field(default_factory=dict)
    """stats of the numbered streams, which count only without `/stream:all`"""


def devices_of(content: bytes) -> list[DeviceStats]:
    """The stats of each CPU and GPU in the file, in file order. Raises GraphError."""
    if not content:
        raise GraphError("the file is empty", allowed=ALLOWED, field=FIELD)
    if (noun := noun_of_first_bytes(content, ".pb")) is not None:
        raise GraphError(f"this is {noun}", allowed=ALLOWED, field=FIELD)
    try:
        found = _scan(content)
        devices: dict[str, DeviceStats] = {}
        for name, stats in found:
            _add_device(devices, name, content, stats)
        if not any(device.executor or device.kernels or device.streams for device in devices.values()):
            raise GraphError("there are no step stats of a CPU or a GPU in it", allowed=ALLOWED, field=FIELD)
    except (GraphError, WireError) as fault:
        if (noun := _noun_of_message(content)) is not None:
            raise GraphError(f"this is {noun}", allowed=ALLOWED, field=FIELD) from None
        if isinstance(fault, GraphError):
            raise
        what = f"the file is not RunMetadata, or it is cut short or damaged: {fault}"
        raise GraphError(what, allowed=ALLOWED, field=FIELD) from None
    return list(devices.values())


def rows_of(devices: list[DeviceStats]) -> Results:
    """`time_us`, `temporary_bytes`, `is_kernel` by row, and the bytes of outputs as `output` [outputs, 3].

    A row is one op on one device; an output is (row, index, bytes). Texts: `names` and `classes` by row.
    """
    names: list[Json] = []
    classes: list[Json] = []
    stats: list[OpStats] = []
    is_kernel: list[bool] = []
    for device in devices:
        for ops, kernel in ((device.executor, False), (device.kernels or device.streams, True)):
            names += ops
            stats += ops.values()
            classes += [device.device_class] * len(ops)
            is_kernel += [kernel] * len(ops)
    outputs = [(row, slot, size) for row, of_op in enumerate(stats) for slot, size in of_op.output_bytes.items()]
    return {
        "time_us": np.array([of_op.time_us for of_op in stats], dtype=np.float64),
        "temporary_bytes": np.array([of_op.temporary_bytes for of_op in stats], dtype=np.int64),
        "is_kernel": np.array(is_kernel, dtype=bool),
        "output": np.array(outputs, dtype=np.int64).reshape(-1, 3),
    }, {"names": names, "classes": classes}


def _scan(content: bytes) -> list[tuple[str, list[Field]]]:
    """The name of each device and the fields of its ops' stats; these are neither empty nor more than `MOST_STATS`."""
    found: list[tuple[str, list[Field]]] = []
    count = 0
    for metadata in _messages(content, Field(0, BYTES, 0, 0, len(content)), STEP_STATS):
        for device in _messages(content, metadata, DEVICE_STATS):
            stats = list(_messages(content, device, NODE_STATS, MOST_STATS - count))
            count += len(stats)
            found.append((_device_name(content, device), stats))
    return found


def _messages(content: bytes, outer: Field, number: int, most: int = MOST_STATS) -> list[Field]:
    """The fields `number` of the message in `outer`. Raises WireError for an empty one, GraphError beyond `most`."""
    found: list[Field] = []
    for each in fields(content, outer.payload, outer.end):
        if each.number != number:
            continue
        if each.wire_type != BYTES or each.payload == each.end:
            raise WireError(f"byte {each.start} begins no step stats")
        if len(found) == most:
            what = f"step stats of more than {MOST_STATS} ops"
            raise GraphError(what, allowed=f"at most {MOST_STATS}", field=FIELD)
        found.append(each)
    return found


def _device_name(content: bytes, device: Field) -> str:
    names = [content[each.payload : each.end] for each in _messages(content, device, DEVICE_NAME)]
    if not names or not names[-1].startswith(b"/") or not names[-1].isascii():
        raise WireError(f"byte {device.start} begins no stats of a device")
    return names[-1].decode("ascii")


def _add_device(devices: dict[str, DeviceStats], name: str, content: bytes, stats: list[Field]) -> None:
    """Add the stats of one device, or of one part of it; other devices than CPUs and GPUs are left out."""
    match = _DEVICE.match(name)
    if match is None:
        return
    device = devices.setdefault(match["device"].lower(), DeviceStats(match["class"].upper()))
    part = match["part"] or ""
    if not part:
        ops = device.executor
    elif part == _KERNELS:
        ops = device.kernels
    elif _ONE_STREAM.match(part):
        ops = device.streams
    else:
        return
    for index, each in enumerate(stats):
        message = parsed("tensorflow.core.framework.step_stats_pb2", "NodeExecStats", content[each.payload : each.end])
        if message is None:
            what = "its stats are damaged, or nested too deep"
            raise GraphError(what, where=f"op {index} of {shortened(name)}", allowed=ALLOWED, field=FIELD)
        name_in_stats = str(message.node_name)
        key = name_in_stats.partition("#")[0] if part else name_in_stats  # details differ from kernel to kernel
        _add_op(ops.setdefault(key, OpStats()), message)


def _add_op(op: OpStats, message: Message) -> None:
    """Add one execution: its time is added, and its memory counts if it is the largest."""
    name = str(message.node_name)
    if not name:
        raise GraphError("the stats name no op", allowed=ALLOWED, field=FIELD)
    op.time_us += _time_us(message)
    if op.time_us > LONGEST_US:
        raise _bad(name, f"it took {op.time_us:g} µs", f"at most {LONGEST_US:g} µs")
    temporary = int(message.memory_stats.temp_memory_size)
    op.temporary_bytes = max(op.temporary_bytes, _checked_bytes(name, "its temporary memory", temporary))
    for output in message.output:
        slot, size = int(output.slot), _output_bytes(output.tensor_description)
        if size is not None and slot >= 0:
            size = _checked_bytes(name, f"output {slot}", size)
            op.output_bytes[slot] = max(op.output_bytes.get(slot, 0), size)


def _time_us(message: Message) -> float:
    """The time from the op's start to its end; for records without an end, to the end of all its work."""
    if message.op_end_rel_nanos or message.all_end_rel_nanos:
        start_us = float(message.op_start_rel_nanos) / 1000
        end_us = float(message.op_end_rel_nanos or message.all_end_rel_nanos) / 1000
    else:
        start_us = float(message.op_start_rel_micros)
        end_us = float(message.op_end_rel_micros or message.all_end_rel_micros)
    if start_us < 0 or end_us < start_us:
        raise _bad(str(message.node_name), f"it starts at {start_us:g} µs and ends at {end_us:g} µs")
    return end_us - start_us


def _output_bytes(tensor: Message) -> int | None:
    """Bytes of one output; None where the stats lack them, and for handles."""
    number = tensor.dtype % REFS_FROM
    if number in HANDLES:
        return None
    if number not in ELEMENT_BYTES or tensor.shape.unknown_rank:
        size = int(tensor.allocation_description.requested_bytes)
        return size or None
    lengths = [int(dimension.size) for dimension in tensor.shape.dim]
    if any(length < 0 for length in lengths):
        return None
    return ELEMENT_BYTES[number] * math.prod(lengths)


def _checked_bytes(name: str, noun: str, size: int) -> int:
    if not 0 <= size <= MOST_BYTES:
        raise _bad(name, f"{noun} has {size} bytes", f"0 to {MOST_BYTES}")
    return size


def _bad(name: str, what: str, allowed: str = "a start from 0, and an end after it") -> GraphError:
    return GraphError(what, where=shortened(name), allowed=allowed, field=FIELD)


def _noun_of_message(content: bytes) -> str | None:
    """The noun for a file that holds another TensorFlow message; None for any other file."""
    graph = parsed("tensorflow.core.framework.graph_pb2", "GraphDef", content)
    if graph is not None and any(node.name and node.op for node in graph.node):
        return "a GraphDef"
    meta_graph = parsed("tensorflow.core.protobuf.meta_graph_pb2", "MetaGraphDef", content)
    if meta_graph is not None and any(node.op for node in meta_graph.graph_def.node):
        return "a MetaGraphDef (.meta)"
    saved_model = parsed("tensorflow.core.protobuf.saved_model_pb2", "SavedModel", content)
    if saved_model is not None and saved_model.saved_model_schema_version and saved_model.meta_graphs:
        return "a SavedModel (saved_model.pb)"
    return None
