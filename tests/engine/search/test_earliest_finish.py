"""HEFT's core: the published example, a slow twin, memory, groups, and what every plan must hold."""

import numpy as np
import pytest

from engine.clusters.cluster import BUS_CODE, PAIR_CODE, SENDER_CODE
from engine.search.earliest_finish import schedule_earliest_finish
from engine.search.tasks import Tasks, upward_ranks
from tests.engine.search.hand_made import assert_plan_can_be_carried_out, endless, random_tasks, tasks_of
from tests.engine.search.slow_twins import slow_heft, slow_ranks

PUBLISHED_TIMES = [
    [14, 16, 9],
    [13, 19, 18],
    [11, 13, 19],
    [13, 8, 17],
    [12, 13, 10],
    [13, 16, 9],
    [7, 15, 11],
    [5, 11, 14],
    [18, 12, 20],
    [21, 7, 16],
]
PUBLISHED_EDGES = [
    (0, 1, 18.0),
    (0, 2, 12.0),
    (0, 3, 9.0),
    (0, 4, 11.0),
    (0, 5, 14.0),
    (1, 7, 19.0),
    (1, 8, 16.0),
    (2, 6, 23.0),
    (3, 7, 27.0),
    (3, 8, 23.0),
    (4, 8, 13.0),
    (5, 7, 15.0),
    (6, 9, 17.0),
    (7, 9, 11.0),
    (8, 9, 13.0),
]
"""ten tasks on three processors: Topcuoglu et al. 2002, figure 2"""
PUBLISHED_RANKS = [108.000, 77.000, 80.000, 80.000, 69.000, 63.333, 42.667, 35.667, 44.333, 14.667]
"""table 4 there"""


def in_order(tasks: Tasks) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.argsort(-upward_ranks(tasks), kind="stable")


def test_the_published_ranks() -> None:
    assert upward_ranks(tasks_of(PUBLISHED_TIMES, PUBLISHED_EDGES)) == pytest.approx(PUBLISHED_RANKS, abs=5e-4)


def test_the_published_schedule_ends_after_80() -> None:
    tasks = tasks_of(PUBLISHED_TIMES, PUBLISHED_EDGES)
    order = np.argsort(-np.round(upward_ranks(tasks), 6), kind="stable")
    assert [task + 1 for task in order.tolist()] == [1, 3, 4, 2, 5, 6, 9, 7, 8, 10]
    device, end_us = schedule_earliest_finish(tasks, order, endless(tasks))
    assert end_us.max() == 80.0
    assert (device + 1).tolist() == [3, 1, 3, 2, 3, 2, 3, 1, 2, 2]
    assert_plan_can_be_carried_out(tasks, device, end_us)


@pytest.mark.parametrize("seed", range(25))
def test_it_agrees_with_a_slow_twin(seed: int) -> None:
    tasks = random_tasks(seed)
    assert upward_ranks(tasks) == pytest.approx(slow_ranks(tasks))
    order = in_order(tasks)
    device, end_us = schedule_earliest_finish(tasks, order, endless(tasks))
    slow_device, slow_end_us = slow_heft(tasks, order)
    assert (device.tolist(), end_us.tolist()) == (slow_device, slow_end_us)


@pytest.mark.parametrize("contention", [BUS_CODE, PAIR_CODE, SENDER_CODE])
@pytest.mark.parametrize("seed", range(15))
def test_with_links_that_wait_the_plan_can_be_carried_out(seed: int, contention: int) -> None:
    tasks = random_tasks(seed, count=40, contention=contention)
    device, end_us = schedule_earliest_finish(tasks, in_order(tasks), endless(tasks))
    assert_plan_can_be_carried_out(tasks, device, end_us)


def test_a_gap_before_a_later_task_is_used() -> None:
    # the chain 0 → 1 leaves device 1 idle until 0's output has come; 2 fits in there
    times = [[2.0, 9.0], [9.0, 1.0], [3.0, 3.0]]
    tasks = tasks_of(times, [(0, 1, 4.0)])
    device, end_us = schedule_earliest_finish(tasks, np.array([0, 1, 2]), endless(tasks))
    assert device.tolist() == [0, 1, 1]
    assert end_us.tolist() == [2.0, 7.0, 3.0]


def test_on_a_bus_two_outputs_follow_each_other() -> None:
    times = [[1.0, np.inf], [np.inf, 1.0], [np.inf, 1.0]]
    tasks = tasks_of(times, [(0, 1, 10.0), (0, 2, 10.0)], contention=BUS_CODE, rest_us=5.0)
    _, end_us = schedule_earliest_finish(tasks, np.array([0, 1, 2]), endless(tasks))
    assert end_us.tolist() == [1.0, 12.0, 27.0]


def test_on_a_bus_an_output_of_a_loop_is_sent_and_the_bus_rests_once_a_trip() -> None:
    times = [[1.0, np.inf], [np.inf, 1.0], [np.inf, 1.0]]
    tasks = tasks_of(times, [(0, 1, 10.0), (0, 2, 10.0)], contention=BUS_CODE, rest_us=5.0, trips=[4.0, 1.0])
    _, end_us = schedule_earliest_finish(tasks, np.array([0, 1, 2]), endless(tasks))
    assert end_us.tolist() == [1.0, 1.0 + 40.0 + 1.0, 1.0 + 40.0 + 20.0 + 10.0 + 1.0]


def test_a_sender_goes_on_while_its_bytes_are_under_way() -> None:
    times = [[1.0, np.inf, np.inf], [np.inf, 1.0, np.inf], [np.inf, np.inf, 1.0]]
    tasks = tasks_of(times, [(0, 1, 10.0), (0, 2, 10.0)], contention=SENDER_CODE, rest_us=5.0)
    tasks = tasks._replace(links=tasks.links._replace(latency_us=np.full((3, 3), 100.0)))
    _, end_us = schedule_earliest_finish(tasks, np.array([0, 1, 2]), endless(tasks))
    assert end_us.tolist() == [1.0, 1.0 + 110.0 + 1.0, 1.0 + 15.0 + 110.0 + 1.0]


def test_a_group_goes_where_its_first_task_went() -> None:
    times = [[1.0, 2.0], [5.0, 5.0], [9.0, 1.0]]
    tasks = tasks_of(times, [], groups=[0, 1, 0])
    device, end_us = schedule_earliest_finish(tasks, np.array([0, 1, 2]), endless(tasks))
    assert device.tolist() == [0, 1] and end_us.tolist() == [1.0, 5.0, 10.0]


def test_a_full_device_is_no_candidate() -> None:
    tasks = tasks_of([[1.0, 9.0]] * 3, [], memory_bytes=[4.0, 4.0, 4.0])
    device, _ = schedule_earliest_finish(tasks, np.arange(3), np.array([8.0, 8.0]))
    assert device.tolist() == [0, 0, 1]


def test_where_nothing_has_room_the_roomiest_device_is_taken() -> None:
    tasks = tasks_of([[1.0, 9.0]] * 3, [], memory_bytes=[4.0, 4.0, 4.0])
    device, _ = schedule_earliest_finish(tasks, np.arange(3), np.array([1.0, 2.0]))
    assert device.tolist() == [1, 0, 1]


def test_more_spans_than_a_timeline_has_room_for_at_first() -> None:
    tasks = random_tasks(0, count=400, devices=2)
    device, end_us = schedule_earliest_finish(tasks, in_order(tasks), endless(tasks))
    assert_plan_can_be_carried_out(tasks, device, end_us)
