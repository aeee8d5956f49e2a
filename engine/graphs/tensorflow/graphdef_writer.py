"""Writes a GraphDef with every node's device set and nothing else changed. Runs in a child.

From binary to binary the bytes of all other fields stay unchanged, unknown fields and the function library included.
To or from text, protobuf's own text format sets the spelling; it cannot hold unknown fields.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from engine.errors import GraphError, PlacementError, shortened
from engine.graphs.colocation import colocation_classes, devices_of_classes
from engine.graphs.device_string import DeviceString, parse_device_string
from engine.graphs.graph import ComputationGraph
from engine.graphs.tensorflow.graphdef_messages import NODE
from engine.graphs.tensorflow.messages import load_messages
from engine.graphs.tensorflow.wire import Field, bytes_field, fields

HOST = "/device:CPU:0"
"""the device of ops beside the step that are tied to none"""
DEVICE = 4
"""number of NodeDef's field `device`"""
PLACED_DEVICES = "/device:TYPE:N, with /job:, /replica: and /task: before it where there are any"


def with_devices(
    graph: ComputationGraph,
    whole: ComputationGraph | None,
    content: bytes,
    suffix: str,
    device_of_op: Mapping[str, str],
    written_suffix: str,
    short: bool,
    keep_pins: bool,
) -> bytes:
    """Write the GraphDef `content` (format `suffix`) with each op's device, in the format `written_suffix`.

    `graph` was read from `content`, or is the part of `whole`, read from it, that has to be placed; the ops beside it
    may be placed too. Raises PlacementError.
    """
    _require_known_ops(graph if whole is None else whole, device_of_op)
    devices = _written_devices(graph, device_of_op, short, keep_pins)
    if whole is not None:
        device_of_op = _completed(whole, device_of_op, dict(zip(graph.op_names, devices, strict=True)), keep_pins)
        devices = _written_devices(whole, device_of_op, short, keep_pins)
    if suffix == written_suffix == ".pb":
        return _binary_with_devices(content, devices)
    return _message_with_devices(content, suffix, devices, written_suffix)


def _written_devices(
    graph: ComputationGraph, device_of_op: Mapping[str, str], short: bool, keep_pins: bool
) -> list[str]:
    """[ops] the device string of each op: its placement, with the rest of the address from the file."""
    class_of_op = colocation_classes(graph)
    fixed = devices_of_classes(graph, class_of_op)
    written: list[str] = []
    first: dict[int, int] = {}
    for op, (name, class_) in enumerate(zip(graph.op_names, class_of_op.tolist(), strict=True)):
        if name not in device_of_op:
            raise PlacementError("the op has no device", where=shortened(name), allowed="a device for each op")
        placed = _placed_device(device_of_op[name], name)
        if keep_pins:
            _require_pin(name, placed, fixed[class_])
        written.append(_short(placed) if short else _spelled(placed, fixed[class_]))
        other = first.setdefault(class_, op)
        if written[other] != written[op]:
            what = f"it is on {written[op]}, but {shortened(graph.op_names[other])} is on {written[other]}"
            raise PlacementError(what, where=shortened(name), allowed="one device for ops that are co-located")
    return written


def _completed(
    whole: ComputationGraph, device_of_op: Mapping[str, str], written: Mapping[str, str], keep_pins: bool
) -> dict[str, str]:
    """A device for each op of the whole graph; `written` has those of the ops that had to be placed.

    Of the others, one without a device in `device_of_op` is on that of the placed ops to which TensorFlow ties it; one
    without ties stays where the file fixes it, with `keep_pins`, or is on the first CPU.
    """
    class_of_op = colocation_classes(whole)
    fixed = devices_of_classes(whole, class_of_op)
    classes = class_of_op.tolist()
    of_class: dict[int, str] = {}
    for name, class_ in zip(whole.op_names, classes, strict=True):
        if (device := written.get(name) or device_of_op.get(name)) is not None:
            of_class.setdefault(class_, device)
    completed: dict[str, str] = {}
    for name, class_ in zip(whole.op_names, classes, strict=True):
        pin = fixed[class_]
        beside = _short(pin) if keep_pins and pin.type and pin.index else HOST
        completed[name] = written.get(name) or device_of_op.get(name) or of_class.get(class_, beside)
    return completed


def _require_known_ops(graph: ComputationGraph, device_of_op: Mapping[str, str]) -> None:
    names = set(graph.op_names)
    for name in device_of_op:
        if name not in names:
            raise PlacementError("the op is not in the graph", where=shortened(name), allowed="ops of the graph")


def _require_pin(op_name: str, placed: DeviceString, fixed: DeviceString) -> None:
    """Raise PlacementError for a device that the file forbids; job and task do not count: a cluster is one machine."""
    pin = DeviceString(type=fixed.type, index=fixed.index)
    if not pin.agrees_with(DeviceString(type=placed.type, index=placed.index)):
        allowed = f"/device:{pin.type or '*'}:{pin.index or '*'}, to which the file fixes it"
        raise PlacementError(f"it is on {_short(placed)}", where=shortened(op_name), allowed=allowed)


def _placed_device(text: str, op_name: str) -> DeviceString:
    """The parts of a placement's device. Raises PlacementError unless it names one device."""
    try:
        device = parse_device_string(text, op_name)
    except GraphError:
        device = DeviceString()
    if not device.type or not device.index:
        what = f"{shortened(text)} is not a device to place an op on"
        raise PlacementError(what, where=shortened(op_name), allowed=PLACED_DEVICES)
    return device


def _spelled(placed: DeviceString, fixed: DeviceString) -> str:
    """TensorFlow's full form of `placed`; job, replica and task of `fixed` where `placed` has none."""
    job, replica, task = placed.job or fixed.job, placed.replica or fixed.replica, placed.task or fixed.task
    parts = [f"/job:{job}" * bool(job), f"/replica:{replica}" * bool(replica), f"/task:{task}" * bool(task)]
    return "".join(parts) + _short(placed)


def _short(placed: DeviceString) -> str:
    """The device without job, replica and task."""
    return f"/device:{placed.type}:{placed.index}"


def _binary_with_devices(content: bytes, devices: Sequence[str]) -> bytes:
    """The file's own bytes with each node's field `device` replaced."""
    pieces: list[bytes] = []
    of_node = iter(devices)
    for field in fields(content):
        if field.number == NODE:
            pieces.append(bytes_field(NODE, _node_with_device(content, field, next(of_node))))
        else:
            pieces.append(content[field.start : field.end])
    return b"".join(pieces)


def _node_with_device(content: bytes, node: Field, device: str) -> bytes:
    """The bytes of a NodeDef with `device` at the place where protobuf writes it."""
    before: list[bytes] = []
    behind: list[bytes] = []
    for field in fields(content, node.payload, node.end):
        if field.number != DEVICE:
            (before if field.number < DEVICE and not behind else behind).append(content[field.start : field.end])
    return b"".join([*before, bytes_field(DEVICE, device.encode()), *behind])


def _message_with_devices(content: bytes, suffix: str, devices: Sequence[str], written_suffix: str) -> bytes:
    """Parse, set the devices, and write in the other form."""
    text_format = load_messages("google.protobuf.text_format")
    graph = load_messages("tensorflow.core.framework.graph_pb2").GraphDef()
    if suffix == ".pbtxt":
        text_format.Parse(content.decode("utf-8-sig"), graph)
    else:
        graph.ParseFromString(content)
    for node, device in zip(graph.node, devices, strict=True):
        node.device = device
    if written_suffix == ".pbtxt":
        return cast(str, text_format.MessageToString(graph)).encode()
    return cast(bytes, graph.SerializeToString(deterministic=True))
