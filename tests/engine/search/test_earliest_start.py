"""The core of m-ETF and m-SCT: a slow twin, waiting for favourites, memory, and what every plan must hold."""

import numpy as np
import pytest

from engine.clusters.cluster import BUS_CODE, NONE_CODE, PAIR_CODE, SENDER_CODE
from engine.placers.m_sct import edges_of, favourites, solve_relaxation
from engine.search.earliest_start import NO_TASK, schedule_earliest_start
from engine.search.tasks import Tasks, upward_ranks
from tests.engine.search.hand_made import assert_plan_can_be_carried_out, endless, random_tasks, tasks_of
from tests.engine.search.slow_twins import slow_etf


def no_favourites(tasks: Tasks) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.full(len(tasks.group), NO_TASK)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_a_slow_twin(seed: int, equal: bool) -> None:
    tasks = random_tasks(seed, equal=equal)
    priority = upward_ranks(tasks)
    device, end_us = schedule_earliest_start(tasks, priority, no_favourites(tasks), endless(tasks))
    assert (device.tolist(), end_us.tolist()) == slow_etf(tasks, priority)


@pytest.mark.parametrize("seed", range(3))
def test_many_that_could_start_anywhere_agree_with_the_twin_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(60)), 60 + index, float(rng.integers(30))) for index in range(20)]
    tasks = tasks_of(np.repeat(rng.integers(1, 9, (80, 1)) / 10, 3, axis=1), edges)
    priority = rng.integers(0, 4, 80).astype(np.float64)
    device, end_us = schedule_earliest_start(tasks, priority, no_favourites(tasks), endless(tasks))
    assert (device.tolist(), end_us.tolist()) == slow_etf(tasks, priority)


@pytest.mark.parametrize("contention", [NONE_CODE, BUS_CODE, PAIR_CODE, SENDER_CODE])
@pytest.mark.parametrize("seed", range(10))
def test_plans_with_favourites_can_be_carried_out(seed: int, contention: int) -> None:
    tasks = random_tasks(seed, count=40, equal=True, contention=contention)
    edges = edges_of(tasks)
    relaxation = solve_relaxation(edges, tasks.time_us.min(axis=1), 10_000)
    assert relaxation is not None
    favourite = favourites(edges, relaxation.x, 40, 0.5)
    assert (favourite != NO_TASK).any()
    device, end_us = schedule_earliest_start(tasks, upward_ranks(tasks), favourite, endless(tasks))
    assert_plan_can_be_carried_out(tasks, device, end_us)


def test_two_chains_go_to_two_devices() -> None:
    tasks = tasks_of([[3.0, 3.0]] * 4, [(0, 2, 5.0), (1, 3, 5.0)])
    device, end_us = schedule_earliest_start(tasks, upward_ranks(tasks), no_favourites(tasks), endless(tasks))
    assert device.tolist() == [0, 1, 0, 1] and end_us.max() == 6.0


def test_a_device_waits_for_its_favourite_child() -> None:
    # 0 and 1 start; 2 takes from both, 3 from 0 alone and would be first on device 0
    times = [[1.0, np.inf], [np.inf, 3.0], [2.0, 2.0], [5.0, 5.0]]
    tasks = tasks_of(times, [(0, 2, 9.0), (1, 2, 1.0), (0, 3, 9.0)])
    priority = np.zeros(4)
    _, eager_us = schedule_earliest_start(tasks, priority, no_favourites(tasks), endless(tasks))
    favourite = np.array([2, NO_TASK, NO_TASK, NO_TASK])
    device, patient_us = schedule_earliest_start(tasks, priority, favourite, endless(tasks))
    assert eager_us.tolist() == [1.0, 3.0, 8.0, 6.0]
    assert device.tolist() == [0, 1, 0, 0] and patient_us.tolist() == [1.0, 3.0, 6.0, 11.0]


def test_while_it_waits_it_takes_what_could_start_anywhere() -> None:
    times = [[1.0, np.inf], [np.inf, 3.0], [2.0, 2.0], [5.0, 5.0]]
    tasks = tasks_of(times, [(0, 2, 9.0), (1, 2, 1.0)])
    favourite = np.array([2, NO_TASK, NO_TASK, NO_TASK])
    priority = np.array([9.0, 9.0, 0.0, 0.0])
    device, end_us = schedule_earliest_start(tasks, priority, favourite, endless(tasks))
    assert device[3] == 0 and end_us[3] == 6.0


def test_a_full_device_is_no_candidate() -> None:
    tasks = tasks_of([[1.0, 1.0]] * 3, [(0, 1, 9.0), (1, 2, 9.0)], memory_bytes=[4.0, 4.0, 4.0])
    device, end_us = schedule_earliest_start(tasks, np.zeros(3), no_favourites(tasks), np.array([8.0, 8.0]))
    assert device.tolist() == [0, 0, 1] and end_us.tolist() == [1.0, 2.0, 12.0]


def test_a_slow_device_counts_as_if_it_started_later() -> None:
    tasks = tasks_of([[10.0, 100.0]] * 3, [])
    device, _ = schedule_earliest_start(tasks, np.zeros(3), no_favourites(tasks), endless(tasks))
    assert device.tolist() == [0, 0, 0]


def test_a_sender_goes_on_while_its_bytes_are_under_way() -> None:
    times = [[1.0, np.inf, np.inf], [np.inf, 1.0, np.inf], [np.inf, np.inf, 1.0]]
    tasks = tasks_of(times, [(0, 1, 10.0), (0, 2, 10.0)], contention=SENDER_CODE, rest_us=5.0)
    tasks = tasks._replace(links=tasks.links._replace(latency_us=np.full((3, 3), 100.0)))
    _, end_us = schedule_earliest_start(tasks, np.zeros(3), no_favourites(tasks), endless(tasks))
    assert end_us.tolist() == [1.0, 1.0 + 110.0 + 1.0, 1.0 + 15.0 + 110.0 + 1.0]
