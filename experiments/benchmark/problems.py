"""The problems of the benchmark: a graph of the sample on a cluster with an objective, and what is known beforehand."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.errors import InfeasibleError
from engine.events import Json
from engine.prepared import PreparedGraph
from engine.problem import PlacementProblem
from engine.problem.making import problem_of
from engine.problem.memory_floor import require_room
from engine.simulator.streams.passes import usual_pipeline
from engine.simulator.streams.stream import Objective, Stream
from experiments.benchmark.clusters import BENCHMARK_CLUSTERS, with_tight_memory
from experiments.benchmark.sample import recording_of, size_of
from experiments.benchmark.scope import BenchmarkScope
from experiments.corpus.cached import CorpusGraph, prepared_in_corpus
from experiments.grid import Measurement
from experiments.keeping.yardstick import key_of

MICRO_BATCHES = 16
"""in flight, where the objective is throughput: forward passes in inference, 1F1B in training"""


@dataclass(frozen=True, slots=True)
class BenchmarkProblem:
    """A problem before its graph is read."""

    graph: CorpusGraph
    cluster: str
    """one of `BENCHMARK_CLUSTERS`"""
    objective: str

    @property
    def name(self) -> str:
        """Graph, cluster and objective, for people."""
        return f"{self.graph.name} on {self.cluster}, {self.objective}"

    def strata(self) -> dict[str, str]:
        """Dimension → the stratum in which the problem is."""
        graph = self.graph
        return {
            "kind": graph.kind,
            "size": size_of(graph),
            "mode": graph.mode,
            "cluster": self.cluster,
            "objective": self.objective,
        }

    def of_prepared(self, prepared: PreparedGraph) -> PlacementProblem:
        """The problem of placing `prepared`, its graph; with a budget of one evaluation."""
        row = BENCHMARK_CLUSTERS[self.cluster]
        problem = problem_of(prepared, row.cluster)
        problem = with_tight_memory(problem) if row.tight else problem
        if self.objective == Objective.STEP_TIME:
            return problem
        return dataclasses.replace(problem, stream=Stream(MICRO_BATCHES, usual_pipeline(prepared.graph)))

    def facts_key(self) -> Measurement:
        """The key under which `facts_of` is kept."""
        cluster: dict[str, Json] = asdict(BENCHMARK_CLUSTERS[self.cluster])
        stream = MICRO_BATCHES if self.objective == Objective.THROUGHPUT else 0
        recording = recording_of(self.graph)
        return {"facts": self.graph.name, "recording": recording, "cluster": cluster, "micro_batches": stream}


def benchmark_problems(graphs: Sequence[CorpusGraph], scope: BenchmarkScope) -> Iterator[BenchmarkProblem]:
    """All problems of these graphs; those of a graph come one after the other."""
    for graph in graphs:
        for cluster in scope.cluster_names:
            for objective in scope.objectives:
                yield BenchmarkProblem(graph, cluster, objective)


@lru_cache(maxsize=1)
def prepared_of(graph: CorpusGraph, folder: Path) -> PreparedGraph:
    """The graph from the corpus's folder, the last one kept. Raises GraphError, FileNotFoundError."""
    return prepared_in_corpus(graph, folder)


def facts_of(problem: PlacementProblem) -> dict[str, Any]:
    """What the table needs of a problem: its key, a lower bound, and why nothing can fit, if so."""
    facts: dict[str, Any] = {
        "problem": key_of(problem),
        "groups": problem.group_count,
        "devices": problem.device_count,
        "device_bytes": int(problem.memory_bytes.max()),
        "lower_bound_us": problem.lower_bound_us,
    }
    try:
        require_room(problem, units_are_groups=True)
    except InfeasibleError as error:
        facts["infeasible"] = str(error)
    return facts
