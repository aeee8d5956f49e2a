"""The problems of the experiment: graphs of one side of the corpus, each on clusters drawn for it."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.clusters.cluster import Cluster
from engine.policies.drawn.clusters import ROOMY_BYTES, drawn_cluster
from engine.policies.training_problem import TrainingProblem
from engine.problem import Budget, PlacementProblem, RunContext
from engine.problem.making import problem_of
from experiments.corpus.cached import CorpusGraph, prepared_in_corpus


@dataclass(frozen=True, slots=True)
class CorpusProblem:
    """A graph on a drawn cluster: `number` says which of its clusters."""

    graph: CorpusGraph
    number: int

    @property
    def seed(self) -> list[int]:
        """That of its cluster: it depends on the graph and the number alone."""
        return [int(self.graph.digest, 16), self.number]

    def problem(self, cache: Path) -> PlacementProblem:
        """The problem itself, with a budget of one evaluation; seconds of its runs are those of the processor."""
        prepared = prepared_in_corpus(self.graph, cache)
        cluster = drawn_cluster(prepared, np.random.default_rng(self.seed))
        return problem_of(prepared, cluster, RunContext.of(Budget(1), clock=time.process_time))


def balanced(graphs: Sequence[CorpusGraph], count: int) -> list[CorpusGraph]:
    """`count` of `graphs`: one of each family and mode in turn, those of a family in the order of their digests."""
    turns: dict[tuple[str, str], list[CorpusGraph]] = {}
    for graph in sorted(graphs, key=lambda each: each.digest):
        turns.setdefault((graph.family, graph.mode), []).append(graph)
    places = [(place, graph.family, graph.mode) for each in turns.values() for place, graph in enumerate(each)]
    by_turn = dict(zip(places, (graph for each in turns.values() for graph in each), strict=True))
    return [by_turn[place] for place in sorted(by_turn)[:count]]


def measured_problems(graphs: Sequence[CorpusGraph], count: int, clusters: int) -> Iterator[CorpusProblem]:
    """`count` of `graphs`, each on so many `clusters`."""
    for graph in balanced(graphs, count):
        yield from (CorpusProblem(graph, number) for number in range(clusters))


def training_problems(graphs: Sequence[CorpusGraph], cache: Path, seed: int) -> list[TrainingProblem]:
    """Each graph on one cluster drawn for it, which has no name: a card would list hundreds."""
    found = []
    for number, graph in enumerate(graphs):
        prepared = prepared_in_corpus(graph, cache)
        cluster = drawn_cluster(prepared, np.random.default_rng([seed, number]))
        context = RunContext.of(Budget(1), clock=time.process_time)
        found.append(TrainingProblem(graph.name, "", problem_of(prepared, cluster, context)))
    return found


def cluster_words(cluster: Cluster) -> str:
    """`2xA100+V100, 12.5 GB/s, tight`"""
    kinds = [device.kind for device in cluster.devices]
    counts = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    devices = "+".join(f"{count}x{kind}" if count > 1 else kind for kind, count in counts.items())
    apart = ~np.eye(len(kinds), dtype=bool)
    slowest = cluster.bandwidth_bytes_per_us[apart].min() / 1e3
    room = "" if cluster.devices[0].memory_bytes == ROOMY_BYTES else ", tight"
    return f"{devices}, {slowest:.3g} GB/s{room}"
