"""Finds the device that a GraphDef fixes for each op and that TensorFlow keeps. Runs in the child.

Where a file fixes ops that must share a device to different ones, TensorFlow runs all on one of them without a word:
a variable's consumers with the variable, the ops of control flow with the op that they follow. Ops that a label ties
(`loc:@x`) must agree: TensorFlow refuses them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.graphs.colocation import DisjointSets
from engine.graphs.device_string import DeviceString, parse_device_string
from engine.graphs.tensorflow.control_flow import FOLLOWERS
from engine.graphs.tensorflow.messages import Message
from engine.graphs.tensorflow.must_colocate import MustColocate


@dataclass(frozen=True, slots=True)
class FixedDevices:
    """The devices that the file fixes, without those that TensorFlow does not keep."""

    of_op: tuple[str, ...]
    """[ops] the file's device string; empty where the file fixes none and for the ops that move"""
    moved_ops: int
    """number of ops that move to a resource that they use"""
    moved_in_control_flow: tuple[str, ...]
    """the devices to which ops move because of control flow, one for each op"""


def fixed_devices(
    nodes: Sequence[Message], must: MustColocate, labels: Sequence[Sequence[str]], order: Sequence[int]
) -> FixedDevices:
    """The devices of these nodes; `labels` [ops] name other ops, `order` is a topological order.

    Of the ops that must share a device the first one with a device decides, ops of control flow last, so a resource
    without a device is on the device of the first op that takes it and has one. Raises GraphError for a bad device
    string.
    """
    fixed = [str(node.device) for node in nodes]
    parsed = {text: parse_device_string(text, node.name) for node, text in zip(nodes, fixed, strict=True)}
    if len(parsed) == 1:
        return FixedDevices(tuple(fixed), 0, ())
    label_of, class_of = _labels_and_classes(nodes, must, labels)
    users = set(must.resources.reshape(-1).tolist())
    home = [_Home() for _ in nodes]
    """of each class"""
    of_label = [DeviceString()] * len(nodes)
    """the device so far of ops with one label, those that move included"""
    moved: dict[int, str] = {}
    for op in sorted(order, key=lambda op: nodes[op].op in FOLLOWERS):
        device, around, label = parsed[fixed[op]], home[class_of[op]], label_of[op]
        agrees = device.agrees_with(of_label[label])
        if device.agrees_with(around.device):
            around.join(device, fixed[op])
        elif agrees or op in users or nodes[op].op in FOLLOWERS:
            moved[op], fixed[op] = around.text, ""
        if agrees:
            of_label[label] = of_label[label].joined_with(device)
    in_control_flow = tuple(text for op, text in moved.items() if op not in users)
    return FixedDevices(tuple(fixed), len(moved) - len(in_control_flow), in_control_flow)


@dataclass(slots=True)
class _Home:
    """The device of a class, from the ops so far."""

    device: DeviceString = field(default_factory=DeviceString)
    text: str = ""
    """of the first op that fixes it"""

    def join(self, device: DeviceString, text: str) -> None:
        self.device, self.text = self.device.joined_with(device), self.text or text


def _labels_and_classes(
    nodes: Sequence[Message], must: MustColocate, labels: Sequence[Sequence[str]]
) -> tuple[list[int], list[int]]:
    """[ops] the set of each op with which it shares labels, and the set with which it shares a device."""
    op_of_label: dict[str, int] = {name: op for op, name in enumerate(node.name for node in nodes)}
    labelled, tied = DisjointSets(len(nodes)), DisjointSets(len(nodes))
    pairs = [(op, op_of_label[label]) for op, of_op in enumerate(labels) for label in of_op]
    for one, other in pairs:
        labelled.unite(one, other)
    for one, other in [*pairs, *must.pairs.tolist()]:
        tied.unite(one, other)
    return labelled.numbered().tolist(), tied.numbered().tolist()
