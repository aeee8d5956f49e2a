"""The six clusters of the benchmark: equal and unequal devices, one host and two, 2 to 16 devices, tight memory."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from engine.clusters.cluster import Cluster
from engine.clusters.parsing import parse_cluster
from engine.problem import PlacementProblem
from engine.problem.trivial import one_device_placements

TIGHT_SHARE = 0.95
"""of what a step takes on one device: a tight device's memory, whatever the objective

In a stream that trains, stages hold what several micro-batches left, so there may be nothing that fits."""


@dataclass(frozen=True, slots=True)
class BenchmarkCluster:
    """A row of the table below."""

    shorthand: str
    words: str
    tight: bool = False
    """whether the devices' memory is so small, for each graph, that a step just does not fit on one of them"""

    @property
    def cluster(self) -> Cluster:
        """The cluster, with its usual memory."""
        return parse_cluster(self.shorthand)


BENCHMARK_CLUSTERS = {
    "pair": BenchmarkCluster("2xRTX4090", "2 equal cards"),
    "unequal": BenchmarkCluster("2xRTX4090+2xRTX3090", "4 cards of two kinds"),
    "two_hosts": BenchmarkCluster("2xV100@ethernet", "4 equal GPUs on two hosts"),
    "tight": BenchmarkCluster("4xL4", "4 equal cards, memory just too small for one to hold the step", tight=True),
    "equal": BenchmarkCluster("8xA100", "8 equal GPUs"),
    "sixteen": BenchmarkCluster("8xH100@infiniband", "16 equal GPUs on two hosts"),
}


def with_tight_memory(problem: PlacementProblem) -> PlacementProblem:
    """The problem of a step on devices with `TIGHT_SHARE` of the least memory in which one of them holds all groups."""
    peaks = problem.simulator.evaluate(one_device_placements(problem)).peak_bytes
    memory_bytes = max(1, int(TIGHT_SHARE * int(np.max(peaks, axis=1).min())))
    devices = tuple(
        dataclasses.replace(device, memory_bytes=memory_bytes, reserved_bytes=0) for device in problem.cluster.devices
    )
    return dataclasses.replace(problem, cluster=dataclasses.replace(problem.cluster, devices=devices))
