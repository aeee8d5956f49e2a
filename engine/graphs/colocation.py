"""The first step of grouping: find the ops that must share a device.

They are tied by labels (`loc:@x`) or by the format itself (`ComputationGraph.must_colocate`), by nothing else.
"""

import numpy as np
from numpy.typing import NDArray

from engine.errors import GraphError, shortened
from engine.graphs.device_string import DeviceString, parse_device_string
from engine.graphs.graph import ComputationGraph


class DisjointSets:
    """Union-find over the numbers below `count`; a set's root is its smallest number."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def find(self, number: int) -> int:
        """The root of the set that holds `number`."""
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def unite(self, one: int, other: int) -> None:
        one, other = sorted((self.find(one), self.find(other)))
        self._parent[other] = one

    def numbered(self) -> NDArray[np.int32]:
        """[count] the set of each number; sets are numbered by their smallest member."""
        roots = [self.find(number) for number in range(len(self._parent))]
        _, sets = np.unique(roots, return_inverse=True)
        return sets.astype(np.int32)


def colocation_classes(graph: ComputationGraph) -> NDArray[np.int32]:
    """[ops] the class of each op: ops of one class share a device. Classes are numbered by their first op in the file.

    Ops that share a label are of one class, and so is an op of the label's name, if there is one.
    """
    sets = DisjointSets(graph.op_count)
    op_of_label: dict[str, int] = {}
    labels = {label for of_op in graph.colocation for label in of_op}
    if labels:
        op_of_label = {name: op for op, name in enumerate(graph.op_names) if name in labels}
    for op, of_op in enumerate(graph.colocation):
        for label in of_op:
            sets.unite(op, op_of_label.setdefault(label, op))
    for one, other in graph.must_colocate.tolist():
        sets.unite(one, other)
    return sets.numbered()


def devices_of_classes(graph: ComputationGraph, class_of_op: NDArray[np.int32]) -> list[DeviceString]:
    """[classes] the device that the file fixes for each class, joined from its ops' device strings.

    Raises GraphError where two ops of a class are fixed to different devices.
    """
    joined = [DeviceString()] * (int(class_of_op.max()) + 1)
    witness: dict[int, int] = {}
    for op, (text, class_) in enumerate(zip(graph.devices, class_of_op.tolist(), strict=True)):
        if not text:
            continue
        device = parse_device_string(text, graph.op_names[op])
        if not device.agrees_with(joined[class_]):
            other = next(
                earlier
                for earlier in range(witness[class_], op)
                if class_of_op[earlier] == class_
                and not device.agrees_with(parse_device_string(graph.devices[earlier], graph.op_names[earlier]))
            )
            raise GraphError(
                f"it is fixed to {shortened(text)}, but {shortened(graph.op_names[other])}, which must share its "
                f"device, to {shortened(graph.devices[other])}",
                where=shortened(graph.op_names[op]),
                allowed="one device for ops that are co-located",
                field="file",
            )
        joined[class_] = joined[class_].joined_with(device)
        witness.setdefault(class_, op)
    return joined
