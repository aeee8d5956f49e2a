"""Shapes that break recursive and quadratic code, and the memory that the simulator takes for a graph."""

import numpy as np
import pytest

from engine.clusters.cluster import Contention
from engine.costs.costs import Costs
from engine.files.compiled import compiled
from engine.graphs.graph import ComputationGraph
from engine.simulator import Simulator
from engine.simulator.bound import lower_bound_us
from engine.simulator.event_loop import simulate_step
from engine.simulator.records import Scratch, Tables
from experiments.bench.training_graph import make_training_graph
from tests.engine.simulator.cases import cluster_of, make_costs, make_graph


def chain(ops: int) -> list[tuple[int, int, int]]:
    return [(op, op + 1, 0) for op in range(ops - 1)]


def star(ops: int) -> list[tuple[int, int, int]]:
    return [(0, op, 0) for op in range(1, ops)]


def collector(ops: int) -> list[tuple[int, int, int]]:
    return [(op, ops - 1, 0) for op in range(ops - 1)]


def case(ops: int, edges: list[tuple[int, int, int]]) -> tuple[ComputationGraph, Costs]:
    graph = make_graph(tuple(f"op{index}" for index in range(ops)), edges)
    return graph, make_costs(("*",), np.ones((1, ops)), [[8]] * ops, [(0, 0)] * ops)


@pytest.mark.parametrize("contention", list(Contention))
@pytest.mark.parametrize(
    ("ops", "edges"),
    [(100_000, chain(100_000)), (50_000, star(50_000)), (50_000, collector(50_000)), (10_000, [])],
    ids=["chain", "star", "collector", "isolated"],
)
def test_extreme_shapes(ops: int, edges: list[tuple[int, int, int]], contention: Contention) -> None:
    graph, costs = case(ops, edges)
    cluster = cluster_of(64, contention, latency_us=1)
    simulator = Simulator(graph, costs, cluster)
    placement = np.arange(ops, dtype=np.int32) % 64
    timeline = simulator.timeline(placement)
    assert timeline.step_time_us == simulator.evaluate(placement[np.newaxis]).step_time_us[0]
    assert timeline.step_time_us >= lower_bound_us(graph, costs, cluster) > 0


@pytest.mark.parametrize("contention", list(Contention))
def test_memory_grows_as_the_graph_does(contention: Contention) -> None:
    bytes_of_an_op = []
    for ops in (1_000, 30_000):
        graph, costs = make_training_graph(ops, np.random.default_rng(0))
        simulator = Simulator(graph, costs, cluster_of(8, contention))
        scratch = simulator.new_scratch()
        arrays = (*simulator.tables, *scratch.stream, *(part for part in scratch if isinstance(part, np.ndarray)))
        held = sum(array.nbytes for array in arrays)
        bytes_of_an_op.append(held / (graph.op_count + graph.edge_count))
    assert bytes_of_an_op[1] <= 1.05 * bytes_of_an_op[0]


@compiled
def best_of_all_moves(tables: Tables, scratch: Scratch, groups: int, devices: int) -> float:
    """A search in compiled code: one group after the other to each device."""
    placement = np.zeros(groups, np.int32)
    best = np.inf
    for group in range(groups):
        for device in range(devices):
            placement[group] = device
            best = min(best, simulate_step(tables, scratch, placement))
    return best


def test_compiled_code_can_evaluate_in_a_loop() -> None:
    graph, costs = make_training_graph(100, np.random.default_rng(0))
    groups = np.arange(graph.op_count, dtype=np.int32) // 10
    simulator = Simulator(graph, costs, cluster_of(3), groups)
    placements = []
    placement = np.zeros(simulator.group_count, dtype=np.int32)
    for group in range(simulator.group_count):
        for device in range(3):
            placement[group] = device
            placements.append(placement.copy())
    expected = simulator.evaluate(np.array(placements)).step_time_us.min()
    found = best_of_all_moves(simulator.tables, simulator.new_scratch(), simulator.group_count, 3)
    assert found == expected
