"""Periods: the method finds what evaluating every placement finds, and proves it."""

import numpy as np
import pytest

from engine.clusters.cluster import Contention
from tests.engine.placers.milp.solving import place_alone
from tests.engine.simulator.streams.drawn_streams import drawn_problem, least_time_us

DRAWN = 60


@pytest.mark.parametrize("contention", list(Contention))
def test_it_finds_and_proves_the_optimum(contention: Contention) -> None:
    """Equal and unequal devices and links, co-located ops, trips, scarce memory, contiguous stages or not."""
    kinds = set()
    for seed in range(DRAWN):
        problem = drawn_problem(seed, contention=contention)
        least_us = least_time_us(problem)
        place_alone(problem)
        ledger = problem.ledger
        if not np.isfinite(least_us):
            assert ledger.best_step_time_us is None, seed
            continue
        assert ledger.best_step_time_us == pytest.approx(least_us, rel=1e-9), seed
        assert ledger.lower_bound_us is not None and ledger.lower_bound_us <= least_us * (1 + 1e-9), seed
        assert ledger.is_proven, seed
        assert problem.stream is not None
        kinds.add((problem.stream.contiguous, problem.device_count))
    assert len(kinds) == 6


def test_what_is_proven_ends_the_search() -> None:
    """With the trivial bound reached by a single device nothing is solved."""
    problem = drawn_problem(3, most_devices=1)
    place_alone(problem)
    assert problem.ledger.is_proven and problem.ledger.used == 1


def test_few_nodes_leave_a_gap_that_holds() -> None:
    gaps = []
    for seed in range(20):
        problem = drawn_problem(seed, most_ops=9, most_devices=3, tight=False)
        least_us = least_time_us(problem)
        place_alone(problem, nodes=1)
        best_us, bound_us = problem.ledger.best_step_time_us, problem.ledger.lower_bound_us
        assert best_us is not None and bound_us is not None
        assert bound_us * (1 - 1e-9) <= least_us <= best_us * (1 + 1e-9)
        gaps.append(best_us - bound_us)
    assert min(gaps) <= 1e-6
