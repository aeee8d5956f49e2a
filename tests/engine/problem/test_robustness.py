"""The robustness of a run's answer: closed forms, fixed draws, and the choice by regret."""

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from engine.api import Budget, PreparedGraph, RunRequest, parse_cluster, place
from engine.errors import InfeasibleError
from engine.formats.node_link.reader import read_nodelink
from engine.graphs.grouping.grouping import group_ops
from engine.problem import PlacementProblem, RunContext
from engine.problem import robustness as module
from engine.problem.robustness import DRAWS, DRAWS_SEED, SPREAD, judged, step_times_of_draws
from engine.simulator.simulator import MOST
from tests.engine.placers.small_problems import small_problem
from tests.engine.small_runs import prepared_graph, request, without_seconds

BANDWIDTH_BYTES_PER_US, LATENCY_US = 1000.0, 10.0
CLUSTER = json.dumps(
    {
        "devices": [{"name": f"/device:GPU:{index}", "kind": "K80"} for index in range(2)],
        "links": {"bandwidth_bytes_per_us": BANDWIDTH_BYTES_PER_US, "latency_us": LATENCY_US, "rest_us": 0},
        "op_rest_us": 0,
    }
)


def prepared(times_us: dict[str, float], edges: dict[tuple[str, str], int]) -> PreparedGraph:
    """A graph with an op of its own type for each name; an edge's number is the bytes that its op sends."""
    sent = {source: size for (source, _), size in edges.items()}
    nodes = [
        {"id": name, "type": name, "time_us": time_us, "output_bytes": [sent.get(name, 0)]}
        for name, time_us in times_us.items()
    ]
    links = [{"source": source, "target": target} for source, target in edges]
    text = json.dumps({"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "edges": links})
    graph, costs = read_nodelink(text.encode())
    return PreparedGraph(graph, costs, group_ops(graph, costs, None))


def problem_of(graph: PreparedGraph) -> PlacementProblem:
    cluster = parse_cluster(CLUSTER)
    allowed = np.ones((graph.grouping.group_count, 2), dtype=bool)
    return PlacementProblem(graph.graph, graph.costs, graph.grouping, cluster, allowed, RunContext.of(Budget(100)))


def placed(graph: PreparedGraph, device_of: dict[str, int]) -> np.ndarray:
    groups = graph.grouping.group_of_op
    placement = np.zeros(graph.grouping.group_count, dtype=np.int32)
    for op, name in enumerate(graph.graph.op_names):
        placement[groups[op]] = device_of[name]
    return placement


def factors() -> list[tuple[np.ndarray, float]]:
    """Of each draw: of the two op types on the one kind, and of the one speed of link (the diagonal has the other)."""
    drawn = []
    for draw in range(DRAWS):
        rng = np.random.default_rng([DRAWS_SEED, draw])
        types = rng.uniform(1 - SPREAD, 1 + SPREAD, (1, 2))[0]
        drawn.append((types, float(rng.uniform(1 - SPREAD, 1 + SPREAD, 1)[0])))
    return drawn


def test_two_ops_in_closed_form() -> None:
    graph = prepared({"a": 100.0, "b": 200.0}, {("a", "b"): 50_000})
    problem = problem_of(graph)
    together, split = placed(graph, {"a": 0, "b": 0}), placed(graph, {"a": 0, "b": 1})
    expected = []
    for (of_a, of_b), of_link in factors():
        ops_us = 100.0 * of_a + 200.0 * of_b
        expected.append([ops_us, ops_us + LATENCY_US + 50_000 / (BANDWIDTH_BYTES_PER_US * of_link)])
    np.testing.assert_allclose(step_times_of_draws(problem, np.stack([together, split])), expected, rtol=1e-12)
    found = judged(problem, np.stack([split, together]), choose=False).robustness
    regrets = [apart / one - 1 for one, apart in expected]
    assert found.mean_regret == pytest.approx(np.mean(regrets))
    assert found.worst_regret == pytest.approx(max(regrets))
    assert (found.best_share, found.draws, found.candidates) == (0.0, DRAWS, 2)


def test_a_single_placement_has_no_regret() -> None:
    problem = small_problem(3)
    found = judged(problem, np.zeros((1, problem.group_count), dtype=np.int32), choose=False).robustness
    assert (found.mean_regret, found.worst_regret, found.best_share, found.candidates) == (0.0, 0.0, 1.0, 1)


def test_a_step_that_takes_no_time_has_no_regret() -> None:
    graph = prepared({"a": 0.0, "b": 0.0}, {("a", "b"): 1000})
    placements = np.stack([placed(graph, {"a": 0, "b": 0}), placed(graph, {"a": 0, "b": 1})])
    assert judged(problem_of(graph), placements, choose=False).robustness.mean_regret == 0.0


def test_draws_keep_equal_links_and_devices_equal_and_differ_from_each_other() -> None:
    problem = small_problem(5, cpu=False)
    placement = np.random.default_rng(0).integers(0, 2, (1, problem.group_count)).astype(np.int32)
    times = step_times_of_draws(problem, np.concatenate([placement, 1 - placement]))
    np.testing.assert_array_equal(times[:, 0], times[:, 1])
    assert len(np.unique(times[:, 0])) == DRAWS


def test_draws_are_the_same_each_time_and_charge_nothing() -> None:
    first, second = small_problem(5), small_problem(5)
    placements = np.random.default_rng(0).integers(0, 2, (4, first.group_count)).astype(np.int32)
    second.evaluate(placements)
    times = step_times_of_draws(first, placements)
    np.testing.assert_array_equal(step_times_of_draws(first, placements), times)
    np.testing.assert_array_equal(step_times_of_draws(second, placements), times)
    assert (first.ledger.used, second.ledger.used) == (0, 4)


@pytest.mark.parametrize("method", ["local_search", "random", "heft", "single_device"])
def test_every_report_has_it_outside_the_budget(method: str) -> None:
    judged_report = place(prepared_graph(), request(method, 60), lambda _: None, lambda: False)
    asked = dataclasses.replace(request(method, 60), robustness=False)
    plain: dict[str, Any] = place(prepared_graph(), asked, lambda _: None, lambda: False)
    found: Any = judged_report["robustness"]
    assert "robustness" not in plain
    assert without_seconds(judged_report) == without_seconds(plain | {"robustness": found})
    assert 0 <= found["mean_regret"] <= found["worst_regret"]
    assert found["candidates"] >= 1 and found["fastest_step_time_us"] == judged_report["step_time_us"]


def fragile() -> tuple[PreparedGraph, RunRequest]:
    """Two branches that end a little earlier on two devices than on one, if the link is as fast as it says."""
    times_us = {"source": 1.0, "left": 500.0, "right": 500.0}
    edges = {("source", "left"): 488_000, ("source", "right"): 488_000}
    return prepared(times_us, edges), RunRequest(parse_cluster(CLUSTER), "exhaustive", Budget(1000), 0)


def test_the_choice_by_regret_is_the_placement_that_depends_less_on_the_link() -> None:
    graph, asked = fragile()
    fastest = place(graph, asked, lambda _: None, lambda: False)
    robust = place(graph, dataclasses.replace(asked, robust=True), lambda _: None, lambda: False)
    assert fastest["step_time_us"] == pytest.approx(1 + LATENCY_US + 488 + 500)
    assert robust["step_time_us"] == pytest.approx(1 + 500 + 500)
    before, after = (report["robustness"] for report in (fastest, robust))
    assert isinstance(before, dict) and isinstance(after, dict)
    assert after["mean_regret"] < before["mean_regret"]  # type: ignore[operator]
    assert after["fastest_step_time_us"] == fastest["step_time_us"]
    assert robust["evaluations"] == fastest["evaluations"]


def test_long_work_is_done_only_when_asked_for_and_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WORK", 10)
    graph, asked = fragile()
    found: Any = place(graph, asked, lambda _: None, lambda: False)["robustness"]
    assert found["mean_regret"] is None and "simulated ops and edges" in found["note"]
    found = place(graph, dataclasses.replace(asked, robust=True), lambda _: None, lambda: False)["robustness"]
    assert found["mean_regret"] > 0 and found["note"] == ""


def test_costs_too_large_to_vary_are_said() -> None:
    graph = prepared({"a": 100.0, "b": 1.0}, {("a", "b"): 0})
    graph = dataclasses.replace(graph, costs=dataclasses.replace(graph.costs, time_us=np.array([[0.9 * MOST, 1.0]])))
    found = judged(problem_of(graph), placed(graph, {"a": 0, "b": 0})[None, :], choose=False).robustness
    assert found.mean_regret is None and "cannot be simulated" in found.note


def test_a_run_that_fits_nowhere_has_none() -> None:
    with pytest.raises(InfeasibleError):
        place(prepared_graph(), request("random", 20, memory_bytes=1), lambda _: None, lambda: False)
