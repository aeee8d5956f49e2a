"""Plans and episodes: where they start, what they pass through, where they end."""

import dataclasses

import numpy as np
import pytest

from engine.placeto.episodes import EpisodePlan, Episodes, make_episode_plan, random_placements
from engine.placeto.seeing.features import fastest_device_placement, group_graph
from engine.placeto.settings import PlacetoSettings
from tests.engine.placeto.problems import random_problem, two_chains


def two_episodes() -> Episodes:
    plan = EpisodePlan(
        starts=np.array([[0, 0, 0], [2, 1, 0]], dtype=np.int32),
        orders=np.array([[0, 1, 2, 2, 1, 0], [2, 0, 1, 0, 1, 2]], dtype=np.int32),
        uniforms=np.zeros((2, 6)),
        greedy=np.zeros((2, 6), dtype=bool),
        explore=0.0,
    )
    return Episodes(plan, np.array([[1, 0, 2, 2, 1, 0], [0, 2, 2, 1, 0, 1]], dtype=np.int32))


def test_the_states_change_one_group_at_a_time() -> None:
    states = two_episodes().states_of(0)
    assert states.tolist() == [[0, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 2], [1, 0, 2], [1, 1, 2], [0, 1, 2]]


def test_the_last_visit_counts() -> None:
    episodes = two_episodes()
    assert episodes.ends().tolist() == [[0, 1, 2], [1, 0, 1]]
    for index in range(2):
        assert episodes.states_of(index)[-1].tolist() == episodes.ends()[index].tolist()


def test_where_a_group_was_before_its_turn() -> None:
    assert two_episodes().before().tolist() == [[0, 0, 0, 2, 0, 1], [0, 2, 1, 2, 2, 0]]


def test_the_first_episodes_are_kept() -> None:
    kept = two_episodes().first(1)
    assert kept.plan.batch == 1 and kept.ends().tolist() == [[0, 1, 2]]


def test_topological_traversal_visits_every_group_in_each_pass() -> None:
    graph = group_graph(random_problem(1, groups=5))
    settings = PlacetoSettings(passes=3, batch_episodes=2)
    plan = make_episode_plan(settings, graph, np.zeros(5, np.int32), False, np.random.default_rng(0))
    assert plan.orders.tolist() == [[0, 1, 2, 3, 4] * 3] * 2


def test_random_traversal_visits_every_group_in_each_pass_in_its_own_order() -> None:
    graph = group_graph(random_problem(1, groups=8))
    settings = PlacetoSettings(passes=2, batch_episodes=3, traversal="random")
    plan = make_episode_plan(settings, graph, np.zeros(8, np.int32), False, np.random.default_rng(0))
    passes = plan.orders.reshape(6, 8)
    assert np.array_equal(np.sort(passes, axis=1), np.tile(np.arange(8), (6, 1)))
    assert len(np.unique(passes, axis=0)) == 6


@pytest.mark.parametrize("start", ["fastest_device", "best", "random", "fixed_random"])
def test_starts_respect_where_groups_may_go(start: str) -> None:
    problem = random_problem(2, groups=6, devices=3, cpu=True)
    problem.allowed[0] = [False, False, False, True]
    problem.allowed[1] = [False, True, True, False]
    graph = group_graph(problem)
    best = np.array([3, 1, 2, 2, 2, 2], dtype=np.int32)
    settings = PlacetoSettings(start=start, batch_episodes=20)
    starts = make_episode_plan(settings, graph, best, False, np.random.default_rng(0)).starts
    assert problem.respects(starts).all()
    if start == "best":
        assert (starts == best).all()
    if start == "random":
        assert len(np.unique(starts, axis=0)) > 10
    if start == "fixed_random":
        assert len(np.unique(starts, axis=0)) == 1 and len(np.unique(starts[0])) > 1
        again = make_episode_plan(settings, graph, best, False, np.random.default_rng(1)).starts
        other = dataclasses.replace(settings, start_seed=1)
        assert np.array_equal(again, starts), "one placement for the whole run, whatever its seed"
        assert (make_episode_plan(other, graph, best, False, np.random.default_rng(0)).starts != starts).any()
    if start == "fastest_device":
        assert starts[0, 2:].tolist() == [0, 0, 0, 0] and starts[0, 0] == 3 and starts[0, 1] != 3


def test_the_fastest_device_is_that_with_the_least_time() -> None:
    problem = random_problem(3, groups=4, devices=1, cpu=True)
    graph = dataclasses.replace(
        group_graph(problem), time_us=np.array([[5.0, 1.0], [1.0, 2.0], [1.0, 1.0], [1.0, 1.0]])
    )
    assert fastest_device_placement(graph).tolist() == [1, 1, 1, 1]


def test_random_placements_are_uniform_over_the_allowed_devices() -> None:
    allowed = np.array([[True, False, True], [False, True, False]])
    placements = random_placements(allowed, 4000, np.random.default_rng(0))
    assert set(placements[:, 0]) == {0, 2} and set(placements[:, 1]) == {1}
    assert abs((placements[:, 0] == 0).mean() - 0.5) < 0.04


def test_only_the_first_episode_of_a_greedy_batch_is_greedy() -> None:
    graph = group_graph(two_chains())
    plan = make_episode_plan(
        PlacetoSettings(batch_episodes=3), graph, np.zeros(10, np.int32), True, np.random.default_rng(0)
    )
    assert plan.greedy.shape == plan.orders.shape
    assert plan.greedy_episodes.tolist() == [True, False, False] == plan.greedy.any(axis=1).tolist()


def test_exploration_is_groups_an_episode() -> None:
    graph = group_graph(two_chains(length=5))
    best = np.zeros(10, np.int32)
    for exploration, share in ((1.0, 0.1), (3.0, 0.3), (50.0, 1.0)):
        plan = make_episode_plan(PlacetoSettings(exploration=exploration), graph, best, False, np.random.default_rng(0))
        assert plan.explore == pytest.approx(share)
