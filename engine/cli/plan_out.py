"""The folder of `plan --out`: the report, and for each replica of the best plan the files that its runtime reads."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import api
from engine.cli.graph_arguments import print_progress
from engine.cli.reading_arguments import reading_options
from engine.errors import GraphError, SettingsError
from engine.files.destinations import require_new_folder, require_room
from engine.files.whole_files import whole_folder

REPORT = "plan.json"


def add_out(parser: argparse.ArgumentParser) -> None:
    """Add `--out`."""
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help=f"write the report here, as {REPORT}, and for each replica of the best plan what its runtime reads: of a "
        "recording split points or a device map, else the placed file; for TensorFlow also a script that trains by it; "
        "the folder is new or empty",
    )


def require_out(parsed: argparse.Namespace) -> None:
    """Raise SettingsError unless the folder can be written, and `--report` lies outside of it."""
    if parsed.out is not None:
        require_new_folder("--out", parsed.out)
        if parsed.report is not None and parsed.report.resolve().is_relative_to(parsed.out.resolve()):
            allowed = "a file outside of the folder of --out, which has it too"
            raise SettingsError(f"{parsed.report} would be inside", where="--report", allowed=allowed)
        if parsed.graph.is_file():
            require_room("--out", parsed.out, parsed.graph.stat().st_size)


def placed_source(parsed: argparse.Namespace) -> api.PlacedSource:
    """The file of which placed ones are written; asks before a search. Raises GraphError, LimitError."""
    suffix, options, limits = api.suffix_of(parsed.graph.name), reading_options(parsed), api.Limits()
    if suffix == api.SAVED_MODEL:
        try:
            api.require_saved_model(parsed.graph, suffix, limits, options, print_progress)
        except GraphError as error:
            return api.PlacedSource(parsed.graph, suffix, options, limits, api.GRAPHDEF, str(error))
    return api.PlacedSource(parsed.graph, suffix, options, limits, api.usual_placed(suffix))


def write_out(
    folder: Path, report: dict[str, Any], model: api.ModelByBatch, request: api.PlanRequest, source: api.PlacedSource
) -> list[str]:
    """Write the folder, whole or not at all. Returns lines for people on what is in it. Raises as `write_placed`."""
    best = report["plans"][0]
    with whole_folder(folder) as partial:
        lines = api.write_replica_files(best, model.prepared, request.cluster, source, partial)
        if source.is_tensorflow(model.prepared.origin):
            report = report | {"strategy": api.write_strategy(model, request, best, partial)}
            lines.append(_strategy_line(report["strategy"]))
        (partial / REPORT).write_text(json.dumps(report, indent=1) + "\n")
    return lines


def _strategy_line(strategy: Mapping[str, Any]) -> str:
    return f"{strategy['file'] or 'no strategy.py'}: {strategy['words']}"
