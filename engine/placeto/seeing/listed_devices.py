"""Where list schedules put each group: a policy sees their choices, so that it never knows less than they do."""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.problem import PlacementProblem
from engine.search.earliest_finish import schedule_earliest_finish
from engine.search.earliest_start import NO_TASK, schedule_earliest_start
from engine.search.tasks import Tasks, in_order_of_ranks, tasks_of_groups, tasks_of_phases, upward_ranks

SCHEDULES = 3
"""HEFT of groups, HEFT of their phases, m-ETF of their phases"""
MOST_GROUPS_LISTED = 2048
MOST_DEVICES_LISTED = 64
"""with more, schedules would take longer than all else; then no device is listed"""


def listed_devices(problem: PlacementProblem) -> NDArray[np.int32]:
    """[SCHEDULES, groups] the device of each group in each schedule, or NO_DEVICE; nothing is evaluated.

    Of equal ends a schedule takes the lowest device. So that how devices are numbered means nothing, they are numbered
    by speed and links first.
    """
    if problem.group_count > MOST_GROUPS_LISTED or problem.device_count > MOST_DEVICES_LISTED:
        return np.full((SCHEDULES, problem.group_count), NO_DEVICE, dtype=np.int32)
    by_speed = _by_speed(problem)
    groups, phases = (_renumbered(tasks, by_speed) for tasks in (tasks_of_groups(problem), tasks_of_phases(problem)))
    room_bytes = problem.memory_bytes.astype(np.float64)[by_speed]
    listed = np.stack(
        [
            schedule_earliest_finish(groups, in_order_of_ranks(groups), room_bytes)[0],
            schedule_earliest_finish(phases, in_order_of_ranks(phases), room_bytes)[0],
            _earliest_starts(phases, room_bytes),
        ]
    )
    return by_speed[listed].astype(np.int32)


def _by_speed(problem: PlacementProblem) -> NDArray[np.int64]:
    """[devices] the devices by the time of all ops, then by their links and memory."""
    cluster = problem.cluster
    times_us = np.nan_to_num(problem.op_time_us).sum(axis=1)
    slowness = 1.0 / cluster.bandwidth_bytes_per_us.clip(1e-9)
    np.fill_diagonal(slowness, 0.0)
    links = (slowness.sum(axis=1), slowness.sum(axis=0), cluster.latency_us.sum(axis=1), cluster.latency_us.sum(axis=0))
    return np.lexsort((problem.memory_bytes, *links, times_us))


def _renumbered(tasks: Tasks, old_of_new: NDArray[np.int64]) -> Tasks:
    between = np.ix_(old_of_new, old_of_new)
    links = tasks.links._replace(
        bandwidth_bytes_per_us=np.ascontiguousarray(tasks.links.bandwidth_bytes_per_us[between]),
        latency_us=np.ascontiguousarray(tasks.links.latency_us[between]),
    )
    return tasks._replace(time_us=np.ascontiguousarray(tasks.time_us[:, old_of_new]), links=links)


def _earliest_starts(tasks: Tasks, room_bytes: NDArray[np.float64]) -> NDArray[np.int32]:
    no_favourites = np.full(len(tasks.group), NO_TASK)
    return schedule_earliest_start(tasks, upward_ranks(tasks), no_favourites, room_bytes)[0]
