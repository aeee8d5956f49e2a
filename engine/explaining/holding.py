"""What fills a device's memory at its peak: the bytes by class, and who holds them until when."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.simulator.passed_buffers import NOT_PASSED, passing_edges
from engine.simulator.timeline import NO_OUTPUT, NOT_WAITED, Held, Holdings, MemoryCurve, Timeline
from engine.simulator.topology import consumers_by_producer

APPLIES = re.compile(r"(Resource)?(Sparse)?Apply[A-Z]\w*")
"""an optimiser's update: its first input is the weight, the others that are variables are its slots"""
COUNTS = re.compile(r"Assign(Add|Sub)(VariableOp)?|Scatter\w+|ResourceScatter\w+|CountUpTo|ResourceCountUpTo")
"""an update without an optimiser, such as that of a counter or of a moving mean"""


class ByteClass(IntEnum):
    """What bytes of memory are for."""

    WEIGHTS = 0
    """variables that an optimiser trains, and those that a graph only reads; constants"""
    SLOTS = 1
    """an optimiser's own variables"""
    STATE = 2
    """variables that the graph updates without an optimiser: counters, moving means"""
    ACTIVATIONS = 3
    """outputs on the device that makes them, gradients among them"""
    COPIES = 4
    """outputs that came from another device"""
    TEMPORARIES = 5
    """room that an op takes while it runs"""
    INPUTS = 6
    """what is fed: its caller holds it"""


CLASS_OF_HELD = {
    Held.TEMPORARY: ByteClass.TEMPORARIES,
    Held.OUTPUT: ByteClass.ACTIVATIONS,
    Held.COPY: ByteClass.COPIES,
}


@dataclass(frozen=True, slots=True)
class Peak:
    """A device at the first moment of its peak."""

    time_us: float
    bytes_of_class: NDArray[np.int64]
    """[classes] their sum is the device's peak"""
    holdings: NDArray[np.int64]
    """indices of the holdings there at that moment, the largest first"""


def class_of_holding(holdings: Holdings, class_of_op: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[holdings] the `ByteClass` of each; `class_of_op` [ops] is that of what an op holds during the whole step."""
    held = holdings.held
    classes = class_of_op[holdings.op]
    for kind, byte_class in CLASS_OF_HELD.items():
        classes[held == kind] = byte_class
    return classes


def peaks_of(holdings: Holdings, curves: Sequence[MemoryCurve], class_of_op: NDArray[np.uint8]) -> list[Peak]:
    """[devices] what is held at the peak; the `holdings` add up to the `curves` [devices]."""
    classes = class_of_holding(holdings, class_of_op)
    peaks = []
    for device, curve in enumerate(curves):
        time_us = float(curve.time_us[curve.bytes.argmax()])
        there = np.flatnonzero(
            (holdings.device == device) & (holdings.start_us <= time_us) & (holdings.end_us > time_us)
        )
        sums = np.zeros(len(ByteClass), dtype=np.int64)
        np.add.at(sums, classes[there], holdings.bytes[there])
        peaks.append(Peak(time_us, sums, there[np.argsort(-holdings.bytes[there], kind="stable")]))
    return peaks


def persistent_classes(graph: ComputationGraph, costs: Costs) -> NDArray[np.uint8]:
    """[ops] the class of what each op holds during the whole step.

    Of a variable it comes from the ops that update it, and is `WEIGHTS` where none does.
    """
    is_constant = np.array([op_type == "Const" for op_type in graph.op_types])
    is_fed = (costs.kept_bytes() > costs.persistent_bytes) & ~is_constant
    classes = np.where(is_fed, ByteClass.INPUTS, ByteClass.WEIGHTS).astype(np.uint8)
    applies = np.array([APPLIES.fullmatch(op_type) is not None for op_type in graph.op_types])
    counts = np.array([COUNTS.fullmatch(op_type) is not None for op_type in graph.op_types])
    data = np.flatnonzero((graph.edge_output != CONTROL) & (costs.persistent_bytes[graph.edge_source] > 0))
    source, target, place = graph.edge_source[data], graph.edge_target[data], _input_places(graph)[data]
    classes[source[counts[target] & (place == 0)]] = ByteClass.STATE
    classes[source[applies[target] & (place > 0)]] = ByteClass.SLOTS
    classes[source[applies[target] & (place == 0)]] = ByteClass.WEIGHTS
    return classes


def _input_places(graph: ComputationGraph) -> NDArray[np.int64]:
    """[edges] the place of each edge among the data inputs of its consumer."""
    data = np.flatnonzero(graph.edge_output != CONTROL)
    target = graph.edge_target[data]
    by_target = np.argsort(target, kind="stable")
    ordered = target[by_target]
    places = np.full(graph.edge_count, CONTROL, dtype=np.int64)
    places[data[by_target]] = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    return places


class Holders:
    """Who holds bytes until when: what would free them earlier."""

    def __init__(self, timeline: Timeline, graph: ComputationGraph, costs: Costs) -> None:
        """`graph` and `costs` are the executed part."""
        self._timeline, self._graph, self._offset = timeline, graph, costs.output_offset
        edge_of_output = passing_edges(graph, costs)
        passing = np.flatnonzero(edge_of_output != NOT_PASSED)
        self._passing = passing[np.argsort(edge_of_output[passing], kind="stable")]
        """outputs that pass a buffer on, by the edge that brings it"""
        self._passed_edges = edge_of_output[self._passing]
        self._edges, self._first = consumers_by_producer(graph)
        self._end_us = np.concatenate((timeline.end_us, timeline.transfers.end_us))

    def until(self, holding: int) -> int:
        """The op, or ops + index of the transfer, at whose end the bytes are freed; `NOT_WAITED` if nothing frees them.

        Of several that end at that moment, the first; the op itself where nothing else needs its output.
        """
        holdings = self._timeline.holdings
        op, held = int(holdings.op[holding]), holdings.held[holding]
        if held == Held.PERSISTENT:
            return NOT_WAITED
        if held == Held.TEMPORARY:
            return op
        users = self._users_of_buffer(op, int(holdings.output[holding]), int(holdings.device[holding]))
        if held == Held.OUTPUT:
            users = np.append(users, op)
        return int(users[self._end_us[users].argmax()])

    def _users_of_buffer(self, op: int, output: int, device: int) -> NDArray[np.int64]:
        """What needs the bytes of an output on `device`, and those of the outputs there that share its buffer."""
        edges = self._edges[self._first[op] : self._first[op + 1]]
        if output == NO_OUTPUT:  # all outputs of an op, in the published memory model
            return np.asarray(self._graph.edge_target[edges], dtype=np.int64)
        users, waiting = [np.empty(0, dtype=np.int64)], [(op, output)]
        while waiting:
            op, output = waiting.pop()
            edges = self._edges[self._first[op] : self._first[op + 1]]
            edges = edges[self._graph.edge_output[edges] == output]
            users.append(self._users(op, edges, device))
            waiting += self._passed_on(edges[self._timeline.device_of_op[self._graph.edge_target[edges]] == device])
        return np.concatenate(users)

    def _passed_on(self, edges: NDArray[np.int64]) -> list[tuple[int, int]]:
        """(op, output) that pass on what these edges bring."""
        first, beyond = (np.searchsorted(self._passed_edges, edges, side) for side in ("left", "right"))
        outputs = [self._passing[one:other] for one, other in zip(first.tolist(), beyond.tolist(), strict=True)]
        found = np.concatenate(outputs) if outputs else np.empty(0, dtype=np.int64)
        owners = np.searchsorted(self._offset, found, side="right") - 1
        return list(zip(owners.tolist(), (found - self._offset[owners]).tolist(), strict=True))

    def _users(self, op: int, edges: NDArray[np.int64], device: int) -> NDArray[np.int64]:
        """The consumers of `edges`, an output of `op`, on `device` and, on the producer's device, the transfers."""
        here = self._timeline.device_of_op[self._graph.edge_target[edges]] == device
        users = np.asarray(self._graph.edge_target[edges[here]], dtype=np.int64)
        if self._timeline.device_of_op[op] != device:
            return users
        return np.concatenate((users, self._graph.op_count + np.unique(self._timeline.transfer_of_edge[edges[~here]])))
