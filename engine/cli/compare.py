"""The command `compare`: runs methods × seeds on one graph and writes a table, a report and a figure."""

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path

from engine import api
from engine.cli import Commands
from engine.cli.constraint_arguments import add_constraints, constraints_of
from engine.cli.graph_arguments import (
    DEFAULT_EVALUATIONS,
    add_graph,
    add_settings,
    cluster_of,
    prepared_graph,
    print_lack_of_cpus,
    settings_of_pairs,
)
from engine.cli.policy_arguments import add_policy, policy_of
from engine.cli.preferring import add_prefer
from engine.cli.stream_arguments import add_stream, stream_of
from engine.errors import SettingsError
from engine.files.destinations import require_apart, require_folder, require_writable

INFEASIBLE = 3
NAME = "comparison"
SUFFIXES = (".json", ".md", ".svg", ".png")
"""of the files of a comparison in its folder"""


def add_compare(commands: Commands) -> None:
    """Add the command `compare GRAPH --cluster C --methods a,b,c --evaluations N --seeds K`."""
    parser = commands.add_parser("compare", help="compare methods over seeds, with the same budget")
    add_graph(parser)
    parser.add_argument("--methods", required=True, metavar="A,B,C", help="see `methods`")
    parser.add_argument(
        "--evaluations", type=int, default=DEFAULT_EVALUATIONS, help="evaluations of each run (default %(default)s)"
    )
    parser.add_argument("--seconds", type=float, help="also stop each run after these seconds")
    parser.add_argument(
        "--seeds", type=int, default=3, metavar="K", help="number of seeds of each method (default %(default)s)"
    )
    add_settings(parser, "a setting of a method, such as placeto.preset=paper", "METHOD", "METHOD.NAME=JSON")
    add_policy(parser, f"a trained policy, for those of the methods that take one: {', '.join(_takers())}")
    add_constraints(parser)
    add_stream(parser)
    add_prefer(parser, "beside each row's own placement stands the simplest one")
    parser.add_argument(
        "--processes", type=int, default=0, metavar="N", help="runs at once; 0: one a core (default %(default)s)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="folder for table, figure and finished runs; a second call continues there (default: GRAPH.comparison)",
    )
    parser.set_defaults(command=_compare)


def _takers() -> list[str]:
    return [method.name for method in api.methods() if method.takes_policy]


def _compare(parsed: argparse.Namespace) -> int:
    cluster = cluster_of(parsed)
    methods = tuple(name.strip() for name in parsed.methods.split(",") if name.strip())
    budget = api.Budget(parsed.evaluations, parsed.seconds)
    settings = _settings(parsed.set)
    request = api.ComparisonRequest(
        cluster,
        methods,
        budget,
        parsed.seeds,
        settings,
        parsed.drop_devices,
        policy_of(parsed),
        api.Preference.of_words(parsed.prefer),
        stream_of(parsed),
        constraints_of(parsed),
    )
    if parsed.processes < 0:
        raise SettingsError(f"{parsed.processes}", where="--processes", allowed="an integer from 0")
    folder = parsed.out or Path(f"{parsed.graph.stem}.{NAME}")
    require_folder(folder)
    if folder.is_dir():
        for suffix in SUFFIXES:
            require_writable("--out", folder / f"{NAME}{suffix}")
    require_apart({"--report": parsed.report}, {"the graph": parsed.graph, "--policy": parsed.policy})
    if parsed.report is not None and parsed.report.absolute().parent != folder.absolute():
        require_writable("--report", parsed.report)
    prepared = prepared_graph(parsed)
    request = dataclasses.replace(request, stream=stream_of(parsed, prepared))
    print_lack_of_cpus(prepared, cluster)
    outcomes = api.compare(prepared, request, folder, _Console().show_standing, parsed.processes)
    report = api.comparison_report(prepared, request, outcomes)
    summaries = api.comparison_summaries(outcomes)
    table = api.comparison_markdown(summaries, str(report["step_time_source"]), api.comparison_verdict(outcomes))
    text = json.dumps(report, indent=1) + "\n"
    for path in {folder / f"{NAME}.json", parsed.report or folder / f"{NAME}.json"}:
        path.write_text(text)
    (folder / f"{NAME}.md").write_text(table)
    api.draw_comparison(prepared, request, outcomes, folder, NAME)
    print(table, end="")
    return 0 if any(outcome.feasible for outcome in outcomes) else INFEASIBLE


def _settings(pairs: list[str]) -> dict[str, dict[str, api.Json]]:
    """Read METHOD.NAME=JSON pairs into method → settings. Raises SettingsError."""
    settings: dict[str, dict[str, api.Json]] = {}
    for key, value in settings_of_pairs(pairs).items():
        method, dot, name = key.partition(".")
        if not dot:
            raise SettingsError(f"{key!r} names no method", where="--set", allowed="METHOD.NAME=JSON")
        settings.setdefault(method, {})[name] = value
    return settings


class _Console:
    """Prints the progress of a comparison, a line when a run ends and from time to time."""

    SECONDS_BETWEEN_LINES = 5.0

    def __init__(self) -> None:
        self._done = -1
        self._printed_at = 0.0

    def show_standing(self, standing: api.Standing) -> None:
        now = time.monotonic()
        if standing.done == self._done and now - self._printed_at < self.SECONDS_BETWEEN_LINES:
            return
        self._done, self._printed_at = standing.done, now
        running = [
            f"{method} {seed} ({done}/{total})" for (method, seed), (done, total) in sorted(standing.running.items())
        ]
        words = f"; running: {', '.join(running)}" if running else ""
        print(f"{standing.done}/{standing.total} done{words}", file=sys.stderr)
