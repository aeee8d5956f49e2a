"""The settings of the benchmark: one dataclass, a sentence for each field; each is an option of the command too."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.events import Json
from engine.placers.registry import PLACERS
from engine.settings.fields import choice, number, refused, require_allowed, switch, text, whole
from engine.settings.making import make_settings
from engine.simulator.streams.stream import Objective
from experiments.benchmark.clusters import BENCHMARK_CLUSTERS
from experiments.benchmark.sample import SAMPLE_GRAPHS
from experiments.corpus.cached import CACHE, CorpusSplit

OBJECTIVES = tuple(map(str, Objective))
ALL, NONE = "all", "none"


def _require_names(name: str, given: str, known: Sequence[str], also: Sequence[str] = ()) -> None:
    """Raise SettingsError unless `given` is one of `also`, or some of the `known` names, with commas, each once."""
    names = given.split(",")
    if given not in also and (not set(names) <= set(known) or len(set(names)) < len(names)):
        raise refused(name, given, f"{', '.join((*also, *known))}; each once, with commas")


@dataclass(frozen=True, slots=True)
class BenchmarkScope:
    """The defaults are the whole benchmark; smaller values make it shorter, and the page shows them."""

    side: str = choice(("test", "development"), "side of the corpus; nothing is chosen by its test side")
    graphs: int = whole(SAMPLE_GRAPHS, 1, 10_000, "of the sample, the first ones")
    clusters: str = text(",".join(BENCHMARK_CLUSTERS), "with commas", ", ".join(BENCHMARK_CLUSTERS))
    objective: str = text(",".join(OBJECTIVES), "with commas", ", ".join(OBJECTIVES))
    methods: str = text(ALL, "methods to run, with commas", f"{ALL}, {NONE}, methods")
    method: str = text("", "methods of your own beside them, with commas", "FILE.py:CLASS")
    policy: str = text("", "a trained policy, with which the methods that take one run once more")
    evaluations: int = whole(100, 0, 1_000_000, "of each run at equal evaluations; 0 for no such runs")
    seconds: float = number(1.0, 0.0, 1e5, "of the processor, of each run at equal seconds; 0 for no such runs")
    seeds: int = whole(3, 1, 1000, "of a method that draws at random, on the first `seed_graphs` graphs; 1 on others")
    seed_graphs: int = whole(10, 0, 10_000, "graphs with all seeds")
    measure: bool = switch(True, "whether missing runs are made; without, only the page is written")
    corpus: str = text(str(CACHE), "folder of the corpus's graphs")

    def __post_init__(self) -> None:
        require_allowed(self)
        _require_names("clusters", self.clusters, tuple(BENCHMARK_CLUSTERS))
        _require_names("objective", self.objective, OBJECTIVES)
        _require_names("methods", self.methods, tuple(PLACERS), (ALL, NONE))

    @property
    def split(self) -> CorpusSplit:
        """The side, as the corpus calls it."""
        return "test" if self.side == "test" else "development"

    @property
    def cluster_names(self) -> list[str]:
        """The clusters, in their order."""
        return self.clusters.split(",")

    @property
    def objectives(self) -> list[str]:
        """The objectives, in their order."""
        return self.objective.split(",")

    @property
    def method_names(self) -> list[str]:
        """The registry's methods that are run."""
        every = {ALL: list(PLACERS), NONE: []}
        return every.get(self.methods, self.methods.split(","))

    @property
    def own_places(self) -> list[str]:
        """The places of the methods of one's own: FILE.py:CLASS."""
        return [place for place in self.method.split(",") if place]

    @property
    def corpus_folder(self) -> Path:
        """The folder of the corpus's graphs."""
        return Path(self.corpus).expanduser()


def make_benchmark_scope(settings: Mapping[str, Json]) -> BenchmarkScope:
    """The scope with these `settings`; the others are the whole benchmark's. Raises SettingsError."""
    return make_settings("the benchmark", BenchmarkScope, settings)
