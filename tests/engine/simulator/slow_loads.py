"""A slow twin of the period: what a micro-batch takes of each device and link, in plain Python over ops and edges."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from engine.clusters.cluster import Cluster, Contention
from engine.costs.costs import Costs
from engine.graphs.graph import CONTROL, OPTIMIZER, ComputationGraph


def slow_loads_us(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, phase: Sequence[int], device_of_op: Sequence[int]
) -> dict[tuple[int, ...], float]:
    """(device,) or (device, device) → load of a device or link; a bus is (device, device); `phase` is [ops]."""
    loads: dict[tuple[int, ...], float] = defaultdict(float)
    times = costs.time_on_devices(cluster.devices)
    for op, device in enumerate(device_of_op):
        if phase[op] != OPTIMIZER and times[device, op] > 0:
            rest_us = cluster.op_rest_us_on(cluster.devices[device].kind) * int(costs.rests_of_op()[op])
            loads[device,] += float(times[device, op]) + rest_us
    for (op, output), consumers in _consumers(graph, phase).items():
        size = 0 if output == CONTROL else int(costs.output_bytes[costs.output_offset[op] + output])
        here = device_of_op[op]
        trips: dict[int, int] = {}
        for consumer in consumers:
            if (other := device_of_op[consumer]) != here:
                of_edge = int(min(costs.trips_of_op()[op], costs.trips_of_op()[consumer]))
                trips[other] = max(trips.get(other, 0), of_edge)
        _add_transfers(loads, cluster, here, trips, size)
    return loads


def slow_period_us(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, phase: Sequence[int], device_of_op: Sequence[int]
) -> float:
    """The greatest load."""
    return max(slow_loads_us(graph, costs, cluster, phase, device_of_op).values(), default=0.0)


def slowly_contiguous(graph: ComputationGraph, phase: Sequence[int], device_of_op: Sequence[int]) -> bool:
    """Whether devices can be taken in some order such that data of each pass only flow onwards."""
    for part in set(phase) - {OPTIMIZER}:
        waits_for: dict[int, set[int]] = {device: set() for device in device_of_op}
        for source, target in zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True):
            if phase[source] == phase[target] == part and device_of_op[source] != device_of_op[target]:
                waits_for[device_of_op[target]].add(device_of_op[source])
        while waits_for:
            first = next((device for device, others in waits_for.items() if not others & waits_for.keys()), None)
            if first is None:
                return False
            del waits_for[first]
    return True


def _consumers(graph: ComputationGraph, phase: Sequence[int]) -> dict[tuple[int, int], list[int]]:
    """(op, output) → consumers in a micro-batch."""
    found: dict[tuple[int, int], list[int]] = defaultdict(list)
    edges = zip(graph.edge_source.tolist(), graph.edge_output.tolist(), graph.edge_target.tolist(), strict=True)
    for source, output, target in edges:
        if OPTIMIZER not in (phase[source], phase[target]):
            found[source, output].append(target)
    return found


def _add_transfers(
    loads: dict[tuple[int, ...], float], cluster: Cluster, here: int, trips: Mapping[int, int], size: int
) -> None:
    """Add what it takes to send `size` bytes from the device `here` to all others, `trips` times each.

    What serves several devices at once, over a bus or through the host, is sent as often as any of them needs it.
    """
    others = {other: count for other, count in trips.items() if count > 0}
    if not others:
        return
    most = max(others.values())
    of_bytes_us = {other: size / float(cluster.bandwidth_bytes_per_us[here, other]) for other in others}
    with_latency_us = {other: of_bytes_us[other] + float(cluster.latency_us[here, other]) for other in others}
    match cluster.contention:
        case Contention.BUS:
            loads[here, here] += most * (max(with_latency_us.values()) + cluster.link_rest_us)
        case Contention.PAIR:
            for other in others:
                loads[here, other] += others[other] * (with_latency_us[other] + cluster.link_rest_us)
        case Contention.SENDER:
            for other in others:
                loads[here,] += others[other] * (of_bytes_us[other] + cluster.link_rest_us)
        case Contention.HOST:
            is_gpu = [not device.is_cpu for device in cluster.devices]
            loads[here,] += most * max(of_bytes_us.values()) * is_gpu[here]
            for other in others:
                loads[other,] += most * of_bytes_us[other] * is_gpu[other]
