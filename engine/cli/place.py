"""The command `place`: runs one method on one graph and writes a report, a placement or the placed graph."""

import argparse
import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import api
from engine.cli import Commands
from engine.cli.constraint_arguments import add_constraints, constraints_of
from engine.cli.graph_arguments import (
    DEFAULT_EVALUATIONS,
    add_graph,
    add_seed,
    add_settings,
    cluster_of,
    prepared_graph,
    print_lack_of_cpus,
    print_progress,
    settings_of_pairs,
    write_report,
)
from engine.cli.placement_arguments import (
    MODULES_HELP,
    PLACED_FORMATS,
    PLACED_HELP,
    PLACEMENT_FORMAT,
    SAVED_MODEL_FORMAT,
    print_loading,
    read_placements,
    require_placed_name,
    require_variables,
)
from engine.cli.policy_arguments import add_policy, policy_of, print_fit
from engine.cli.preferring import add_prefer, verdict_lines
from engine.cli.reading_arguments import reading_options
from engine.cli.stream_arguments import add_stream, stream_lines, stream_of
from engine.errors import SettingsError
from engine.files.destinations import require_apart, require_writable

WITH_A_POLICY = "placeto"
"""the method for a policy, unless another one is named"""


def add_place(commands: Commands) -> None:
    """Add the command `place GRAPH --cluster C --method M`."""
    parser = commands.add_parser("place", help="place a graph")
    add_graph(parser)
    parser.add_argument("--method", help=f"see `methods` (default {_default_method()}; with a policy {WITH_A_POLICY})")
    add_policy(parser, "a trained policy: placed in one pass, or with --evaluations as the start of the method")
    add_settings(parser, "a setting of the method, such as preset=paper", "METHOD")
    parser.add_argument(
        "--evaluations",
        type=int,
        help=f"the budget (default {DEFAULT_EVALUATIONS}; with --policy and {WITH_A_POLICY} what its one pass takes)",
    )
    parser.add_argument("--seconds", type=float, help="also stop after these seconds")
    add_seed(parser)
    parser.add_argument(
        "--start",
        type=Path,
        metavar="PLACEMENT",
        help=f"JSON {{op: device}} to begin from: evaluated first; {', '.join(_from_start())} search from there",
    )
    parser.add_argument(
        "--pin",
        action="append",
        default=[],
        metavar="GROUP_OR_OP=DEVICE",
        help="a group, by its name or that of one of its ops, that stays on a device, such as /device:GPU:0",
    )
    parser.add_argument(
        "--robust",
        action="store_true",
        help="answer with the good placement that loses least when op times and links vary, not with the fastest one",
    )
    parser.add_argument(
        "--measure",
        nargs="+",
        metavar="WHAT",
        help="run placements on this machine, a process for each CPU of the cluster: `last`, the answer; `top K`, the "
        "best K that differ, of which the measured fastest is the answer; `all`, every evaluation",
    )
    add_constraints(parser)
    add_stream(parser)
    add_prefer(parser, "write to --out the fastest placement (default) or the simplest one")
    parser.add_argument("--out", type=Path, help=f"{PLACED_HELP}; .json: the placement alone; {MODULES_HELP}")
    parser.add_argument("--short-devices", action="store_true", help="write /device:TYPE:N alone, without job and task")
    parser.set_defaults(command=_place)


def _default_method() -> str:
    """The first method in the registry."""
    return api.methods()[0].name


def _from_start() -> list[str]:
    """The methods that search from `--start`."""
    return [method.name for method in api.methods() if method.searches_from_start]


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
        robust=parsed.robust,
        prefer=api.Preference.of_words(parsed.prefer),
        stream=stream_of(parsed),
        constraints=constraints_of(parsed),
    )
    what = _what_to_measure(parsed, method)
    _check_destination(parsed)
    _require_short_enough(parsed, cluster)
    prepared = prepared_graph(parsed)
    print_lack_of_cpus(prepared, cluster)
    require_variables(parsed.out, prepared)
    if (row := _module_file(parsed)) is not None:
        api.require_module_file(row, prepared.origin)
    is_tensorflow = api.FORMATS[api.suffix_of(parsed.graph.name)].is_tensorflow
    if parsed.out is not None and parsed.out.suffix == SAVED_MODEL_FORMAT and is_tensorflow:
        options = reading_options(parsed)
        api.require_saved_model(parsed.graph, api.suffix_of(parsed.graph.name), api.Limits(), options, print_progress)
    request = dataclasses.replace(
        request,
        stream=stream_of(parsed, prepared),
        start=_start(parsed, prepared, cluster),
        pins=api.pins_of_names(prepared, cluster, _pairs(parsed.pin)),
    )
    print_fit(request.policy, prepared.graph.name, cluster)
    if request.start is not None:
        start: api.Json = {**api.placement_to_json(prepared, cluster, request.start)}
        print(api.judgement(prepared, cluster, start, "the placement of --start"), file=sys.stderr)
    if request.start is not None and method not in _from_start():
        print(f"{method} evaluates --start, then does not search from there", file=sys.stderr)
    rewards = None if what is None else _rewards(parsed, prepared, cluster, what)
    report = api.place(prepared, request, _Console(budget).show, lambda: False, rewards=rewards)
    lines = [
        *verdict_lines(report),
        *stream_lines(report),
        *_robustness_lines(report, parsed.robust),
        *_measured_lines(report),
    ]
    print("\n".join(lines), file=sys.stderr)
    fastest = api.placement_to_json(prepared, cluster, api.placement_of_report(report))
    simplest = api.placement_to_json(prepared, cluster, api.simplest_of_report(report))
    del report["device_of_group"], report["parts"]
    step_time_source = api.simulated_words(prepared.op_time_sources())
    simplest_report = report["simplest"]
    assert isinstance(simplest_report, dict)
    if parsed.report is None:  # what is printed has no long placements
        del simplest_report["device_of_group"], simplest_report["parts"]
    else:
        simplest_report["placement"] = dict(simplest)
    try:
        write_report(parsed.report, report | {"step_time_source": step_time_source, "placement": dict(fastest)})
    finally:  # what a run has found is written even where its report cannot be
        _write_placed(parsed, prepared, simplest if request.prefer.simplest else fastest, cluster)
    return 0


def _module_file(parsed: argparse.Namespace) -> api.ModuleFile | None:
    """What `--out` asks for, if it is a file of modules."""
    return None if parsed.out is None else api.module_file_of(parsed.out.name)


def _write_placed(
    parsed: argparse.Namespace, prepared: api.PreparedGraph, placement: Mapping[str, str], cluster: api.Cluster
) -> None:
    """Write the file of `--out`, if one is asked for."""
    if parsed.out is None:
        return
    if (row := _module_file(parsed)) is not None:
        parsed.out.write_text(api.module_file_text(row, prepared, cluster, placement))
        print_loading(parsed.out, parsed.graph, [], offload=parsed.offload)
        return
    if parsed.out.suffix == PLACEMENT_FORMAT:
        parsed.out.write_text(json.dumps(placement, indent=1) + "\n")
        return
    options = reading_options(parsed)
    api.write_placed(
        parsed.graph,
        api.suffix_of(parsed.graph.name),
        placement,
        parsed.out,
        api.Limits(),
        options,
        short=parsed.short_devices,
    )
    print_loading(parsed.out, parsed.graph, [device.name for device in cluster.devices])


MEASURED_STEPS = 5


def _what_to_measure(parsed: argparse.Namespace, method: str) -> api.WhatToMeasure | None:
    """What `--measure` asks for. Raises SettingsError."""
    if parsed.measure is None:
        return None
    what = api.WhatToMeasure.of_words(parsed.measure)
    if parsed.robust and what.top > 1:
        both = "--robust and --measure both choose the answer"
        raise SettingsError(both, where="--measure", allowed="one of them, or --measure last")
    if what.every:
        api.require_measurable(method)
    return what


def _rewards(
    parsed: argparse.Namespace, prepared: api.PreparedGraph, cluster: api.Cluster, what: api.WhatToMeasure
) -> api.RealRewards:
    """What measures for the run."""
    graph = api.GraphToMeasure(
        parsed.graph,
        api.suffix_of(parsed.graph.name),
        reading_options(parsed),
        api.MEASURING_LIMITS,
        cluster,
        MEASURED_STEPS,
    )
    return api.RealRewards(graph, prepared.graph.op_names, what, print_progress)


def _measured_lines(report: Mapping[str, Any]) -> list[str]:
    """What a report says of measured steps; nothing where none were."""
    if "measured" not in report:
        return []
    ended = []
    if "ended_by" in report:
        what = f"the method ended after {report['evaluations']:,} evaluations, since the next could not be measured"
        ended.append(f"warning: {what}: {report['ended_by']}")
    return [*ended, *_lines_of_choice(report["measured"])]


def _lines_of_choice(found: Mapping[str, Any]) -> list[str]:
    """What a report says of the placements that were measured after the run, in its field `measured`."""
    if "error" in found:
        return [f"warning: nothing was measured after the run, and its own answer stays: {found['error']}"]
    rows, chosen, confirmed = found["placements"], found["chosen"], found["confirmed"]
    step_time_us = confirmed["step_time_us"][1] if chosen else rows[0]["step_time_us"]
    simulated_us = rows[chosen]["simulated_step_time_us"]
    line = (
        f"measured: a step of {_words(step_time_us)}, simulated {_words(simulated_us)} "
        f"(ratio {step_time_us / simulated_us:.2f}); noise {100 * found['noise']:.1f} %; {found['seconds']:.0f} s"
    )
    if len(rows) == 1:
        return [line]
    own = "the run's own best" if found["what"] == "all" else "the simulated fastest"
    if chosen:
        gain = f"{100 * found['gain']:.1f} % faster in fresh rounds than {own}, number 1"
        return [line, f"number {chosen + 1} of {len(rows)} placements, {gain}"]
    if confirmed is None:
        return [line, f"{own} stays: it is the measured fastest of {len(rows)} placements"]
    number, least = confirmed["placement"] + 1, f"{100 * confirmed['least_gain']:.1f} %"
    return [line, f"{own} stays: number {number} was faster at first, but not by more than {least} in fresh rounds"]


def _robustness_lines(report: Mapping[str, Any], robust: bool) -> list[str]:
    """What a report says of its answer's robustness; `robust`: whether the answer was chosen for it."""
    found = report["robustness"]
    if found["note"]:
        return [f"robustness: not computed: {found['note']}"]
    draws = f"robustness: with op times and links drawn anew {found['draws']} times"
    others = f"the best of {found['candidates']} good placements"
    loses = (
        f"the answer is at most {api.percent_words(found['worst_regret'])} slower than {others}, "
        f"{api.percent_words(found['mean_regret'])} on average, the best in {100 * found['best_share']:.0f} % of them"
    )
    holds = loses if found["worst_regret"] else f"the answer stays {others}"
    lines = [f"{draws}, {holds}; {found['seconds']:.1f} s"]
    if robust and report["step_time_us"] != found["fastest_step_time_us"]:
        fastest, chosen = _words(found["fastest_step_time_us"]), _words(report["step_time_us"])
        lines.append(f"chosen for it: a step of {chosen} in place of the fastest one's {fastest}")
    return lines


def _start(parsed: argparse.Namespace, prepared: api.PreparedGraph, cluster: api.Cluster) -> api.SplitPlacement | None:
    """The placement of `--start`. Raises PlacementError, OSError."""
    return None if parsed.start is None else api.placement_of_names(prepared, cluster, read_placements(parsed.start))


def _pairs(pins: list[str]) -> dict[str, str]:
    """Name → device of `--pin`. Raises SettingsError."""
    pairs: dict[str, str] = {}
    for pin in pins:
        name, separator, device = pin.rpartition("=")
        if not separator:
            raise SettingsError(
                f"{pin!r} has no =", where="--pin", allowed="GROUP_OR_OP=DEVICE, such as a=/device:GPU:0"
            )
        pairs[name] = device
    return pairs


def _evaluations(parsed: argparse.Namespace, method: str, cluster: api.Cluster) -> int:
    """The requested evaluations; by default, with a policy, those of its greedy pass."""
    if parsed.evaluations is not None:
        return int(parsed.evaluations)
    zero_shot = parsed.policy is not None and method == WITH_A_POLICY
    return api.zero_shot_evaluations(cluster) if zero_shot else DEFAULT_EVALUATIONS


def _check_destination(parsed: argparse.Namespace) -> None:
    """Refuse an `--out` that cannot be written before hours of work, not after."""
    if parsed.out is not None:
        require_placed_name(parsed.out, parsed.graph, (*PLACED_FORMATS, PLACEMENT_FORMAT), parsed.fetch)
    require_writable("--report", parsed.report)
    read = {"--profile": parsed.profile, "--start": parsed.start, "--policy": parsed.policy}
    with_graph = read | {"the graph": parsed.graph}  # a graph may be placed in its own file
    is_placement = parsed.out is not None and parsed.out.suffix == PLACEMENT_FORMAT
    require_apart({"--out": parsed.out}, with_graph if is_placement else read)
    require_apart({"--report": parsed.report}, with_graph | {"--out": parsed.out})


def _require_short_enough(parsed: argparse.Namespace, cluster: api.Cluster) -> None:
    """Raise SettingsError where `--short-devices` would make one device of several."""
    if parsed.short_devices and len({device.machine for device in cluster.devices}) > 1:
        what = "without job and task the devices of the cluster's machines would be the same"
        raise SettingsError(what, where="--short-devices", allowed="a cluster of one machine")


class _Console:
    """Prints a run's progress, a line from time to time."""

    SECONDS_BETWEEN_LINES = 2.0

    def __init__(self, budget: api.Budget) -> None:
        self._budget = budget
        self._last_line_seconds = 0.0
        self._has_levels = False

    def show(self, item: api.Emitted) -> None:
        event = item.event if isinstance(item, api.NumberedEvent) else None
        if isinstance(event, api.Started):
            self._has_levels = bool(event.levels)
        elif isinstance(event, api.Baseline):
            shown = _words(event.step_time_us) if event.step_time_us is not None else event.note
            mean = f" (mean {_words(event.mean_step_time_us)})" if event.method == "random" else ""
            print(f"{event.method}: {shown}{mean}", file=sys.stderr)
        elif isinstance(event, api.Episode) and self._is_time(event):
            self._last_line_seconds = event.elapsed_seconds
            level = f", {event.level_groups:,} groups" if self._has_levels else ""
            print(
                f"episode {event.episode}: {_words(event.step_time_us)}, best {_words(event.best_step_time_us)}, "
                f"{event.evaluations}/{self._budget.evaluations} evaluations, {event.elapsed_seconds:.0f} s{level}",
                file=sys.stderr,
            )

    def _is_time(self, event: api.Episode) -> bool:
        waited = event.elapsed_seconds - self._last_line_seconds >= self.SECONDS_BETWEEN_LINES
        return waited or event.evaluations == self._budget.evaluations


def _words(step_time_us: float | None) -> str:
    return "none" if step_time_us is None else api.time_words(step_time_us, 4)
