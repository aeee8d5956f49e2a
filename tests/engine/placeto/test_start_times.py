"""Start times of groups: those of the timeline."""

import numpy as np

from engine.placeto.episodes import random_placements
from engine.placeto.start_times import GroupStartTimes

from .problems import random_problem


def test_a_group_starts_with_the_first_of_its_ops() -> None:
    problem = random_problem(3, groups=12)
    placements = random_placements(problem.allowed, 5, np.random.default_rng(0))
    starts = GroupStartTimes(problem).of(placements)
    for row, placement in enumerate(placements):
        start_us = problem.simulator.timeline(placement).start_us
        expected = [start_us[problem.grouping.group_of_op == group].min() for group in range(12)]
        assert np.array_equal(starts[row], np.array(expected, dtype=np.float32))


def test_they_are_not_charged() -> None:
    problem = random_problem(3)
    GroupStartTimes(problem).of(np.zeros((4, problem.group_count), np.int32))
    assert problem.ledger.used == 0
