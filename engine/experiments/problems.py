"""Prepared graphs on clusters, as the experiments place them."""

import dataclasses

from engine import api
from engine.graphs.grouping import group_ops
from engine.policy_training import problems_of
from engine.problem import Budget, PlacementProblem


def problem_on(prepared: api.PreparedGraph, cluster: str, evaluations: int = 1) -> PlacementProblem:
    """The graph on the cluster of that shorthand."""
    (training,) = problems_of([prepared], [api.parse_cluster(cluster)])
    return training.problem.with_budget(Budget(evaluations))


def regrouped(prepared: api.PreparedGraph, groups: int) -> api.PreparedGraph:
    """The same graph in at most `groups` groups."""
    return dataclasses.replace(prepared, grouping=group_ops(prepared.graph, prepared.costs, groups))
