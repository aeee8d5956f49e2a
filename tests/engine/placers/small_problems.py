"""Small problems for tests of placers: random graphs of a few groups, with pins, co-location and tight memory."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.costs.costs import Costs, CostSource
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.graphs.grouping.levels import nested_groupings
from engine.problem import Budget, Ledger, PlacementProblem, RunContext
from engine.problem.good_placements import GoodPlacements


def small_cluster(
    devices: int,
    *,
    memory_bytes: int = 10**9,
    cpu: bool = False,
    latency_us: float = 0.0,
    contention: Contention = Contention.BUS,
    memory_model: MemoryModel = MemoryModel.FULL,
) -> Cluster:
    kinds = ["GPU"] * devices + ["CPU"] * cpu
    names = [f"/device:GPU:{index}" for index in range(devices)] + ["/device:CPU:0"] * cpu
    count = len(kinds)
    return Cluster(
        devices=tuple(Device(name, kind, memory_bytes) for name, kind in zip(names, kinds, strict=True)),
        contention=contention,
        bandwidth_bytes_per_us=np.full((count, count), 7600.0),
        latency_us=np.full((count, count), latency_us),
        link_rest_us=25.0,
        op_rest_us=5.7,
        memory_model=memory_model,
    )


def small_graph(rng: np.random.Generator, ops: int) -> tuple[ComputationGraph, Costs]:
    """A random acyclic graph with one output an op, kinds GPU and CPU, a tenth of the edges control edges."""
    source, target = np.nonzero(np.triu(rng.random((ops, ops)) < 2.5 / ops, k=1))
    order = np.lexsort((source, target))
    edges = len(source)
    graph = ComputationGraph(
        name="small",
        op_names=tuple(f"block/branch_{index % 3}/op_{index}" for index in range(ops)),
        op_types=tuple(["MatMul", "Relu", "Add"][index % 3] for index in range(ops)),
        edge_source=source[order].astype(np.int32),
        edge_target=target[order].astype(np.int32),
        edge_output=np.where(rng.random(edges) < 0.1, -1, 0).astype(np.int32),
        devices=("",) * ops,
        colocation=((),) * ops,
        back_edges=np.zeros((0, 2), np.int32),
    )
    gpu_time_us = rng.integers(0, 2000, ops).astype(np.float64)
    costs = Costs(
        kinds=("GPU", "CPU"),
        time_us=np.stack([gpu_time_us, 10 * gpu_time_us]),
        output_offset=np.arange(ops + 1, dtype=np.int64),
        output_bytes=rng.integers(0, 4_000_000, ops),
        persistent_bytes=rng.integers(0, 1_000_000, ops),
        temporary_bytes=np.zeros(ops, np.int64),
        source=np.full(ops, CostSource.GIVEN, np.uint8),
    )
    return graph, costs


def one_group_an_op(graph: ComputationGraph, costs: Costs) -> Grouping:
    """The grouping of a graph whose ops are in topological order, as `small_graph` makes them."""
    pairs, first = np.unique(np.stack([graph.edge_source, graph.edge_target]), axis=1, return_index=True)
    return Grouping(
        names=graph.op_names,
        group_of_op=np.arange(graph.op_count, dtype=np.int32),
        edge_source=pairs[0].astype(np.int32),
        edge_target=pairs[1].astype(np.int32),
        edge_bytes=np.where(graph.edge_output[first] < 0, 0, costs.output_bytes[pairs[0]]),
        feedback_edges=np.zeros((0, 2), np.int32),
    )


def leveled_problem(
    seed: int, *, ops: int = 40, devices: int = 2, evaluations: int = 400, coarsest: int = 4, keeps_good: bool = False
) -> PlacementProblem:
    """A problem of single ops with levels of `coarsest` groups, twice as many, and so on."""
    graph, costs = small_graph(np.random.default_rng(seed), ops)
    cluster = small_cluster(devices)
    *coarser, finest = nested_groupings(graph, costs, coarsest)
    allowed = np.ones((finest.group_count, devices), dtype=bool)
    problem = PlacementProblem(
        graph, costs, finest, cluster, allowed, RunContext.of(Budget(evaluations)), coarser=tuple(coarser)
    )
    if keeps_good:
        problem.ledger.good = GoodPlacements(np.zeros(devices, np.int32))
    return problem


def clock_of_evaluations(monkeypatch: pytest.MonkeyPatch, evaluations_a_second: int) -> None:
    """From now on every evaluation takes so long, and nothing else takes any time."""
    elapsed_seconds = property(lambda ledger: ledger.used / evaluations_a_second)
    monkeypatch.setattr(Ledger, "elapsed_seconds", elapsed_seconds)


def small_problem(
    seed: int,
    *,
    ops: int = 7,
    devices: int = 2,
    evaluations: int = 200,
    cpu: bool = True,
    memory_bytes: int = 10**9,
    pins: bool = False,
    latency_us: float = 0.0,
) -> PlacementProblem:
    """With `pins`, the first group may be on the last device alone and the second not on the first."""
    graph, costs = small_graph(np.random.default_rng(seed), ops)
    cluster = small_cluster(devices, memory_bytes=memory_bytes, cpu=cpu, latency_us=latency_us)
    allowed = np.ones((ops, cluster.device_count), dtype=bool)
    if pins:
        allowed[0, :-1] = False
        allowed[1, 0] = False
    return PlacementProblem(
        graph, costs, one_group_an_op(graph, costs), cluster, allowed, RunContext.of(Budget(evaluations))
    )


def with_memory(problem: PlacementProblem, memory_bytes: Sequence[int]) -> PlacementProblem:
    """`problem` on devices with so much memory each."""
    sizes = zip(problem.cluster.devices, memory_bytes, strict=True)
    devices = tuple(dataclasses.replace(device, memory_bytes=size) for device, size in sizes)
    return dataclasses.replace(problem, cluster=dataclasses.replace(problem.cluster, devices=devices))
