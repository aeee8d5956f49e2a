"""The corpus: real architectures recorded as graphs, how many of each kind and family, and how they are split."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.events import Json
from engine.settings.fields import number, require_allowed, switch, text, whole
from engine.settings.making import make_settings
from experiments.corpus.cached import CACHE
from experiments.corpus.filling import fill, listed_cases
from experiments.folders import below_root
from experiments.grid import KeptResults, of_any_code
from experiments.pages import ReportLine

COMMAND = "python -m experiments corpus"
NAME = "corpus"


@dataclass(frozen=True, slots=True)
class CorpusScope:
    """The defaults are the whole experiment; smaller values make it shorter."""

    cache: str = text("", "folder for recordings and graphs; empty: the user's cache folder")
    most: int = whole(0, 0, 100_000, "architectures to record, the first of the list; 0: all")
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
    cases = listed_cases()[: scope.most or None]
    seconds = 60 * scope.processor_minutes or float("inf")
    fill(kept, cases, cache, report, again=scope.again, processor_seconds=seconds)
    return ""
