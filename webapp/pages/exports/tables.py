"""Exports of a whole run: its episodes, and its method beside the baselines."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine import api
from webapp.jobs.event_log import texts_in_turn
from webapp.pages.exports.placements import CSV
from webapp.runs.models import Answer, Run, RunStart

EPISODE_COLUMNS = (
    "episode",
    "step_time_us",
    "feasible",
    "best_step_time_us",
    "evaluations",
    "elapsed_seconds",
)
TIME_SOURCE = "step_time_source"
"""the last column of each table: that step times are simulated, and where op times come from"""
METHOD_COLUMNS = (
    "method",
    "step_time_us",
    "mean_step_time_us",
    "evaluations",
    "wall_seconds",
    "largest_peak_bytes",
    "note",
)


def _events(run: Run, kind: str) -> Iterator[dict[str, Any]]:
    return map(json.loads, texts_in_turn(run.id, [kind]))


def _episodes(run: Run) -> str:
    """One row an episode; a thinned run has lost some."""
    return _table(
        run, EPISODE_COLUMNS, ([event[name] for name in EPISODE_COLUMNS] for event in _events(run, "episode"))
    )


def _methods(run: Run) -> str:
    """One row a baseline, and one for the run. Events of earlier versions have times only."""
    report = Answer.objects.filter(run=run).values_list("report", flat=True).first()
    own = {
        **(report if isinstance(report, dict) else {}),
        "method": run.method,
        "step_time_us": run.best_step_time_us,
        "evaluations": run.evaluations_used,
        "note": f"this run: {run.status}{_pins_words(run)}",
    }
    reports = [*_events(run, "baseline"), own]
    rows = ([{**event, **_largest(event)}.get(column) for column in METHOD_COLUMNS] for event in reports)
    return _table(run, METHOD_COLUMNS, rows)


def _largest(event: Mapping[str, Any]) -> dict[str, int]:
    peaks = event.get("peak_bytes")
    return {"largest_peak_bytes": max(peaks)} if peaks else {}


def _table(run: Run, columns: Sequence[str], rows: Iterable[list[Any]]) -> str:
    source = run.graph.step_time_source
    return api.csv_text((*columns, TIME_SOURCE), ([*row, source] for row in rows))


def _pins_words(run: Run) -> str:
    """How many groups the run and its baselines keep on their devices, after a comma; empty if none."""
    start = RunStart.objects.filter(run=run).first()
    count = 0 if start is None else len(start.pins)
    return f", {count} locked group{'s' * (count != 1)} kept, by the baselines too" if count else ""


OF_RUN: dict[str, tuple[str, Callable[[Run], str]]] = {
    "episodes.csv": (CSV, _episodes),
    "methods.csv": (CSV, _methods),
}
"""name → (content type, function that makes it)"""
