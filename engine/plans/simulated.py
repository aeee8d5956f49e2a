"""Simulates plans: each replica's batch, then the collectives over the replicas, then the optimizers.

- A replica's forward and backward passes are those of a batch in a stream (simulator/streams). Replicas share no
  device, and so no channel.
- Stages that devices take in turn (simulator/streams/routes.py) are kept alike as replicas are: the devices of a turn
  add up their gradients too.
- The collectives run in the order in which their gradients are ready in all replicas, each device in one at a time,
  beside the passes. With `sender` and `host`, where a transfer keeps its device busy, they wait for the passes.
- The optimizers run as `optimizer_tail.py` says. If the replicas share the work (ZeRO-1), gradients are reduced and
  scattered, each replica updates one part in N and holds the state of that part alone, and the weights are gathered.
- One replica without turns is a batch in a stream.

Source of the latter: Rajbhandari et al.: ZeRO, SC 2020.
"""

from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, part_of_cluster
from engine.costs.costs import Costs
from engine.graphs.graph import ComputationGraph
from engine.plans.by_batch import ModelByBatch
from engine.plans.collectives import Collectives
from engine.plans.gradients import Bucket, buckets_of, given_to_optimizer
from engine.plans.optimizer_tail import OptimizerOps, optimizer_ops, updated_us
from engine.plans.plan import Plan, PlanRules, Replica
from engine.simulator import Simulator
from engine.simulator.streams.batch import SimulatedBatch
from engine.simulator.streams.figures import US_IN_A_SECOND
from engine.simulator.streams.stream import Recompute

MOST_REPLICAS = 10_000
"""kept, those that were simulated last"""
MOST_SIMULATORS = 24
"""kept; each has working arrays for all micro-batches of its stream"""
BUSY_WITH_TRANSFERS = (Contention.SENDER, Contention.HOST)


@dataclass(frozen=True, slots=True)
class SimulatedReplica:
    """One replica by itself; devices are its own, by their index in it."""

    batch_time_us: float
    graph: ComputationGraph
    """that of its batch"""
    costs: Costs
    routes: NDArray[np.int32]
    """[routes, ops] as in its batch"""
    is_contiguous: bool
    free_us: NDArray[np.float64]
    """[devices] when each has run its passes"""
    ready_us: NDArray[np.float64]
    """[routes, given] when what the optimizer is given is there"""
    late: OptimizerOps
    state_bytes: NDArray[np.int64]
    """[devices] of the optimizer alone"""
    peak_bytes: NDArray[np.int64]
    """[devices]"""


@dataclass(frozen=True, slots=True)
class Reduced:
    """One collective of a plan."""

    bucket: Bucket
    start_us: float
    end_us: float


@dataclass(frozen=True, slots=True)
class SimulatedPlan:
    """A plan, simulated whole."""

    plan: Plan
    batch_time_us: float
    peak_bytes: NDArray[np.int64]
    """[devices of the cluster]"""
    replicas: tuple[SimulatedReplica, ...]
    reduced: tuple[Reduced, ...]
    """in the order in which they begin"""
    end_us: NDArray[np.float64]
    """[devices of the cluster] when each has ended; 0 for one that has no part"""

    @property
    def samples_per_second(self) -> float | None:
        """None where the batch takes no time."""
        return self.plan.samples * US_IN_A_SECOND / self.batch_time_us if self.batch_time_us > 0 else None


class PlanSimulator:
    """Simulates plans of one model on one cluster. What is found of a replica serves all like it."""

    def __init__(self, model: ModelByBatch, cluster: Cluster, rules: PlanRules) -> None:
        self.model, self.cluster, self.rules = model, cluster, rules
        self.collectives = Collectives(cluster, rules.algorithm)
        self._parts: dict[tuple[int, ...], tuple[Cluster, tuple[object, ...]]] = {}
        self._simulators: OrderedDict[tuple[object, ...], Simulator] = OrderedDict()
        self._replicas: OrderedDict[tuple[object, ...], SimulatedReplica] = OrderedDict()
        self._late: dict[int, OptimizerOps] = {}

    def simulate(self, plan: Plan) -> SimulatedPlan:
        """Simulate `plan`. Raises CostError where an op has no time on its device."""
        replicas = tuple(self.replica(replica) for replica in plan.replicas)
        devices = self.cluster.device_count
        peak_bytes, end_us = np.zeros(devices, np.int64), np.zeros(devices)
        for replica, simulated in zip(plan.replicas, replicas, strict=True):
            peak_bytes[[*replica.devices]] = simulated.peak_bytes
        if len(replicas) == 1 and not plan.replicas[0].turns:
            batch_time_us = replicas[0].batch_time_us
            end_us[[*plan.replicas[0].devices]] = batch_time_us
            return SimulatedPlan(plan, batch_time_us, peak_bytes, replicas, (), end_us)
        assert not (self.rules.shards_optimizer and any(replica.turns for replica in plan.replicas))
        reduced, ready_us = self._reduced(plan, replicas)
        found: dict[tuple[int, bytes], NDArray[np.float64]] = {}
        for replica, simulated, ready in zip(plan.replicas, replicas, ready_us, strict=True):
            key = id(simulated), ready.tobytes()
            if key not in found:
                found[key] = self._updated(replica, simulated, ready, len(replicas))
            end_us[[*replica.devices]] = found[key]
            if self.rules.shards_optimizer:
                kept = simulated.state_bytes // len(replicas)
                peak_bytes[[*replica.devices]] -= simulated.state_bytes - kept
        if self.rules.shards_optimizer:
            self._gather(reduced, end_us)
        return SimulatedPlan(plan, float(end_us.max()), peak_bytes, replicas, tuple(reduced), end_us)

    def keeps_rules(self, simulated: SimulatedPlan) -> bool:
        """Whether stages are contiguous where the rules say so."""
        return not self.rules.contiguous or all(replica.is_contiguous for replica in simulated.replicas)

    def part(self, devices: tuple[int, ...]) -> Cluster:
        """The part of the cluster that has `devices`."""
        return self._part(devices)[0]

    def _part(self, devices: tuple[int, ...]) -> tuple[Cluster, tuple[object, ...]]:
        """The part, and what it has in common with those like it."""
        if devices not in self._parts:
            cluster = part_of_cluster(self.cluster, np.array(devices))
            self._parts[devices] = cluster, alike(cluster)
        return self._parts[devices]

    def simulator(self, devices: tuple[int, ...], micro_batch: int, micro_batches: int) -> Simulator:
        """The simulator of batches of one replica; those of like devices share it, as long as it is kept."""
        cluster, likeness = self._part(devices)
        key = (likeness, micro_batch, micro_batches)
        if key not in self._simulators:
            graph, costs = self.model.prepared.graph, self.model.costs(micro_batch)
            group_of_op = self.model.prepared.grouping.group_of_op
            self._simulators[key] = Simulator(graph, costs, cluster, group_of_op, self.rules.stream(micro_batches))
            if len(self._simulators) > MOST_SIMULATORS:
                self._simulators.popitem(last=False)
        self._simulators.move_to_end(key)
        return self._simulators[key]

    def replica(self, replica: Replica) -> SimulatedReplica:
        """One replica by itself."""
        _, likeness = self._part(replica.devices)
        key = (
            likeness,
            replica.micro_batch,
            replica.micro_batches,
            replica.placement.tobytes(),
            replica.turns,
        )
        if key not in self._replicas:
            self._replicas[key] = self._simulated(replica)
            if len(self._replicas) > MOST_REPLICAS:
                self._replicas.popitem(last=False)
        return self._replicas[key]

    def batch(self, replica: Replica) -> SimulatedBatch:
        """The passes of one replica's batch, op by op, which are not kept; without turns the optimizer too."""
        simulator = self.simulator(replica.devices, replica.micro_batch, replica.micro_batches)
        return simulator.routed_batch(replica.routes()) if replica.turns else simulator.batch(replica.placement)

    def _peaks_of_updates(self, replica: Replica) -> NDArray[np.int64]:
        """[devices] the peaks of one micro-batch on each route, with the optimizer behind it."""
        simulator = self.simulator(replica.devices, replica.micro_batch, 1)
        return np.asarray(np.max([simulator.batch(route).peak_bytes for route in replica.routes()], axis=0), np.int64)

    def _simulated(self, replica: Replica) -> SimulatedReplica:
        batch, cluster = self.batch(replica), self.part(replica.devices)
        peak_bytes = batch.peak_bytes
        if replica.turns:
            peak_bytes = np.maximum(peak_bytes, self._peaks_of_updates(replica))
        late = self._optimizer_ops(batch, replica.micro_batch)
        is_early = np.ones(batch.graph.op_count, bool)
        is_early[late.ops] = False
        count, rests = len(batch.routes), batch.costs.rests_of_op()
        last_us = np.array([batch.end_us[micro::count].max(axis=0) for micro in range(count)])
        times_us = batch.end_us[:count] - batch.start_us[:count]
        rested_us = last_us + cluster.op_rests_us[batch.routes] * rests * (times_us > 0)
        free_us = np.zeros(cluster.device_count)
        np.maximum.at(free_us, batch.routes[:, is_early], rested_us[:, is_early])
        state_bytes = np.zeros(cluster.device_count, np.int64)
        np.add.at(state_bytes, batch.device_of_op[late.state_ops], batch.costs.persistent_bytes[late.state_ops])
        given = late.given.op
        return SimulatedReplica(
            batch.batch_time_us,
            batch.graph,
            batch.costs,
            batch.routes,
            batch.stages.is_contiguous,
            free_us,
            _last_of_each_device(batch.routes[:, given], last_us[:, given]),
            late,
            state_bytes,
            peak_bytes,
        )

    def _optimizer_ops(self, batch: SimulatedBatch, micro_batch: int) -> OptimizerOps:
        """What the end of a batch runs: the same for all placements, but for what they let run again."""
        if self.rules.recompute is not Recompute.NONE:
            return optimizer_ops(batch.graph, batch.costs, given_to_optimizer(batch.graph, batch.costs))
        if micro_batch not in self._late:
            given = given_to_optimizer(batch.graph, batch.costs)
            self._late[micro_batch] = optimizer_ops(batch.graph, batch.costs, given)
        return self._late[micro_batch]

    def _reduced(
        self, plan: Plan, replicas: tuple[SimulatedReplica, ...]
    ) -> tuple[list[Reduced], list[NDArray[np.float64]]]:
        """The collectives, and when what each optimizer is given can be taken, [replicas] of [routes, given]."""
        given = replicas[0].late.given
        devices = np.concatenate(
            [
                np.array(replica.devices, np.int32)[simulated.routes[:, given.op]]
                for replica, simulated in zip(plan.replicas, replicas, strict=True)
            ]
        )
        ready_us = np.concatenate([simulated.ready_us for simulated in replicas])
        busy_us = np.zeros(self.cluster.device_count)
        if self.cluster.contention in BUSY_WITH_TRANSFERS:
            for replica, simulated in zip(plan.replicas, replicas, strict=True):
                busy_us[[*replica.devices]] = simulated.free_us.max()
        reduced = []
        for bucket in buckets_of(given, devices, ready_us):
            members = [*bucket.members]
            start_us = max(bucket.ready_us, float(busy_us[members].max()))
            end_us = start_us + self._collective_us(bucket)
            busy_us[members] = end_us
            ready_us[:, bucket.gradients] = end_us
            reduced.append(Reduced(bucket, start_us, end_us))
        ends = np.cumsum([len(simulated.ready_us) for simulated in replicas])
        return reduced, np.split(ready_us, ends[:-1])

    def _collective_us(self, bucket: Bucket) -> float:
        if self.rules.shards_optimizer:
            return self.collectives.reduce_scatter_us(bucket.members, bucket.total_bytes)
        return self.collectives.all_reduce_us(bucket.members, bucket.total_bytes)

    def _updated(
        self, replica: Replica, simulated: SimulatedReplica, ready_us: NDArray[np.float64], replicas: int
    ) -> NDArray[np.float64]:
        """[devices of the replica] when each has ended; `ready_us` [routes, given]."""
        cluster = self.part(replica.devices)
        parts = replicas if self.rules.shards_optimizer else 1
        free_us = simulated.free_us
        if self.cluster.contention in BUSY_WITH_TRANSFERS:
            free_us = np.full(len(free_us), free_us.max())
        given = simulated.late, simulated.graph, simulated.costs, cluster
        ends_us = [
            updated_us(*given, route, ready, free_us, parts)
            for route, ready in zip(simulated.routes, ready_us, strict=True)
        ]
        return np.asarray(np.max(ends_us, axis=0))

    def _gather(self, reduced: list[Reduced], end_us: NDArray[np.float64]) -> None:
        """Add to `end_us` the time in which the members of each set of devices gather what they have updated."""
        total_bytes: dict[tuple[int, ...], int] = {}
        for each in reduced:
            members = each.bucket.members
            total_bytes[members] = total_bytes.get(members, 0) + each.bucket.total_bytes
        for members, of_members in total_bytes.items():
            start_us = end_us[[*members]].max()
            end_us[[*members]] = start_us + self.collectives.reduce_scatter_us(members, of_members)


def _last_of_each_device(devices: NDArray[np.int32], ready_us: NDArray[np.float64]) -> NDArray[np.float64]:
    """[routes, given] when the last route that a device is on has each; both arguments are [routes, given]."""
    return np.array([np.where(devices == own, ready_us, 0.0).max(axis=0) for own in devices])


def alike(cluster: Cluster) -> tuple[object, ...]:
    """What two clusters have in common whose placements take the same times and memory."""
    return (
        tuple((device.kind, device.usable_bytes) for device in cluster.devices),
        cluster.bandwidth_bytes_per_us.tobytes(),
        cluster.latency_us.tobytes(),
    )
