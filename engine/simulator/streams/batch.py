"""A batch of micro-batches, simulated whole: fill, steady state and drain."""

import dataclasses
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.files.compiled import borrowed, compiled, inlined
from engine.graphs.graph import OPTIMIZER, ComputationGraph
from engine.simulator.records import Scratch, Tables, borrow_scratch, borrow_tables, of_micro_batch, records_of
from engine.simulator.step_state import place_ops, reset_buffers, reset_devices
from engine.simulator.streams.again import runs_again
from engine.simulator.streams.blocks import reset_blocks
from engine.simulator.streams.loop import run_stream
from engine.simulator.streams.recompute import with_recomputed
from engine.simulator.streams.routes import devices_of_stages, first_micros, spread_levels
from engine.simulator.streams.schedule import Schedule, schedule_of
from engine.simulator.streams.stages import NO_STAGE, Stages, stages_of
from engine.simulator.streams.state import BLOCK
from engine.simulator.streams.stream import Recompute, Stream
from engine.simulator.tables import Numbering, make_scratch, make_tables


@dataclass(frozen=True, slots=True)
class SimulatedBatch:
    """One simulated batch."""

    batch_time_us: float
    peak_bytes: NDArray[np.int64]
    """[devices]"""
    stages: Stages
    schedule: Schedule
    graph: ComputationGraph
    """the graph that ran: what runs again is there a second time, behind all ops"""
    costs: Costs
    """those of its ops"""
    again: NDArray[np.int64]
    """[ops behind the others] the op that each is a second time"""
    device_of_op: NDArray[np.int32]
    """[ops] of `graph`; on the first route"""
    routes: NDArray[np.int32]
    """[routes, ops] of `graph`: micro-batch m runs on the devices of route m mod routes"""
    stage_of_op: NDArray[np.int64]
    """[ops] of `graph`; `NO_STAGE` for ops of the optimizer and those that are not executed"""
    start_us: NDArray[np.float64]
    """[micro-batches, ops] of `graph`; those of the optimizer start in the last one, or never with several routes"""
    end_us: NDArray[np.float64]
    """[micro-batches, ops] of `graph`"""


@dataclass(frozen=True, slots=True)
class BatchSends:
    """When the data of each edge between devices leave their producer and arrive; without meaning for other edges, and
    for those to ops of the optimizer in all micro-batches but the last."""

    sent_us: NDArray[np.float64]
    """[micro-batches, edges]"""
    arrived_us: NDArray[np.float64]
    """[micro-batches, edges] later than `sent_us` with `host` alone"""


class BatchSimulator:
    """Simulates batches of placements of one graph, with the tables of a stream's simulator; threads may share it."""

    def __init__(
        self,
        graph: ComputationGraph,
        costs: Costs,
        tables: Tables,
        numbering: Numbering,
        cluster: Cluster,
        stream: Stream,
        again: NDArray[np.int64] | None = None,
    ) -> None:
        """`tables` and their `numbering` are those of the executed part of a graph, `graph` with `costs`.

        `again`: as in `SimulatedBatch`; None where nothing runs again.
        """
        self._graph, self._costs = graph, costs
        self._again = np.empty(0, np.int64) if again is None else again
        self._tables, self._numbering, self._cluster, self._stream = tables, numbering, cluster, stream
        self._scratches: deque[Scratch] = deque()

    def with_recomputed(self, placement: NDArray[np.int32]) -> "BatchSimulator":
        """The simulator of the graph in which what `placement` [groups] recomputes are ops of their own."""
        number = np.argsort(self._numbering.ops)
        group_of_op, phase = self._tables.placed_ops.group[number], self._tables.phase[number]
        is_again = runs_again(self._tables, placement[self._tables.placed_ops.group])[number]
        graph, costs = with_recomputed(self._graph, self._costs, phase, is_again, placement[group_of_op])
        group_of_op = np.concatenate((group_of_op, group_of_op[is_again]))
        stream = dataclasses.replace(self._stream, recompute=Recompute.NONE)
        made = make_tables(graph, costs, self._cluster, group_of_op, stream)
        return BatchSimulator(graph, costs, *made, self._cluster, stream, np.flatnonzero(is_again))

    def prepared(self, placement: NDArray[np.int32]) -> Callable[[], float]:
        """A function that simulates a batch of `placement` [groups] and returns its time in µs; stages are known."""
        device = placement[self._tables.placed_ops.group]
        stages = stages_of(self._tables, device)
        schedule = schedule_of(stages, self._stream)
        scratch = self._new_scratch()

        def run() -> float:
            own = self._with_blocks(scratch, stages, schedule, device[np.newaxis])
            return _simulate_batch(self._tables, own, placement[np.newaxis])

        return run

    def _new_scratch(self) -> Scratch:
        return make_scratch(self._tables, self._cluster, self._stream.micro_batches)

    def batch(self, placement: NDArray[np.int32]) -> SimulatedBatch:
        """Simulate a batch of `placement` [groups], whose ops all have a time on their devices."""
        return self.routed(placement[np.newaxis])

    def routed(self, routes: NDArray[np.int32]) -> SimulatedBatch:
        """Simulate a batch whose micro-batch m has the placement `routes` [routes, groups] of m mod routes.

        They differ in devices that take turns alone, see routes.py.
        """
        batch, scratch = self._simulated(routes)
        self._scratches.append(scratch)
        return batch

    def batch_and_sends(self, placement: NDArray[np.int32]) -> tuple[SimulatedBatch, BatchSends]:
        """Simulate a batch as `batch` does, and keep when its transfers are."""
        batch, scratch = self._simulated(placement[np.newaxis])
        sends = self._sends(scratch)
        self._scratches.append(scratch)
        return batch, sends

    def _simulated(self, routes: NDArray[np.int32]) -> tuple[SimulatedBatch, Scratch]:
        """A batch of `routes` [routes, groups], and the scratch in which it was simulated."""
        tables, micro_batches = self._tables, self._stream.micro_batches
        device = routes[:, tables.placed_ops.group]
        stages = stages_of(tables, device[0])
        devices = devices_of_stages(stages, device)
        schedule = schedule_of(spread_levels(stages, devices), self._stream, devices)
        try:
            kept = self._scratches.pop()
        except IndexError:
            kept = self._new_scratch()
        scratch = self._with_blocks(kept, stages, schedule, device)
        batch_us = _simulate_batch(tables, scratch, routes)
        ops, order = len(tables.placed_ops), self._numbering.ops
        start_us, time_us = np.empty((micro_batches, ops)), np.empty((micro_batches, ops))
        start_us[:, order] = scratch.start_us.reshape(micro_batches, ops)
        time_us[:, order] = scratch.ops.time_us.reshape(micro_batches, ops)
        routes_of_ops, stage_of_op = np.empty((len(routes), ops), np.int32), np.empty(ops, np.int64)
        routes_of_ops[:, order], stage_of_op[order] = device, stages.stage_of_op
        batch = SimulatedBatch(
            batch_time_us=batch_us,
            peak_bytes=scratch.devices.peak_bytes.copy(),
            stages=stages,
            schedule=schedule,
            graph=self._graph,
            costs=self._costs,
            again=self._again,
            device_of_op=routes_of_ops[0],
            routes=routes_of_ops,
            stage_of_op=stage_of_op,
            start_us=start_us,
            end_us=start_us + time_us,
        )
        return batch, kept

    def _sends(self, scratch: Scratch) -> BatchSends:
        """The transfers of a batch that was simulated in `scratch`."""
        shape = self._stream.micro_batches, len(self._numbering.entries)
        transfer = np.minimum(scratch.entries.transfer.reshape(shape), max(shape[1] - 1, 0))
        ends_us = (scratch.entries.start_us + scratch.entries.time_us).reshape(shape)
        sent_us, arrived_us = np.empty(shape), np.empty(shape)
        sent_us[:, self._numbering.entries] = np.take_along_axis(ends_us, transfer, axis=1)
        if self._cluster.contention != Contention.HOST:
            return BatchSends(sent_us, sent_us)
        copies = np.minimum(scratch.entries["copy"].reshape(shape), max(shape[1] - 1, 0))
        arrived_us[:, self._numbering.entries] = np.take_along_axis(
            scratch.stream.arrived_us.reshape(shape), copies, axis=1
        )
        return BatchSends(sent_us, arrived_us)

    def _with_blocks(self, scratch: Scratch, stages: Stages, schedule: Schedule, routes: NDArray[np.int32]) -> Scratch:
        """`scratch` with the blocks of `routes` [routes, ops]; on one, each device's late ops are the block behind."""
        device, has_routes = routes[0], len(routes) > 1
        tables, micro_batches, devices = self._tables, self._stream.micro_batches, self._cluster.device_count
        counts = np.bincount(schedule.device, minlength=devices)
        first = np.concatenate(([0], np.cumsum(counts + 1)))
        blocks = records_of(len(schedule.device) + devices, BLOCK)
        place = np.arange(len(schedule.device)) + schedule.device
        early = stages.stage_of_op != NO_STAGE
        blocks.micro[place] = schedule.micro
        blocks.left[place] = np.bincount(stages.stage_of_op[early], minlength=len(stages))[schedule.stage]
        last = first[1:] - 1
        is_late = tables.phase == OPTIMIZER
        blocks.micro[last], blocks.is_late[last] = micro_batches - 1, True
        blocks.left[last] = np.bincount(device[is_late], minlength=devices)
        block_of = np.zeros((len(stages) + devices, micro_batches), np.uint32)
        block_of[schedule.stage, schedule.micro] = place
        block_of[len(stages) + np.arange(devices)] = last[:, None]
        stage_of_op = np.where(is_late, len(stages) + device, np.maximum(stages.stage_of_op, 0))
        state = scratch.stream._replace(
            blocks=blocks,
            block_of=block_of.ravel(),
            stage_of_op=stage_of_op.astype(np.uint32),
            first_micro=first_micros(routes, devices) if has_routes else np.zeros(0, np.uint32),
        )
        state.turns.current, state.turns.beyond = first[:-1], first[1:] - has_routes
        return scratch._replace(stream=state)


@compiled
def _simulate_batch(tables: Tables, scratch: Scratch, routes: NDArray[np.int32]) -> float:
    """The time of a batch in µs, whose blocks are in `scratch`; peaks and times are there too."""
    tables, scratch = borrow_tables(tables), borrow_scratch(scratch)
    ops = len(tables.placed_ops)
    reset_devices(scratch)
    first = of_micro_batch(tables, scratch, 0)
    place_ops(tables, first, borrowed(routes[0]), False)
    for route in range(1, len(routes)):
        _place_turns(tables, scratch, routes, route)
    for micro in range(len(scratch.ops) // ops):
        own = of_micro_batch(tables, scratch, micro)
        reset_buffers(tables, own)
        for op in range(ops):
            device = routes[micro % len(routes), tables.placed_ops[op].group]
            own.ops[op].device, own.ops[op].pending = device, tables.placed_ops[op].in_degree
            own.ops[op].time_us = tables.time_us[scratch.devices[device].kind, op]
    reset_blocks(scratch)
    return run_stream(tables, scratch, False, np.inf)


@inlined
def _place_turns(tables: Tables, scratch: Scratch, routes: NDArray[np.int32], route: int) -> None:
    """Hold persistent bytes on the devices that `route` has and no route before."""
    for op in range(len(tables.placed_ops)):
        placed, is_new = tables.placed_ops[op], True
        for before in range(route):
            is_new &= routes[before, placed.group] != routes[route, placed.group]
        if is_new:
            state = scratch.devices[routes[route, placed.group]]
            state.level_bytes += placed.persistent_bytes
            state.peak_bytes = state.level_bytes
