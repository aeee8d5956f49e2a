"""Placement problems of prepared graphs on clusters, for benchmarks and experiments."""

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from engine import api
from engine.graphs.grouping.grouping import Grouping, group_ops
from engine.graphs.grouping.levels import GROUPS_WITHOUT_LEVELS
from engine.policy_training import problems_of
from engine.problem import Budget, Clock, PlacementProblem, RunContext
from engine.problem.pins import allowed_devices

GRAPH = "inception_v3"
"""a well-known training step of the zoo"""
CLUSTER = "2xK80"


def prepared_graph(report: Callable[[str], None], name: str = GRAPH) -> api.PreparedGraph:
    """Build a graph of the zoo, then read, cost and group it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.pb"
        report(f"building {name}")
        api.build(name, path, lambda *_: None)
        report(f"reading, costing and grouping {name}")
        return api.prepare(path, path.suffix, lambda *_: None, api.Limits(), GROUPS_WITHOUT_LEVELS)


def problem_on(
    prepared: api.PreparedGraph, cluster: str, evaluations: int = 1, clock: Clock | None = None
) -> PlacementProblem:
    """The problem of placing the graph on the cluster of a shorthand."""
    (training,) = problems_of([prepared], [api.parse_cluster(cluster)])
    return training.problem.with_budget(Budget(evaluations), clock=clock)


def regrouped(prepared: api.PreparedGraph, groups: int | None) -> api.PreparedGraph:
    """The same graph in at most `groups` groups; with None each co-location class is a group."""
    return dataclasses.replace(prepared, grouping=group_ops(prepared.graph, prepared.costs, groups))


def nested_problem(
    prepared: api.PreparedGraph, cluster: str, nested: Sequence[Grouping], budget: Budget, clock: Clock | None = None
) -> PlacementProblem:
    """The problem of the last of these groupings, with the others as coarser levels."""
    graph, costs, on = prepared.graph, prepared.costs, api.parse_cluster(cluster)
    allowed = allowed_devices(graph, costs, nested[-1], on)
    coarser = tuple(nested[:-1])
    return PlacementProblem(graph, costs, nested[-1], on, allowed, RunContext.of(budget, clock=clock), coarser=coarser)
