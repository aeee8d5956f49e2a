"""Graphs of the corpus that no library's model gives: the zoo, the engine's families, public graphs of others.

Their costs come from TensorFlow's ops or stand in the file. Public graphs count where their folder is given; they are
other people's data and never part of the repository.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from engine import VERSION, api
from engine.formats.reading import AUTO_GROUPS
from engine.prepared import PreparedGraph
from engine.zoo import ZOO
from engine.zoo.families.cache import cache_path, identity, read_cached
from engine.zoo.families.catalogue import FAMILIES
from engine.zoo.families.family import prepared_family
from engine.zoo.families.members import members
from experiments.corpus.cached import INFERENCE, MODES, TRAINING
from experiments.corpus.split import MEMBERS_OF
from experiments.pages import ReportLine
from experiments.zoo_graphs import prepared_zoo_graph

OF_THE_ZOO, PUBLIC = "zoo", "public"
CLUSTER_SUFFIX = ".cluster.json"
"""of the file beside a public graph that says for which devices its times are"""


@dataclass(frozen=True, slots=True)
class FurtherGraph:
    """A graph, how it is made, and what its row says beside."""

    library: str
    architecture: str
    mode: str
    version: str
    prepared: Callable[[], PreparedGraph]
    split: str | None = None
    """of a member of the engine's families"""


def further_graphs_of(cache: Path, public: Path | None, count: int, report: ReportLine) -> Iterator[FurtherGraph]:
    """All of them; `count` members of each of the engine's families, which `cache` / families keeps too."""
    for name in ZOO:
        for mode in MODES:
            settings: dict[str, api.Json] = {"inference": mode == INFERENCE}
            made = partial(prepared_zoo_graph, name, report, settings, AUTO_GROUPS)
            yield FurtherGraph(OF_THE_ZOO, name, mode, VERSION, made)
    for family in MEMBERS_OF if count else ():
        for member in members(family, count=count):
            made = partial(_member, family, member.name, cache / "families", count, report)
            yield FurtherGraph(family, member.name, TRAINING, VERSION, made, member.split)
    for path in sorted(public.glob(f"*{CLUSTER_SUFFIX}")) if public else []:
        graph = path.with_name(path.name.replace(CLUSTER_SUFFIX, ".json"))
        made = partial(api.prepare, graph, graph.suffix, lambda *_: None, api.Limits())
        yield FurtherGraph(PUBLIC, graph.stem, INFERENCE, "", made)


def _member(family: str, name: str, cache: Path, count: int, report: ReportLine) -> PreparedGraph:
    """From the cache of families, filled at the first call."""
    row = FAMILIES[family]
    (member,) = (each for each in members(family, count=count) if each.name == name)
    wanted = identity(row, member, 0)
    found = read_cached(cache_path(cache, wanted), wanted)
    if found is None:
        prepared_family(family, cache, lambda words, *_: report(words), count=count)
        found = read_cached(cache_path(cache, wanted), wanted)
    assert found is not None
    return found
