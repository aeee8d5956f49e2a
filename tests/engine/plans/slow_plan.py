"""A plan in plain Python: the graph copied for each replica and route, and every step of every collective by itself.

Slow and obviously right. The passes of all copies run together in one batch on the whole cluster.
"""

import heapq
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.graphs.graph import BACKWARD, CONTROL, OPTIMIZER, ComputationGraph
from engine.plans.collectives import Collectives
from engine.plans.gradients import BUCKET_BYTES
from engine.plans.plan import Replica
from engine.plans.simulated import SimulatedPlan
from engine.simulator.streams.batch import SimulatedBatch
from tests.engine.simulator.cases import make_costs, make_graph
from tests.engine.simulator.streams.slow_stream import SlowBatch, blocks_of

Gradient = tuple[int, int]
"""op, output"""


@dataclass(slots=True)
class SlowPlan:
    """What a twin finds."""

    batch_us: float
    passes_end_us: list[dict[int, float]]
    """[replicas, then routes] op → when it ends in the last micro-batch of the route"""
    reduced: list[tuple[float, float, int]]
    """(start, end, bytes) of each collective"""


def slow_plan(
    simulated: SimulatedPlan, all_passes: list[SimulatedBatch], costs_of: list[Costs], cluster: Cluster
) -> SlowPlan:
    """The twin of a plan without ZeRO-1; `all_passes` and `costs_of` [replicas]."""
    replicas, batches = simulated.plan.replicas, simulated.replicas
    graph = batches[0].graph
    early = [op for op in range(graph.op_count) if graph.phase[op] != OPTIMIZER]
    number = {op: index for index, op in enumerate(early)}
    copies = [(index, route) for index, each in enumerate(batches) for route in range(len(each.routes))]
    whole, whole_costs = _copied(graph, [costs_of[index] for index, _ in copies], early, number)
    device_of_op: list[int] = []
    blocks: list[list[list[tuple[int, int]]]] = [[] for _ in cluster.devices]
    for index, route in copies:
        device_of_op += [_homes(simulated, index, route)[op] for op in early]
    for index, (replica, simulated_replica) in enumerate(zip(replicas, batches, strict=True)):
        first, routes = copies.index((index, 0)), len(simulated_replica.routes)
        for own, of_device in enumerate(blocks_of(all_passes[index], len(replica.devices))):
            for block in of_device:
                tasks = [
                    (micro, (first + micro % routes) * len(early) + number[op]) for micro, op in block if op in number
                ]
                if tasks:
                    blocks[replica.devices[own]].append(tasks)
    most = max(replica.micro_batches for replica in replicas)
    ran = SlowBatch(whole, whole_costs, cluster, device_of_op, [False] * whole.op_count, blocks, most).run()
    ends: list[dict[int, float]] = []
    for copy, (index, route) in enumerate(copies):
        routes, count = len(batches[index].routes), replicas[index].micro_batches
        last = max(micro for micro in range(count) if micro % routes == route)
        ends.append({op: ran.end[last, copy * len(early) + number[op]] for op in early})
    free_us = [0.0] * len(cluster.devices)
    for (_, task), end_us in ran.end.items():
        device, rests = device_of_op[task], float(whole_costs.rests_of_op()[task])
        rest_us = float(cluster.op_rests_us[device]) * rests if ran.time_us[task] else 0.0
        free_us[device] = max(free_us[device], end_us + rest_us)
    homes = [_homes(simulated, index, route) for index, route in copies]
    ready, reduced = _reduce(graph, costs_of[0], simulated, homes, ends, free_us, cluster)
    batch_us = max(
        _update(graph, costs_of[index], cluster, replicas[index], homes[copy], ready[copy], free_us)
        for copy, (index, _) in enumerate(copies)
    )
    return SlowPlan(batch_us, ends, reduced)


def _homes(simulated: SimulatedPlan, index: int, route: int) -> list[int]:
    """[ops] the device of each on a route of a replica."""
    devices = simulated.plan.replicas[index].devices
    return [devices[own] for own in simulated.replicas[index].routes[route].tolist()]


def _copied(
    graph: ComputationGraph, costs_of: list[Costs], early: list[int], number: dict[int, int]
) -> tuple[ComputationGraph, Costs]:
    names, edges, outputs, held, trips, times = [], [], [], [], [], []
    for index, costs in enumerate(costs_of):
        first = index * len(early)
        for op in early:
            names.append(f"{graph.op_names[op]} of {index}")
            low, high = costs.output_offset[op : op + 2].tolist()
            outputs.append(costs.output_bytes[low:high].tolist())
            held.append((int(costs.persistent_bytes[op]), int(costs.temporary_bytes[op])))
            trips.append(int(costs.trips_of_op()[op]))
            times.append(costs.time_us[:, op].tolist())
        ends = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True)
        edges += [(first + number[a], first + number[b], output) for a, b, output in ends if b in number]
    made = make_costs(costs_of[0].kinds, np.array(times).T, outputs, held, trips)
    return make_graph(tuple(names), edges), made


def _given(graph: ComputationGraph) -> list[Gradient]:
    ends = zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True)
    return sorted({(a, output) for a, b, output in ends if graph.phase[b] == OPTIMIZER and graph.phase[a] != OPTIMIZER})


def _bytes(costs: Costs, gradient: Gradient) -> int:
    op, output = gradient
    return 0 if output == CONTROL else int(costs.output_bytes[costs.output_offset[op] + output])


def _reduce(
    graph: ComputationGraph,
    costs: Costs,
    simulated: SimulatedPlan,
    homes: list[list[int]],
    ends: list[dict[int, float]],
    free_us: list[float],
    cluster: Cluster,
) -> tuple[list[dict[Gradient, float]], list[tuple[float, float, int]]]:
    """[copies] gradient → when it can be taken, and the collectives."""
    replicas = simulated.plan.replicas
    ready = [
        {
            each: max(ends[other][each[0]] for other, devices in enumerate(homes) if devices[each[0]] == home[each[0]])
            for each in _given(graph)
        }
        for home in homes
    ]
    lists: dict[tuple[int, ...], list[list[Gradient]]] = defaultdict(list)
    sums = [each for each in _given(graph) if graph.phase[each[0]] == BACKWARD and _bytes(costs, each)]
    for gradient in sorted(sums, key=lambda each: max(of_replica[each] for of_replica in ready)):
        members = tuple(dict.fromkeys(home[gradient[0]] for home in homes))
        if len(members) == 1:
            continue
        lists_of = lists[members]
        if not lists_of or sum(_bytes(costs, each) for each in lists_of[-1]) >= BUCKET_BYTES:
            lists_of.append([])
        lists_of[-1].append(gradient)
    buckets = [
        (max(of_replica[each] for of_replica in ready for each in bucket), members, bucket)
        for members, all_of_them in lists.items()
        for bucket in all_of_them
    ]
    busy = [0.0] * len(cluster.devices)
    if cluster.contention in (Contention.SENDER, Contention.HOST):
        for replica in replicas:
            last = max(free_us[device] for device in replica.devices)
            for device in replica.devices:
                busy[device] = last
    reduced = []
    for ready_us, members, bucket in sorted(buckets, key=lambda each: each[0]):
        start = max([ready_us, *(busy[member] for member in members)])
        total = sum(_bytes(costs, each) for each in bucket)
        end = start + slow_ring_us(cluster, Collectives(cluster).ring_of(members).members, total)
        reduced.append((start, end, total))
        for member in members:
            busy[member] = end
        for of_replica in ready:
            of_replica.update(dict.fromkeys(bucket, end))
    return ready, reduced


def slow_ring_us(cluster: Cluster, order: tuple[int, ...], total: int) -> float:
    """An all-reduce by a ring, step by step: no member begins a step before all have ended the one before."""
    now = 0.0
    if len(order) < 2:
        return now
    ways = 2 if cluster.contention in (Contention.SENDER, Contention.HOST) else 1
    for _ in range(2 * (len(order) - 1)):
        ends = []
        for index, member in enumerate(order):
            following = order[(index + 1) % len(order)]
            sending = ways * total / len(order) / float(cluster.bandwidth_bytes_per_us[member, following])
            ends.append(now + float(cluster.latency_us[member, following]) + sending)
        now = max(ends)
    return now


def _update(
    graph: ComputationGraph,
    costs: Costs,
    cluster: Cluster,
    replica: Replica,
    home: list[int],
    ready: dict[Gradient, float],
    free_us: list[float],
) -> float:
    """When the replica's last device has ended: each takes its ops of the optimizer first in, first out."""
    late = [op for op in range(graph.op_count) if graph.phase[op] == OPTIMIZER]
    times = costs.time_on_devices(cluster.devices)
    ends = [*zip(graph.edge_source.tolist(), graph.edge_target.tolist(), graph.edge_output.tolist(), strict=True)]
    waits = {op: sum(b == op for _, b, _ in ends) for op in late}
    came: dict[int, float] = defaultdict(float)
    queue: list[tuple[float, int]] = []

    def give(target: int, time_us: float) -> None:
        waits[target] -= 1
        came[target] = max(came[target], time_us)
        if waits[target] == 0:
            heapq.heappush(queue, (came[target], target))

    for op in late:
        if waits[op] == 0:
            heapq.heappush(queue, (0.0, op))
    for a, b, output in ends:
        if b in waits and a not in waits:
            give(b, ready[a, output])
    passes = [free_us[device] for device in replica.devices]
    keeps_busy = cluster.contention in (Contention.SENDER, Contention.HOST)
    free = {device: max(passes) if keeps_busy else free_us[device] for device in replica.devices}
    last = max(free.values())
    while queue:
        came_us, op = heapq.heappop(queue)
        device = home[op]
        start = max(came_us, free[device])
        time_us = float(times[device, op])
        end = start + time_us
        free[device] = end + (float(cluster.op_rests_us[device] * costs.rests_of_op()[op]) if time_us else 0.0)
        last = max(last, free[device])
        for a, b, _ in ends:
            if a == op:
                give(b, end)
    return last
