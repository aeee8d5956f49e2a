"""Small drawn problems of streams, of which every placement can be evaluated."""

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.costs.costs import Costs
from engine.graphs.graph import BACKWARD, CONTROL, FORWARD, OPTIMIZER, ComputationGraph
from engine.graphs.grouping.grouping import Grouping
from engine.problem import Budget, PlacementProblem, RunContext
from engine.simulator.streams.stream import Pipeline, Stream
from tests.engine.simulator.cases import make_costs, make_graph

LARGE = 10**9


def drawn_problem(
    seed: int,
    *,
    most_ops: int = 7,
    most_devices: int = 3,
    least_ops: int = 2,
    least_devices: int = 1,
    contention: Contention | None = None,
    stream: bool = True,
    trips: bool = True,
    tight: bool = True,
) -> PlacementProblem:
    """A graph of three phases in groups of one to three ops, on devices and links that are equal or not.

    With `trips` some ops have several. With `tight` memory is sometimes scarce.
    """
    rng = np.random.default_rng(seed)
    ops, devices = int(rng.integers(least_ops, most_ops + 1)), int(rng.integers(least_devices, most_devices + 1))
    phase = np.sort(rng.choice([FORWARD, BACKWARD, OPTIMIZER], ops, p=[0.5, 0.35, 0.15]))
    phase[0] = FORWARD
    outputs = [rng.integers(0, 5000, rng.integers(1, 3)).tolist() for _ in range(ops)]
    edges = []
    for target in range(1, ops):
        sources = rng.choice(target, min(target, int(rng.integers(0, 4))), replace=False).tolist()
        edges += [(source, target, int(rng.integers(CONTROL, len(outputs[source])))) for source in sources]
    graph = make_graph(tuple(f"op{number}" for number in rng.permutation(ops)), edges)
    graph = dataclasses.replace(graph, phase=phase.astype(np.uint8))
    times = rng.uniform(1, 100, (2, ops)) * np.array([[1], [rng.choice([1, 3])]])
    drawn_trips = rng.choice([1, 1, 1, 2, 3], ops).tolist() if trips and rng.random() < 0.3 else []
    held = [(int(rng.integers(0, 900)), int(rng.integers(0, 300))) for _ in range(ops)]
    costs = make_costs(("GPU", "CPU"), times, outputs, held, drawn_trips)
    cluster = _cluster(rng, devices, contention, int(rng.integers(1500, 6000)) if tight and seed % 4 == 0 else LARGE)
    groups = _groups(rng, ops)
    pipelines = list(Pipeline)
    asked = Stream(int(rng.integers(1, 6)), pipelines[rng.integers(len(pipelines))], bool(rng.random() < 0.4))
    allowed = np.ones((groups.group_count, devices), dtype=bool)
    context = RunContext.of(Budget(100_000))
    return PlacementProblem(graph, costs, groups, cluster, allowed, context, stream=asked if stream else None)


def problem_of_ops(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, stream: Stream | None = None
) -> PlacementProblem:
    """The problem of placing single ops."""
    none = np.zeros((0, 2), np.int32)
    alone = np.arange(graph.op_count, dtype=np.int32)
    groups = Grouping(graph.op_names, alone, none[:, 0], none[:, 0], np.zeros(0, np.int64), none)
    allowed = np.ones((graph.op_count, cluster.device_count), dtype=bool)
    return PlacementProblem(graph, costs, groups, cluster, allowed, RunContext.of(Budget(100_000)), stream=stream)


def _cluster(rng: np.random.Generator, devices: int, contention: Contention | None, memory_bytes: int) -> Cluster:
    kinds = ["K80"] * devices if rng.random() < 0.5 else rng.choice(["K80", "K80", "CPU"], devices).tolist()
    between = (devices, devices) if rng.random() < 0.5 else (1, 1)
    drawn_contention = list(Contention)[rng.integers(len(Contention))]
    return Cluster(
        devices=tuple(Device(f"d{index}", kind, memory_bytes) for index, kind in enumerate(kinds)),
        contention=contention or drawn_contention,
        bandwidth_bytes_per_us=np.broadcast_to(rng.uniform(20, 200, between), (devices, devices)).copy(),
        latency_us=np.broadcast_to(rng.uniform(0.1, 9, between), (devices, devices)).copy(),
        link_rest_us=float(rng.choice([0.0, 5.0])),
        op_rest_us=float(rng.choice([0.0, 3.0])),
        memory_model=list(MemoryModel)[rng.integers(len(MemoryModel))],
    )


def _groups(rng: np.random.Generator, ops: int) -> Grouping:
    group_of_op = np.unique(rng.integers(0, ops + 1, ops), return_inverse=True)[1].astype(np.int32)
    if rng.random() < 0.5:
        group_of_op = np.arange(ops, dtype=np.int32)
    none = np.zeros((0, 2), np.int32)
    names = tuple(f"group{index}" for index in range(int(group_of_op.max()) + 1))
    return Grouping(names, group_of_op, none[:, 0], none[:, 0], np.zeros(0, np.int64), none)


def least_time_us(problem: PlacementProblem) -> float:
    """The shortest step time or period of all placements that fit; infinite if none does."""
    every = np.array(list(itertools.product(range(problem.device_count), repeat=problem.group_count)), np.int32)
    return float(_times_of_those_that_fit(problem, every[problem.respects(every)]).min(initial=np.inf))


def _times_of_those_that_fit(problem: PlacementProblem, placements: NDArray[np.int32]) -> NDArray[np.float64]:
    evaluations = problem.simulator.evaluate(placements)
    return evaluations.step_time_us[problem.feasible(evaluations)]
