"""The commands that run a graph: `profile` and `measure`."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from engine import api
from engine.cli import Commands
from engine.cli.graph_arguments import cluster_named, print_progress, write_report
from engine.cli.placement_arguments import read_placements
from engine.cli.reading_arguments import add_reading_arguments, reading_options
from engine.errors import SettingsError
from engine.files.destinations import require_writable

LEFT_OUT_SHOWN = 5
USUAL_ROUNDS = 3


def add_profile(commands: Commands) -> None:
    """Add the command `profile GRAPH --out run_metadata.pb`."""
    parser = commands.add_parser("profile", help="run a graph on this machine, and write how long each op takes")
    _add_run(parser, "as many as processors")
    parser.add_argument("--out", type=Path, required=True, help="write the RunMetadata here (.pb)")
    parser.set_defaults(command=_profile)


def add_measure(commands: Commands) -> None:
    """Add the command `measure GRAPH --placement placement.json`."""
    parser = commands.add_parser("measure", help="run a placed graph on this machine, and compare with the simulator")
    _add_run(parser, "the processors, shared among the devices")
    parser.add_argument("--placement", type=Path, required=True, help="JSON {op: device}, or a list of them")
    parser.add_argument("--cluster", help="what to simulate; default: the placement's devices, with links without cost")
    parser.add_argument("--profile", type=Path, metavar="RUN_METADATA", help="measured op times of this machine")
    parser.add_argument(
        "--processes",
        action="store_true",
        help="make each device a process of its own, of one thread, so that bytes really move between devices (Linux)",
    )
    parser.add_argument(
        "--timelines", type=Path, help="write a Chrome trace of a measured step beside the simulated one here"
    )
    parser.add_argument(
        "--rounds", type=int, help=f"of a list of placements: how often each is run (default {USUAL_ROUNDS})"
    )
    parser.add_argument(
        "--kept",
        type=Path,
        help="of a list of placements: the file of finished rounds, from which another call continues (default: the "
        "placements' name with .rounds.json)",
    )
    parser.add_argument("--report", type=Path, help="write the report here, as JSON")
    parser.set_defaults(command=_measure)


def _add_run(parser: argparse.ArgumentParser, usual_threads: str) -> None:
    parser.add_argument("graph", type=Path, help="a graph; it is executed, with random inputs")
    add_reading_arguments(parser)
    parser.add_argument("--steps", type=int, default=5, help="steps to measure (default %(default)s)")
    parser.add_argument("--threads", type=int, help=f"of each op on a CPU (default: {usual_threads})")


def _profile(parsed: argparse.Namespace) -> int:
    require_writable("--out", parsed.out)
    profile = api.profile(
        parsed.graph,
        api.suffix_of(parsed.graph.name),
        parsed.out,
        reading_options(parsed),
        api.MEASURING_LIMITS,
        print_progress,
        steps=parsed.steps,
        threads=parsed.threads,
    )
    for device_class, step_time_us in cast(dict[str, float], profile["step_time_us"]).items():
        print(f"{device_class}: {step_time_us / 1e6:.6f} s a step, ops one at a time")
    print(f"{profile['measured_ops']} of {profile['ops']} ops are measured: {parsed.out}")
    for note in cast(list[str], profile["notes"]):
        print(note)
    for name, why in cast(list[list[str]], profile["left_out"])[:LEFT_OUT_SHOWN]:
        print(f"not run: {name}: {why}")
    return 0


def _measure(parsed: argparse.Namespace) -> int:
    require_writable("--timelines", parsed.timelines)
    require_writable("--report", parsed.report)
    placement = read_placements(parsed.placement)
    if isinstance(placement, list):
        return _measure_many(parsed, placement)
    _refuse("one placement", {"--rounds": parsed.rounds, "--kept": parsed.kept}, "a list of placements")
    report = api.measure(
        parsed.graph,
        api.suffix_of(parsed.graph.name),
        placement,
        reading_options(parsed),
        api.MEASURING_LIMITS,
        print_progress,
        cluster=None if parsed.cluster is None else cluster_named(parsed.cluster),
        steps=parsed.steps,
        threads=parsed.threads,
        run_metadata=parsed.profile,
        processes=parsed.processes,
        timelines=parsed.timelines,
    )
    return _written(parsed.report, report)


def _measure_many(parsed: argparse.Namespace, placements: list[api.Json]) -> int:
    what = f"{len(placements)} placements"
    _refuse(what, {"--timelines": parsed.timelines}, "one placement")
    _refuse(what, {"--threads": parsed.threads}, "one placement: of a list each CPU has one thread")
    _refuse(what, {"--processes": parsed.processes or None}, "one placement: of a list each CPU is a process anyway")
    if parsed.cluster is None:
        raise SettingsError("there is none", where="--cluster", allowed="what a list of placements is compared with")
    kept = parsed.kept or parsed.placement.with_suffix(".rounds.json")
    require_writable("--kept", kept)
    report = api.measure_many(
        parsed.graph,
        api.suffix_of(parsed.graph.name),
        placements,
        reading_options(parsed),
        api.MEASURING_LIMITS,
        print_progress,
        cluster=cluster_named(parsed.cluster),
        kept=kept,
        rounds=USUAL_ROUNDS if parsed.rounds is None else parsed.rounds,
        steps=parsed.steps,
        run_metadata=parsed.profile,
    )
    return _written(parsed.report, report)


def _refuse(what: str, options: Mapping[str, object], allowed: str) -> None:
    """Raise SettingsError for one of the `options` that is given, not None, since it would be ignored."""
    for option, value in options.items():
        if value is not None:
            raise SettingsError(what, where=option, allowed=allowed)


def _written(path: Path | None, report: dict[str, api.Json]) -> int:
    """Write the report, and print its notes: they are easily missed in a file. Returns the exit code."""
    write_report(path, report)
    for note in cast(list[str], report["notes"]):
        print(f"note: {note}", file=sys.stderr)
    return 0
