"""Drawn graphs, clusters, streams and placements for the tests of streams."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.graph import BACKWARD, CONTROL, FORWARD, OPTIMIZER, ComputationGraph
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.simulator.cases import make_costs, make_graph


def drawn_batch(
    rng: np.random.Generator, *, contiguous: bool = False
) -> tuple[ComputationGraph, Costs, Cluster, Stream, NDArray[np.int32]]:
    """A graph of three phases, unequal devices and links, and a random placement; no two times are equal."""
    ops, devices = int(rng.integers(2, 13)), int(rng.integers(1, 5))
    phase = np.sort(rng.choice([FORWARD, BACKWARD, OPTIMIZER], ops, p=[0.45, 0.35, 0.2]))
    phase[0] = FORWARD
    outputs = [rng.integers(0, 5000, rng.integers(1, 3)).tolist() for _ in range(ops)]
    edges = []
    for target in range(1, ops):
        sources = rng.choice(target, min(target, int(rng.integers(0, 4))), replace=False).tolist()
        edges += [(source, target, int(rng.integers(CONTROL, len(outputs[source])))) for source in sources]
    names = tuple(f"op{number}" for number in rng.permutation(ops))
    graph = dataclasses.replace(make_graph(names, edges), phase=phase.astype(np.uint8))
    times = rng.uniform(1, 100, (2, ops))
    trips = rng.choice([1, 1, 1, 2, 3], ops).tolist() if rng.random() < 0.5 else []
    held = [(int(rng.integers(0, 900)), int(rng.integers(0, 900))) for _ in range(ops)]
    costs = make_costs(("GPU", "CPU"), times, outputs, held, trips)
    between = (devices, devices)
    cluster = Cluster(
        devices=tuple(Device(f"d{index}", str(rng.choice(["K80", "K80", "CPU"])), 10**9) for index in range(devices)),
        contention=list(Contention)[rng.integers(len(Contention))],
        bandwidth_bytes_per_us=rng.uniform(20, 200, between),
        latency_us=rng.uniform(0.1, 9, between),
        link_rest_us=float(rng.uniform(0, 9)),
        op_rest_us=float(rng.uniform(0.1, 5)),
        memory_model=MemoryModel.FULL,
    )
    pipelines = [Pipeline.GPIPE, Pipeline.ONE_F_ONE_B, Pipeline.INFERENCE, Pipeline.INTERLEAVED]
    stream = Stream(int(rng.integers(1, 6)), pipelines[rng.integers(4)], contiguous)
    return graph, costs, cluster, stream, rng.integers(0, devices, ops).astype(np.int32)
