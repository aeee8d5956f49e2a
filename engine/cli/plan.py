"""The command `plan`: replicas, their cards, their shares of a batch and where each one's groups run."""

import argparse
import json
import sys

from engine import api
from engine.cli import Commands
from engine.cli.plan_arguments import add_planning, model_of, plan_request, priced_cluster, require_report
from engine.cli.plan_out import add_out, placed_source, require_out, write_out


def add_plan(commands: Commands) -> None:
    """Add the command `plan GRAPH --cluster C --batch B`."""
    parser = commands.add_parser("plan", help="find replicas, pipelines and placements together for a global batch")
    add_planning(parser, 60.0, "seconds of the search")
    add_out(parser)
    parser.set_defaults(command=_plan)


def _plan(parsed: argparse.Namespace) -> int:
    cluster = priced_cluster(parsed)
    require_report(parsed)
    require_out(parsed)
    model = model_of(parsed)
    source = None if parsed.out is None else placed_source(parsed)
    request = plan_request(parsed, cluster, model)
    report = api.plan(model, request, _print_better)
    if parsed.report is not None:
        parsed.report.write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(api.plan_lines(report)))
    if source is not None:
        lines = write_out(parsed.out, report, model, request, source)
        print("\n".join(["", f"{parsed.out} has the report, and of the first plan above:", *lines]), file=sys.stderr)
    return 0


def _print_better(item: api.Emitted) -> None:
    if isinstance(item, api.NumberedEvent) and isinstance(item.event, api.PlanFound) and item.event.is_best:
        print(api.found_plan_line(item.event), file=sys.stderr)
