"""The graph as list schedulers see it: tasks with their times, flows and groups, the links; flat arrays.

A task is one op, or a whole group as if it were one op: the papers place ops, and where several move together both ways
of reading them are open. With ops as tasks the plan comes close to the simulator's step, but a group's place is decided
by the first of its ops that is placed; with groups as tasks all that a group takes and costs is seen at once, but its
outputs seem to be there only when all of it has run.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention
from engine.graphs.edge_trips import most_of_each, trips_of_edges
from engine.graphs.graph import CONTROL
from engine.problem import PlacementProblem
from engine.simulator.executed import executed_part
from engine.simulator.tables import first_of_each
from engine.simulator.topology import topological_order

BUS, PAIR, NONE = 0, 1, 2
"""`Contention` as a number"""
CODES = {Contention.BUS: BUS, Contention.PAIR: PAIR, Contention.NONE: NONE}
MOST_FILLED = 0.9
"""of all memory, where the outputs of a whole step would not fit at once: they are freed during it"""


class Links(NamedTuple):
    """How long what is sent takes, for compiled code."""

    bandwidth_bytes_per_us: NDArray[np.float64]
    """[devices, devices]"""
    latency_us: NDArray[np.float64]
    """[devices, devices]"""
    rest_us: float
    """a bus or channel rests this long after each transfer, each time that it is made"""
    contention: int
    """`BUS`, `PAIR` or `NONE`"""


class Tasks(NamedTuple):
    """Tasks and the flows between them, for compiled code. A lower task never takes from a higher one.

    A flow is one output of one op (or its control signal, of no bytes) that other tasks take. Tasks of one group go
    together: the first one that is placed decides for all.
    """

    group: NDArray[np.int64]
    """[tasks]"""
    time_us: NDArray[np.float64]
    """[tasks, devices] all trips, the device's rests included; infinite where the group may not go"""
    memory_bytes: NDArray[np.float64]
    """[groups] what it takes of a device's memory, roughly: see `memory_of_groups`"""
    input_first: NDArray[np.int64]
    """[tasks + 1] into `input_flow`"""
    input_flow: NDArray[np.int64]
    """[inputs] the flows that a task takes"""
    flow_first: NDArray[np.int64]
    """[tasks + 1] the flows that a task gives are those from here to the next task's"""
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


def tasks_of_ops(problem: PlacementProblem) -> Tasks:
    """Each op of `problem` a task, in a topological order."""
    order = topological_order(problem.graph).astype(np.int64)
    task_of_op = np.empty_like(order)
    task_of_op[order] = np.arange(len(order))
    return _tasks(problem, task_of_op, problem.grouping.group_of_op.astype(np.int64)[order])


def tasks_of_groups(problem: PlacementProblem) -> Tasks:
    """Each group of `problem` a task; what runs against their order (feedback edges) is left out."""
    return _tasks(problem, problem.grouping.group_of_op.astype(np.int64), np.arange(problem.group_count))


def _tasks(problem: PlacementProblem, task_of_op: NDArray[np.int64], group: NDArray[np.int64]) -> Tasks:
    graph, costs = executed_part(problem.graph, problem.costs)
    count = len(group)
    source, target = task_of_op[graph.edge_source], task_of_op[graph.edge_target]
    onward = source < target
    edges = np.stack([source, graph.edge_source.astype(np.int64), graph.edge_output.astype(np.int64)], axis=1)[onward]
    flows, flow_of_edge = np.unique(edges, axis=0, return_inverse=True)
    inputs = np.unique(np.stack([flow_of_edge.reshape(-1).astype(np.int64), target[onward]], axis=1), axis=0)
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
    """The links of `cluster`."""
    return Links(
        cluster.bandwidth_bytes_per_us.astype(np.float64),
        cluster.latency_us.astype(np.float64),
        float(cluster.link_rest_us),
        CODES[cluster.contention],
    )


def _times(problem: PlacementProblem, task_of_op: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """[tasks, devices] the ops one after the other, with the device's rests; infinite where the group may not go."""
    times, rests_us = problem.op_time_us, problem.cluster.op_rest_us * problem.costs.trips_of_op()
    occupied = np.nan_to_num(times + np.where(times > 0, rests_us, 0.0), nan=0.0)
    sums = np.zeros((len(group), problem.device_count))
    np.add.at(sums, task_of_op, occupied.T)
    return np.where(problem.allowed[group], sums, np.inf)


def memory_of_groups(problem: PlacementProblem) -> NDArray[np.float64]:
    """[groups] bytes: what its ops keep, and their outputs.

    Where all outputs at once would fill more than `MOST_FILLED` of the cluster's memory, each counts for less, so that
    they just do not: the step frees them on its way.
    """
    _, costs = executed_part(problem.graph, problem.costs)
    groups = problem.group_count
    kept, given = np.zeros(groups), np.zeros(groups)
    np.add.at(kept, problem.grouping.group_of_op, costs.persistent_bytes.astype(np.float64))
    np.add.at(given, problem.grouping.group_of_op, costs.bytes_of_op().astype(np.float64))
    room = max(0.0, MOST_FILLED * float(problem.memory_bytes.sum()) - kept.sum())
    share = min(1.0, room / given.sum()) if given.sum() > 0 else 1.0
    return np.asarray(kept + share * given)
