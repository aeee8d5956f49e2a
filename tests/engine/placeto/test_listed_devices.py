"""A policy sees where list schedules put each group; how these number equal devices means nothing."""

import dataclasses

import numpy as np
import pytest
import torch

from engine.clusters.cluster import NO_DEVICE
from engine.placeto.episodes import make_episode_plan
from engine.placeto.networks.making import bound_network
from engine.placeto.networks.shared_head_actor import fresh_network
from engine.placeto.seeing import listed_devices as module
from engine.placeto.seeing.device_view import LISTED
from engine.placeto.seeing.features import fastest_device_placement, group_graph
from engine.placeto.seeing.listed_devices import SCHEDULES, listed_devices
from engine.placeto.settings import make_settings
from engine.problem import PlacementProblem, RunContext
from engine.search.earliest_finish import schedule_earliest_finish
from engine.search.tasks import in_order_of_ranks, tasks_of_groups
from tests.engine.placeto.problems import random_problem, renumbered

HEFT_OF_GROUPS = 0


def greedy_by(problem: PlacementProblem, schedule: int) -> np.ndarray:
    """[groups] the greedy pass of a network that follows one list schedule alone."""
    settings = make_settings({"start": "nowhere", "stay_weight": 0.0, "exploration": 0.0, "batch_episodes": 1})
    graph, rng = group_graph(problem), np.random.default_rng(0)
    network = fresh_network(settings, rng, torch.device("cpu"))
    with torch.no_grad():
        network.score.weight.zero_()
        network.view_score.weight.zero_()
        network.view_score.weight[0, LISTED + schedule] = 5.0
    plan = make_episode_plan(settings, graph, fastest_device_placement(graph), True, rng)
    return np.asarray(bound_network(settings, graph, network).sample(plan, lambda: None).ends()[0])


@pytest.mark.parametrize("schedule", range(SCHEDULES))
@pytest.mark.parametrize("seed", range(3))
def test_a_network_that_follows_a_schedule_places_as_it_does(seed: int, schedule: int) -> None:
    problem = random_problem(seed, groups=24, devices=3, cpu=seed == 1)
    listed = listed_devices(problem)[schedule]
    followed = greedy_by(problem, schedule)
    step_time_us = problem.simulator.evaluate(np.stack([listed, followed])).step_time_us
    assert step_time_us[0] == step_time_us[1]
    mates = [groups[:, None] == groups[None, :] for groups in (listed, followed)]
    np.testing.assert_array_equal(mates[0], mates[1], err_msg="the same groups are together")


def test_schedules_are_those_of_the_list_schedulers_up_to_equal_devices() -> None:
    problem = random_problem(4, groups=30, devices=3)
    tasks = tasks_of_groups(problem)
    room_bytes = problem.memory_bytes.astype(np.float64)
    wanted = schedule_earliest_finish(tasks, in_order_of_ranks(tasks), room_bytes)[0]
    found = listed_devices(problem)[HEFT_OF_GROUPS]
    np.testing.assert_array_equal(found[:, None] == found[None, :], wanted[:, None] == wanted[None, :])


def test_unequal_devices_numbered_anew_are_listed_anew() -> None:
    problem = random_problem(2, groups=30, devices=3)
    bandwidth = problem.cluster.bandwidth_bytes_per_us * np.random.default_rng(0).uniform(0.5, 2.0, (3, 3))
    cluster = dataclasses.replace(problem.cluster, bandwidth_bytes_per_us=bandwidth)
    unequal = PlacementProblem(
        problem.graph, problem.costs, problem.grouping, cluster, problem.allowed, RunContext.of(problem.ledger.budget)
    )
    new_of_old = np.array([2, 0, 1])
    np.testing.assert_array_equal(listed_devices(renumbered(unequal, new_of_old)), new_of_old[listed_devices(unequal)])


def test_large_problems_list_nothing_and_can_be_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_GROUPS_LISTED", 10)
    problem = random_problem(0, groups=11, devices=2)
    assert (group_graph(problem).listed == NO_DEVICE).all()
    assert problem.respects(greedy_by(problem, 0)[None, :]).all()
