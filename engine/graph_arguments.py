"""Arguments of the command line that say which graph on which cluster, and what they mean."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from engine import api
from engine.errors import SettingsError
from engine.reading_arguments import add_reading_arguments, reading_options


def add_graph(parser: argparse.ArgumentParser) -> None:
    """The graph, its cluster, groups and costs; where the report goes."""
    parser.add_argument("graph", type=Path, help=f"a graph: {', '.join(api.FORMATS)}")
    parser.add_argument("--cluster", required=True, help="2xK80, 4xV100+cpu, or a file of cluster JSON")
    parser.add_argument(
        "--groups", type=_group_count, default=128, help="at most N groups (default 128), or all: no merging"
    )
    add_reading_arguments(parser)
    parser.add_argument("--drop-devices", action="store_true", help="ignore the devices that the file fixes")
    parser.add_argument("--profile", type=Path, metavar="RUN_METADATA", help="measured op times of a run of the graph")
    parser.add_argument("--profile-kind", metavar="KIND", help="the device kind on which they were measured")
    parser.add_argument("--report", type=Path, help="write the report here, as JSON")


def cluster_of(parsed: argparse.Namespace) -> api.Cluster:
    """`--cluster`: a shorthand, or a file of JSON. Raises ClusterError."""
    text: str = parsed.cluster
    path = Path(text)
    return api.parse_cluster(path.read_text() if path.suffix == ".json" else text)


def prepared_graph(parsed: argparse.Namespace) -> api.PreparedGraph:
    """The graph, read, costed and grouped as the arguments say; what had to be done to it is told."""
    prepared = api.prepare(
        parsed.graph,
        parsed.graph.suffix,
        print_progress,
        api.Limits(),
        parsed.groups,
        options=reading_options(parsed),
        run_metadata=parsed.profile,
        profile_kind=parsed.profile_kind,
    )
    for note in prepared.origin.notes:
        print(note, file=sys.stderr)
    return prepared


def settings_of_pairs(pairs: Sequence[str]) -> dict[str, api.Json]:
    """NAME=JSON pairs of `--set`; what is no JSON is text. Raises SettingsError."""
    settings: dict[str, api.Json] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator:
            raise SettingsError(f"{pair!r} has no =", where="--set", allowed="NAME=JSON, such as preset=paper")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings


def print_progress(stage: str, done: int, total: int) -> None:
    """A line on stderr."""
    print(f"{stage} {done}/{total}" if total else stage, file=sys.stderr)


def _group_count(text: str) -> int | None:
    if text == "all":
        return None
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: a whole number from 1, or all")
    return int(text)
