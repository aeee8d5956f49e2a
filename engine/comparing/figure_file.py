"""Draws the figure of a comparison to one file in a child, so that a server need not load matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.child.parent import Limits, ReportProgress, Results, child_results
from engine.comparing.comparison import ComparisonRequest
from engine.comparing.figure import SUFFIXES, draw
from engine.comparing.outcome import Outcome, outcome_from_json
from engine.comparing.report import LABELS, one_device_us, title_of
from engine.comparing.summary import summaries_of
from engine.errors import SettingsError
from engine.events import Json

DRAWING_LIMITS = Limits(memory_bytes=2 * 1024**3, seconds=60.0)
NAME = "figure"


def figure_file(graph_name: str, request: ComparisonRequest, outcomes: Sequence[Outcome], suffix: str) -> bytes:
    """The bytes of the figure as a file with `suffix`, one of `SUFFIXES`. Raises LimitError if it takes too much."""
    if suffix not in SUFFIXES:
        raise SettingsError(f"a figure ending in {suffix[:20]}", where="figure", allowed=", ".join(SUFFIXES))
    arguments: dict[str, Json] = {
        "title": title_of(graph_name, request),
        "outcomes": [outcome.to_json() | {"device_of_group": [], "parts": []} for outcome in outcomes],
    }
    function = "engine.comparing.figure_file:draw_in_child"
    with child_results(function, arguments, DRAWING_LIMITS, task="drawing the figure") as (_, folder):
        return (folder / f"{NAME}{suffix}").read_bytes()


def draw_in_child(arguments: Mapping[str, Any], folder: Path, _report_progress: ReportProgress) -> Results:
    """Draw the figure in the child process, into `folder` with each suffix."""
    outcomes = [outcome_from_json(values) for values in arguments["outcomes"]]
    draw(summaries_of(outcomes, LABELS), arguments["title"], one_device_us(outcomes), folder, NAME)
    return {}, {}
