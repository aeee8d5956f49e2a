"""Fills the cache: each architecture that it lacks is recorded in a child, and its rows are kept as they come."""

import importlib.metadata
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.architectures.forked import END, PROCESSOR_SECONDS, ROW, START, STEP, ForkLimits, Forks
from experiments.corpus.cached import MODES, path_in
from experiments.corpus.choosing import LIST, SPLIT
from experiments.corpus.lineage import family_of
from experiments.corpus.recording_words import MODE, ONE_BY_ONE_KINDS
from experiments.grid import KeptResults, Measurement
from experiments.pages import ReportLine

RECORD_CASE = "experiments.corpus.recording:record_case"
LIMITS = ForkLimits(processor_seconds=75, memory_bytes=10 * 2**30)
"""of one architecture in both modes"""


def listed_cases() -> list[dict[str, Any]]:
    """The architectures of list.json."""
    cases: list[dict[str, Any]] = json.loads(LIST.read_text())["cases"]
    return cases


def key_of(library: str, architecture: str, mode: str) -> Measurement:
    """The key under which a row is kept."""
    return {"library": library, "architecture": architecture, "mode": mode}


def fill(
    kept: KeptResults,
    cases: Sequence[Mapping[str, Any]],
    cache: Path,
    report: ReportLine,
    *,
    again: bool = False,
    processor_seconds: float = float("inf"),
    work: str = RECORD_CASE,
    limits: ForkLimits = LIMITS,
) -> None:
    """Record what `kept` and the cache lack of `cases`, until the children have taken `processor_seconds` together.

    `again` also records what failed before; `work` is the function of a child, as `Forks` takes it.
    """
    missing = [case for case in cases if _missing(kept, case, cache, again)]
    if not missing:
        return
    used = 0.0
    with Forks(work, limits) as forks:
        for number, case in enumerate(missing, 1):
            if used >= processor_seconds:
                report(f"{len(missing) - number + 1} architectures are left for a further call")
                return
            rows, end = rows_of(forks, _with_options(case, cache))
            version = importlib.metadata.version(case["library"])
            for mode, row in rows.items():
                kept.add(key_of(case["library"], case["architecture"], mode), {"version": version, **row})
            used += end[PROCESSOR_SECONDS]
            words = ", ".join(_words(mode, row) for mode, row in rows.items())
            name = f"{case['library']} {case['architecture']}"
            report(f"{number} of {len(missing)}: {name}: {words}; {end[PROCESSOR_SECONDS]:.1f} s, {used:,.0f} in all")


def rows_of(forks: Forks, case: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Mode → row of one case, and the last message; what a child that ended had not told has failed at its step."""
    rows: dict[str, dict[str, Any]] = {}
    at: dict[str, str] = {}
    end: dict[str, Any] = {}
    for message in forks.messages(case):
        if ROW in message:
            rows[message[MODE]] = message[ROW]
        elif STEP in message:
            at[message[MODE]] = message[STEP]
        else:
            end = message
    for mode in MODES:
        if mode not in rows:
            rows[mode] = {"failed": at.get(mode, START), "sentence": end[END] or "its child told nothing of it"}
    return rows, end


def _missing(kept: KeptResults, case: Mapping[str, Any], cache: Path, again: bool) -> bool:
    return any(not is_there(kept, case["library"], case["architecture"], mode, cache, again) for mode in MODES)


def is_there(kept: KeptResults, library: str, architecture: str, mode: str, cache: Path, again: bool) -> bool:
    """Whether a row is known and, unless it failed, its graph is in the cache; `again`: and it has not failed."""
    key = key_of(library, architecture, mode)
    if key not in kept:
        return False
    return not again if "failed" in kept[key] else path_in(cache, "graphs", library, architecture, mode).is_file()


def _with_options(case: Mapping[str, Any], cache: Path) -> dict[str, Any]:
    kind = family_of(case["architecture"]).kind
    no_split: list[str] | None = [] if case.get("blocks") == SPLIT else None
    return {**case, "cache": str(cache), "no_split": no_split, "one_by_one": kind in ONE_BY_ONE_KINDS}


def _words(mode: str, row: Mapping[str, Any]) -> str:
    if "failed" in row:
        return f"{mode} {row['failed']}: {row['sentence'][:120]}"
    return f"{mode} {row['ops']:,} ops in {row['groups']} groups, batch {row['batch']}"


def rows_kept(kept: KeptResults, cases: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows that are known of `cases`, with library, architecture and mode."""
    for case in cases:
        for mode in MODES:
            key = key_of(case["library"], case["architecture"], mode)
            if key in kept:
                blocks = {"blocks": case["blocks"]} if "blocks" in case else {}
                yield dict(key) | blocks | kept[key]
