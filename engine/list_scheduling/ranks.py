"""Upward ranks, compiled: how long the step goes on from the start of a task, at mean costs.

Source: Topcuoglu, Hariri, Wu: Performance-effective and low-complexity task scheduling for heterogeneous computing,
IEEE Transactions on Parallel and Distributed Systems 13 (2002), section 4.1.
"""

import numpy as np
from numpy.typing import NDArray

from engine.list_scheduling.tasks import Links, Tasks
from engine.simulator.compiled import compiled


def upward_ranks(tasks: Tasks) -> NDArray[np.float64]:
    """[tasks] µs: mean time over the devices where a task may go, and the longest way on from it, with the mean time
    of each transfer on it."""
    return _upward_ranks(tasks, mean_times(tasks), mean_transfers(tasks))


def mean_times(tasks: Tasks) -> NDArray[np.float64]:
    """[tasks] µs, over the devices where a task may go."""
    possible = np.isfinite(tasks.time_us)
    return np.asarray(np.where(possible, tasks.time_us, 0.0).sum(axis=1) / possible.sum(axis=1))


def mean_transfers(tasks: Tasks) -> NDArray[np.float64]:
    """[flows] µs of all the times that each is sent, at the mean latency and bandwidth; 0 with one device."""
    latency_us, bandwidth = mean_link(tasks.links)
    return np.asarray(tasks.flow_trips * (latency_us + tasks.flow_bytes / bandwidth))


def mean_link(links: Links) -> tuple[float, float]:
    """Latency in µs and bandwidth in bytes per µs between two different devices; 0 and endless with one device."""
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
