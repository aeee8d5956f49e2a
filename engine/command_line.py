"""The command line: arguments in, `engine.api` called, a report or one line of error out."""

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from engine import api
from engine.building_command import add_build
from engine.comparing_command import add_compare
from engine.destinations import require_writable
from engine.errors import PlacementError, PlacetoError, SettingsError
from engine.graph_arguments import add_graph, cluster_of, prepared_graph, settings_of_pairs
from engine.json_text import read_json
from engine.measuring_commands import add_measure, add_profile
from engine.policy_arguments import add_policy, policy_of, tell_fit
from engine.reading_arguments import add_reading_arguments, reading_options
from engine.training_command import add_train

BENCHMARKS = {
    "simulator": "engine.experiments.simulator_speed:run_benchmark",
    "training": "engine.experiments.training_speed:run_benchmark",
    "reading": "engine.experiments.reading_speed:run_benchmark",
}
DEFAULT_EVALUATIONS = 2000
WITH_A_POLICY = "placeto"
"""the method that a policy is for, unless another one is named"""
EVALUATIONS_HELP = (
    f"the budget (default {DEFAULT_EVALUATIONS}; with --policy and {WITH_A_POLICY} what its one pass takes)"
)
PLACED_FORMATS = (".pb", ".pbtxt")
MOST_PLACED = 20_000_000
"""ops in a file of placements, all placements together"""
EXPERIMENTS = {
    "ablations": "engine.experiments.ablations:run",
    "auto_check": "engine.experiments.auto_check:run",
    "cross_family": "engine.experiments.cross_family:run",
    "families": "engine.experiments.families_table:run",
    "learning_choices": "engine.experiments.learning_choices:run",
    "learning_curve": "engine.experiments.learning_curve:run",
    "placed_graphs": "engine.experiments.placed_graphs:run",
    "table1": "engine.experiments.table1:run",
    "traversal_orders": "engine.experiments.traversal_orders:run",
    "zero_shot": "engine.experiments.zero_shot:run",
    "zoo": "engine.experiments.zoo_table:run",
    "zoo_samples": "engine.experiments.zoo_samples:run",
}
"""each writes into a folder, tells its progress, and returns a text"""
EXPERIMENT_FOLDERS = {"families": Path("docs"), "zoo": Path("docs")}
"""where not in docs/results"""
SCOPED = ("cross_family", "learning_choices", "zero_shot")
"""experiments that `--set` makes smaller: engine/experiments/policy_scope.py"""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status: 0 done, 2 bad input, 3 infeasible, 130 interrupted."""
    parsed = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = parsed.command
    try:
        return command(parsed)
    except PlacetoError as error:
        print(error, file=sys.stderr)
        return error.exit_status
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine", description="Places computation graphs on devices.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_methods(commands)
    _add_place(commands)
    add_train(commands)
    add_compare(commands)
    _add_simulate(commands)
    _add_apply(commands)
    add_profile(commands)
    add_measure(commands)
    add_build(commands)
    _add_bench(commands)
    _add_experiments(commands)
    return parser


def _add_methods(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("methods", help="list the methods")
    parser.set_defaults(command=_methods)


def _default_method() -> str:
    """The first in the registry."""
    return api.methods()[0].name


def _add_place(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("place", help="place a graph")
    add_graph(parser)
    parser.add_argument("--method", help=f"see `methods` (default {_default_method()}; with a policy {WITH_A_POLICY})")
    add_policy(parser, "a trained policy: placed in one pass, or with --evaluations as the start of the method")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=JSON", help="a setting of the method, such as preset=paper"
    )
    parser.add_argument("--evaluations", type=int, help=EVALUATIONS_HELP)
    parser.add_argument("--seconds", type=float, help="stop after these seconds too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, help="write the placed graph here (.pb, .pbtxt; .json: the placement alone)"
    )
    parser.add_argument("--short-devices", action="store_true", help="write /device:TYPE:N alone, without job and task")
    parser.set_defaults(command=_place)


def _add_simulate(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("simulate", help="simulate a placement, or a list of them")
    add_graph(parser)
    parser.add_argument("--placement", type=Path, required=True, help="JSON {op: device}, or a list of them")
    parser.add_argument("--trace", type=Path, help="write a Chrome trace of the timeline here")
    parser.set_defaults(command=_simulate, groups=None)


def _add_apply(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("apply", help="write a graph with the devices of a placement")
    parser.add_argument("graph", type=Path, help=f"a graph: {', '.join(api.FORMATS)}")
    add_reading_arguments(parser)
    parser.add_argument("--placement", type=Path, required=True, help="JSON {op: device}")
    parser.add_argument("--out", type=Path, required=True, help="write the placed graph here (.pb, .pbtxt)")
    parser.add_argument("--drop-devices", action="store_true", help="ignore the devices that the file fixes")
    parser.add_argument("--short-devices", action="store_true", help="write /device:TYPE:N alone, without job and task")
    parser.set_defaults(command=_apply)


def _add_bench(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("bench", help="measure the engine against its yardsticks")
    parser.add_argument("what", choices=list(BENCHMARKS))
    parser.set_defaults(command=_bench)


def _add_experiments(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("experiments", help="make the figures of docs/ again")
    parser.add_argument("name", choices=list(EXPERIMENTS))
    parser.add_argument("--out", type=Path, help="folder (default docs/results; docs for families and zoo)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help=f"for {', '.join(SCOPED)}")
    parser.set_defaults(command=_experiment)


def _methods(_parsed: argparse.Namespace) -> int:
    for method in api.methods():
        presets = f"  presets: {', '.join(method.presets)}" if method.presets else ""
        policy = "  takes a policy" if method.takes_a_policy else ""
        print(f"{method.name:16}{method.label}{presets}{policy}")
    return 0


def _place(parsed: argparse.Namespace) -> int:
    cluster = cluster_of(parsed)
    method = parsed.method or (_default_method() if parsed.policy is None else WITH_A_POLICY)
    budget = api.Budget(_evaluations(parsed, method, cluster), parsed.seconds)
    request = api.RunRequest(
        cluster,
        method,
        budget,
        parsed.seed,
        settings_of_pairs(parsed.set),
        parsed.drop_devices,
        policy=policy_of(parsed),
    )
    _check_destination(parsed)
    prepared = prepared_graph(parsed)
    tell_fit(request.policy, prepared.graph.name, cluster)
    report = api.place(prepared, request, _Console(budget).hear, lambda: False)
    placement = api.placement_to_json(prepared, cluster, api.device_of_group(report))
    del report["device_of_group"]
    _write_report(parsed.report, report | {"placement": dict(placement)})
    if parsed.out is not None and parsed.out.suffix == ".json":
        parsed.out.write_text(json.dumps(placement, indent=1) + "\n")
    elif parsed.out is not None:
        api.write_placed(
            parsed.graph,
            parsed.graph.suffix,
            placement,
            parsed.out,
            api.Limits(),
            reading_options(parsed),
            short=parsed.short_devices,
        )
    return 0


def _evaluations(parsed: argparse.Namespace, method: str, cluster: api.Cluster) -> int:
    """What was asked; without that, of a policy its greedy pass alone."""
    if parsed.evaluations is not None:
        return int(parsed.evaluations)
    zero_shot = parsed.policy is not None and method == WITH_A_POLICY
    return api.zero_shot_evaluations(cluster) if zero_shot else DEFAULT_EVALUATIONS


def _simulate(parsed: argparse.Namespace) -> int:
    cluster = cluster_of(parsed)
    require_writable("--trace", parsed.trace)
    require_writable("--report", parsed.report)
    placements = _read_json(parsed.placement)
    rows: list[api.Json] = list(placements) if isinstance(placements, list) else [placements]
    if parsed.trace is not None and len(rows) != 1:
        raise SettingsError(f"{len(rows)} placements", where="--trace", allowed="one placement")
    prepared = prepared_graph(parsed)
    reports = api.simulate(prepared, cluster, rows)
    if parsed.trace is not None:
        parsed.trace.write_text(json.dumps(api.trace(prepared, cluster, rows[0])) + "\n")
    _write_report(parsed.report, reports if isinstance(placements, list) else reports[0])
    return 0


def _apply(parsed: argparse.Namespace) -> int:
    if parsed.out.suffix not in PLACED_FORMATS:
        raise SettingsError(f"{parsed.out.name!r}", where="--out", allowed="a name that ends in .pb or .pbtxt")
    api.apply(
        parsed.graph,
        parsed.graph.suffix,
        _read_json(parsed.placement),
        parsed.out,
        api.Limits(),
        reading_options(parsed),
        short=parsed.short_devices,
        keep_pins=not parsed.drop_devices,
    )
    return 0


def _bench(parsed: argparse.Namespace) -> int:
    print(_made(BENCHMARKS[parsed.what])())
    return 0


def _experiment(parsed: argparse.Namespace) -> int:
    folder = parsed.out or EXPERIMENT_FOLDERS.get(parsed.name, Path("docs/results"))
    settings = settings_of_pairs(parsed.set)
    if settings and parsed.name not in SCOPED:
        raise SettingsError(f"{parsed.name} has no settings", where="--set", allowed=f"with {', '.join(SCOPED)}")
    more = [settings] if settings else []
    print(_made(EXPERIMENTS[parsed.name])(folder, lambda line: print(line, file=sys.stderr), *more))
    return 0


def _made(path: str) -> Callable[..., str]:
    """The function `module:name`, imported on first use."""
    module, _, name = path.partition(":")
    function: Callable[..., str] = getattr(importlib.import_module(module), name)
    return function


def _check_destination(parsed: argparse.Namespace) -> None:
    """Refuse what could not be written before hours of work, not after."""
    require_writable("--out", parsed.out)
    require_writable("--report", parsed.report)
    if parsed.out is None:
        return
    if parsed.out.suffix not in (".pb", ".pbtxt", ".json"):
        raise SettingsError(f"{parsed.out.name!r}", where="--out", allowed="a name that ends in .pb, .pbtxt or .json")
    if parsed.out.suffix != ".json" and parsed.graph.suffix == ".json":
        raise SettingsError("node-link JSON holds no GraphDef", where="--out", allowed="a name that ends in .json")


def _read_json(path: Path) -> api.Json:
    return read_json(path.read_bytes(), most_values=MOST_PLACED, error=PlacementError, field="placement")


def _write_report(path: Path | None, report: api.Json) -> None:
    """To `path`, or to stdout without the long placement."""
    if path is not None:
        path.write_text(json.dumps(report, indent=1) + "\n")
        return
    shown = {key: value for key, value in report.items() if key != "placement"} if isinstance(report, dict) else report
    print(json.dumps(shown, indent=1))


class _Console:
    """Tells a run's events in a line now and then."""

    SECONDS_BETWEEN_LINES = 2.0

    def __init__(self, budget: api.Budget) -> None:
        self._budget = budget
        self._last_line_seconds = 0.0

    def hear(self, item: api.NumberedEvent | api.Checkpoint) -> None:
        event = item.event if isinstance(item, api.NumberedEvent) else None
        if isinstance(event, api.Baseline):
            told = _seconds(event.step_time_us) if event.step_time_us is not None else event.note
            mean = f" (mean {_seconds(event.mean_step_time_us)})" if event.method == "random" else ""
            print(f"{event.method}: {told}{mean}", file=sys.stderr)
        elif isinstance(event, api.Episode) and self._is_time(event):
            self._last_line_seconds = event.elapsed_seconds
            print(
                f"episode {event.episode}: {_seconds(event.step_time_us)}, best {_seconds(event.best_step_time_us)}, "
                f"{event.evaluations}/{self._budget.evaluations} evaluations, {event.elapsed_seconds:.0f} s",
                file=sys.stderr,
            )

    def _is_time(self, event: api.Episode) -> bool:
        waited = event.elapsed_seconds - self._last_line_seconds >= self.SECONDS_BETWEEN_LINES
        return waited or event.evaluations == self._budget.evaluations


def _seconds(step_time_us: float | None) -> str:
    return "none" if step_time_us is None else f"{step_time_us / 1e6:.4f} s"
