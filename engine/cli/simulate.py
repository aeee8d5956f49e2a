"""The commands that use a given placement: `simulate` and `apply`."""

import argparse
import json
import sys
from pathlib import Path

from engine import api
from engine.cli import Commands
from engine.cli.constraint_arguments import add_constraints, constraints_of
from engine.cli.graph_arguments import NO_MERGING, add_graph, cluster_of, prepared_graph, write_report
from engine.cli.placement_arguments import PLACED_FORMATS, PLACED_HELP, read_placements, require_placed_name
from engine.cli.reading_arguments import add_reading_arguments, reading_options
from engine.cli.stream_arguments import add_stream, stream_of
from engine.errors import SettingsError
from engine.files.destinations import require_apart, require_writable


def add_simulate(commands: Commands) -> None:
    """Add the command `simulate GRAPH --cluster C --placement placement.json`."""
    parser = commands.add_parser("simulate", help="simulate a placement, or a list of them")
    add_graph(parser, groups=NO_MERGING)
    parser.add_argument(
        "--placement",
        type=Path,
        required=True,
        help="JSON {op: device}, or a list of them; of a recording also a device map or split points",
    )
    add_constraints(parser)
    add_stream(parser)
    parser.add_argument("--trace", type=Path, help="write a Chrome trace of the timeline here")
    parser.set_defaults(command=_simulate)


def add_apply(commands: Commands) -> None:
    """Add the command `apply GRAPH --placement placement.json --out placed.pb`."""
    parser = commands.add_parser("apply", help="write a graph with the devices of a placement")
    parser.add_argument("graph", type=Path, help=f"a graph: {', '.join(api.FORMATS)}")
    add_reading_arguments(parser)
    parser.add_argument("--placement", type=Path, required=True, help="JSON {op: device}")
    parser.add_argument("--out", type=Path, required=True, help=PLACED_HELP)
    parser.add_argument("--drop-devices", action="store_true", help="ignore the devices that the file fixes")
    parser.add_argument("--short-devices", action="store_true", help="write /device:TYPE:N alone, without job and task")
    parser.set_defaults(command=_apply)


def _simulate(parsed: argparse.Namespace) -> int:
    cluster = cluster_of(parsed)
    constraints_of(parsed)  # refuses odd ones before any work
    require_writable("--trace", parsed.trace)
    require_writable("--report", parsed.report)
    read = {"the graph": parsed.graph, "--placement": parsed.placement, "--profile": parsed.profile}
    require_apart({"--trace": parsed.trace, "--report": parsed.report}, read)
    placements = read_placements(parsed.placement)
    rows: list[api.Json] = list(placements) if isinstance(placements, list) else [placements]
    if parsed.trace is not None and len(rows) != 1:
        raise SettingsError(f"{len(rows)} placements", where="--trace", allowed="one placement")
    prepared = prepared_graph(parsed)
    reports = api.simulate(prepared, cluster, rows, stream_of(parsed, prepared), constraints_of(parsed))
    if not isinstance(placements, list):
        print(api.judgement(prepared, cluster, placements, constraints=constraints_of(parsed)), file=sys.stderr)
    if parsed.trace is not None:
        parsed.trace.write_text(json.dumps(api.trace(prepared, cluster, rows[0])) + "\n")
    write_report(parsed.report, reports if isinstance(placements, list) else reports[0])
    return 0


def _apply(parsed: argparse.Namespace) -> int:
    require_placed_name(parsed.out, parsed.graph, PLACED_FORMATS, parsed.fetch)
    api.apply(
        parsed.graph,
        api.suffix_of(parsed.graph.name),
        read_placements(parsed.placement),
        parsed.out,
        api.Limits(),
        reading_options(parsed),
        short=parsed.short_devices,
        keep_pins=not parsed.drop_devices,
    )
    return 0
