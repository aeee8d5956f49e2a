"""Phases of a step: a hand-drawn case, and no dependence on how the graph numbers its ops."""

import dataclasses

import numpy as np
import pytest

from engine.placeto.seeing.features import PHASES, GroupGraph, group_features, group_graph, phases_of_groups
from engine.problem import PlacementProblem, RunContext
from tests.engine.graphs.graph_samples import permuted
from tests.engine.placers.small_problems import small_cluster, small_problem
from tests.engine.placeto.problems import graph_of, problem_of


def ops_numbered_anew(problem: PlacementProblem, order: np.ndarray) -> PlacementProblem:
    """The same groups, devices and costs; op `order[i]` becomes op i."""
    graph, costs = permuted(problem.graph, problem.costs, order.tolist())
    costs = dataclasses.replace(costs, persistent_bytes=problem.costs.persistent_bytes[order])
    grouping = dataclasses.replace(problem.grouping, group_of_op=problem.grouping.group_of_op[order])
    return PlacementProblem(
        graph, costs, grouping, problem.cluster, problem.allowed, RunContext.of(problem.ledger.budget)
    )


def test_two_ops_at_once_share_a_phase_and_a_chain_goes_through_all() -> None:
    free = small_cluster(2)
    free = dataclasses.replace(free, op_rest_us=0.0)
    graph, costs = graph_of([(0, 2), (1, 2), (2, 3)], [10.0, 10.0, 10.0, 10.0], [8] * 4)
    profile, slack = phases_of_groups(problem_of(graph, costs, free))
    first, last = PHASES // 4, PHASES - PHASES // 8
    expected = np.zeros((4, PHASES))
    expected[[0, 1, 2, 3], [first, first, PHASES // 2 + PHASES // 8, last]] = 1.0
    np.testing.assert_array_equal(profile, expected)
    np.testing.assert_array_equal(slack, 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_group_is_does_not_depend_on_the_numbers_of_the_ops(seed: int) -> None:
    problem = small_problem(seed, ops=16)
    other = ops_numbered_anew(problem, np.random.default_rng(seed).permutation(16))
    here, there = group_graph(problem), group_graph(other)
    np.testing.assert_allclose(group_features(there), group_features(here), rtol=1e-5, atol=1e-6)
    for field in dataclasses.fields(GroupGraph):
        np.testing.assert_allclose(getattr(there, field.name), getattr(here, field.name), err_msg=field.name)
