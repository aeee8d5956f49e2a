"""The simulator's public class: from a graph, its costs and a cluster to step times and peaks of memory.

The model of one step:

- A device runs its ready ops first in, first out, one at a time, and rests `op_rest_us`, or its kind's own rest, after
  each op of non-zero time.
- An op is ready when all its inputs are on its device. A local input is there when its producer ends. The producer's
  device sends the others: with `bus` one transfer of an output serves all remote consumers, over the producer's own
  bus, as fast as the slowest of the links to them; with `pair` there is one transfer for each output and destination,
  over the channel of that ordered pair of devices; with `none` likewise, but no transfer waits for another. With
  `sender` a transfer occupies its sender instead, and devices run depth first: see thread_loop.py. With `host` a
  transfer occupies the GPU that sends it, and each that receives it: see streams/loop.py.
- A transfer occupies its channel for latency + bytes / bandwidth; the channel then rests `link_rest_us`.
- A control edge moves no bytes: between devices it is a signal, a transfer of zero bytes that waits for its turn on the
  link, takes the link's latency and is followed by its rest, like an empty tensor. A signal serves the consumers that
  a transfer of an output would serve.
- Back edges belong to the next iteration of a loop and are not simulated.
- An op of n trips stands for n executions: it takes n times its time, and its device rests n times. A transfer from
  an op of p trips to one of c is made min(p, c) times (the largest of these where it serves several), one after the
  other, and its channel rests as often. Bytes are held once. An op of no trips never starts (its times are 0): nothing
  waits for it or is sent to it, and it holds only its persistent bytes.
- The step ends with its last event, rests included. Simultaneous events are handled in this order: arrivals by the
  producer's name, output and consumer's name; then links, then devices, by name.

Memory, model `full`: persistent bytes, constants and fed inputs always; temporaries while the op runs; an output on its
producer's device from the op's start until the op, its last local consumer and its last transfer have ended; a copy on
a consumer's device from arrival until the last consumer there has ended. Model `outputs`: see published_peaks.py.

Source: Placeto (Addanki et al. 2019, appendix A.1) and its published simulator for `bus` and `outputs`.

Compiled code, such as a search, can evaluate without returning to Python: `simulate_step(simulator.tables, scratch,
placement)` of event_loop.py returns the step time (NaN where an op has no time on its device) and leaves the peaks in
`scratch.devices[device].peak_bytes`. Each thread needs a scratch of its own from `simulator.new_scratch()`.
"""

import copy
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.errors import CostError, GraphError, PlacementError, shortened
from engine.graphs.apart import NOTHING_APART, Apart
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL, ComputationGraph
from engine.simulator.batches import THREADS, evaluate_batch, usable_cores
from engine.simulator.event_loop import simulate_step
from engine.simulator.executed import executed_part
from engine.simulator.recording import Recording
from engine.simulator.records import Scratch
from engine.simulator.streams.again import runs_again
from engine.simulator.streams.batch import BatchSimulator, SimulatedBatch
from engine.simulator.streams.batch_memory import BatchMemory, batch_memory
from engine.simulator.streams.stream import Stream
from engine.simulator.tables import make_scratch, make_tables, with_groups, with_times
from engine.simulator.timeline import Timeline
from engine.simulator.topology import topological_order

MOST = 2.0**62
"""largest step in µs and largest memory in bytes: beyond it 64-bit numbers overflow"""


def check_edges(graph: ComputationGraph, costs: Costs) -> None:
    """Check that `costs` belong to `graph` and that each edge leads from an output of an op to an op.

    Raises GraphError or CostError.
    """
    ops = graph.op_count
    if len(costs.persistent_bytes) != ops:
        raise CostError(f"costs of {len(costs.persistent_bytes)} ops", where=graph.name, allowed=f"{ops} ops")
    if graph.edge_count == 0:
        return
    ends = np.stack((graph.edge_source, graph.edge_target))
    if ends.min() < 0 or ends.max() >= ops:
        raise GraphError("an edge leads to no op", where=graph.name, allowed=f"ops 0 to {ops - 1}")
    outputs = np.diff(costs.output_offset)[graph.edge_source]
    wrong = np.flatnonzero((graph.edge_output < CONTROL) | (graph.edge_output >= outputs))
    if len(wrong):
        edge = wrong[0]
        raise CostError(
            f"output {graph.edge_output[edge]} has no bytes",
            where=f"op {shortened(graph.op_names[graph.edge_source[edge]])}",
            allowed=f"{outputs[edge]} outputs",
        )


def _check_groups(graph: ComputationGraph, group_of_op: NDArray[np.int32]) -> None:
    if group_of_op.shape != (graph.op_count,) or group_of_op.min() < 0:
        allowed = f"[{graph.op_count}] from 0"
        raise PlacementError("groups that do not cover the ops", where=graph.name, allowed=allowed)


def check_sizes(graph: ComputationGraph, costs: Costs, cluster: Cluster) -> None:
    """Check that no step time and no sum of bytes can overflow. Raises CostError, which names the largest op."""
    held = _bytes_of_op(costs)
    if held.sum() >= MOST:
        raise _too_much(graph, held, f"less than {MOST:.0e} bytes of all ops")
    trips = costs.trips_of_op()
    with np.errstate(over="ignore"):  # an infinite time is refused below
        times = np.nan_to_num(costs.time_on_devices(cluster.devices)).max(axis=0)
    sent_us = held / cluster.bandwidth_bytes_per_us.min(initial=np.inf, where=_between(cluster))
    each_us = cluster.latency_us.max(initial=0, where=_between(cluster)) + cluster.link_rest_us
    longest_us = times + costs.rests_of_op() * cluster.op_rests_us.max() + trips * cluster.device_count * sent_us
    transfers = trips_of_edges(graph, trips).sum(dtype=np.float64)
    if longest_us.sum() + transfers * each_us >= MOST:
        raise _too_much(graph, longest_us, f"a step, transfers included, of less than {MOST:.0e} µs")


def _between(cluster: Cluster) -> NDArray[np.bool_]:
    """[devices, devices] True for links between different devices."""
    return ~np.eye(cluster.device_count, dtype=bool)


def _bytes_of_op(costs: Costs) -> NDArray[np.float64]:
    """[ops] all bytes of each op, as floats so that sums cannot overflow."""
    owner = np.repeat(np.arange(len(costs.persistent_bytes)), np.diff(costs.output_offset))
    outputs = np.bincount(owner, costs.output_bytes.astype(np.float64), len(costs.persistent_bytes))
    if len(costs.contents_bytes):
        outputs += np.bincount(owner, costs.contents_bytes.astype(np.float64), len(outputs))
    return np.asarray(outputs + costs.temporary_bytes + costs.persistent_bytes, dtype=np.float64)


def _too_much(graph: ComputationGraph, sizes: NDArray[np.float64], allowed: str) -> CostError:
    op = int(sizes.argmax())
    return CostError(f"{sizes[op]:.3g} is too much", where=f"op {shortened(graph.op_names[op])}", allowed=allowed)


SMALLEST_PART = 20_000
"""simulated ops: a smaller part does not repay a thread"""
PARTS_A_WORKER = 4
"""more than one, so that a worker on a slower core takes fewer parts"""


@dataclass(frozen=True, slots=True)
class Evaluations:
    """Step times and memory peaks of a batch of placements."""

    step_time_us: NDArray[np.float64]
    """[batch]"""
    peak_bytes: NDArray[np.int64]
    """[batch, devices]"""

    def missing_bytes(self, memory_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
        """[batch] bytes by which the worst device's peak exceeds its memory, `memory_bytes` [devices]; 0 if all fit."""
        return np.asarray(np.maximum(self.peak_bytes - memory_bytes, 0).max(axis=1))


@dataclass(frozen=True, slots=True)
class Loads:
    """What a micro-batch takes of each device and link in µs; the largest is the period."""

    device_us: NDArray[np.float64]
    """[devices]"""
    link_us: NDArray[np.float64]
    """[devices, devices] with `pair` of the channels; with `bus` the diagonal has those of the devices' buses"""


class Simulator:
    """Simulates placements of one graph on one cluster. Build it once and call it often, also from several threads.

    It never changes its inputs.
    """

    def __init__(
        self,
        graph: ComputationGraph,
        costs: Costs,
        cluster: Cluster,
        group_of_op: NDArray[np.int32] | None = None,
        stream: Stream | None = None,
        apart: Apart = NOTHING_APART,
    ) -> None:
        """With `group_of_op` [ops] placements are [groups], without it they are [ops].

        With `stream` a placement's step time is its period in that stream. It is infinite for a placement that puts
        together what is to be `apart`, of ops.

        Raises GraphError where the graph has a cycle or an edge that leads nowhere, CostError where the costs belong
        to another graph.
        """
        ops = graph.op_count
        check_edges(graph, costs)
        check_sizes(graph, costs, cluster)
        self.graph, self.costs, self.cluster = graph, costs, cluster
        if group_of_op is None:
            group_of_op = np.arange(ops, dtype=np.int32)
        _check_groups(graph, group_of_op)
        self.group_count = int(group_of_op.max()) + 1
        self.executed, self.executed_costs = executed_part(graph, costs)
        if self.executed is not graph:
            topological_order(graph)  # the ops that are not executed must have no cycle either
        self.tables, self._numbering = make_tables(self.executed, self.executed_costs, cluster, group_of_op, stream)
        self.group_of_op, self.stream = group_of_op, stream
        self._apart = apart
        self.apart = apart.of_groups(group_of_op)
        """which groups must not share a device"""
        self._batches: BatchSimulator | None = None
        self._scratches: deque[Scratch] = deque()

    def evaluate(self, placements: NDArray[np.int32], threads: int | None = None) -> Evaluations:
        """Evaluate `placements` [batch, groups] → device index, on up to `threads` threads (None: all cores).

        Raises PlacementError for another shape or an unknown device, CostError where an op has no time on its device.
        """
        checked = self._checked(placements)
        batch = len(checked)
        answer = Evaluations(np.empty(batch), np.empty((batch, self.cluster.device_count), dtype=np.int64))
        least = 1 + SMALLEST_PART // self.graph.op_count
        workers = max(1, min(threads or usable_cores(), batch // least))
        bounds = np.linspace(0, batch, 1 + max(1, min(workers * PARTS_A_WORKER, batch // least))).astype(int).tolist()
        parts = deque(slice(low, high) for low, high in pairwise(bounds))
        helpers = [THREADS.pool().submit(self._evaluate_parts, checked, answer, parts) for _ in range(workers - 1)]
        failed = self._evaluate_parts(checked, answer, parts)
        for helper in helpers:
            failed += helper.result()
        if failed:
            self._raise_missing_time(checked[min(failed)])
        if self.apart:
            answer.step_time_us[~self.apart.keeps(checked, self.cluster.device_count)] = np.inf
        return answer

    def with_times(self, costs: Costs, cluster: Cluster) -> "Simulator":
        """The same simulator with the op times of `costs` and the links of `cluster`, much faster than a new one.

        All else in them, bytes and trips for example, must be what it is here. Raises CostError as `Simulator` does.
        """
        assert [device.kind for device in cluster.devices] == [device.kind for device in self.cluster.devices]
        check_sizes(self.graph, costs, cluster)
        other = copy.copy(self)
        other.costs, other.cluster = costs, cluster
        _, other.executed_costs = executed_part(self.graph, costs)
        other.tables = with_times(self.tables, self._numbering, costs, cluster)
        other._scratches, other._batches = deque(), None
        return other

    def with_groups(self, group_of_op: NDArray[np.int32]) -> "Simulator":
        """The same simulator for placements of other groups, `group_of_op` [ops], much faster than a new one.

        Raises PlacementError for groups of another graph.
        """
        _check_groups(self.graph, group_of_op)
        other = copy.copy(self)
        other.group_of_op, other.group_count = group_of_op, int(group_of_op.max()) + 1
        other.tables = with_groups(self.tables, self._numbering, group_of_op)
        other.apart = self._apart.of_groups(group_of_op)
        other._scratches, other._batches = deque(), None
        return other

    def timeline(self, placement: NDArray[np.int32]) -> Timeline:
        """Simulate `placement` [groups] and return its timeline. Raises as `evaluate` does."""
        if self.stream is not None:
            return self.of_steps().timeline(placement)
        checked = self._checked(placement[np.newaxis])[0]
        scratch = self.new_scratch()
        step_time_us = simulate_step(self.tables, scratch, checked)
        if np.isnan(step_time_us):
            self._raise_missing_time(checked)
        part = self.executed, self.executed_costs
        recording = Recording(*part, self.cluster, self.tables, self._numbering, scratch)
        return recording.timeline(step_time_us)

    def loads(self, placement: NDArray[np.int32]) -> Loads:
        """What a micro-batch takes of each device and link with `placement` [groups]. Raises as `evaluate` does."""
        assert self.stream is not None, "loads belong to a stream"
        checked, scratch = self._checked(placement[np.newaxis])[0], self.new_scratch()
        if np.isnan(simulate_step(self.tables, scratch, checked)):
            self._raise_missing_time(checked)
        devices = self.cluster.device_count
        links_us = scratch.stream.link_load_us.reshape(devices, devices)
        return Loads(scratch.stream.device_load_us.copy(), links_us.copy())

    def runs_again(self, part_of_op: NDArray[np.int32]) -> NDArray[np.bool_]:
        """[ops] whether each op runs again in the stream wherever its part, `part_of_op` [ops], is on one device."""
        order, is_again = self._numbering.ops, np.zeros(len(part_of_op), np.bool_)
        if self.stream is not None and self.stream.recomputes:
            is_again[order] = runs_again(self.tables, np.ascontiguousarray(part_of_op[order], np.int32))
        return is_again

    def of_steps(self) -> "Simulator":
        """The same simulator with step times, if it has periods."""
        return self if self.stream is None else Simulator(self.graph, self.costs, self.cluster, self.group_of_op)

    def batch(self, placement: NDArray[np.int32]) -> SimulatedBatch:
        """Simulate a batch of `placement` [groups] in the simulator's stream, whole. Raises as `evaluate` does."""
        possible = self._possible(placement)
        return self._batch_simulator(possible).batch(possible)

    def routed_batch(self, routes: NDArray[np.int32]) -> SimulatedBatch:
        """Simulate a batch whose micro-batch m has the placement `routes` [routes, groups] of m mod routes.

        They differ in devices that take turns alone; the optimizer does not run. Raises as `evaluate` does.
        """
        possible = np.stack([self._possible(placement) for placement in routes])
        return self._batch_simulator(possible[0]).routed(possible)

    def batch_and_memory(self, placement: NDArray[np.int32]) -> tuple[SimulatedBatch, BatchMemory]:
        """Simulate a batch as `batch` does, and find what the devices hold over it. Raises as `evaluate` does."""
        possible = self._possible(placement)
        batch, sends = self._batch_simulator(possible).batch_and_sends(possible)
        return batch, batch_memory(batch.graph, batch.costs, self.cluster, batch, sends)

    def prepared_batch(self, placement: NDArray[np.int32]) -> Callable[[], float]:
        """A function that simulates a batch of `placement` [groups] and returns its time in µs; stages are known."""
        checked = self._checked(placement[np.newaxis])[0]
        return self._batch_simulator(checked).prepared(checked)

    def _possible(self, placement: NDArray[np.int32]) -> NDArray[np.int32]:
        """`placement` [groups], checked. Raises as `evaluate` does."""
        checked = self._checked(placement[np.newaxis])
        if np.isnan(self.evaluate(checked).step_time_us[0]):
            self._raise_missing_time(checked[0])
        possible: NDArray[np.int32] = checked[0]
        return possible

    def _batch_simulator(self, placement: NDArray[np.int32]) -> BatchSimulator:
        """The simulator for batches of `placement` [groups], of which some ops may run again."""
        assert self.stream is not None, "a batch belongs to a stream"
        if self._batches is None:
            part = self.executed, self.executed_costs
            self._batches = BatchSimulator(*part, self.tables, self._numbering, self.cluster, self.stream)
        return self._batches.with_recomputed(placement) if self.stream.recomputes else self._batches

    def new_scratch(self) -> Scratch:
        """New working arrays for compiled code, for one evaluation at a time."""
        return make_scratch(self.tables, self.cluster)

    def _evaluate_parts(self, placements: NDArray[np.int32], answer: Evaluations, parts: deque[slice]) -> list[int]:
        """Evaluate parts of the batch until none is left; returns the indices of the placements that cannot run."""
        failed: list[int] = []
        try:
            scratch = self._scratches.pop()
        except IndexError:
            scratch = self.new_scratch()
        while True:
            try:
                part = parts.popleft()
            except IndexError:
                break
            index = evaluate_batch(
                self.tables, scratch, placements[part], answer.step_time_us[part], answer.peak_bytes[part]
            )
            if index >= 0:
                failed.append(part.start + index)
        self._scratches.append(scratch)
        return failed

    def _checked(self, placements: NDArray[np.int32]) -> NDArray[np.int32]:
        """Check `placements` and return them as contiguous, writable int32: another layout would be compiled anew."""
        if placements.ndim != 2 or placements.shape[1] != self.group_count or placements.dtype.kind not in "iu":
            raise PlacementError(
                f"an array {list(placements.shape)} of {placements.dtype}",
                where="placements",
                allowed=f"integers [batch, {self.group_count}]",
            )
        wrong = (placements < 0) | (placements >= self.cluster.device_count)
        if wrong.any():
            row, group = (int(index) for index in np.argwhere(wrong)[0])
            op = int(np.flatnonzero(self.group_of_op == group)[0])
            names = ", ".join(device.name for device in self.cluster.devices)
            raise PlacementError(
                f"device {placements[row, group]} is not in the cluster",
                where=f"op {shortened(self.graph.op_names[op])}",
                allowed=f"0 to {self.cluster.device_count - 1} ({names})",
            )
        return np.require(placements, np.int32, ["C", "W"])

    def _raise_missing_time(self, placement: NDArray[np.int32]) -> None:
        device_of_op = placement[self.group_of_op]
        times = self.costs.time_on_devices(self.cluster.devices)
        op = int(np.flatnonzero(np.isnan(times[device_of_op, np.arange(times.shape[1])]))[0])
        kinds = sorted({d.kind for d, time in zip(self.cluster.devices, times[:, op], strict=True) if time >= 0})
        raise CostError(
            f"no time on {self.cluster.devices[device_of_op[op]].kind}",
            where=f"op {shortened(self.graph.op_names[op])}",
            allowed=f"a device of kind {', '.join(kinds)}" if kinds else "",
        )
