"""Training problems with varied costs."""

import dataclasses

import numpy as np
import pytest

from engine.clusters.cluster import LARGEST_BANDWIDTH_BYTES_PER_US
from engine.policies.problem_learner import varied_problem
from engine.problem import PlacementProblem, RunContext
from tests.engine.placers.small_problems import small_problem

OPS = 9
"""of three types in turn"""


def step_times_us(problem: PlacementProblem) -> np.ndarray:
    placements = np.random.default_rng(1).integers(0, problem.device_count, (20, OPS)).astype(np.int32)
    return problem.simulator.evaluate(placements).step_time_us


def test_without_spread_nothing_varies() -> None:
    problem = small_problem(4, ops=OPS)
    varied = varied_problem(problem, 0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(step_times_us(varied), step_times_us(problem))


def test_ops_of_one_type_vary_alike_all_links_too_and_bytes_stay() -> None:
    problem = small_problem(4, ops=OPS)
    varied = varied_problem(problem, 0.5, np.random.default_rng(0))
    known = problem.costs.time_us > 0
    for of_type in range(3):
        ops = np.arange(OPS) % 3 == of_type
        factors = (varied.costs.time_us[:, ops] / problem.costs.time_us[:, ops])[known[:, ops]]
        np.testing.assert_allclose(factors, factors[0])
        assert factors[0] != pytest.approx(1.0)
    between = ~np.eye(problem.device_count, dtype=bool)
    links = (varied.cluster.bandwidth_bytes_per_us / problem.cluster.bandwidth_bytes_per_us)[between]
    np.testing.assert_allclose(links, links[0])
    assert links[0] != pytest.approx(1.0)
    np.testing.assert_array_equal(varied.costs.output_bytes, problem.costs.output_bytes)
    np.testing.assert_array_equal(varied.allowed, problem.allowed)


def test_each_draw_is_another_and_a_seed_gives_the_same() -> None:
    problem, rng = small_problem(4, ops=OPS), np.random.default_rng(3)
    first, second = (varied_problem(problem, 0.3, rng).costs.time_us for _ in range(2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(varied_problem(problem, 0.3, np.random.default_rng(3)).costs.time_us, first)


@pytest.mark.parametrize("seed", range(5))
def test_the_fastest_links_stay_what_a_cluster_may_have(seed: int) -> None:
    problem = small_problem(4, ops=OPS)
    fastest = np.full_like(problem.cluster.bandwidth_bytes_per_us, LARGEST_BANDWIDTH_BYTES_PER_US)
    cluster = dataclasses.replace(problem.cluster, bandwidth_bytes_per_us=fastest)
    fast = PlacementProblem(
        problem.graph, problem.costs, problem.grouping, cluster, problem.allowed, RunContext.of(problem.ledger.budget)
    )
    varied = varied_problem(fast, 1.0, np.random.default_rng(seed))
    assert varied.cluster.bandwidth_bytes_per_us.max() <= LARGEST_BANDWIDTH_BYTES_PER_US
