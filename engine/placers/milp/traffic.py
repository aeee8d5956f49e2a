"""What flows between groups, as a mixed-integer programme needs it: what one group sends to the same groups is one.

A transfer is made as often as the most frequent edge that it serves; where edges differ, a flow keeps the trips to
each group, and the fewest of all.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Contention
from engine.graphs.edge_trips import trips_of_edges
from engine.graphs.graph import CONTROL
from engine.problem import PlacementProblem


@dataclass(frozen=True, slots=True)
class FlowTraffic:
    """Outputs of ops of one group that the same other groups take."""

    producer: int
    """a group"""
    consumers: tuple[int, ...]
    """the other groups, in rising order"""
    sent_bytes: tuple[float, ...]
    """[consumers] all trips to each"""
    sent_times: tuple[float, ...]
    """[consumers] transfers to each, all trips"""
    least_bytes: float
    """to one consumer, with the fewest trips"""
    least_times: float

    @property
    def is_even(self) -> bool:
        """Whether all consumers take it equally often."""
        return all(times == self.least_times for times in self.sent_times)


def traffic_of(problem: PlacementProblem, is_counted: NDArray[np.bool_]) -> list[FlowTraffic]:
    """The traffic between the groups of `problem`, to and from the ops of `is_counted` [ops]."""
    graph, costs = problem.simulator.executed, problem.simulator.executed_costs
    group = problem.simulator.group_of_op
    trips = trips_of_edges(graph, costs.trips_of_op())
    counted = is_counted[graph.edge_source] & is_counted[graph.edge_target]
    flows: dict[tuple[int, int], dict[int, int]] = {}
    fewest: dict[tuple[int, int], int] = {}
    for edge in np.flatnonzero(counted).tolist():
        flow = int(graph.edge_source[edge]), int(graph.edge_output[edge])
        consumer, times = int(group[graph.edge_target[edge]]), int(trips[edge])
        fewest[flow] = min(times, fewest.get(flow, times))
        if consumer != group[flow[0]]:
            of_flow = flows.setdefault(flow, {})
            of_flow[consumer] = max(times, of_flow.get(consumer, 0))
    every: list[FlowTraffic] = []
    for (op, output), of_flow in flows.items():
        size = 0.0 if output == CONTROL else float(costs.output_bytes[costs.output_offset[op] + output])
        consumers = tuple(sorted(of_flow))
        sent_times = tuple(float(of_flow[consumer]) for consumer in consumers)
        sent_bytes = tuple(size * times for times in sent_times)
        least = float(fewest[op, output])
        every.append(FlowTraffic(int(group[op]), consumers, sent_bytes, sent_times, size * least, least))
    return _joined(every) if _can_join(problem) else every


def _can_join(problem: PlacementProblem) -> bool:
    """Whether the slowest link is the same for all transfers to the same devices, so that their times add up."""
    cluster, apart = problem.cluster, ~np.eye(problem.device_count, dtype=bool)
    if cluster.contention != Contention.BUS or not apart.any():
        return True
    return bool(np.ptp(cluster.latency_us[apart]) == 0 or np.ptp(cluster.bandwidth_bytes_per_us[apart]) == 0)


def _joined(every: list[FlowTraffic]) -> list[FlowTraffic]:
    """The same traffic, with what leads from one group to the same groups, and equally often to each, as one."""
    joined: dict[tuple[int, tuple[int, ...]], FlowTraffic] = {}
    uneven = [traffic for traffic in every if not traffic.is_even]
    for traffic in every:
        if traffic.is_even:
            ends = traffic.producer, traffic.consumers
            before = joined.get(ends)
            joined[ends] = traffic if before is None else _sum(before, traffic)
    return [*joined.values(), *uneven]


def _sum(one: FlowTraffic, other: FlowTraffic) -> FlowTraffic:
    size, times = one.least_bytes + other.least_bytes, one.least_times + other.least_times
    several = len(one.consumers)
    return FlowTraffic(one.producer, one.consumers, (size,) * several, (times,) * several, size, times)
