"""The problems of the tables: the rows of Table 1, and the families' test graphs on the policies' clusters."""

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from engine import api
from engine.clusters.cluster import Contention
from engine.clusters.cluster_json import cluster_to_json
from engine.events import Json
from engine.problem import MOST_EVALUATIONS, Clock, PlacementProblem
from experiments.folders import below_root
from experiments.pages import ReportLine
from experiments.policies.problems import ZOO, graphs_of, held_out_names
from experiments.problems import problem_on
from experiments.table1 import FITTED_ROWS, ROWS
from experiments.yardstick.scope import YardstickScope
from experiments.zoo_graphs import kept_zoo_graph


@dataclass(frozen=True, slots=True)
class NamedProblem:
    """A problem before its graph is built."""

    set: str
    """`zoo`, or a set of test graphs (held_out.py)"""
    graph: str
    """a model of the zoo, or a member with the end of its set's name"""
    cluster: str
    """a shorthand"""
    batch: int = 0
    """of a model of the zoo; 0: its usual one"""
    pair: bool = False
    """whether each pair of devices has its own channel, instead of a bus for each device"""

    @property
    def name(self) -> str:
        """Graph and cluster, for people."""
        batch = f", batch {self.batch:,}" if self.batch else ""
        return f"{self.graph}{batch} on {self.cluster}" + ", pair" * self.pair

    def prepared(self, scope: YardstickScope, report: ReportLine = lambda _: None) -> api.PreparedGraph:
        """The graph, from its cache or built."""
        if self.set == ZOO:
            settings: dict[str, Json] = {"batch": self.batch} if self.batch else {}
            return kept_zoo_graph(below_root(scope.work), self.graph, report, settings)
        return _graphs(scope, self.set)[self.graph]

    def on_cluster(self, prepared: api.PreparedGraph, clock: Clock | None = None) -> PlacementProblem:
        """The problem of placing `prepared` there."""
        cluster = self.cluster
        if self.pair:
            own = dataclasses.replace(api.parse_cluster(cluster), contention=Contention.PAIR)
            cluster = json.dumps(cluster_to_json(own))
        return problem_on(prepared, cluster, MOST_EVALUATIONS, clock)


def named_problems(scope: YardstickScope) -> Iterator[NamedProblem]:
    """All problems of the scope; those of a graph come one after the other."""
    for name in scope.sets.split(","):
        if name == ZOO:
            yield from _of_the_zoo()
            continue
        for graph in held_out_names(scope.of_policies, name):
            for cluster in scope.clusters.split(","):
                yield NamedProblem(name, graph, cluster)


def _of_the_zoo() -> Iterator[NamedProblem]:
    for row in (*ROWS, *FITTED_ROWS):
        for pair in (False, True):
            yield NamedProblem(ZOO, row.graph, f"{row.gpus}x{row.kind}", row.batch or 0, pair)


@lru_cache(maxsize=1)
def _graphs(scope: YardstickScope, name: str) -> dict[str, api.PreparedGraph]:
    return dict(graphs_of(scope.of_policies, name, "test"))
