"""The graphs of `auto_check`: random ones of four shapes, costed ones of public benchmarks, the zoo."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine import api
from engine.comparing.work_folder import KEY_LENGTH
from engine.graphs.grouping.levels import nested_groupings
from engine.problem import Budget, PlacementProblem
from engine.zoo.random_graphs import SHAPES, random_graph
from experiments.pages import ReportLine
from experiments.problems import nested_problem, problem_on
from experiments.zoo_graphs import prepared_zoo_graph

GRAPHS_SEED = 2
"""no graph of this seed was seen while auto and local search were tuned, unlike those of version 0.1, which had none"""
RANDOM_GRAPHS = 50
SIZES = (30, 60, 120, 240)
CLUSTERS = ("2xK80", "4xK80", "8xV100")
"""taken in turn by the random graphs"""
ZOO = (
    ("inception_v3", "2xK80"),
    ("inception_v3", "4xK80"),
    ("nmt", "2xK80"),
    ("nmt_4_layers", "4xK80"),
    ("nasnet", "2xK80"),
    ("nasnet", "4xK80"),
)
SHARED = Path(__file__).parents[3] / "shared" / "graphs"
"""costed graphs of public benchmarks, if they have been put beside the checkout"""
RANDOM_GRAPHS_WITH_ALL = 4
"""the first random graphs, one of each shape: they are used for the methods that take minutes"""
ZOO_WITH_ALL = 1
RANDOM_GRAPHS_TIMED = 8
"""the first random graphs, every shape in two sizes: they are used for Placeto and for the comparison in seconds"""


@dataclass(frozen=True, slots=True)
class Case:
    """One graph on one cluster."""

    kind: str
    name: str
    prepared: api.PreparedGraph
    cluster: str
    """a shorthand or JSON"""
    with_all: bool
    """whether the methods that take minutes are compared here too"""
    timed: bool
    """whether Placeto, the quickest of them, is compared here, and methods are compared in seconds"""
    levels: bool = False
    """whether a search goes through all levels of groups, as with groups `auto`"""

    @property
    def digest(self) -> str:
        """Digits that differ where the graph, its costs, its groups or the cluster do."""
        return hashlib.sha256(self.prepared.to_bytes() + self.cluster.encode()).hexdigest()[:KEY_LENGTH]

    def problem(self, budget: Budget) -> PlacementProblem:
        """The problem of placing the graph with `budget`."""
        if self.levels:
            nested = nested_groupings(self.prepared.graph, self.prepared.costs)
            return nested_problem(self.prepared, self.cluster, nested, budget)
        return problem_on(self.prepared, self.cluster).with_budget(budget)


def cases(report: ReportLine) -> Iterator[Case]:
    """All graphs, the random ones first."""
    shapes = list(SHAPES)
    for index in range(RANDOM_GRAPHS):
        shape, size = shapes[index % len(shapes)], SIZES[index // len(shapes) % len(SIZES)]
        cluster = CLUSTERS[index % len(CLUSTERS)]
        prepared = random_graph(shape, size, np.random.default_rng([GRAPHS_SEED, index]))
        name = f"{shape} {index}: {prepared.graph.op_count} ops, {cluster}"
        yield Case(shape, name, prepared, cluster, index < RANDOM_GRAPHS_WITH_ALL, index < RANDOM_GRAPHS_TIMED)
    yield from _shared(report)
    built: dict[str, api.PreparedGraph] = {}
    for index, (name, cluster) in enumerate(ZOO):
        if name not in built:
            built[name] = prepared_zoo_graph(name, report)
        yield Case("zoo", f"{name}, {cluster}", built[name], cluster, index < ZOO_WITH_ALL, timed=True)


def _shared(report: ReportLine) -> Iterator[Case]:
    if not SHARED.is_dir():
        report("the shared graphs are not here")
        return
    for path in sorted(SHARED.glob("*.cluster.json")):
        graph = path.with_name(path.name.replace(".cluster", ""))
        prepared = api.prepare(graph, graph.suffix, lambda *_: None, api.Limits(), None)
        yield Case("shared", graph.stem, prepared, path.read_text(), graph.stem == "chain_mm", timed=True)
