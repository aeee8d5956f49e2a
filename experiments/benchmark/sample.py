"""The graphs of the benchmark: a stratified sample of one side of the corpus, drawn once and kept in a file.

A stratum is a kind, a mode and a size. The strata take turns, the rarest first, until there are enough graphs, so the
first graphs of a sample are a smaller sample of the same sort. In a stratum the graphs of an architecture family take
turns too. Within these rules a graph's place depends on the seed and its own name alone: graphs that come or go move no
others.
"""

import dataclasses
import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import SettingsError
from experiments.corpus.cached import CorpusGraph, CorpusSplit, listed_graphs
from experiments.pages import ReportLine, read_json, write_json

SAMPLE_SEED = 56
SAMPLE_GRAPHS = 100
SIZES = {"small": 1000, "medium": 4000, "large": 10**12}
"""size → its most ops"""
SAMPLE_FILE = "benchmark_sample.json"
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SampledGraph:
    """A line of the file: what names the graph, and what was drawn by."""

    name: str
    digest: str
    """of the corpus's list"""


def size_of(graph: CorpusGraph) -> str:
    """The size, one of `SIZES`."""
    return next(size for size, most in SIZES.items() if graph.ops <= most)


def stratum_of(graph: CorpusGraph) -> tuple[str, str, str]:
    """Kind, mode and size."""
    return graph.kind, graph.mode, size_of(graph)


def draw_sample(
    graphs: Iterable[CorpusGraph], count: int = SAMPLE_GRAPHS, seed: int = SAMPLE_SEED
) -> list[CorpusGraph]:
    """`count` of the graphs, or all where there are fewer, stratum by stratum in turn."""
    strata = _by(sorted(graphs, key=lambda graph: _rank(seed, graph.name)), stratum_of)
    queues = [
        _in_turns(of_stratum) for _, of_stratum in sorted(strata.items(), key=lambda item: (len(item[1]), item[0]))
    ]
    return list(_interleaved(queues))[:count]


def _in_turns(graphs: Sequence[CorpusGraph]) -> list[CorpusGraph]:
    """The graphs of a stratum, a family after the other."""
    return list(_interleaved(list(_by(graphs, lambda graph: graph.family).values())))


def _interleaved(queues: Sequence[Sequence[CorpusGraph]]) -> Iterator[CorpusGraph]:
    return (graph for turn in zip_longest(*queues) for graph in turn if graph is not None)


def _by(graphs: Iterable[CorpusGraph], key: "Any") -> dict[Any, list[CorpusGraph]]:
    grouped: dict[Any, list[CorpusGraph]] = {}
    for graph in graphs:
        grouped.setdefault(key(graph), []).append(graph)
    return grouped


def _rank(seed: int, name: str) -> str:
    return hashlib.sha256(f"{seed} {name}".encode()).hexdigest()


def sampled_graphs(side: CorpusSplit, folder: Path, listed: Path, report: ReportLine) -> list[CorpusGraph]:
    """The sample of a side: as `folder`'s file has it, else drawn from the corpus's list and written there.

    Raises SettingsError where the file names a graph that the list lacks or has with another digest.
    """
    path = folder / SAMPLE_FILE
    kept: dict[str, Any] = read_json(path) or {"seed": SAMPLE_SEED, "sides": {}}
    known = {graph.name: graph for graph in listed_graphs(listed) if graph.split == side}
    if side not in kept["sides"]:
        drawn = draw_sample(known.values())
        kept["sides"][side] = [asdict(SampledGraph(graph.name, graph.digest)) for graph in drawn]
        write_json(path, kept, indent=1)
        report(f"drew {len(drawn)} of {len(known)} graphs of the {side} side")
    return [_found(SampledGraph(**row), known) for row in kept["sides"][side]]


def _found(sampled: SampledGraph, known: Mapping[str, CorpusGraph]) -> CorpusGraph:
    graph = known.get(sampled.name)
    if graph is None or graph.digest != sampled.digest:
        what = "the corpus's list has no such graph on this side" if graph is None else "the corpus has another digest"
        advice = f"record the corpus as it was, or remove {SAMPLE_FILE} to draw another sample"
        raise SettingsError(what, where=sampled.name, advice=advice)
    return graph


def recording_of(graph: CorpusGraph) -> str:
    """Digits that differ where anything that the list says of the graph does."""
    return hashlib.sha256(repr(sorted(dataclasses.asdict(graph).items())).encode()).hexdigest()[:12]
