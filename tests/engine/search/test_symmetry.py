"""Devices that are taken for alike are so to the last bit, and those that are not are told apart."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.clusters.cluster import Contention, Device
from engine.problem import PlacementProblem, RunContext
from engine.search.symmetry import interchangeable_classes, interchangeable_devices
from tests.engine.placers.small_problems import small_problem


def problem_on(problem: PlacementProblem, **changes: object) -> PlacementProblem:
    """`problem` on another cluster."""
    cluster = dataclasses.replace(problem.cluster, **changes)  # type: ignore[arg-type]  # the cluster checks itself
    return PlacementProblem(
        problem.graph, problem.costs, problem.grouping, cluster, problem.allowed, RunContext.of(problem.ledger.budget)
    )


@settings(max_examples=30)
@given(st.integers(0, 1000), st.sampled_from(list(Contention)), st.permutations(range(3)))
def test_alike_devices_can_be_renumbered(seed: int, contention: Contention, order: list[int]) -> None:
    problem = problem_on(small_problem(seed, ops=12, devices=3, latency_us=2.0), contention=contention)
    classes = interchangeable_devices(problem)
    assert classes[:3].tolist() == [0, 0, 0] or problem.graph.edge_count == 0
    renumbered = np.array([*order, 3], dtype=np.int32)
    placements = np.random.default_rng(seed).integers(0, 4, (20, problem.group_count), dtype=np.int32)
    one, other = problem.simulator.evaluate(placements), problem.simulator.evaluate(renumbered[placements])
    assert np.array_equal(one.step_time_us, other.step_time_us)
    assert np.array_equal(one.peak_bytes, other.peak_bytes[:, renumbered])


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from(list(Contention)), st.permutations(range(3)))
def test_alike_devices_can_be_renumbered_where_ops_have_trips(
    seed: int, contention: Contention, order: list[int]
) -> None:
    once = problem_on(small_problem(seed, ops=12, devices=3, latency_us=2.0), contention=contention)
    trips = np.random.default_rng(seed).choice([0, 1, 1, 3, 40], 12)
    costs = dataclasses.replace(once.costs, trips=trips)
    problem = PlacementProblem(
        once.graph, costs, once.grouping, once.cluster, once.allowed, RunContext.of(once.ledger.budget)
    )
    assert interchangeable_devices(problem)[:3].tolist() == [0, 0, 0] or problem.graph.edge_count == 0
    renumbered = np.array([*order, 3], dtype=np.int32)
    placements = np.random.default_rng(seed).integers(0, 4, (20, problem.group_count), dtype=np.int32)
    one, other = problem.simulator.evaluate(placements), problem.simulator.evaluate(renumbered[placements])
    assert np.array_equal(one.step_time_us, other.step_time_us)
    assert np.array_equal(one.peak_bytes, other.peak_bytes[:, renumbered])


def test_a_cpu_is_not_like_a_gpu() -> None:
    assert interchangeable_devices(small_problem(1, devices=2, latency_us=1.0)).tolist() == [0, 0, 1]


def test_where_something_can_pass_in_no_time_every_device_is_its_own() -> None:
    problem = small_problem(1, devices=2, latency_us=0.0)
    assert (problem.graph.edge_output < 0).any()
    assert interchangeable_devices(problem).tolist() == [0, 1, 2]


def test_pins_distinguish_devices() -> None:
    problem = small_problem(1, devices=3, cpu=False, pins=True, latency_us=1.0)
    assert interchangeable_devices(problem).tolist() == [0, 1, 2]


@pytest.mark.parametrize("matrix", ["bandwidth_bytes_per_us", "latency_us"])
def test_links_distinguish_devices(matrix: str) -> None:
    problem = small_problem(1, devices=3, cpu=False, latency_us=1.0)
    links = np.array(getattr(problem.cluster, matrix))
    links[0, 1] = 5.0
    assert interchangeable_devices(problem_on(problem, **{matrix: links})).tolist() == [0, 1, 2]


def test_memory_distinguishes_devices() -> None:
    problem = small_problem(1, devices=3, cpu=False, latency_us=1.0)
    small = (*problem.cluster.devices[:2], Device("/device:GPU:2", "GPU", 10))
    assert interchangeable_devices(problem_on(problem, devices=small)).tolist() == [0, 0, 1]


def can_be_exchanged(problem: PlacementProblem, order: list[int]) -> bool:
    """Whether cluster and pins stay the same if devices are renumbered in `order`: every number compared by itself."""
    cluster, devices = problem.cluster, range(problem.device_count)
    for one in devices:
        before, after = cluster.devices[one], cluster.devices[order[one]]
        if (before.kind, before.memory_bytes) != (after.kind, after.memory_bytes):
            return False
        if problem.allowed[:, one].tolist() != problem.allowed[:, order[one]].tolist():
            return False
        for other in devices:
            for matrix in (cluster.bandwidth_bytes_per_us, cluster.latency_us):
                if one != other and matrix[one, other] != matrix[order[one], order[other]]:
                    return False
    return True


def exchanged(count: int, pairs: list[tuple[int, int]]) -> list[int]:
    """The numbers below `count`, each pair of them exchanged."""
    order = list(range(count))
    for one, other in pairs:
        order[one], order[other] = other, one
    return order


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(2, 9))
def test_classes_and_kinds_are_those_of_a_slow_twin(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    problem = small_problem(seed, devices=count, cpu=False, latency_us=1.0)
    host = rng.integers(0, 3, count)
    between = np.where(host[:, None] == host, 4.0, rng.choice([1.0, 1.0, 2.0], (3, 3))[host[:, None], host])
    changed = rng.random((count, count)) < rng.choice([0.0, 0.05])
    bandwidth = np.where(changed, 3.0, between)
    problem = problem_on(problem, bandwidth_bytes_per_us=bandwidth)
    classes = interchangeable_devices(problem)
    for other in range(count):
        alike = [can_be_exchanged(problem, exchanged(count, [(one, other)])) for one in range(other)]
        assert [bool(classes[one] == classes[other]) for one in range(other)] == alike
    kinds = interchangeable_classes(problem, classes)
    members = [np.flatnonzero(classes == number).tolist() for number in range(len(kinds))]
    for number, there in enumerate(members):
        for before, here in enumerate(members[:number]):
            pairs = list(zip(here, there, strict=False))
            whole = len(here) == len(there) > 1 and can_be_exchanged(problem, exchanged(count, pairs))
            assert (kinds[before] == kinds[number]) == whole
