"""Scotch: balanced cuts, fixed groups, unequal devices, one answer a seed."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.costs.costs import Costs, CostSource
from engine.errors import SettingsError
from engine.graphs.graph import ComputationGraph
from engine.placers.scotch import Scotch, processor_weights
from engine.placers.weighted_groups import weighted_graph
from engine.problem import Budget, PlacementProblem, RunContext
from tests.engine.placers.small_problems import one_group_an_op, small_problem

CLIQUE = 6


def two_cliques(kinds: tuple[str, ...] = ("GPU", "GPU"), allowed: NDArray[np.bool_] | None = None) -> PlacementProblem:
    """Two cliques of ops of 100 µs (1000 µs on a CPU) that exchange much, and one thin edge between them."""
    ops = 2 * CLIQUE
    pairs = [(one, other) for one in range(ops) for other in range(one + 1, ops) if one // CLIQUE == other // CLIQUE]
    pairs = sorted([*pairs, (0, CLIQUE)], key=lambda pair: (pair[1], pair[0]))
    thin = pairs.index((0, CLIQUE))
    output = np.zeros(len(pairs), np.int32)
    output[thin] = 1
    graph = ComputationGraph(
        name="two cliques",
        op_names=tuple(f"op_{index}" for index in range(ops)),
        op_types=("",) * ops,
        edge_source=np.array([pair[0] for pair in pairs], np.int32),
        edge_target=np.array([pair[1] for pair in pairs], np.int32),
        edge_output=output,
        devices=("",) * ops,
        colocation=((),) * ops,
        back_edges=np.zeros((0, 2), np.int32),
    )
    costs = Costs(
        kinds=("GPU", "CPU"),
        time_us=np.array([[100.0] * ops, [1000.0] * ops]),
        output_offset=2 * np.arange(ops + 1, dtype=np.int64),
        output_bytes=np.array([1_000_000, 1_000] * ops, dtype=np.int64),
        persistent_bytes=np.zeros(ops, np.int64),
        temporary_bytes=np.zeros(ops, np.int64),
        source=np.full(ops, CostSource.GIVEN, np.uint8),
    )
    count = len(kinds)
    numbers = [kinds[:index].count(kind) for index, kind in enumerate(kinds)]
    cluster = Cluster(
        devices=tuple(
            Device(f"/device:{kind}:{number}", kind, 10**9) for kind, number in zip(kinds, numbers, strict=True)
        ),
        contention=Contention.BUS,
        bandwidth_bytes_per_us=np.full((count, count), 7600.0),
        latency_us=np.zeros((count, count)),
        link_rest_us=25.0,
        op_rest_us=0.0,
        memory_model=MemoryModel.FULL,
    )
    everywhere = np.ones((ops, count), dtype=bool)
    grouping = one_group_an_op(graph, costs)
    return PlacementProblem(
        graph,
        costs,
        grouping,
        cluster,
        everywhere if allowed is None else allowed,
        RunContext.of(Budget(10)),
        shared=None,
    )


def placed(problem: PlacementProblem, seed: int = 0, imbalance: float = 0.01) -> list[int]:
    placer = Scotch(imbalance=imbalance)
    placer.place(problem, np.random.default_rng(seed), lambda: False)
    placement = problem.ledger.answer()
    return [int(device) for device in placement]


@pytest.mark.parametrize("seed", range(3))
def test_each_clique_goes_to_one_device(seed: int) -> None:
    placement = placed(two_cliques(), seed)
    assert set(placement[:CLIQUE]) != set(placement[CLIQUE:])
    assert len(set(placement[:CLIQUE])) == len(set(placement[CLIQUE:])) == 1


def test_a_fixed_group_takes_its_clique_along() -> None:
    allowed = np.ones((2 * CLIQUE, 2), dtype=bool)
    allowed[CLIQUE, 0] = False
    assert placed(two_cliques(allowed=allowed), seed=1) == [0] * CLIQUE + [1] * CLIQUE
    assert placed(two_cliques(allowed=allowed[:, ::-1].copy()), seed=1) == [1] * CLIQUE + [0] * CLIQUE


def test_a_group_that_may_not_be_everywhere_is_moved_to_its_neighbours() -> None:
    allowed = np.ones((2 * CLIQUE, 3), dtype=bool)
    allowed[:, 2] = np.arange(2 * CLIQUE) == 11
    problem = two_cliques(("GPU", "GPU", "GPU"), allowed)
    assert problem.respects(np.array([placed(problem)], dtype=np.int32)).all()


def test_a_slow_device_gets_its_share() -> None:
    problem = two_cliques(("GPU", "CPU"))
    assert processor_weights(problem).tolist() == [1000, 100]
    assert placed(problem).count(1) <= 2


def test_the_graph_that_the_library_gets() -> None:
    graph = weighted_graph(two_cliques())
    degrees = np.diff(graph.first_neighbour)
    assert degrees.tolist() == [CLIQUE, *[CLIQUE - 1] * (CLIQUE - 1)] * 2
    assert len(set(graph.vertex_load.tolist())) == 1
    loads = sorted(set(graph.edge_load.tolist()))
    assert len(loads) == 2 and loads[1] / loads[0] == pytest.approx(1000, rel=1e-3)
    owner = np.repeat(np.arange(2 * CLIQUE), degrees)
    both = {(int(one), int(other)) for one, other in zip(owner, graph.neighbour, strict=True)}
    assert both == {(other, one) for one, other in both}


def test_with_one_device_nothing_is_mapped() -> None:
    assert placed(two_cliques(("GPU",))) == [0] * 2 * CLIQUE


def test_a_large_random_graph_has_one_answer_a_seed() -> None:
    answers = [placed(small_problem(3, ops=400, devices=4, cpu=False), seed=7) for _ in range(2)]
    assert answers[0] == answers[1] and set(answers[0]) == {0, 1, 2, 3}


def test_each_tolerance_is_an_evaluation_and_the_best_counts() -> None:
    assert Scotch(mappings=4).imbalances() == pytest.approx([0.01, 0.05, 0.25, 1.0])
    found = []
    for mappings in (1, 3):
        problem = small_problem(3, ops=60, devices=2, cpu=False)
        Scotch(mappings=mappings).place(problem, np.random.default_rng(7), lambda: False)
        found.append((problem.ledger.used, problem.ledger.best_time_us))
    assert found[0][0] == 1 < found[1][0] <= 3
    assert found[1][1] <= found[0][1]


@pytest.mark.parametrize("imbalance", [0, -1, 1.5, "much", float("nan")])
def test_a_senseless_tolerance_is_refused(imbalance: float) -> None:
    with pytest.raises(SettingsError, match=r"scotch imbalance: .*allowed: a number from 1e-09 to 1"):
        Scotch(imbalance=imbalance)


def test_a_process_that_maps_loads_no_compiled_code_and_can_still_draw() -> None:
    code = """
import sys
from pathlib import Path
from engine.placers.scotch_library import map_in_child
order = {"vertex_load": [1, 1], "first_neighbour": [0, 1, 2], "neighbour": [1, 0], "edge_load": [1, 1]}
map_in_child({**order, "processor_weight": [1, 1], "fixed": [-1, -1], "imbalances": [0.01], "seed": 0}, Path(), print)
sys.exit("matplotlib.pyplot" in sys.modules or "numba" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
