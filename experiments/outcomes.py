"""Outcomes of methods × seeds on one problem, each kept by itself: what tables of methods are made of."""

import dataclasses
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine import api
from engine.clusters.cluster import Cluster
from engine.comparing.child import outcome_in_child
from engine.comparing.grid import GoOn, fill
from engine.comparing.listener import SINGLE_DEVICE
from engine.comparing.outcome import outcome_from_json
from experiments.grid import KeptResults, Measurement
from experiments.pages import ReportLine


@dataclass(frozen=True, slots=True)
class Column:
    """A method with its settings over the defaults, as tables show it."""

    label: str
    method: str
    settings: Mapping[str, api.Json] = field(default_factory=dict)

    def seeds(self, count: int) -> range:
        """Seeds 0 to `count` - 1; of a deterministic method seed 0 alone."""
        deterministic = next(method.deterministic for method in api.methods() if method.name == self.method)
        return range(1 if deterministic else count)


def column_of(method: str) -> Column:
    """The method with its defaults, under its own label."""
    return Column(next(row.label for row in api.methods() if row.name == method), method)


@dataclass(frozen=True, slots=True)
class KeptProblem:
    """A graph on a cluster, under the words that name them for good."""

    graph: str
    cluster_words: str
    cluster: Cluster
    make: Callable[[], api.PreparedGraph]
    """called only if an outcome is missing"""

    def key(self, column: Column, seed: int, evaluations: int) -> Measurement:
        """What one outcome measures."""
        return {
            "graph": self.graph,
            "cluster": self.cluster_words,
            "method": column.method,
            "settings": dict(column.settings),
            "seed": seed,
            "evaluations": evaluations,
        }

    def keys(self, columns: Sequence[Column], seeds: int, evaluations: int) -> list[Measurement]:
        """The keys of all outcomes."""
        return [self.key(column, seed, evaluations) for column in columns for seed in column.seeds(seeds)]


class _KeptOutcomes:
    """Outcomes among kept results: without placements, and with curves only where they are wanted."""

    def __init__(self, kept: KeptResults, curves: bool) -> None:
        self._kept, self._curves = kept, curves

    def __contains__(self, key: Measurement) -> bool:
        return key in self._kept

    def __getitem__(self, key: Measurement) -> api.Outcome:
        return outcome_from_json(self._kept[key])

    def add(self, key: Measurement, outcome: api.Outcome) -> None:
        self._kept.add(key, _small(outcome, self._curves).to_json())


def measure_outcomes(
    kept: KeptResults,
    problem: KeptProblem,
    columns: Sequence[Column],
    seeds: int,
    evaluations: int,
    report: ReportLine,
    *,
    curves: bool = False,
) -> dict[str, list[api.Outcome]]:
    """By label, the outcomes of all seeds; those that `kept` lacks are measured, a child each, as many as cores.

    Placements are not kept, and curves only with `curves`. A child that runs out of memory or time gives an outcome
    with its reason, which is not kept: the next call tries it again.
    """
    by_label = {column.label: column for column in columns}
    cells = {
        (column.label, seed): problem.key(column, seed, evaluations)
        for column in columns
        for seed in column.seeds(seeds)
    }
    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / "graph.npz"
        if any(key not in kept for key in cells.values()):
            graph.write_bytes(problem.make().to_bytes())

        def measure(share: Sequence[tuple[str, int]], go_on: GoOn) -> Iterator[api.Outcome]:
            for label, seed in share:
                request = _request(problem.cluster, by_label[label], seed, evaluations)
                yield outcome_in_child(graph, request, None, lambda *_: go_on())
                report(f"{problem.graph} on {problem.cluster_words}: {label}, seed {seed}")

        def instead(cell: tuple[str, int], error: api.PlacetoError) -> api.Outcome:
            return api.Outcome(by_label[cell[0]].method, cell[1], reason=str(error))

        outcomes = fill(cells, _KeptOutcomes(kept, curves), measure, os.cpu_count() or 1, instead=instead)
    found: dict[str, list[api.Outcome]] = {column.label: [] for column in columns}
    for (label, _), outcome in outcomes.items():
        found[label].append(outcome)
    return found


def _request(cluster: Cluster, column: Column, seed: int, evaluations: int) -> api.RunRequest:
    budget, settings = api.Budget(evaluations), column.settings
    return api.RunRequest(cluster, column.method, budget, seed, settings, baselines=(SINGLE_DEVICE,), robustness=False)


def _small(outcome: api.Outcome, curves: bool) -> api.Outcome:
    """The outcome without its placement, without settings, which its key has, and without its curve unless asked."""
    curve = outcome.curve if curves else ()
    return dataclasses.replace(outcome, device_of_group=(), parts=(), settings={}, curve=curve)


def small_facts(outcome: api.Outcome) -> dict[str, api.Json]:
    """The fields of a kept outcome that say something, for the JSON of a table."""
    empty = ("device_of_group", "parts", "settings", "ended", *(() if outcome.curve else ("curve",)))
    return {name: value for name, value in outcome.to_json().items() if name not in empty}
