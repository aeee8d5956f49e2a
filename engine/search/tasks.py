"""The graph as list schedulers see it, in flat arrays: tasks with their times, flows and groups, and the links.

A task is one op, a whole group, or the part of a group in one phase of a training step: the papers place ops, and
where several move together all three readings are possible. With ops as tasks the schedule comes close to the
simulator's step, but the first op of a group that is placed decides for the whole group. With groups as tasks a
scheduler sees all inputs and costs of a group at once, but counts its outputs as available only when the whole group
has run, gradients included. With phases a consumer waits for its producer's forward ops alone.

Upward ranks, compiled: the time from the start of a task to the end of the step, at mean costs.

Source: Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing,
IEEE Transactions on Parallel and Distributed Systems 13 (2002), section 4.1.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import CONTENTION_CODES, NO_DEVICE, SENDER_CODE, Cluster
from engine.files.compiled import compiled, inlined
from engine.graphs.distinct_rows import distinct_rows
from engine.graphs.edge_trips import most_of_each, trips_of_edges
from engine.graphs.graph import CONTROL
from engine.graphs.phases import FORWARD_OP, phases_by_name
from engine.problem import PlacementProblem
from engine.simulator.executed import executed_part
from engine.simulator.tables import first_of_each
from engine.simulator.topology import topological_order

MOST_FILLED = 0.9
"""share of all memory to fill where a step's outputs do not fit at once; the step frees some while it runs"""


IsLate: TypeAlias = Callable[[], bool]
"""whether a scheduler must give up"""


class LateError(Exception):
    """A scheduler gave up, since it was late."""


def never_late() -> bool:
    """Let a scheduler go on to its end."""
    return False


class Links(NamedTuple):
    """The cluster's links, for compiled code."""

    bandwidth_bytes_per_us: NDArray[np.float64]
    """[devices, devices]"""
    latency_us: NDArray[np.float64]
    """[devices, devices]"""
    rest_us: float
    """rest of a bus, channel or sender after each transfer, once a trip"""
    contention: int
    """one of `CONTENTION_CODES`; with `SENDER_CODE` transfers wait for those of the same sender alone, and that ops and
    transfers of one device wait for each other is left to the simulator"""


class Tasks(NamedTuple):
    """Tasks and the flows between them, for compiled code. Each flow leads to tasks of higher numbers.

    A flow is one output of one op (or its control signal, of no bytes) that other tasks consume. Tasks of one group
    share a device: the first one that is placed decides for all.
    """

    group: NDArray[np.int64]
    """[tasks]"""
    time_us: NDArray[np.float64]
    """[tasks, devices] all trips, the device's rests included; infinite where the group may not go"""
    memory_bytes: NDArray[np.float64]
    """[groups] rough memory of each group: see `memory_of_groups`"""
    input_first: NDArray[np.int64]
    """[tasks + 1] into `input_flow`"""
    input_flow: NDArray[np.int64]
    """[inputs] the flows that a task consumes"""
    flow_first: NDArray[np.int64]
    """[tasks + 1] the flows that a task produces are those from here to the next task's"""
    flow_producer: NDArray[np.int64]
    """[flows] a task"""
    flow_bytes: NDArray[np.float64]
    """[flows]"""
    flow_trips: NDArray[np.float64]
    """[flows] how often a step sends it"""
    consumer_first: NDArray[np.int64]
    """[flows + 1] into `consumer`"""
    consumer: NDArray[np.int64]
    """[inputs] tasks, by flow"""
    links: Links


def readings_of(problem: PlacementProblem) -> list[Tasks]:
    """The tasks of `problem` in each reading: ops, groups and, where it has gradients, phases of groups."""
    readings, phases = [tasks_of_ops(problem), tasks_of_groups(problem)], tasks_of_phases(problem)
    return [*readings, phases] if len(phases.group) > problem.group_count else readings


def tasks_of_ops(problem: PlacementProblem) -> Tasks:
    """The tasks of `problem` with each op as a task, in a topological order."""
    order = topological_order(problem.graph).astype(np.int64)
    task_of_op = np.empty_like(order)
    task_of_op[order] = np.arange(len(order))
    return _tasks(problem, task_of_op, problem.grouping.group_of_op.astype(np.int64)[order])


def tasks_of_groups(problem: PlacementProblem) -> Tasks:
    """The tasks of `problem` with each group as a task; edges against the groups' order are left out."""
    return _tasks(problem, problem.grouping.group_of_op.astype(np.int64), np.arange(problem.group_count))


def tasks_of_phases(problem: PlacementProblem) -> Tasks:
    """The tasks of `problem` with up to three tasks a group: its forward ops, its gradients, its updates.

    So a consumer does not wait for the backward pass of what it consumes. Forward tasks are in the groups' order, then
    come gradients and updates, each by the last of their ops in a topological order; edges against this order are left
    out. Without gradients these are the tasks of `tasks_of_groups`.
    """
    order = topological_order(problem.graph).astype(np.int64)
    phase, group = phases_by_name(problem.graph, order), problem.grouping.group_of_op.astype(np.int64)
    pairs, pair_of_op = np.unique(phase * problem.group_count + group, return_inverse=True)
    last = np.zeros(len(pairs), np.int64)
    np.maximum.at(last, pair_of_op.reshape(-1)[order], np.arange(len(order)))
    phase_of_pair, group_of_pair = pairs // problem.group_count, pairs % problem.group_count
    in_order = np.lexsort((np.where(phase_of_pair == FORWARD_OP, group_of_pair, last), phase_of_pair))
    task_of_pair = np.empty_like(in_order)
    task_of_pair[in_order] = np.arange(len(in_order))
    return _tasks(problem, task_of_pair[pair_of_op.reshape(-1)], group_of_pair[in_order])


def _tasks(problem: PlacementProblem, task_of_op: NDArray[np.int64], group: NDArray[np.int64]) -> Tasks:
    graph, costs = executed_part(problem.graph, problem.costs)
    count = len(group)
    source, target = task_of_op[graph.edge_source], task_of_op[graph.edge_target]
    onward = source < target
    flows, flow_of_edge = distinct_rows((source[onward], graph.edge_source[onward], graph.edge_output[onward]))
    inputs, _ = distinct_rows((flow_of_edge, target[onward]))
    sizes, data = np.zeros(len(flows)), flows[:, 2] != CONTROL
    sizes[data] = costs.output_bytes[costs.output_offset[flows[data, 1]] + flows[data, 2]]
    trips = most_of_each(trips_of_edges(graph, costs.trips_of_op())[onward], flow_of_edge, len(flows))
    return Tasks(
        group=group,
        time_us=_times(problem, task_of_op, group),
        memory_bytes=memory_of_groups(problem),
        input_first=first_of_each(inputs[:, 1], count),
        input_flow=np.ascontiguousarray(inputs[np.lexsort((inputs[:, 0], inputs[:, 1])), 0]),
        flow_first=first_of_each(flows[:, 0], count),
        flow_producer=np.ascontiguousarray(flows[:, 0]),
        flow_bytes=sizes,
        flow_trips=trips.astype(np.float64),
        consumer_first=first_of_each(inputs[:, 0], len(flows)),
        consumer=np.ascontiguousarray(inputs[:, 1]),
        links=make_links(problem.cluster),
    )


def make_links(cluster: Cluster) -> Links:
    """The links of `cluster`, for compiled code."""
    return Links(
        cluster.bandwidth_bytes_per_us.astype(np.float64),
        cluster.latency_us.astype(np.float64),
        float(cluster.link_rest_us),
        CONTENTION_CODES[cluster.contention],
    )


def _times(problem: PlacementProblem, task_of_op: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """[tasks, devices] times in µs of all ops of a task, with the rests; infinite where the group may not go."""
    times, rests_us = problem.op_time_us, problem.cluster.op_rests_us[:, None] * problem.costs.rests_of_op()
    occupied = np.nan_to_num(times + np.where(times > 0, rests_us, 0.0), nan=0.0)
    sums = np.zeros((len(group), problem.device_count))
    np.add.at(sums, task_of_op, occupied.T)
    return np.where(problem.allowed[group], sums, np.inf)


def memory_of_groups(problem: PlacementProblem) -> NDArray[np.float64]:
    """[groups] rough bytes of each group: the persistent bytes of its ops and the buffers that they make.

    Where all outputs at once would fill more than `MOST_FILLED` of the cluster's memory, each is scaled down to fit,
    since the step frees outputs while it runs.
    """
    _, costs = executed_part(problem.graph, problem.costs)
    groups = problem.group_count
    kept, given = np.zeros(groups), np.zeros(groups)
    np.add.at(kept, problem.grouping.group_of_op, costs.kept_bytes().astype(np.float64))
    np.add.at(given, problem.grouping.group_of_op, costs.new_bytes_of_op().astype(np.float64))
    room = max(0.0, MOST_FILLED * float(problem.memory_bytes.sum()) - kept.sum())
    share = min(1.0, room / given.sum()) if given.sum() > 0 else 1.0
    return np.asarray(kept + share * given)


@inlined
def transfer_time(tasks: Tasks, flow: int, source: int, device: int) -> float:
    """The time in µs to send the flow from `source` to `device`, all trips."""
    links = tasks.links
    once_us = links.latency_us[source, device] + tasks.flow_bytes[flow] / links.bandwidth_bytes_per_us[source, device]
    return float(tasks.flow_trips[flow] * once_us)


@inlined
def rest_time(tasks: Tasks, flow: int) -> float:
    """The rest in µs of a bus or channel after the flow, all trips."""
    return float(tasks.flow_trips[flow] * tasks.links.rest_us)


@inlined
def free_again_us(tasks: Tasks, flow: int, source: int, device: int, start_us: float, arrival_us: float) -> float:
    """When the bus, channel or sender that sends the flow from `start_us` to `arrival_us` is free again, in µs."""
    links = tasks.links
    if links.contention == SENDER_CODE:
        kept_us = links.rest_us + tasks.flow_bytes[flow] / links.bandwidth_bytes_per_us[source, device]
        return float(start_us + tasks.flow_trips[flow] * kept_us)
    return float(arrival_us + rest_time(tasks, flow))


@inlined
def find_candidates(
    tasks: Tasks,
    group_device: NDArray[np.int32],
    left_bytes: NDArray[np.float64],
    task: int,
    candidates: NDArray[np.bool_],
) -> None:
    """Set `candidates` [devices] to the devices where the task may be placed.

    If its group has been placed, that is the group's device; else the devices with room for the group, by `left_bytes`
    [devices]; if none has room, the device with most room left, the lowest of equals.
    """
    group = tasks.group[task]
    fixed, roomiest, any_room = group_device[group], NO_DEVICE, False
    for device in range(len(left_bytes)):
        possible = tasks.time_us[task, device] < np.inf
        candidates[device] = possible and (device == fixed or fixed == NO_DEVICE)
        if fixed == NO_DEVICE and possible:
            candidates[device] = left_bytes[device] >= tasks.memory_bytes[group]
            any_room = any_room or candidates[device]
            if roomiest == NO_DEVICE or left_bytes[device] > left_bytes[roomiest]:
                roomiest = device
    if fixed == NO_DEVICE and not any_room:
        candidates[roomiest] = True


@inlined
def occupy(
    tasks: Tasks, group_device: NDArray[np.int32], left_bytes: NDArray[np.float64], task: int, device: int
) -> None:
    """Put the task and its group on the device."""
    group = tasks.group[task]
    if group_device[group] == NO_DEVICE:
        group_device[group] = device
        left_bytes[device] -= tasks.memory_bytes[group]


def upward_ranks(tasks: Tasks) -> NDArray[np.float64]:
    """[tasks] upward ranks in µs: a task's mean time plus its longest path to the end, with mean transfer times."""
    return _upward_ranks(tasks, mean_times(tasks), mean_transfers(tasks))


def in_order_of_ranks(tasks: Tasks) -> NDArray[np.int64]:
    """[tasks] the tasks by falling upward rank, the first of equals first: the order of HEFT."""
    return np.argsort(-upward_ranks(tasks), kind="stable")


def mean_times(tasks: Tasks) -> NDArray[np.float64]:
    """[tasks] the mean time in µs over the devices where a task may go."""
    possible = np.isfinite(tasks.time_us)
    return np.asarray(np.where(possible, tasks.time_us, 0.0).sum(axis=1) / possible.sum(axis=1))


def mean_transfers(tasks: Tasks) -> NDArray[np.float64]:
    """[flows] the transfer time in µs, all trips, at the mean latency and bandwidth; 0 with one device."""
    latency_us, bandwidth = mean_link(tasks.links)
    return np.asarray(tasks.flow_trips * (latency_us + tasks.flow_bytes / bandwidth))


def mean_link(links: Links) -> tuple[float, float]:
    """Mean latency in µs and bandwidth in bytes per µs between different devices; 0 and infinite with one device."""
    between = ~np.eye(len(links.latency_us), dtype=bool)
    if not between.any():
        return 0.0, np.inf
    return float(links.latency_us[between].mean()), float(links.bandwidth_bytes_per_us[between].mean())


@compiled
def _upward_ranks(tasks: Tasks, time_us: NDArray[np.float64], transfer_us: NDArray[np.float64]) -> NDArray[np.float64]:
    count = len(time_us)
    ranks = np.zeros(count)
    for task in range(count - 1, -1, -1):
        longest_us = 0.0
        for flow in range(tasks.flow_first[task], tasks.flow_first[task + 1]):
            for place in range(tasks.consumer_first[flow], tasks.consumer_first[flow + 1]):
                longest_us = max(longest_us, transfer_us[flow] + ranks[tasks.consumer[place]])
        ranks[task] = time_us[task] + longest_us
    return ranks
