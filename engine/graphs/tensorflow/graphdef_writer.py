"""Writes a GraphDef with every node's device set and nothing else changed. Runs in a child.

From binary to binary the bytes of all other fields stay unchanged, unknown fields and the function library included.
To or from text, protobuf's own text format sets the spelling; it cannot hold unknown fields.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from engine.errors import GraphError, PlacementError, shortened
from engine.graphs.colocation import colocation_classes, devices_of_classes
from engine.graphs.device_string import (
    DROP_DEVICES,
    DeviceString,
    machines_of,
    parse_device_string,
    spelled_device,
)
from engine.graphs.graph import ComputationGraph
from engine.graphs.tensorflow.graphdef_messages import NODE
from engine.graphs.tensorflow.messages import load_messages
from engine.graphs.tensorflow.wire import Field, bytes_field, fields

HOST, GPU = "/device:CPU:0", "/device:GPU:0"
"""the devices of ops beside the step that are tied to none: of those that no CPU can run the second"""
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
    """[ops] the device string of each op: its placement, with the rest of the address from the file.

    Where the file fixes ops to several machines and the placement, of a cluster of one machine, ignores that, the rest
    is left out.
    """
    class_of_op = colocation_classes(graph)
    fixed = devices_of_classes(graph, class_of_op)
    several_machines = len(machines_of(graph.devices)) > 1
    on_one_machine = several_machines and not keep_pins and not any("/job:" in text for text in device_of_op.values())
    written: list[str] = []
    first: dict[int, int] = {}
    for op, (name, class_) in enumerate(zip(graph.op_names, class_of_op.tolist(), strict=True)):
        if name not in device_of_op:
            raise PlacementError("the op has no device", where=shortened(name), allowed="a device for each op")
        placed = _placed_device(device_of_op[name], name)
        if placed.type == "CPU" and graph.gpu_reason[op]:
            what = f"it is on {spelled_device(placed)}, but {graph.gpu_reason[op]}"
            raise PlacementError(what, where=shortened(name), allowed="a GPU")
        if keep_pins:
            _require_pin(name, placed, fixed[class_], several_machines=several_machines)
        around = DeviceString() if on_one_machine else fixed[class_]
        written.append(spelled_device(_with_machine(placed, around)))
        other = first.setdefault(class_, op)
        if written[other] != written[op]:
            what = f"it is on {written[op]}, but {shortened(graph.op_names[other])} is on {written[other]}"
            raise PlacementError(what, where=shortened(name), allowed="one device for ops that are co-located")
    return _shortened(written) if short else written


def _shortened(written: Sequence[str]) -> list[str]:
    """[ops] the devices without job and task. Raises PlacementError where they are on several machines."""
    if len(machines := machines_of(written)) > 1:
        what = f"without job and task the devices of {len(machines)} machines would be the same"
        raise PlacementError(what, where="short devices", allowed="devices in full")
    return [spelled_device(parse_device_string(text, "").on_its_machine) for text in written]


def _completed(
    whole: ComputationGraph, device_of_op: Mapping[str, str], written: Mapping[str, str], keep_pins: bool
) -> dict[str, str]:
    """A device for each op of the whole graph; `written` has those of the ops that had to be placed.

    Of the others, one without a device in `device_of_op` is on that of the placed ops to which TensorFlow ties it; one
    without ties stays where the file fixes it, with `keep_pins`, or is on the first CPU; on the first GPU if no CPU can
    run it.
    """
    class_of_op = colocation_classes(whole)
    fixed = devices_of_classes(whole, class_of_op)
    classes = class_of_op.tolist()
    of_class: dict[int, str] = {}
    for name, class_ in zip(whole.op_names, classes, strict=True):
        if (device := written.get(name) or device_of_op.get(name)) is not None:
            of_class.setdefault(class_, device)
    for_gpu = {class_ for class_, reason in zip(classes, whole.gpu_reason, strict=True) if reason}
    completed: dict[str, str] = {}
    for name, class_ in zip(whole.op_names, classes, strict=True):
        pin = fixed[class_]
        usual = GPU if class_ in for_gpu else HOST
        beside = spelled_device(pin) if keep_pins and pin.type and pin.index else usual
        completed[name] = written.get(name) or device_of_op.get(name) or of_class.get(class_, beside)
    return completed


def _require_known_ops(graph: ComputationGraph, device_of_op: Mapping[str, str]) -> None:
    names = set(graph.op_names)
    for name in device_of_op:
        if name not in names:
            raise PlacementError("the op is not in the graph", where=shortened(name), allowed="ops of the graph")


def _require_pin(op_name: str, placed: DeviceString, fixed: DeviceString, *, several_machines: bool) -> None:
    """Raise PlacementError for a device that the file forbids; jobs and tasks count where it names several."""
    pin, found = (fixed, placed) if several_machines else (fixed.on_its_machine, placed.on_its_machine)
    if not pin.agrees_with(found):
        allowed = f"{spelled_device(pin)}, to which the file fixes it, or {DROP_DEVICES}"
        raise PlacementError(f"it is on {spelled_device(found)}", where=shortened(op_name), allowed=allowed)


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


def _with_machine(placed: DeviceString, fixed: DeviceString) -> DeviceString:
    """`placed` with job, replica and task of `fixed` where it has none."""
    machine = (placed.job or fixed.job, placed.replica or fixed.replica, placed.task or fixed.task)
    return DeviceString(*machine, placed.type, placed.index)


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
