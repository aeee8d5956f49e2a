"""Graphs of the corpus for other experiments: the list from the repository, each graph from the cache in milliseconds.

    for graph in graphs_of("train", modes=("training",)):
        problem = problem_in_corpus(graph, api.parse_cluster("4xV100"))

The cache holds for each architecture and mode its recording and its prepared graph: ops with their work, the groups
that a run shows (about 128) and the levels below. A cluster gets its op times from that work, so one file serves all.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

from engine.clusters.cluster import Cluster
from engine.errors import GraphError, SettingsError
from engine.prepared import PreparedGraph
from engine.problem import PlacementProblem, RunContext
from engine.problem.making import problem_of
from experiments.folders import ROOT
from experiments.pages import read_json

CorpusSplit: TypeAlias = Literal["train", "development", "test"]
CORPUS_SPLITS: tuple[CorpusSplit, ...] = ("train", "development", "test")
INFERENCE, TRAINING = MODES = ("inference", "training")
CACHE = Path.home() / ".cache" / "placeto-explorer" / "corpus"
"""of the user, outside of the repository"""
LIST = ROOT / "docs" / "results" / "corpus.json"
"""graphs and failures, as the experiment writes them"""
WITHOUT_GRAPHS = f"`python -m experiments corpus` makes it; {CACHE} is its usual cache"


@dataclass(frozen=True, slots=True)
class CorpusGraph:
    """A row of the list: one architecture in one mode at one batch size."""

    library: str
    """timm, torchvision, transformers, keras, zoo, nmt, ptb, cifar10 or public"""
    architecture: str
    """as its library calls it, for transformers with a size behind it"""
    mode: str
    """inference or training"""
    family: str
    """the architecture family, a row of `lineage.py`"""
    kind: str
    """such as `decoder` or `vision transformer`"""
    split: CorpusSplit
    digest: str
    """of the group graph, up to scale: graphs with one digest are near-duplicates"""
    ops: int
    groups: int
    edges: int
    """between groups"""
    flops: int
    """floating-point operations of a step; 0 where the file has times alone"""
    parameter_bytes: int
    """bytes of the weights, once"""
    activation_bytes: int
    """bytes of all outputs that a step makes"""
    batch: int
    """samples of a step; 0 where it is not known"""
    version: str
    """of the library"""

    @property
    def name(self) -> str:
        """`library/architecture mode`, unique in the corpus."""
        return f"{self.library}/{self.architecture} {self.mode}"


def graphs_of(
    split: CorpusSplit,
    modes: Collection[str] = MODES,
    cache: Path = CACHE,
    *,
    listed: Path = LIST,
) -> list[CorpusGraph]:
    """The graphs of one side of the split, each near-duplicate once, in the order of the list.

    Take `test` for final figures alone: nothing is chosen by them. Raises SettingsError where there is no list, for an
    unknown split or mode, and where `cache` lacks a graph.
    """
    if split not in CORPUS_SPLITS:
        raise SettingsError("no such split", where=split, allowed=", ".join(CORPUS_SPLITS), field="split")
    for mode in modes:
        if mode not in MODES:
            raise SettingsError("no such mode", where=mode, allowed=", ".join(MODES), field="modes")
    found = [graph for graph in listed_graphs(listed) if graph.split == split and graph.mode in modes]
    for graph in found:
        if not graph_path(cache, graph).is_file():
            raise SettingsError("the cache lacks this graph", where=graph.name, allowed=WITHOUT_GRAPHS, field="cache")
    return found


def listed_graphs(listed: Path = LIST) -> list[CorpusGraph]:
    """All graphs of the list that count: each near-duplicate once. Raises SettingsError where there is no list."""
    content: Any = read_json(listed)
    if content is None:
        raise SettingsError("there is no list of the corpus", where=listed.name, allowed=WITHOUT_GRAPHS)
    names = {field.name for field in fields(CorpusGraph)}
    rows = [row for row in content["graphs"] if not row.get("duplicate_of")]
    return [CorpusGraph(**{name: row[name] for name in names}) for row in rows]


def prepared_in_corpus(graph: CorpusGraph, cache: Path = CACHE) -> PreparedGraph:
    """The graph with costs, groups and levels, from its file. Raises GraphError where the file is another graph's."""
    path = graph_path(cache, graph)
    prepared = PreparedGraph.from_bytes(path.read_bytes())
    if (prepared.graph.op_count, prepared.grouping.group_count) != (graph.ops, graph.groups):
        what = f"the cache has {prepared.graph.op_count} ops in {prepared.grouping.group_count} groups"
        raise GraphError(what, where=graph.name, allowed=f"{graph.ops} in {graph.groups}, as listed", field="cache")
    return prepared


def problem_in_corpus(
    graph: CorpusGraph, cluster: Cluster, context: RunContext | None = None, cache: Path = CACHE
) -> PlacementProblem:
    """The problem of placing its groups on `cluster`; by default with a budget of one evaluation.

    For many problems of one graph read `prepared_in_corpus` once and call the engine's `problem_of`. Raises GraphError.
    """
    return problem_of(prepared_in_corpus(graph, cache), cluster, context)


def graph_path(cache: Path, graph: CorpusGraph) -> Path:
    """The file of a prepared graph in the cache, whether it exists or not."""
    return path_in(cache, "graphs", graph.library, graph.architecture, graph.mode)


def path_in(cache: Path, folder: str, library: str, architecture: str, mode: str) -> Path:
    """The file of an architecture in `folder` of the cache: `graphs`, prepared, or `recordings`."""
    suffix = {"graphs": "prepared", "recordings": "json.gz"}[folder]
    return cache / folder / library / f"{architecture}-{mode}.{suffix}"
