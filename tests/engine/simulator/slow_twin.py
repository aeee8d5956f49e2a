"""The simulator once more, in plain Python, event by event: slow, obviously right, and the benchmark's yardstick.

Every arrival at every consumer, every look of a device or a link at its queue is an event of its own in one heap.

Source: Placeto (Addanki et al. 2019), published simulator, for `bus` and `outputs`; the rest is our own model, written
down in engine/simulator/simulator.py.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import OWN_BUFFER, PERSISTENT_BUFFER, STEP_BUFFER, Costs
from engine.graphs.graph import CONTROL, PHASES, ComputationGraph
from engine.simulator.tables import INLINE_TYPES

ARRIVAL, LINK, DEVICE = 0, 1, 2
OWN_END, RELEASE = -2.0, -1.5
"""in the place of an output: what is local comes before what was sent, then the late ops for which it was the last"""


@dataclass(slots=True)
class TwinTransfer:
    """One transfer of one output; `edges` are those that it serves."""

    producer: int
    output: int
    source: int
    destinations: list[int] = field(default_factory=list)
    edges: list[int] = field(default_factory=list)
    trips: int = 0
    start_us: float = 0.0
    end_us: float = 0.0


class SlowTwin:
    """One graph on one cluster, as lists and dicts."""

    def __init__(self, graph: ComputationGraph, costs: Costs, cluster: Cluster) -> None:
        self.cluster = cluster
        self.names, self.types = graph.op_names, graph.op_types
        self.device_names = [device.name for device in cluster.devices]
        columns = (graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist())
        self.edges: list[tuple[int, int, int]] = list(zip(*columns, strict=True))
        self.edges_out: list[list[int]] = [[] for _ in self.names]
        self.inputs = [0] * len(self.names)
        self.trips: list[int] = costs.trips.tolist() or [1] * len(self.names)
        self.rests = [
            trips * launches
            for trips, launches in zip(self.trips, costs.launches.tolist() or [1] * len(self.names), strict=True)
        ]
        for index, (source, target, _) in enumerate(self.edges):
            if self.trips_of_edge(index) > 0:  # else it is as if it were not there
                self.edges_out[source].append(index)
                self.inputs[target] += 1
        self.time_us = [
            [time_on(costs, op, device.kind) for op in range(len(self.names))] for device in cluster.devices
        ]
        bounds = costs.output_offset.tolist()
        self.outputs = [costs.output_bytes[low:high].tolist() for low, high in pairwise(bounds)]
        owners = [(op, output) for op, sizes in enumerate(self.outputs) for output in range(len(sizes))]
        buffers = costs.buffer_of_output.tolist() or [OWN_BUFFER] * len(owners)
        self.passes_on = {
            owners[index]: owners[buffer]
            for index, buffer in enumerate(buffers)
            if buffer >= 0 and self.trips[owners[buffer][0]] > 0
        }
        """(op, output) → the (op, output) among its inputs whose buffer it shares on one device"""
        always = {owners[index] for index, buffer in enumerate(buffers) if buffer == STEP_BUFFER}
        views = {owners[index] for index, buffer in enumerate(buffers) if buffer == PERSISTENT_BUFFER}
        self.no_buffer_of_its_own = always | views
        """outputs whose bytes are among the persistent ones"""
        self.contents = dict(zip(owners, costs.contents_bytes.tolist() or [0] * len(owners), strict=True))
        """(op, output) → bytes that are held with it, and not sent"""
        self.persistent, self.temporary = costs.persistent_bytes.tolist(), costs.temporary_bytes.tolist()
        for op, trips in enumerate(self.trips):
            if trips == 0:  # it never gives or uses anything
                self.outputs[op], self.temporary[op] = [0] * len(self.outputs[op]), 0
                self.contents |= dict.fromkeys([(op, output) for output in range(len(self.outputs[op]))], 0)
        for op, output in always:
            self.persistent[op] += self.outputs[op][output]
        phases = graph.phase.tolist() or [0] * len(self.names)
        self.is_late = [PHASES[phase] == "optimizer" for phase in phases]
        self.bandwidth = cluster.bandwidth_bytes_per_us.tolist()
        self.latency = cluster.latency_us.tolist()

    def bytes_of(self, op: int, output: int) -> int:
        """A control signal has none."""
        return 0 if output == CONTROL else int(self.outputs[op][output])

    def trips_of_edge(self, edge: int) -> int:
        """How often a step sends along it."""
        producer, consumer, _ = self.edges[edge]
        return min(self.trips[producer], self.trips[consumer])

    def simulate(self, device_of_op: NDArray[np.int32]) -> "TwinStep":
        """Run one step of `device_of_op` [ops]."""
        step = TwinStep(self, device_of_op.tolist())
        step.run()
        return step


def time_on(costs: Costs, op: int, kind: str) -> float:
    """All trips. The narrower kind counts: the kind itself, then its class, then any; NaN if there is none."""
    for name in (kind, "CPU" if kind == "CPU" else "GPU", "*"):
        if name in costs.kinds:
            time_us = float(costs.time_us[costs.kinds.index(name), op])
            if time_us == time_us:
                return time_us * (int(costs.trips[op]) if len(costs.trips) else 1)
    return float("nan")


class TwinStep:
    """One simulated step; `now` is the step time once it has run."""

    def __init__(self, twin: SlowTwin, device_of_op: list[int]) -> None:
        self.twin, self.device_of_op = twin, device_of_op
        devices = twin.cluster.device_count
        self.now = 0.0
        self.start = [float("nan")] * len(twin.names)
        self.end = [float("nan")] * len(twin.names)
        self.run_time = [twin.time_us[device][op] for op, device in enumerate(device_of_op)]
        self.waiting_for = list(twin.inputs)
        self.ready: list[deque[int | TwinTransfer]] = [deque() for _ in range(devices)]
        self.ready_inline: list[deque[int | TwinTransfer]] = [deque() for _ in range(devices)]
        """with `sender`, ops that run before all others"""
        self.device_free = [0.0] * devices
        self.channel_queue: dict[tuple[int, ...], deque[TwinTransfer]] = defaultdict(deque)
        self.channel_free: dict[tuple[int, ...], float] = defaultdict(float)
        self.transfers: list[TwinTransfer] = []
        self.early_left = [0] * devices
        for op, device in enumerate(device_of_op):
            self.early_left[device] += twin.trips[op] > 0 and not twin.is_late[op]
        for op, device in enumerate(device_of_op):
            self.waiting_for[op] += twin.is_late[op] and twin.trips[op] > 0 and self.early_left[device] > 0
        self.events: list[tuple[Any, ...]] = []
        self.events_seen = 0

    def run(self) -> None:
        for op, waiting_for in enumerate(self.waiting_for):
            if self.twin.trips[op] == 0:
                self.start[op] = self.end[op] = 0.0
            elif waiting_for == 0:
                self.become_ready(op)
        while self.events:
            event = heapq.heappop(self.events)
            self.now = event[0]
            event[-2](event[-1])

    def add(
        self, time: float, kind: int, names: tuple[object, ...], action: Callable[[Any], None], what: object
    ) -> None:
        """Events at one time: arrivals, then links, then devices; each by names."""
        self.events_seen += 1
        heapq.heappush(self.events, (time, kind, *names, self.events_seen, action, what))

    def become_ready(self, op: int, after: int | None = None) -> None:
        """Put the op at the end of its device's queue. With `sender`, what is ready `after` an op there goes first."""
        device = self.device_of_op[op]
        depth_first = self.twin.cluster.contention == Contention.SENDER
        made_here = after is not None and self.device_of_op[after] == device
        if depth_first and (made_here or after is None) and self.twin.types[op] in INLINE_TYPES:
            self.ready_inline[device].append(op)
        elif depth_first and made_here:
            self.ready[device].appendleft(op)
        else:
            self.ready[device].append(op)
        self.add_device_look(device, max(self.now, self.device_free[device]))

    def add_device_look(self, device: int, time: float) -> None:
        self.add(time, DEVICE, (self.twin.device_names[device],), self.look, device)

    def look(self, device: int) -> None:
        """The device takes the next op if it is free and one is ready."""
        if self.device_free[device] > self.now or not (self.ready_inline[device] or self.ready[device]):
            return
        twin, op = self.twin, (self.ready_inline[device] or self.ready[device]).popleft()
        if isinstance(op, TwinTransfer):
            self.start_transfer(op)
            size, to = twin.bytes_of(op.producer, op.output), op.destinations[0]
            kept_us = op.trips * (twin.cluster.link_rest_us + size / twin.bandwidth[device][to])
            self.device_free[device] = self.now + kept_us
            self.add_device_look(device, self.device_free[device])
            return
        self.start[op] = self.now
        self.end[op] = end = self.now + self.run_time[op]
        rest_us = (
            twin.cluster.op_rest_us_on(twin.cluster.devices[device].kind) * twin.rests[op]
            if self.run_time[op] != 0
            else 0.0
        )
        self.device_free[device] = end + rest_us
        self.add(end, ARRIVAL, (twin.names[op], OWN_END, ""), self.send, op)
        for edge in twin.edges_out[op]:
            consumer = twin.edges[edge][1]
            if self.device_of_op[consumer] == device:
                self.add(end, ARRIVAL, (twin.names[op], OWN_END, twin.names[consumer]), self.arrive, edge)
        self.add(end, ARRIVAL, (twin.names[op], RELEASE, ""), self.release, op)
        self.add_device_look(device, self.device_free[device])

    def release(self, op: int) -> None:
        """The optimizer's ops of a device may run when all its others have ended."""
        device = self.device_of_op[op]
        self.early_left[device] -= not self.twin.is_late[op]
        if self.twin.is_late[op] or self.early_left[device]:
            return
        for late, is_late in enumerate(self.twin.is_late):
            if is_late and self.twin.trips[late] > 0 and self.device_of_op[late] == device:
                self.waiting_for[late] -= 1
                if self.waiting_for[late] == 0:
                    self.become_ready(late)

    def arrive(self, edge: int) -> None:
        producer, consumer, _ = self.twin.edges[edge]
        self.waiting_for[consumer] -= 1
        if self.waiting_for[consumer] == 0:
            self.become_ready(consumer, producer)

    def send(self, op: int) -> None:
        """Queue the op's transfers in the order of their first remote consumer in the file; the last goes first with
        `sender`.
        """
        source = self.device_of_op[op]
        one_for_all = self.twin.cluster.contention == Contention.BUS
        transfers: dict[tuple[int, int], TwinTransfer] = {}
        for edge in self.twin.edges_out[op]:
            _, consumer, output = self.twin.edges[edge]
            destination = self.device_of_op[consumer]
            if destination != source:
                key = (output, -1 if one_for_all else destination)
                transfer = transfers.setdefault(key, TwinTransfer(op, output, source))
                transfer.edges.append(edge)
                transfer.trips = max(transfer.trips, self.twin.trips_of_edge(edge))
                if destination not in transfer.destinations:
                    transfer.destinations.append(destination)
        self.transfers += transfers.values()
        for transfer in transfers.values():
            if self.twin.cluster.contention == Contention.NONE:
                self.start_transfer(transfer)
            elif self.twin.cluster.contention == Contention.SENDER:
                self.ready[source].appendleft(transfer)
            else:
                self.queue_transfer(transfer)

    def queue_transfer(self, transfer: TwinTransfer) -> None:
        one_for_all = self.twin.cluster.contention == Contention.BUS
        channel = (transfer.source,) if one_for_all else (transfer.source, transfer.destinations[0])
        self.channel_queue[channel].append(transfer)
        self.add_look(channel, max(self.now, self.channel_free[channel]))

    def add_look(self, channel: tuple[int, ...], time: float) -> None:
        names = tuple(self.twin.device_names[device] for device in channel)
        self.add(time, LINK, names, self.look_at_channel, channel)

    def look_at_channel(self, channel: tuple[int, ...]) -> None:
        """The channel takes the next transfer if it is free and one waits."""
        if self.channel_free[channel] > self.now or not self.channel_queue[channel]:
            return
        transfer = self.channel_queue[channel].popleft()
        self.start_transfer(transfer)
        self.channel_free[channel] = transfer.end_us + self.twin.cluster.link_rest_us * transfer.trips
        self.add_look(channel, self.channel_free[channel])

    def start_transfer(self, transfer: TwinTransfer) -> None:
        """All edges that it serves get the bytes when the slowest of its links has brought them, once a trip."""
        twin, source = self.twin, transfer.source
        size = twin.bytes_of(transfer.producer, transfer.output)
        links = [twin.latency[source][to] + size / twin.bandwidth[source][to] for to in transfer.destinations]
        transfer.start_us, transfer.end_us = self.now, self.now + transfer.trips * max(links)
        for edge in transfer.edges:
            producer, consumer, output = twin.edges[edge]
            names = (twin.names[producer], output, twin.names[consumer])
            self.add(transfer.end_us, ARRIVAL, names, self.arrive, edge)
