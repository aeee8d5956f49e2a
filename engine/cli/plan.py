"""The command `plan`: replicas, their cards, their shares of a batch and where each one's groups run."""

import argparse
import json
import sys
from pathlib import Path

from engine import api
from engine.cli import Commands
from engine.cli.graph_arguments import add_graph, add_seed, cluster_of, prepared_graph, print_progress
from engine.cli.reading_arguments import reading_options
from engine.errors import SettingsError
from engine.files.destinations import require_writable


def add_plan(commands: Commands) -> None:
    """Add the command `plan GRAPH --cluster C --batch B`."""
    parser = commands.add_parser("plan", help="find replicas, pipelines and placements together for a global batch")
    add_graph(parser)
    parser.add_argument(
        "--batch", type=int, required=True, metavar="B", help="samples of a batch, of all replicas together"
    )
    parser.add_argument(
        "--second",
        type=Path,
        metavar="GRAPH",
        help="the same step read at another batch, so that micro-batches may have any size",
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds of the search (default %(default)s)")
    add_seed(parser)
    parser.add_argument(
        "--pipeline",
        metavar="|".join(api.Pipeline),
        help="the order in which the stages of a replica take micro-batches (default 1f1b with a backward pass, else "
        "inference)",
    )
    parser.add_argument(
        "--recompute",
        metavar="|".join(api.Recompute),
        help="stages keep what they were given alone and run again before their backward pass (default none)",
    )
    parser.add_argument(
        "--shard-optimizer",
        action="store_true",
        help="each replica keeps and updates its part of the optimizer's state alone (ZeRO-1)",
    )
    parser.add_argument(
        "--all-reduce",
        choices=list(api.Algorithm),
        default=str(api.Algorithm.FASTEST),
        help="how replicas add up gradients (default %(default)s)",
    )
    parser.set_defaults(command=_plan)


def _plan(parsed: argparse.Namespace) -> int:
    cluster = cluster_of(parsed)
    if parsed.report is not None:
        require_writable("--report", parsed.report)
    first = prepared_graph(parsed)
    readings = [first] if parsed.second is None else [first, _second(parsed)]
    model = api.model_by_batch(readings)
    pipeline = api.usual_pipeline(first.graph) if parsed.pipeline is None else api.pipeline_of(parsed.pipeline)
    recompute = api.Recompute.NONE if parsed.recompute is None else api.recompute_of(parsed.recompute)
    rules = api.PlanRules(pipeline, recompute, parsed.shard_optimizer, api.Algorithm(parsed.all_reduce))
    request = api.PlanRequest(
        cluster, parsed.batch, rules, parsed.seconds, parsed.seed, drop_devices=parsed.drop_devices
    )
    report = api.plan(model, request, _print_better)
    if parsed.report is not None:
        parsed.report.write_text(json.dumps(report, indent=1) + "\n")
    print("\n".join(api.plan_lines(report)))
    return 0


def _print_better(item: api.Emitted) -> None:
    if isinstance(item, api.NumberedEvent) and isinstance(item.event, api.PlanFound) and item.event.is_best:
        print(api.found_plan_line(item.event), file=sys.stderr)


def _second(parsed: argparse.Namespace) -> api.PreparedGraph:
    """The second reading. Raises SettingsError for the file of the first one."""
    if parsed.second.absolute() == parsed.graph.absolute():
        raise SettingsError("both are one file", where="--second", allowed="a reading at another batch")
    suffix, options = api.suffix_of(parsed.second.name), reading_options(parsed)
    return api.prepare(parsed.second, suffix, print_progress, api.Limits(), parsed.groups, options=options)
