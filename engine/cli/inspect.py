"""The command `inspect`: prints the facts that a graph's page in the browser shows."""

import argparse
from pathlib import Path

from engine import api
from engine.cli import Commands
from engine.cli.graph_arguments import add_groups, add_measured_times, read_graph, write_report
from engine.cli.reading_arguments import add_reading_arguments
from engine.cli.reading_summary import what_was_read
from engine.files.destinations import require_apart, require_writable


def add_inspect(commands: Commands) -> None:
    """Add the command `inspect GRAPH`."""
    parser = commands.add_parser("inspect", help="show what is read of a graph: ops, FLOPs, loops, unknown costs")
    parser.add_argument("graph", type=Path, help=f"a graph: {', '.join(api.FORMATS)}")
    add_groups(parser, "", api.AUTO_GROUPS)
    add_reading_arguments(parser)
    add_measured_times(parser)
    parser.add_argument("--report", type=Path, help="write the summary here, as JSON")
    parser.set_defaults(command=_inspect)


def _inspect(parsed: argparse.Namespace) -> int:
    require_writable("--report", parsed.report)
    require_apart({"--report": parsed.report}, {"the graph": parsed.graph, "--profile": parsed.profile})
    summary = read_graph(parsed).summary()
    for line in what_was_read(summary):
        print(line)
    if parsed.report is not None:
        write_report(parsed.report, summary)
    return 0
