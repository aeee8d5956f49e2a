"""The commands that run a graph: `profile` and `measure`."""

import argparse
import json
import sys
from pathlib import Path
from typing import TypeAlias, cast

from engine import api
from engine.errors import PlacementError
from engine.graph_arguments import cluster_named
from engine.json_text import read_json
from engine.reading_arguments import add_reading_arguments, reading_options

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
LEFT_OUT_SHOWN = 5
MOST_PLACED = 20_000_000
"""ops in a placement's file"""


def add_profile(commands: Commands) -> None:
    """`profile GRAPH --out run_metadata.pb`"""
    parser = commands.add_parser("profile", help="run a graph on this machine, and write how long each op takes")
    _add_run(parser)
    parser.add_argument("--out", type=Path, required=True, help="write the RunMetadata here (.pb)")
    parser.set_defaults(command=_profile)


def add_measure(commands: Commands) -> None:
    """`measure GRAPH --placement placement.json`"""
    parser = commands.add_parser("measure", help="run a placed graph on this machine, and compare with the simulator")
    _add_run(parser)
    parser.add_argument("--placement", type=Path, required=True, help="JSON {op: device}")
    parser.add_argument("--cluster", help="what to simulate; default: the placement's devices, with links without cost")
    parser.add_argument("--profile", type=Path, metavar="RUN_METADATA", help="measured op times of this machine")
    parser.add_argument("--report", type=Path, help="write the report here, as JSON")
    parser.set_defaults(command=_measure)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("graph", type=Path, help="a graph; it is executed, with random inputs")
    add_reading_arguments(parser)
    parser.add_argument("--steps", type=int, default=5, help="steps to measure (default 5)")
    parser.add_argument("--threads", type=int, help="of each op on a CPU (default: as many as processors)")


def _profile(parsed: argparse.Namespace) -> int:
    told = api.profile(
        parsed.graph,
        parsed.graph.suffix,
        parsed.out,
        reading_options(parsed),
        api.MEASURING_LIMITS,
        _print_progress,
        steps=parsed.steps,
        threads=parsed.threads,
    )
    for device_class, step_time_us in cast(dict[str, float], told["step_time_us"]).items():
        print(f"{device_class}: {step_time_us / 1e6:.6f} s a step, ops one at a time")
    print(f"{told['measured_ops']} of {told['ops']} ops are measured: {parsed.out}")
    for note in cast(list[str], told["notes"]):
        print(note)
    for name, why in cast(list[list[str]], told["left_out"])[:LEFT_OUT_SHOWN]:
        print(f"not run: {name}: {why}")
    return 0


def _measure(parsed: argparse.Namespace) -> int:
    report = api.measure(
        parsed.graph,
        parsed.graph.suffix,
        read_json(parsed.placement.read_bytes(), most_values=MOST_PLACED, error=PlacementError, field="placement"),
        reading_options(parsed),
        api.MEASURING_LIMITS,
        _print_progress,
        cluster=None if parsed.cluster is None else cluster_named(parsed.cluster),
        steps=parsed.steps,
        threads=parsed.threads,
        run_metadata=parsed.profile,
    )
    text = json.dumps(report, indent=1)
    if parsed.report is None:
        print(text)
    else:
        parsed.report.write_text(text + "\n")
    return 0


def _print_progress(stage: str, done: int, total: int) -> None:
    print(f"{stage} {done}/{total}" if total else stage, file=sys.stderr)
