"""The command `choose`: which devices to have for a throughput, and what one more of them brings."""

import argparse
import json
import sys

from engine import api
from engine.cli import Commands
from engine.cli.plan_arguments import add_planning, model_of, plan_request, priced_cluster, require_report


def add_choose(commands: Commands) -> None:
    """Add the command `choose GRAPH --cluster C --batch B --reach R|--one-more KIND`."""
    parser = commands.add_parser("choose", help="find the cheapest devices for a throughput, or what one more brings")
    add_planning(parser, 10.0, "seconds of the search on each part of the cluster")
    question = parser.add_mutually_exclusive_group(required=True)
    question.add_argument(
        "--reach",
        type=float,
        metavar="R",
        help="find the cheapest part of the cluster, which says how many devices of each kind there may be, that "
        "reaches R samples a second; without prices the one with the fewest devices",
    )
    question.add_argument("--one-more", metavar="KIND", help="say what one more device of this kind brings")
    parser.set_defaults(command=_choose)


def _choose(parsed: argparse.Namespace) -> int:
    cluster = priced_cluster(parsed)
    require_report(parsed)
    model = model_of(parsed)
    request = plan_request(parsed, cluster, model)
    if parsed.reach is None:
        report = api.one_more(model, request, parsed.one_more, _say)
    else:
        report = api.cheapest(model, request, parsed.reach, _say)
    if parsed.report is not None:
        parsed.report.write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(api.choice_lines(report)))
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr)
