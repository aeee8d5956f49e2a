"""The links between devices that stand in the usual machines of their kinds, and the rests after their ops.

Devices of a kind fill one machine after the other. The first machines of all kinds are one: there, devices of different
kinds, and a CPU, reach each other over the boards' links, the slower of the two. Devices in different machines reach
each other over the network. Devices whose names have a job and a task stand in that machine.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Device
from engine.clusters.device_kinds import OP_REST_US, host_of_kind
from engine.clusters.hosts import PLAIN_NETWORK, Host, Link


def usual_links(devices: Sequence[Device]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bandwidths in bytes a µs and latencies in µs, [devices, devices] from row to column; diagonals mean nothing."""
    count = len(devices)
    bandwidths, latencies_us = np.empty((count, count)), np.empty((count, count))
    machines = _machines(devices)
    for row, source in enumerate(devices):
        for column, target in enumerate(devices):
            link = _link(source, target, machines[row] == machines[column])
            bandwidths[row, column], latencies_us[row, column] = link.bandwidth_bytes_per_us, link.latency_us
    return bandwidths, latencies_us


def usual_link_rest_us(devices: Sequence[Device]) -> float:
    """The rest of all links after a transfer, in µs: the longest of the GPUs' machines; of CPUs alone, theirs."""
    hosts = [host_of_kind(device.kind) for device in devices if not device.is_cpu]
    return max((host.rest_us for host in hosts), default=host_of_kind("CPU").rest_us)


def usual_op_rests_us(devices: Sequence[Device]) -> dict[str, float]:
    """Kind → rest after an op of non-zero time."""
    return {device.kind: device.figures.op_rest_us if device.figures else OP_REST_US for device in devices}


def common_op_rest_us(rests_us: Mapping[str, float]) -> tuple[float, dict[str, float]]:
    """The rest of the first kind by name, and kind → rest of those that differ: the two fields of a `Cluster`."""
    common_us = rests_us[min(rests_us)]
    return common_us, {kind: rest_us for kind, rest_us in sorted(rests_us.items()) if rest_us != common_us}


def _machines(devices: Sequence[Device]) -> list[int]:
    """[devices] the number of the machine in which each stands: by the job and task in its name, where it has them."""
    named = list(dict.fromkeys(device.machine for device in devices))
    if named != [""]:
        return [named.index(device.machine) for device in devices]
    before: Counter[str] = Counter()
    machines = []
    for device in devices:
        in_one = host_of_kind(device.kind).devices
        machines.append(0 if in_one is None else before[device.kind] // in_one)
        before[device.kind] += 1
    return machines


def _link(source: Device, target: Device, together: bool) -> Link:
    one, other = host_of_kind(source.kind), host_of_kind(target.kind)
    if not together:
        return _across(one, other)
    return one.peer if source.kind == target.kind else link_of_board(source, target)


def link_of_board(source: Device, target: Device) -> Link:
    """The link of two devices in one machine: to the CPU, or through the host between GPUs of different kinds."""
    one, other = host_of_kind(source.kind), host_of_kind(target.kind)
    if source.is_cpu or target.is_cpu:  # the CPU has no link of its own
        return other.board if source.is_cpu else one.board
    return one.board.through_host().narrower(other.board.through_host())


def _across(one: Host, other: Host) -> Link:
    """The network between two machines: that of the one, the other, or the slower of both."""
    links = [host.network for host in (one, other) if host.network is not None] or [PLAIN_NETWORK]
    return links[0].narrower(links[-1])
