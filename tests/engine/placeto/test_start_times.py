"""Start times of groups: those of the timeline."""

from dataclasses import replace

import numpy as np
import pytest

from engine.placeto.episodes import random_placements
from engine.placeto.seeing.start_times import GroupStartTimes
from tests.engine.placers.small_problems import small_graph
from tests.engine.placeto.problems import graph_of, grouped, random_problem


@pytest.mark.parametrize("seed", range(3))
def test_a_group_starts_at_the_mean_of_its_ops_starts_each_counted_by_its_time(seed: int) -> None:
    graph, costs = small_graph(np.random.default_rng(seed), 24)
    costs = replace(costs, time_us=np.where(np.arange(24) % 6 < 3, costs.time_us, 0.0))
    problem = grouped(graph, costs, (np.arange(24) // 3).tolist(), devices=3)
    placements = random_placements(problem.allowed, 5, np.random.default_rng(0))
    starts = GroupStartTimes(problem.simulator).of(placements)
    for row, placement in enumerate(placements):
        start_us = problem.simulator.timeline(placement).start_us.reshape(8, 3)
        time_us = problem.op_time_us[0].reshape(8, 3)
        takes = time_us.sum(axis=1) > 0
        assert takes.tolist() == [True, False] * 4
        expected = np.where(takes, (start_us * time_us).sum(axis=1) / np.where(takes, time_us.sum(axis=1), 1.0), 0.0)
        np.testing.assert_allclose(starts[row], np.where(takes, expected, start_us.min(axis=1)), rtol=1e-6)


def test_groups_that_each_have_an_op_that_waits_for_nothing_do_not_all_start_at_once() -> None:
    """A chain, and beside each of its ops a constant: so are the groups of a training step."""
    edges = [(0, 3), (1, 4), (2, 5), (3, 4), (4, 5)]
    graph, costs = graph_of(edges, [1.0, 1.0, 1.0, 100.0, 100.0, 100.0], [8] * 6)
    problem = grouped(graph, costs, [0, 1, 2, 0, 1, 2], devices=2)
    [starts] = GroupStartTimes(problem.simulator).of(np.zeros((1, 3), np.int32))
    assert (np.diff(starts) > 50.0).all()


def test_they_are_not_charged() -> None:
    problem = random_problem(3)
    GroupStartTimes(problem.simulator).of(np.zeros((4, problem.group_count), np.int32))
    assert problem.ledger.used == 0
