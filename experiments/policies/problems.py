"""Graphs of the families' cache on clusters, for the experiments with policies."""

from pathlib import Path

from engine.bench.problems import problem_on
from engine.child.parent import no_progress
from engine.files.whole_files import write_whole
from engine.policies.training_problem import TrainingProblem
from engine.prepared import PreparedGraph
from engine.problem import MOST_EVALUATIONS, Clock
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.family import prepared_family
from engine.zoo.families.members import DEFAULT_COUNT, Split, members
from experiments.pages import ReportLine
from experiments.policies.scope import ExperimentScope
from experiments.zoo_graphs import prepared_zoo_graph

SPLITS: tuple[Split, ...] = ("train", "test")
NamedGraph = tuple[str, PreparedGraph]
ZOO = "zoo"
"""in place of a family: graphs of the zoo, all for testing"""
ZOO_GRAPHS = ("inception_v3", "nasnet", "nmt", "nmt_4_layers")


def held_out_names(scope: ExperimentScope, family: str) -> list[str]:
    """The graphs of `family`, or of the zoo, that no policy is trained on."""
    if family == ZOO:
        return list(ZOO_GRAPHS)
    return _members(family, "test", scope.graphs)[1]


def prepare_families(scope: ExperimentScope, report: ReportLine) -> None:
    """Build the graphs that the families' cache lacks, before several children need them."""
    for family in scope.family_names:
        report(f"the graphs of {family}")
        for split in SPLITS:
            graphs_of(scope, family, split)


def prepare_zoo(scope: ExperimentScope, report: ReportLine) -> None:
    """Build the zoo's graphs in the work folder, unless they exist."""
    for name in ZOO_GRAPHS:
        if not _zoo_path(scope, name).exists():
            write_whole(_zoo_path(scope, name), prepared_zoo_graph(name, report).to_bytes())


def _zoo_path(scope: ExperimentScope, name: str) -> Path:
    return Path(scope.work) / f"zoo-{name}-{scope.key()}.prepared"


def graphs_of(scope: ExperimentScope, family: str, split: Split) -> list[NamedGraph]:
    """(name, graph) of the first graphs in the split of `family`; `scope` has their number."""
    if family == ZOO:
        return [(name, PreparedGraph.from_bytes(_zoo_path(scope, name).read_bytes())) for name in ZOO_GRAPHS]
    count, names = _members(family, split, scope.train_graphs if split == "train" else scope.graphs)
    prepared = prepared_family(family, Path(scope.cache), no_progress, count=count, only=split)
    graphs = prepared.train if split == "train" else prepared.test
    return list(zip(names, graphs, strict=False))


def _members(family: str, split: Split, wanted: int) -> tuple[int, list[str]]:
    """(number of members of `family` that contain `wanted` of the split, at least 32 or all; the names of these)."""
    most, count = FAMILIES[family].most, DEFAULT_COUNT
    while True:
        names = [member.name for member in members(family, count=count) if member.split == split]
        if len(names) >= wanted or count == most:
            return count, names[:wanted]
        count = min(most, 2 * count)


def problem_of(graph: NamedGraph, cluster_name: str, clock: Clock | None = None) -> TrainingProblem:
    """One graph on one cluster, without a limit of evaluations; `clock` counts its seconds."""
    name, prepared = graph
    return TrainingProblem(name, cluster_name, problem_on(prepared, cluster_name, MOST_EVALUATIONS, clock))
