"""The corpus: real architectures recorded as graphs, how many of each kind and family, and how they are split."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import SettingsError
from engine.events import Json
from engine.settings.fields import number, require_allowed, switch, text, whole
from engine.settings.making import make_settings
from experiments.auto_check.cases import SHARED
from experiments.corpus.cached import CACHE, CorpusGraph, listed_graphs, path_in, prepared_in_corpus
from experiments.corpus.choosing import LIST
from experiments.corpus.filling import fill, is_there, key_of, rows_kept
from experiments.corpus.further import FurtherGraph, further_graphs_of
from experiments.corpus.listing import listing, near_in
from experiments.corpus.page import page
from experiments.corpus.prepared_facts import facts_of, keep
from experiments.folders import below_root
from experiments.grid import KeptResults, of_any_code
from experiments.pages import ReportLine, write_json, write_page

COMMAND = "PYTHONPATH=vision python -m experiments corpus"
NAME = "corpus"
LOADED = 200
"""graphs that are read to say how long that takes"""


@dataclass(frozen=True, slots=True)
class CorpusScope:
    """The defaults are the whole experiment; smaller values make it shorter."""

    cache: str = text("", "folder for recordings and graphs; empty: the user's cache folder")
    public: str = text("", "folder with public graphs and their clusters; empty: the one beside the checkout")
    most: int = whole(0, 0, 100_000, "architectures to record, the first of the list; 0: all")
    members: int = whole(32, 0, 104, "graphs of each of the engine's families")
    again: bool = switch(False, "record again what failed before")
    processor_minutes: float = number(
        0.0, 0.0, 1e5, "after which recording ends, for a further call to go on; 0: never"
    )

    def __post_init__(self) -> None:
        require_allowed(self)


def make_corpus_scope(settings: Mapping[str, Json]) -> CorpusScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", CorpusScope, settings)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Record what the cache lacks, write `folder`/corpus.{md,json}, and return the page."""
    scope = make_corpus_scope(settings or {})
    cache = below_root(scope.cache) if scope.cache else CACHE
    kept = KeptResults(cache / "rows.jsonl", also=of_any_code)
    content = json.loads(LIST.read_text())
    cases = content["cases"][: scope.most or None]
    seconds = 60 * scope.processor_minutes or float("inf")
    fill(kept, cases, cache, report, again=scope.again, processor_seconds=seconds)
    further = list(further_graphs_of(cache, _public(scope), scope.members, report))
    for graph in further:
        _add(kept, graph, cache, report)
    rows = [*rows_kept(kept, cases), *_rows_of(kept, further)]
    listed = listing(rows, near_in(cache))
    write_json(folder / f"{NAME}.json", listed)
    made = kept.made([key_of(row["library"], row["architecture"], row["mode"]) for row in rows])
    cost = cost_words(cache, listed_graphs(folder / f"{NAME}.json"))
    return write_page(folder, NAME, page(listed, content["population"], COMMAND, cost, made))


def _public(scope: CorpusScope) -> Path | None:
    """The folder with public graphs; None where the usual one is not there. Raises SettingsError for a wrong one."""
    if not scope.public:
        return SHARED if SHARED.is_dir() else None
    folder = below_root(scope.public)
    if not folder.is_dir():
        raise SettingsError("this is no folder", where=scope.public, allowed="a folder with graphs", field="public")
    return folder


def _add(kept: KeptResults, graph: FurtherGraph, cache: Path, report: ReportLine) -> None:
    if is_there(kept, graph.library, graph.architecture, graph.mode, cache, again=True):
        return
    report(f"{graph.library} {graph.architecture} {graph.mode}")
    prepared = graph.prepared()
    keep(cache, prepared, graph.library, graph.architecture, graph.mode)
    own = {"split": graph.split} if graph.split else {}
    row = {"version": graph.version, **own, **facts_of(prepared)}
    kept.add(key_of(graph.library, graph.architecture, graph.mode), row)


def _rows_of(kept: KeptResults, further: list[FurtherGraph]) -> Iterator[dict[str, Any]]:
    for graph in further:
        key = key_of(graph.library, graph.architecture, graph.mode)
        yield dict(key) | kept[key]


def cost_words(cache: Path, graphs: list[CorpusGraph]) -> str:
    """Bytes of the cache's files, and seconds to read graphs from it."""
    some = graphs[:: max(1, len(graphs) // LOADED)]
    begin = time.process_time()
    for graph in some:
        prepared_in_corpus(graph, cache)
    each_ms = 1e3 * (time.process_time() - begin) / max(1, len(some))
    sizes = {
        part: sum(_bytes(path_in(cache, part, graph.library, graph.architecture, graph.mode)) for graph in graphs)
        for part in ("graphs", "recordings")
    }
    return (
        f"{sizes['graphs'] / 1e6:,.0f} MB of graphs with their groups, {sizes['recordings'] / 1e6:,.0f} MB of\n"
        "recordings, in the user's cache folder or the one of `--set cache=FOLDER`. A graph is read in\n"
        f"{each_ms:.0f} ms of a processor in the mean of {len(some)}, so all {len(graphs):,} in\n"
        f"{each_ms * len(graphs) / 1e3:,.0f} s."
    )


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
