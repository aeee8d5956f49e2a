"""A batch of micro-batches in plain Python: the graph copied once a micro-batch, every task and buffer by itself.

Slow and obviously right; simultaneous events of different devices are handled in the order in which they were made.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.simulator.streams.batch import SimulatedBatch
from engine.simulator.streams.stages import NO_STAGE

Task = tuple[int, int]
"""micro-batch, op"""


@dataclass(slots=True)
class Sent:
    """One transfer of an output in one micro-batch; `copies`: device → consumers there."""

    micro: int
    op: int
    output: int
    copies: dict[int, list[int]] = field(default_factory=dict)
    trips: dict[int, int] = field(default_factory=dict)
    end_us: float = 0.0
    arrived_us: dict[int, float] = field(default_factory=dict)

    @property
    def most_trips(self) -> int:
        return max(self.trips.values())


class SlowBatch:
    """One batch. `blocks` [devices]: the lists of tasks, in the order in which the device takes them, the ops of the
    optimizer last."""

    def __init__(
        self,
        graph: ComputationGraph,
        costs: Costs,
        cluster: Cluster,
        device_of_op: Sequence[int],
        is_late: Sequence[bool],
        blocks: Sequence[Sequence[Sequence[Task]]],
        micro_batches: int,
    ) -> None:
        self.graph, self.costs, self.cluster = graph, costs, cluster
        self.device, self.is_late, self.last = device_of_op, is_late, micro_batches - 1
        self.trips = costs.trips_of_op().tolist()
        times = costs.time_on_devices(cluster.devices)
        self.time_us = [float(times[device, op]) for op, device in enumerate(device_of_op)]
        self.edges = list(
            zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True)
        )
        self.blocks = [deque(set(block) for block in of_device if block) for of_device in blocks]
        self.waits = {task: self.inputs_of(task) for of_device in blocks for block in of_device for task in block}
        self.ready: list[deque[Task]] = [deque() for _ in cluster.devices]
        self.moves: list[deque[tuple[Sent, bool]]] = [deque() for _ in cluster.devices]
        self.is_busy, self.free_us = [False] * len(cluster.devices), [0.0] * len(cluster.devices)
        self.channels: dict[tuple[int, ...], deque[Sent]] = defaultdict(deque)
        self.channel_busy: dict[tuple[int, ...], bool] = defaultdict(bool)
        self.start: dict[Task, float] = {}
        self.end: dict[Task, float] = {}
        self.sent: list[Sent] = []
        self.now, self.batch_us = 0.0, 0.0
        self._events: list[tuple[float, tuple[int, str, int], int, Callable[[], None]]] = []
        self._made = 0

    def inputs_of(self, task: Task) -> int:
        """Inputs that a task waits for: an op of the optimizer for those of the last micro-batch."""
        return sum(target == task[1] for _, target, _ in self.edges)

    def run(self) -> "SlowBatch":
        for micro in range(self.last + 1):
            for op in range(self.graph.op_count):
                if self.waits.get((micro, op)) == 0:
                    self.ready[self.device[op]].append((micro, op))
        for device in range(len(self.cluster.devices)):
            self.look(device)
        while self._events:
            self.now, _, _, action = heapq.heappop(self._events)
            action()
        assert len(self.end) == len(self.waits), "a task never ran"
        return self

    def at(self, time_us: float, action: Callable[[], None], one: Sent | None = None) -> None:
        """Simultaneous arrivals, of `one`, come first, by their producer's name and output."""
        self._made += 1
        rank = (0, self.graph.op_names[one.op], one.output) if one else (1, "", 0)
        heapq.heappush(self._events, (time_us, rank, self._made, action))

    def look(self, device: int) -> None:
        """Let a device that does nothing take its next move, or its first ready task of the current block."""
        if self.is_busy[device]:
            return
        start = max(self.now, self.free_us[device])
        if self.moves[device]:
            self.is_busy[device] = True
            self.move(device, *self.moves[device].popleft(), start)
            return
        while self.blocks[device] and not self.blocks[device][0]:
            self.blocks[device].popleft()
            if self.blocks[device] and any(self.is_late[op] for _, op in self.blocks[device][0]):
                self.ready[device] = deque(sorted(self.ready[device]))  # in the order of the file
        if not self.blocks[device]:
            return
        queue = [task for task in self.ready[device] if task in self.blocks[device][0]]
        if queue:
            self.ready[device].remove(queue[0])
            self.is_busy[device] = True
            self.start[queue[0]] = start
            self.at(start + self.time_us[queue[0][1]], lambda: self.end_task(device, queue[0]))

    def end_task(self, device: int, task: Task) -> None:
        micro, op = task
        self.end[task] = self.now
        self.blocks[device][0].remove(task)
        names = self.graph.op_names
        mine = [edge for edge in self.edges if edge[0] == op and (micro == self.last or not self.is_late[edge[1]])]
        for _, target, _ in sorted(mine, key=lambda edge: names[edge[1]]):
            if self.device[target] == device:
                self.give(target, micro)
        sent: dict[tuple[int, int], Sent] = {}
        one_for_all = self.cluster.contention in (Contention.BUS, Contention.HOST)
        for source, target, output in mine:
            to = self.device[target]
            if to != device:
                one = sent.setdefault((output, -1 if one_for_all else to), Sent(micro, op, output))
                one.copies.setdefault(to, []).append(target)
                one.trips[to] = max(one.trips.get(to, 0), min(self.trips[source], self.trips[target]))
        for one in sent.values():
            for targets in one.copies.values():
                targets.sort(key=lambda target: names[target])
            self.sent.append(one)
            self.queue(device, one)
        rest_us = self.cluster.op_rests_us[device] * self.costs.rests_of_op()[op] if self.time_us[op] else 0.0
        self.free(device, self.now + rest_us)

    def free(self, device: int, free_us: float) -> None:
        self.is_busy[device], self.free_us[device] = False, free_us
        self.batch_us = max(self.batch_us, free_us)
        self.look(device)

    def give(self, target: int, micro: int) -> None:
        self.waits[micro, target] -= 1
        if self.waits[micro, target] == 0:
            self.ready[self.device[target]].append((micro, target))
            self.look(self.device[target])

    def bytes_of(self, one: Sent) -> int:
        if one.output == CONTROL:
            return 0
        return int(self.costs.output_bytes[self.costs.output_offset[one.op] + one.output])

    def of_bytes_us(self, one: Sent, to: int) -> float:
        return self.bytes_of(one) / float(self.cluster.bandwidth_bytes_per_us[self.device[one.op], to])

    def queue(self, device: int, one: Sent) -> None:
        contention = self.cluster.contention
        latency_us = max(float(self.cluster.latency_us[device, to]) for to in one.copies)
        if contention is Contention.NONE:
            self.at(self.now + self.link_us(one), lambda: self.arrive(one), one)
        elif contention is Contention.HOST and (self.cluster.devices[device].is_cpu or not self.bytes_of(one)):
            self.at(self.now + one.most_trips * latency_us, lambda: self.arrive(one), one)
        elif contention in (Contention.SENDER, Contention.HOST):
            self.moves[device].append((one, True))
        else:
            channel = (device, *one.copies) if contention is Contention.PAIR else (device,)
            self.channels[channel].append(one)
            self.look_at_channel(channel)

    def link_us(self, one: Sent) -> float:
        source = self.device[one.op]
        return one.most_trips * max(
            float(self.cluster.latency_us[source, to]) + self.of_bytes_us(one, to) for to in one.copies
        )

    def look_at_channel(self, channel: tuple[int, ...]) -> None:
        if not self.channel_busy[channel] and self.channels[channel]:
            one = self.channels[channel].popleft()
            self.channel_busy[channel] = True
            self.at(self.now + self.link_us(one), lambda: self.arrive(one), one)
            rested_us = self.now + self.link_us(one) + self.cluster.link_rest_us * one.most_trips
            self.batch_us = max(self.batch_us, rested_us)
            self.at(rested_us, lambda: self.free_channel(channel))

    def free_channel(self, channel: tuple[int, ...]) -> None:
        self.channel_busy[channel] = False
        self.look_at_channel(channel)

    def move(self, device: int, one: Sent, is_send: bool, start_us: float) -> None:
        if is_send:
            kept_us = max(self.of_bytes_us(one, to) for to in one.copies)
            kept_us += self.cluster.link_rest_us if self.cluster.contention is Contention.SENDER else 0.0
            self.at(start_us + self.link_us(one), lambda: self.arrive(one), one)
        else:
            kept_us = self.of_bytes_us(one, device)
        end_us = start_us + kept_us * one.most_trips

        def ends() -> None:
            if not is_send:
                self.take(one, device)
            self.free(device, self.now)

        self.at(end_us, ends)

    def arrive(self, one: Sent) -> None:
        """The bytes are there; with `host`, in the host's memory, from where GPUs must fetch them."""
        one.end_us = self.now
        self.batch_us = max(self.batch_us, self.now)
        names = self.graph.op_names
        for device in sorted(one.copies, key=lambda to: names[one.copies[to][0]]):
            is_gpu = not self.cluster.devices[device].is_cpu
            if self.cluster.contention is Contention.HOST and is_gpu and self.bytes_of(one):
                self.moves[device].append((one, False))
                self.look(device)
            else:
                self.take(one, device)

    def take(self, one: Sent, device: int) -> None:
        one.arrived_us[device] = self.now
        for target in one.copies[device]:
            self.give(target, one.micro)

    def peaks(self) -> list[int]:
        """[devices] the most bytes held at once, with the memory model `full` and no buffers that ops pass on."""
        changes: list[dict[float, int]] = [defaultdict(int) for _ in self.cluster.devices]
        for device, start, end, size in self.held():
            if end > start:
                changes[device][start] += size
                changes[device][end] -= size
        peaks = []
        for device, of_device in enumerate(changes):
            level = most = sum(
                int(size) for op, size in enumerate(self.costs.kept_bytes()) if self.device[op] == device
            )
            for time in sorted(of_device):
                level += of_device[time]
                most = max(most, level)
            peaks.append(most)
        return peaks

    def held(self) -> list[tuple[int, float, float, int]]:
        """(device, from, until, bytes) of all that is not held always."""
        held = []
        for (micro, op), start in self.start.items():
            device, end = self.device[op], self.end[micro, op]
            held.append((device, start, end, int(self.costs.temporary_bytes[op])))
            first, beyond = self.costs.output_offset[op : op + 2].tolist()
            for output in range(beyond - first):
                until = max([end, *self.ends_of_needs(micro, op, output)])
                held.append((device, start, until, int(self.costs.output_bytes[first + output])))
        for one in self.sent:
            for device, targets in one.copies.items():
                until = max(self.end[one.micro, target] for target in targets)
                held.append((device, one.arrived_us[device], until, self.bytes_of(one)))
        return held

    def ends_of_needs(self, micro: int, op: int, output: int) -> list[float]:
        """When what needs an output on its device ends. What the optimizer needs is summed up over the micro-batches:
        the first one's buffer holds it until the last one's takes its place."""
        ends = []
        for source, target, of in self.edges:
            if (source, of) != (op, output):
                continue
            if self.is_late[target] and micro < self.last:
                ends += [self.end[self.last, op]] if micro == 0 else []
            elif self.device[target] == self.device[op]:
                ends.append(self.end[micro, target])
        return ends + [one.end_us for one in self.sent if (one.micro, one.op, one.output) == (micro, op, output)]


def blocks_of(batch: SimulatedBatch, devices: int) -> list[list[list[Task]]]:
    """[devices] the blocks of `batch` in the order in which each takes them, the ops of the optimizer last."""
    micro_batches = len(batch.start_us)
    blocks: list[list[list[Task]]] = [[] for _ in range(devices)]
    for at, stage, micro in zip(batch.schedule.device, batch.schedule.stage, batch.schedule.micro, strict=True):
        blocks[at].append([(int(micro), int(op)) for op in np.flatnonzero(batch.stage_of_op == stage)])
    late = batch.stage_of_op == NO_STAGE
    for at in range(devices):
        blocks[at].append(
            [(micro_batches - 1, op) for op in np.flatnonzero(late & (batch.device_of_op == at)).tolist()]
        )
    return blocks


def slow_twin_of(batch: SimulatedBatch, graph: ComputationGraph, costs: Costs, cluster: Cluster) -> SlowBatch:
    """The twin of `batch`, whose ops are those of `graph`: it has run in the order of the same blocks."""
    micro_batches, device = len(batch.start_us), batch.device_of_op
    blocks, late = blocks_of(batch, len(cluster.devices)), batch.stage_of_op == NO_STAGE
    return SlowBatch(graph, costs, cluster, device.tolist(), late.tolist(), blocks, micro_batches).run()
