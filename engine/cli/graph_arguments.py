"""Command-line arguments for a graph and a cluster, and functions that read them."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from engine import api
from engine.cli.reading_arguments import add_reading_arguments, reading_options
from engine.cli.reading_summary import left_to_people
from engine.errors import ClusterError, SettingsError, shortened

NO_MERGING = "all"
DEFAULT_EVALUATIONS = 2000
"""default budget of a method"""
BYTES_OF_UNIT = {"mb": 10**6, "gb": 10**9, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([mg]i?b)", re.ASCII | re.IGNORECASE)


def add_graph(parser: argparse.ArgumentParser, *, groups: int | str = api.AUTO_GROUPS) -> None:
    """Add the arguments for the graph, its cluster, `groups` (the default) and costs, and for the report."""
    parser.add_argument("graph", type=Path, help=f"a graph: {', '.join(api.FORMATS)}")
    parser.add_argument("--cluster", required=True, help="2xK80, 4xV100+cpu, or a file of cluster JSON")
    parser.add_argument(
        "--reserve",
        type=_size,
        metavar="SIZE",
        help="memory of each GPU that the runtime keeps for its context, its allocator, other processes: 1.5GB, 800MiB",
    )
    add_groups(parser, "", groups)
    add_reading_arguments(parser)
    parser.add_argument("--drop-devices", action="store_true", help="ignore the devices that the file fixes")
    add_measured_times(parser)
    parser.add_argument("--report", type=Path, help="write the report here, as JSON")


def add_measured_times(parser: argparse.ArgumentParser) -> None:
    """Add `--profile` and `--profile-kind`."""
    words = "measured op times of a run of the graph: RunMetadata; of an ONNX model a profile or the node memory of "
    words += "ONNX Runtime; of a recorded PyTorch step a trace of torch.profiler (.json, .json.gz)"
    parser.add_argument("--profile", type=Path, metavar="FILE", help=words)
    parser.add_argument("--profile-kind", metavar="KIND", help="the device kind on which they were measured")


def add_groups(parser: argparse.ArgumentParser, of_what: str, default: int | str) -> None:
    """Add `--groups`."""
    parser.add_argument(
        "--groups",
        type=groups_of_text,
        default=default,
        metavar="N",
        help=f"{of_what}at most N groups; {NO_MERGING}: no merging; {api.AUTO_GROUPS}: a search moves large and small "
        "groups, other methods place about 128 (default %(default)s)",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """Add `--seed`."""
    parser.add_argument(
        "--seed", type=int, default=0, metavar="S", help="seed of all random numbers (default %(default)s)"
    )


def add_settings(parser: argparse.ArgumentParser, words: str, of_what: str, metavar: str = "NAME=JSON") -> None:
    """Add `--set`."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar=metavar,
        help=f"{words}; `python -m engine settings {of_what}` lists them",
    )


def cluster_of(parsed: argparse.Namespace) -> api.Cluster:
    """The cluster of `--cluster`, a shorthand or a file of JSON. Raises ClusterError."""
    cluster = cluster_named(parsed.cluster)
    return cluster if parsed.reserve is None else api.with_reserve(cluster, parsed.reserve)


def _size(text: str) -> int:
    """The bytes of `1.5GB` or `800MiB`."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{shortened(text)!r}; allowed: a size such as 1.5GB or 800MiB")
    return round(float(match[1]) * BYTES_OF_UNIT[match[2].lower()])


def cluster_named(text: str) -> api.Cluster:
    """The cluster of a shorthand, or of a file whose name ends in .json. Raises ClusterError, OSError."""
    path = Path(text)
    if path.suffix != ".json":
        return api.parse_cluster(text)
    try:
        return api.parse_cluster(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ClusterError("the file is not text", where=shortened(path.name), allowed="JSON in UTF-8") from None


def prepared_graph(parsed: argparse.Namespace) -> api.PreparedGraph:
    """Read, cost and group the graph by the arguments, and print notes on it."""
    prepared = read_graph(parsed)
    for line in notes_on(prepared):
        print(line, file=sys.stderr)
    return prepared


def read_graph(parsed: argparse.Namespace) -> api.PreparedGraph:
    """Read, cost and group the graph by the arguments; prints only progress."""
    return api.prepare(
        parsed.graph,
        api.suffix_of(parsed.graph.name),
        print_progress,
        api.Limits(),
        parsed.groups,
        options=reading_options(parsed),
        run_metadata=parsed.profile,
        profile_kind=parsed.profile_kind,
    )


def notes_on(prepared: api.PreparedGraph) -> list[str]:
    """Notes on changes that reading made to the graph, and on its unknown costs."""
    return [*prepared.origin.notes, *left_to_people(prepared.summary())]


def print_lack_of_cpus(prepared: api.PreparedGraph, cluster: api.Cluster) -> None:
    """Print on stderr that ops which need a CPU stay on GPUs, where the cluster has no CPU."""
    count = int(prepared.graph.needs_cpu.sum())
    if count and not any(device.is_cpu for device in cluster.devices):
        what = "1 op that needs one stays on a GPU" if count == 1 else f"{count} ops that need one stay on GPUs"
        print(f"The cluster has no CPU: {what}. TensorFlow runs this only with soft placement.", file=sys.stderr)


def write_report(path: Path | None, report: api.Json) -> None:
    """Write the report to `path`, or print it without the long placement."""
    if path is not None:
        path.write_text(json.dumps(report, indent=1) + "\n")
        return
    shown = {key: value for key, value in report.items() if key != "placement"} if isinstance(report, dict) else report
    print(json.dumps(shown, indent=1))


def settings_of_pairs(pairs: Sequence[str]) -> dict[str, api.Json]:
    """Read the NAME=JSON pairs of `--set`; a value that is not JSON is a text. Raises SettingsError."""
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
    """Print the progress as a line on stderr."""
    print(f"{stage} {done}/{total}" if total else stage, file=sys.stderr)


def groups_of_text(text: str) -> api.Groups:
    """Read the value of `--groups`: a number, None for `all`, or `auto`."""
    if text == NO_MERGING:
        return None
    if text == api.AUTO_GROUPS:
        return api.AUTO_GROUPS
    if not (text.isdecimal() and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"{text!r}; allowed: {api.AUTO_GROUPS}, an integer from 1, or {NO_MERGING}")
    return int(text)
