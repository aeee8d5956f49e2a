"""Small drawn problems with the objective throughput, of which every placement can be tried."""

import itertools

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.costs.costs import Costs, CostSource
from engine.graphs.graph import BACKWARD, CONTROL, FORWARD, OPTIMIZER, ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.ordering import distinct
from engine.problem import Budget, PlacementProblem, RunContext
from engine.simulator.streams.stream import Pipeline, Stream

MOST_GROUPS = {2: 10, 3: 7, 4: 6}
"""devices → groups, so that there are a few thousand placements"""


def drawn_pipeline(rng: np.random.Generator, contention: Contention, *, trains: bool, tight: bool) -> PlacementProblem:
    """A graph with branches; with `trains` each group has a mirrored backward op, and some an op of the optimizer.

    With `tight` memory the groups fit all devices together, but not one of them.
    """
    devices = int(rng.integers(2, 5))
    groups = int(rng.integers(3, MOST_GROUPS[devices] + 1))
    graph, group_of_op = _graph(rng, groups, trains=trains)
    costs = _costs(rng, graph)
    memory_bytes = int(costs.persistent_bytes.sum() * rng.uniform(1.2, 2.0) / devices) if tight else 10**9
    cluster = _cluster(rng, devices, memory_bytes + 1, contention)
    allowed = np.ones((groups, devices), dtype=bool)
    if rng.random() < 0.2:
        allowed[rng.integers(groups), rng.integers(devices)] = False
    pipeline = Pipeline.ONE_F_ONE_B if trains else Pipeline.INFERENCE
    return PlacementProblem(
        graph,
        costs,
        _grouping(graph, group_of_op, groups),
        cluster,
        allowed,
        RunContext.of(Budget(100_000)),
        stream=Stream(8, pipeline, contiguous=True),
    )


def every_placement(problem: PlacementProblem) -> NDArray[np.int32]:
    """[placements, groups] all that respect the pins."""
    choices = [np.flatnonzero(row).tolist() for row in problem.allowed]
    return np.array(list(itertools.product(*choices)), dtype=np.int32)


def _graph(rng: np.random.Generator, groups: int, *, trains: bool) -> tuple[ComputationGraph, NDArray[np.int32]]:
    source, target = np.nonzero(np.triu(rng.random((groups, groups)) < rng.uniform(1.0, 3.0) / groups, k=1))
    output = np.where(rng.random(len(source)) < 0.1, CONTROL, rng.integers(0, 2, len(source)))
    edges, phase = [np.stack([source, target, output], axis=1)], [FORWARD] * groups
    group_of_op = list(range(groups))
    if trains:
        data = output != CONTROL
        every = np.arange(groups)
        edges.append(np.stack([target[data] + groups, source[data] + groups, output[data]], axis=1))
        edges.append(np.stack([every, every + groups, np.zeros(groups, np.int64)], axis=1))
        updated = np.flatnonzero(rng.random(groups) < 0.3)
        updates = 2 * groups + np.arange(len(updated))
        edges.append(np.stack([updated + groups, updates, np.ones(len(updated), np.int64)], axis=1))
        phase += [BACKWARD] * groups + [OPTIMIZER] * len(updated)
        group_of_op += [*range(groups), *updated.tolist()]
    joined = np.concatenate(edges)
    joined = joined[np.lexsort((joined[:, 0], joined[:, 1]))].astype(np.int32)
    ops = len(phase)
    graph = ComputationGraph(
        name="drawn",
        op_names=tuple(f"op_{index}" for index in range(ops)),
        op_types=("MatMul",) * ops,
        edge_source=joined[:, 0].copy(),
        edge_target=joined[:, 1].copy(),
        edge_output=joined[:, 2].copy(),
        devices=("",) * ops,
        colocation=((),) * ops,
        back_edges=np.zeros((0, 2), np.int32),
        phase=np.array(phase, np.uint8),
    )
    return graph, np.array(group_of_op, np.int32)


def _costs(rng: np.random.Generator, graph: ComputationGraph) -> Costs:
    ops = graph.op_count
    gpu_time_us = rng.integers(0, 1000, ops) * (rng.random(ops) < 0.8).astype(np.float64)
    return Costs(
        kinds=("GPU", "CPU"),
        time_us=np.stack([gpu_time_us, gpu_time_us * rng.uniform(1.0, 6.0)]),
        output_offset=2 * np.arange(ops + 1, dtype=np.int64),
        output_bytes=rng.integers(0, 3_000_000, 2 * ops) * (rng.random(2 * ops) < 0.8),
        persistent_bytes=rng.integers(0, 1_000_000, ops) * (rng.random(ops) < 0.8),
        temporary_bytes=np.zeros(ops, np.int64),
        source=np.full(ops, CostSource.GIVEN, np.uint8),
    )


def _cluster(rng: np.random.Generator, devices: int, memory_bytes: int, contention: Contention) -> Cluster:
    cpus = int(rng.integers(0, 2))
    kinds = ["GPU"] * (devices - cpus) + ["CPU"] * cpus
    numbers = [*range(devices - cpus), *range(cpus)]
    return Cluster(
        devices=tuple(
            Device(f"/device:{kind}:{number}", kind, memory_bytes) for kind, number in zip(kinds, numbers, strict=True)
        ),
        contention=contention,
        bandwidth_bytes_per_us=np.full((devices, devices), 7600.0),
        latency_us=np.full((devices, devices), float(rng.choice([0.0, 20.0]))),
        link_rest_us=float(rng.choice([0.0, 25.0])),
        op_rest_us=float(rng.choice([0.0, 5.0])),
        memory_model=MemoryModel.PERSISTENT,
    )


def _grouping(graph: ComputationGraph, group_of_op: NDArray[np.int32], groups: int) -> Grouping:
    pairs = distinct(group_of_op[np.stack([graph.edge_source, graph.edge_target], axis=1)])
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    return Grouping(
        names=tuple(f"group_{index}" for index in range(groups)),
        group_of_op=group_of_op,
        edge_source=pairs[:, 0].astype(np.int32),
        edge_target=pairs[:, 1].astype(np.int32),
        edge_bytes=np.zeros(len(pairs), np.int64),
        feedback_edges=np.zeros((0, 2), np.int32),
    )
