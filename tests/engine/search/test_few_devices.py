"""A search on a large cluster begins on few devices that are near, and takes more where it stalls."""

import dataclasses

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.clusters.parsing import parse_cluster
from engine.placers import quick_starts
from engine.placers.quick_starts import evaluate_one_device, evaluate_rounds, rounds_of
from engine.placers.registry import make_placer
from engine.problem import Budget, PlacementProblem, RunContext
from engine.problem.trivial import one_device_placements
from engine.search.few_devices import few_devices, nearest_devices
from engine.search.local_search import LocalSearch, LocalSearchSettings
from engine.search.symmetry import interchangeable_classes, interchangeable_devices
from tests.engine.placers.small_problems import small_problem
from tests.engine.small_runs import AUTO


def problem_on(shorthand: str, evaluations: int = 300, ops: int = 20) -> PlacementProblem:
    """Some ops on a cluster whose devices are all as fast."""
    small, cluster = small_problem(3, ops=ops, cpu=False), parse_cluster(shorthand)
    kinds = dataclasses.replace(cluster.devices[0], kind=small.cluster.devices[0].kind)
    devices = tuple(dataclasses.replace(kinds, name=device.name) for device in cluster.devices)
    latency_us = np.full_like(cluster.latency_us, 1.0)
    cluster = dataclasses.replace(cluster, devices=devices, latency_us=latency_us)
    allowed = np.ones((ops, len(devices)), dtype=bool)
    return PlacementProblem(
        small.graph, small.costs, small.grouping, cluster, allowed, RunContext.of(Budget(evaluations))
    )


def on(problem: PlacementProblem, device: int) -> NDArray[np.int32]:
    return np.full(problem.group_count, device, np.int32)


def test_devices_of_one_host_are_nearest() -> None:
    problem = problem_on("24xV100")
    assert nearest_devices(problem, on(problem, 10), 8).tolist() == [10, 8, 9, 11, 12, 13, 14, 15]
    assert nearest_devices(problem, on(problem, 3), 99).tolist()[:8] == [3, 0, 1, 2, 4, 5, 6, 7]
    assert sorted(nearest_devices(problem, on(problem, 3), 99).tolist()) == list(range(24))
    assert nearest_devices(problem, np.arange(20, dtype=np.int32), 8).tolist() == list(range(20)), "what is in use"


def test_few_devices_have_a_place_for_every_group() -> None:
    problem = problem_on("16xV100")
    problem.allowed[5] = np.arange(16) == 13
    chosen = few_devices(problem, on(problem, 0))
    assert chosen is not None and chosen.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 13]
    alone = problem_on("8xV100")
    assert few_devices(alone, on(alone, 0)) is None


def test_of_many_devices_that_are_alike_only_one_is_evaluated_alone() -> None:
    problem = problem_on("256xV100")
    evaluate_one_device(problem)
    assert problem.ledger.used == 1
    pinned = problem_on("24xV100")
    pinned.allowed[0] = np.arange(24) == 17
    evaluate_one_device(pinned)
    assert pinned.ledger.used == 3, "where a group must be, elsewhere on that host, and on another host"
    every = problem_on("24xV100").with_budget(Budget(24))
    every.evaluate(one_device_placements(every))
    assert problem.ledger.best_step_time_us == every.ledger.best_step_time_us
    few = problem_on("8xV100")
    evaluate_one_device(few)
    assert few.ledger.used == 8


def test_hosts_are_exchanged_whole() -> None:
    problem = problem_on("24xV100", ops=6)
    kinds = interchangeable_classes(problem, interchangeable_devices(problem))
    assert kinds.tolist() == [0, 0, 0]
    renumbered = np.concatenate([np.arange(8, 16), np.arange(8), np.arange(16, 24)]).astype(np.int32)
    placements = np.random.default_rng(0).integers(0, 24, (30, 6), dtype=np.int32)
    one, other = problem.simulator.evaluate(placements), problem.simulator.evaluate(renumbered[placements])
    assert np.array_equal(one.step_time_us, other.step_time_us)
    problem.allowed[2, 17] = False
    assert interchangeable_classes(problem, interchangeable_devices(problem)).tolist()[:2] == [0, 0]
    assert len(set(interchangeable_classes(problem, interchangeable_devices(problem)).tolist())) == 3


def test_methods_that_give_starts_place_on_a_part_as_on_a_cluster_of_its_own() -> None:
    whole, part = problem_on("16xV100"), problem_on("8xV100")
    for problem in (whole, part):
        problem.evaluate(on(problem, 0)[None, :])
    first = rounds_of(whole, ["heft"])[0]
    found = evaluate_rounds(whole, [first], np.random.default_rng(0), lambda: False)
    alone = evaluate_rounds(part, rounds_of(part, ["heft"]), np.random.default_rng(0), lambda: False)
    assert found[0].rank == alone[0].rank and found[0].placement.tolist() == alone[0].placement.tolist()
    assert whole.ledger.used == part.ledger.used


def test_a_round_on_other_devices_names_those_of_the_whole() -> None:
    problem = problem_on("16xV100")
    heard: list[list[int]] = []
    problem = problem.reporting_to(
        lambda event: heard.append(list(event.placement)) if hasattr(event, "placement") else None
    )
    part = problem.sub_problem(devices=np.array([9, 12], np.int32))
    part.evaluate_episodes(np.array([[0, 1] * 10], np.int32))
    assert problem.ledger.answer().tolist() == heard[0] == [9, 12] * 10
    assert problem.ledger.best_time_us == problem.simulator.evaluate(np.array([heard[0]], np.int32)).step_time_us[0]


@pytest.mark.parametrize("method", [AUTO, "local_search"])
def test_more_devices_are_not_worse_than_a_host_of_them(method: str) -> None:
    found = []
    for shorthand in ("8xV100", "16xV100", "64xV100"):
        problem = problem_on(shorthand, evaluations=1500)
        make_placer(method, {}).place(problem, np.random.default_rng(0), lambda: False)
        found.append(problem.ledger.best_time_us)
    assert max(found[1:]) <= found[0] * 1.01


@pytest.mark.parametrize(("stalled", "devices"), [(0.0, 8), (1.0, 64)])
def test_a_search_takes_more_devices_only_where_it_stalls(
    stalled: float, devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.search.local_search.STALLED", stalled)
    problem = problem_on("64xK80", evaluations=6000, ops=60)
    problem.evaluate(on(problem, 0)[None, :])
    settings = LocalSearchSettings(moves_of_shortest_cycle=1.0, levels=False)
    search = LocalSearch(problem, settings, np.random.default_rng(0), lambda: False)
    search.run()
    assert search.open_devices == devices


def test_a_list_schedule_ends_with_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.search.earliest_start.TASKS_AT_A_TIME", 4)
    monkeypatch.setattr("engine.search.earliest_finish.TASKS_AT_A_TIME", 4)
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    for method in ("heft", "m_etf"):
        problem = small_problem(3, ops=40).with_budget(Budget(300, 100.0), clock=clock)
        problem.evaluate(np.zeros((1, 40), np.int32))
        asked = now[0]
        starts = quick_starts.evaluate_methods(problem, [method], np.random.default_rng(0), lambda: False, None, 8.0)
        assert starts == [] and problem.ledger.used == 1
        assert now[0] - asked < 20
