"""The list schedulers as placers: memory, caps, events, and the benchmarks' published ranges."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.clusters.parsing import parse_cluster
from engine.costs.costs import Costs, CostSource
from engine.errors import SettingsError
from engine.events import Episode, FromPlacer, Progress
from engine.formats.node_link.reader import read_nodelink
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import group_ops
from engine.placers.registry import make_placer
from engine.problem import Budget, PlacementProblem, RunContext
from engine.problem.pins import allowed_devices
from tests.engine.placers.small_problems import one_group_an_op, small_problem

SHARED = Path(__file__).parents[4] / "shared" / "graphs"
LIST_SCHEDULERS = ("m_topo", "m_etf", "m_sct", "heft")
Heard = list[FromPlacer]


def place(method: str, problem: PlacementProblem, **settings: float) -> tuple[NDArray[np.int32], Heard]:
    heard: Heard = []
    placer = make_placer(method, dict(settings))
    problem = problem.reporting_to(heard.append)
    placer.place(problem, np.random.default_rng(0), lambda: False)
    placement = problem.ledger.answer()
    return placement, heard


def chain(ops: int, *, persistent: int, temporary: int, memory: int, output: int = 0) -> PlacementProblem:
    """A chain whose outputs take long to send, on two devices."""
    graph = ComputationGraph(
        name="chain",
        op_names=tuple(f"op_{index}" for index in range(ops)),
        op_types=("",) * ops,
        edge_source=np.arange(ops - 1, dtype=np.int32),
        edge_target=np.arange(1, ops, dtype=np.int32),
        edge_output=np.zeros(ops - 1, np.int32),
        devices=("",) * ops,
        colocation=((),) * ops,
        back_edges=np.zeros((0, 2), np.int32),
    )
    costs = Costs(
        kinds=("GPU",),
        time_us=np.full((1, ops), 10.0),
        output_offset=np.arange(ops + 1, dtype=np.int64),
        output_bytes=np.full(ops, output, np.int64),
        persistent_bytes=np.full(ops, persistent, np.int64),
        temporary_bytes=np.full(ops, temporary, np.int64),
        source=np.full(ops, CostSource.GIVEN, np.uint8),
    )
    cluster = Cluster(
        devices=(Device("/device:GPU:0", "GPU", memory), Device("/device:GPU:1", "GPU", memory)),
        contention=Contention.NONE,
        bandwidth_bytes_per_us=np.ones((2, 2)),
        latency_us=np.full((2, 2), 1000.0),
        link_rest_us=0.0,
        op_rest_us=0.0,
        memory_model=MemoryModel.FULL,
    )
    grouping = one_group_an_op(graph, costs)
    return PlacementProblem(graph, costs, grouping, cluster, np.ones((ops, 2), dtype=bool), RunContext.of(Budget(20)))


@pytest.mark.parametrize("method", ["m_etf", "m_sct", "heft"])
def test_a_chain_stays_on_one_device_as_long_as_it_has_room(method: str) -> None:
    placement, _ = place(method, chain(6, persistent=10, temporary=0, memory=60))
    assert len(set(placement.tolist())) == 1
    problem = chain(6, persistent=10, temporary=0, memory=40)
    placement, _ = place(method, problem)
    assert placement.tolist() == [0, 0, 0, 0, 1, 1]
    assert problem.ledger.best_step_time_us == 1060.0


@pytest.mark.parametrize("method", ["m_etf", "m_sct", "heft"])
def test_a_plan_that_does_not_fit_is_made_again_with_less_room(method: str) -> None:
    problem = chain(2, persistent=40, temporary=30, memory=100)
    placement, heard = place(method, problem)
    assert placement.tolist() == [0, 1]
    feasible = [event.feasible for event in heard if isinstance(event, Episode)]
    assert feasible == [False, True] and problem.ledger.used == 2


@pytest.mark.parametrize("method", LIST_SCHEDULERS)
def test_without_room_the_attempts_end_and_the_nearest_is_reported(method: str) -> None:
    problem = chain(8, persistent=40, temporary=30, memory=50)
    _, heard = place(method, problem)
    assert problem.ledger.used <= 16 and problem.ledger.best_step_time_us is None
    assert problem.ledger.missing_bytes == min(160 + 30 - 50, 320 + 30 - 50)
    assert len([event for event in heard if isinstance(event, Episode)]) == problem.ledger.used


@pytest.mark.parametrize("method", LIST_SCHEDULERS)
def test_one_plan_is_evaluated_however_late_it_is(method: str) -> None:
    problem = chain(6, persistent=10, temporary=0, memory=60).with_budget(Budget(20, seconds=1e-9))
    placement, _ = place(method, problem)
    assert problem.ledger.used == 1
    assert placement.tolist() == problem.ledger.answer().tolist()


def test_m_topo_fills_to_the_share_and_the_largest() -> None:
    placement, _ = place("m_topo", chain(6, persistent=10, temporary=0, memory=1000))
    assert placement.tolist() == [0, 0, 0, 0, 1, 1]  # 60 / 2 + 10


def test_m_topo_leaves_the_cpu_to_what_runs_nowhere_else() -> None:
    problem = small_problem(2, ops=9, devices=2)
    placement, _ = place("m_topo", problem)
    assert set(placement.tolist()) == {0, 1} and problem.cluster.devices[2].is_cpu


@pytest.mark.parametrize("method", ["m_etf", "m_sct", "heft"])
def test_a_slow_cpu_is_not_taken_for_being_idle(method: str) -> None:
    problem = chain(4, persistent=0, temporary=0, memory=100)
    problem = dataclasses.replace(problem, allowed=np.array([[True, True]] * 4))
    kinds = Costs(
        kinds=("GPU", "CPU"),
        time_us=np.array([[10.0] * 4, [1000.0] * 4]),
        output_offset=problem.costs.output_offset,
        output_bytes=problem.costs.output_bytes,
        persistent_bytes=problem.costs.persistent_bytes,
        temporary_bytes=problem.costs.temporary_bytes,
        source=problem.costs.source,
    )
    graph = ComputationGraph(
        name="apart",
        op_names=problem.graph.op_names,
        op_types=problem.graph.op_types,
        edge_source=np.empty(0, np.int32),
        edge_target=np.empty(0, np.int32),
        edge_output=np.empty(0, np.int32),
        devices=problem.graph.devices,
        colocation=problem.graph.colocation,
        back_edges=problem.graph.back_edges,
    )
    cluster = parse_cluster("1xK80+cpu")
    apart = PlacementProblem(
        graph, kinds, one_group_an_op(graph, kinds), cluster, np.ones((4, 2), dtype=bool), RunContext.of(Budget(10))
    )
    assert place(method, apart)[0].tolist() == [0, 0, 0, 0]


def test_m_sct_reports_its_favourites_or_that_it_found_none(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small_problem(3, ops=40, cpu=False)
    _, heard = place("m_sct", problem)
    assert [event.stage for event in heard if isinstance(event, Progress)] == ["favourite children found"] * 2
    monkeypatch.setattr("engine.placers.m_sct.solve_relaxation", lambda *_: None)
    placement, heard = place("m_sct", problem.with_budget(Budget(10)), iterations=7)
    reported = [event.stage for event in heard if isinstance(event, Progress)]
    assert reported == ["no favourite children: not solved within 7 iterations"] * 2
    eager, _ = place("m_etf", problem.with_budget(Budget(10)))
    assert placement.tolist() == eager.tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 0.6}, "m_sct threshold: 0.6; allowed: a number from 0 to 0.5"),
        ({"threshold": float("nan")}, "m_sct threshold: nan; allowed: a number from 0 to 0.5"),
        ({"iterations": 0}, "m_sct iterations: 0; allowed: an integer from 1 to 1000000000"),
        ({"iterations": 2.5}, "m_sct iterations: 2.5; allowed: an integer from 1 to 1000000000"),
    ],
)
def test_senseless_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_placer("m_sct", dict(settings))
    assert str(caught.value) == message


def benchmark(name: str) -> PlacementProblem:
    """A benchmark's graph on its own cluster, every op by itself."""
    graph, costs = read_nodelink((SHARED / f"{name}.json").read_bytes())
    cluster = parse_cluster((SHARED / f"{name}.cluster.json").read_text())
    grouping = group_ops(graph, costs, None)
    return PlacementProblem(
        graph, costs, grouping, cluster, allowed_devices(graph, costs, grouping, cluster), RunContext.of(Budget(100))
    )


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the benchmark graphs are not at {SHARED}")
@pytest.mark.parametrize("method", ["m_etf", "m_sct", "heft"])
@pytest.mark.parametrize(("name", "bound_us", "published_us"), [("chain_mm", 1200.07, 1900.0), ("ffnn", 56.69, 84.2)])
def test_benchmarks_are_placed_as_well_as_published(
    method: str, name: str, bound_us: float, published_us: float
) -> None:
    problem = benchmark(name)
    place(method, problem)
    best_us = problem.ledger.best_step_time_us
    assert best_us is not None and bound_us <= best_us <= published_us


@pytest.mark.shared
@pytest.mark.skipif(not SHARED.is_dir(), reason=f"the benchmark graphs are not at {SHARED}")
@pytest.mark.parametrize("method", LIST_SCHEDULERS)
def test_the_weights_of_bert_are_spread_as_its_memory_forces(method: str) -> None:
    """Its largest op alone gives more bytes than a device has: with outputs counted nothing fits, which is told."""
    problem = benchmark("bert_l-3_inference_ops")
    assert problem.costs.bytes_of_op().max() > problem.memory_bytes.max()
    place(method, problem)
    assert problem.ledger.best_step_time_us is None and problem.ledger.missing_bytes
    weights = np.bincount(
        problem.ledger.answer()[problem.grouping.group_of_op], weights=problem.costs.persistent_bytes, minlength=4
    )
    assert (weights <= problem.memory_bytes).all()
