"""Graphs of the families' cache on clusters, for the experiments with policies."""

import time
from collections.abc import Iterable, Sequence

from engine.child.parent import no_progress
from engine.policies.training_problem import TrainingProblem
from engine.prepared import PreparedGraph
from engine.problem import MOST_EVALUATIONS, Clock
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.family import prepared_family
from engine.zoo.families.members import DEFAULT_COUNT, members
from engine.zoo.families.split import Split
from experiments.folders import below_root
from experiments.pages import ReportLine
from experiments.policies.held_out import family_and_seed, require_open, set_named
from experiments.policies.scope import ExperimentScope
from experiments.problems import problem_on
from experiments.zoo_graphs import kept_zoo_graph

NamedGraph = tuple[str, PreparedGraph]
ZOO = "zoo"
"""in place of a family: graphs of the zoo, all for testing"""
ZOO_GRAPHS = ("inception_v3", "nasnet", "nmt", "nmt_4_layers")


def held_out_names(scope: ExperimentScope, name: str) -> list[str]:
    """The graphs of the set `name` (held_out.py), or of the zoo, that no policy is trained on."""
    if name == ZOO:
        return list(ZOO_GRAPHS)
    family, seed = family_and_seed(name)
    return [set_named(graph, seed) for graph in _members(family, seed, "test", scope.graphs)[1]]


def prepare_families(scope: ExperimentScope, tested: Iterable[str], report: ReportLine) -> None:
    """Build the training graphs and those of the sets `tested` that the cache lacks, before children need them."""
    for family in scope.family_names:
        report(f"the graphs of {family}")
        graphs_of(scope, family, "train")
    for name in tested:
        report(f"the test graphs of {name}")
        graphs_of(scope, name, "test")


def prepare_zoo(scope: ExperimentScope, report: ReportLine) -> None:
    """Build the zoo's graphs in the work folder, unless they exist."""
    for name in ZOO_GRAPHS:
        kept_zoo_graph(below_root(scope.work), name, report)


def graphs_of(scope: ExperimentScope, name: str, split: Split) -> list[NamedGraph]:
    """(name, graph) of the first graphs in the split of the set `name`; `scope` has their number.

    Raises SettingsError for graphs that are sealed.
    """
    if name == ZOO:
        return [(each, kept_zoo_graph(below_root(scope.work), each, lambda _: None)) for each in ZOO_GRAPHS]
    family, seed = family_and_seed(name)
    require_open(seed, unseal=scope.unseal)
    count, names = _members(family, seed, split, scope.train_graphs if split == "train" else scope.graphs)
    prepared = prepared_family(family, below_root(scope.cache), no_progress, seed=seed, count=count, only=split)
    graphs = prepared.train if split == "train" else prepared.test
    return [(set_named(each, seed), graph) for each, graph in zip(names, graphs, strict=False)]


def _members(family: str, seed: int, split: Split, wanted: int) -> tuple[int, list[str]]:
    """(number of members of `family` that contain `wanted` of the split, at least 32 or all; the names of these)."""
    most, count = FAMILIES[family].most, DEFAULT_COUNT
    while True:
        names = [member.name for member in members(family, seed, count) if member.split == split]
        if len(names) >= wanted or count == most:
            return count, names[:wanted]
        count = min(most, 2 * count)


def training_problems(graphs: Iterable[NamedGraph], clusters: Sequence[str]) -> list[TrainingProblem]:
    """Each graph on each cluster; seconds are those of the processor."""
    return [problem_of(graph, cluster, time.process_time) for graph in graphs for cluster in clusters]


def problem_of(graph: NamedGraph, cluster_name: str, clock: Clock | None = None) -> TrainingProblem:
    """One graph on one cluster, without a limit of evaluations; `clock` counts its seconds."""
    name, prepared = graph
    return TrainingProblem(name, cluster_name, problem_on(prepared, cluster_name, MOST_EVALUATIONS, clock))
