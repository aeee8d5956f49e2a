"""The command `train`: trains a policy on families and graphs on clusters, and writes its file."""

import argparse
import sys
import time
import zipfile
import zlib
from pathlib import Path

import numpy as np

from engine import api
from engine.cli import Commands
from engine.cli.graph_arguments import (
    add_groups,
    add_seed,
    add_settings,
    cluster_named,
    notes_on,
    print_progress,
    settings_of_pairs,
)
from engine.cli.policy_arguments import SUFFIX
from engine.cli.reading_arguments import add_reading_arguments, reading_options
from engine.errors import SettingsError, shortened
from engine.files.archive import pack, unpack
from engine.files.destinations import require_writable
from engine.files.whole_files import write_whole

_DAMAGES = (AssertionError, EOFError, KeyError, NotImplementedError, ValueError, zipfile.BadZipFile, zlib.error)
"""errors that reading a damaged archive raises"""


class TrainingState:
    """The file of one training's saved state. It refuses a file of another training and never overwrites it."""

    def __init__(self, path: Path, request: api.TrainRequest) -> None:
        self.path = path
        self._identity = api.training_identity(request)

    def read(self) -> bytes | None:
        """The latest state, or None. Raises SettingsError if the file belongs to another training."""
        if not self.path.exists():
            return None
        try:
            arrays, texts = unpack(self.path.read_bytes())
            identity, state = texts["identity"], arrays["state"].tobytes()
        except _DAMAGES:
            raise self._refused("this is not a state of a training") from None
        if identity != self._identity:
            raise self._refused("it is the state of another training, or of another version")
        return state

    def write(self, state: bytes) -> None:
        """Store `state`, whole or not at all."""
        write_whole(self.path, pack({"state": np.frombuffer(state, np.uint8)}, {"identity": self._identity}))

    def remove(self) -> None:
        """Remove the file after the training has ended."""
        self.path.unlink(missing_ok=True)

    def _refused(self, what: str) -> SettingsError:
        allowed = "the command that wrote it, another --out, or no such file"
        return SettingsError(what, where=shortened(self.path.name), allowed=allowed, field="out")


INTERRUPTED = 130


def add_train(commands: Commands) -> None:
    """Add the command `train FAMILY_OR_GRAPH... --cluster C --out POLICY`."""
    families = ", ".join(api.families())
    parser = commands.add_parser("train", help="train a policy that places graphs it has never seen")
    parser.add_argument("graphs", nargs="+", metavar="FAMILY_OR_GRAPH", help=f"{families}, or a graph's file")
    parser.add_argument(
        "--cluster",
        action="append",
        required=True,
        help="2xK80, 4xV100+cpu, or a file of cluster JSON; several times for several clusters",
    )
    parser.add_argument("--out", type=Path, required=True, metavar=f"POLICY{SUFFIX}", help="write the policy here")
    parser.add_argument("--name", default="", help="the policy's name (default: that of the file)")
    usual_seconds = api.PolicyTrainingSettings().seconds
    parser.add_argument("--seconds", type=float, help=f"duration of the training (default {usual_seconds:g})")
    add_seed(parser)
    parser.add_argument(
        "--held-out",
        action="extend",
        nargs="+",
        default=[],
        type=Path,
        metavar="GRAPH",
        help="graphs to test the policy on, beside those that a family holds out",
    )
    add_groups(parser, "of the graphs' files: ", api.AUTO_GROUPS)
    add_reading_arguments(parser.add_argument_group("how the graphs' files are read, all of them alike"))
    parser.add_argument(
        "--count",
        type=int,
        default=api.FAMILY_COUNT,
        metavar="N",
        help="number of graphs of a family, with those that it holds out (default %(default)s)",
    )
    parser.add_argument(
        "--test-count",
        type=int,
        metavar="N",
        help="test the policy on those alone that are held out of the first N graphs of a family (default all)",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(".cache/families"),
        metavar="FOLDER",
        help="folder that caches the families' graphs (default %(default)s)",
    )
    add_settings(parser, "a setting of the training, such as imitation_steps=2000", "training")
    parser.set_defaults(command=_train)


def _train(parsed: argparse.Namespace) -> int:
    _check_destination(parsed.out)
    clusters = tuple(cluster_named(text) for text in dict.fromkeys(parsed.cluster))
    settings = settings_of_pairs(parsed.set)
    if parsed.seconds is not None:
        settings["seconds"] = parsed.seconds
    name = parsed.name or parsed.out.stem
    _check_test_count(parsed)
    api.check_training(name, parsed.seed, settings)
    families, files = _families_and_files(parsed.graphs)
    options = _options(parsed, files)
    trained_on, held_out = _prepared(parsed, families, files, options)
    request = api.TrainRequest(trained_on, held_out, clusters, name, parsed.seed, settings, tuple(families))
    return _carried_out(request, parsed.out)


def _carried_out(request: api.TrainRequest, out: Path) -> int:
    """Train, continuing from the saved state of an interrupted call of the same command."""
    kept = TrainingState(out.with_name(f"{out.name}.state"), request)
    checkpoint = kept.read()
    if checkpoint is not None:
        print(f"goes on from {kept.path}", file=sys.stderr)
    try:
        blob = api.train(request, _Console().show_progress, lambda: False, checkpoint, kept.write)
    except KeyboardInterrupt:
        if kept.path.exists():
            print(f"stopped; the same command goes on from {kept.path}", file=sys.stderr)
        return INTERRUPTED
    card = api.read_policy(blob, out.name).card
    write_whole(out, blob)
    kept.remove()
    print(_summary(card, out))
    return 0


def _families_and_files(words: list[str]) -> tuple[list[str], list[Path]]:
    """Split `words` into families and files. Raises SettingsError for a word that is neither."""
    families = [word for word in dict.fromkeys(words) if word in api.families()]
    files = [Path(word) for word in dict.fromkeys(words) if word not in families]
    for path in files:
        if not path.suffix:
            allowed = f"{', '.join(api.families())}, or a graph's file"
            raise SettingsError("this is not a family", where=shortened(str(path)), allowed=allowed, field="graphs")
    return families, files


def _options(parsed: argparse.Namespace, files: list[Path]) -> api.ReadingOptions:
    """The reading options. Raises SettingsError if options are given without a graph's file."""
    options = reading_options(parsed)
    if options != api.ReadingOptions() and not (files or parsed.held_out):
        where = "--signature, --batch-size, --input-shape"
        raise SettingsError("a family's graphs leave nothing open", where=where, allowed="them beside a graph's file")
    return options


def _prepared(
    parsed: argparse.Namespace, families: list[str], files: list[Path], options: api.ReadingOptions
) -> tuple[tuple[api.PreparedGraph, ...], tuple[api.PreparedGraph, ...]]:
    """The graphs to train on, and those to hold out."""
    trained_on = [_read(path, parsed.groups, options) for path in files]
    held_out = [_read(path, parsed.groups, options) for path in dict.fromkeys(parsed.held_out)]
    for name in families:
        tested = parsed.count if parsed.test_count is None else parsed.test_count
        trained_on += api.prepared_family(name, parsed.cache, print_progress, count=parsed.count, only="train").train
        held_out += api.prepared_family(name, parsed.cache, print_progress, count=tested, only="test").test
    return tuple(trained_on), tuple(held_out)


def _check_test_count(parsed: argparse.Namespace) -> None:
    if parsed.test_count is not None and not 1 <= parsed.test_count <= parsed.count:
        allowed = f"1 to {parsed.count}, the --count of a family's graphs"
        raise SettingsError(str(parsed.test_count), where="--test-count", allowed=allowed, field="test_count")


def _read(path: Path, groups: int | None, options: api.ReadingOptions) -> api.PreparedGraph:
    """Read, cost and group the graph in `path`, and print notes on it with the file's name."""
    prepared = api.prepare(path, api.suffix_of(path.name), print_progress, api.Limits(), groups, options=options)
    for line in notes_on(prepared):
        print(f"{shortened(path.name)}: {line}", file=sys.stderr)
    return prepared


def _check_destination(path: Path) -> None:
    """Refuse an `--out` that cannot be written before hours of work, not after."""
    if path.suffix != SUFFIX:
        raise SettingsError(f"{path.name!r}", where="--out", allowed=f"a name that ends in {SUFFIX}", field="out")
    require_writable("--out", path)


def _summary(card: api.PolicyCard, out: Path) -> str:
    """A summary of the trained policy for people."""
    trained = f"{out}: {len(card.graphs)} graphs on {', '.join(card.clusters)}, {card.evaluations} evaluations"
    if not card.held_out:
        return f"{trained}; nothing was held out"
    greedy = "the greedy pass"
    parts = [f"{greedy} does not fit on {card.misfits} of {len(card.held_out)}"] * (card.misfits > 0)
    if card.mean_gap is not None:
        parts.append(f"{greedy} is {card.mean_gap:+.1%} from the search on average, {card.worst_gap:+.1%} at worst")
    if card.mean_best_of_gap is not None:
        parts.append(f"the best of its passes {card.mean_best_of_gap:+.1%}")
    return f"{trained}; held out: {'; '.join(parts)}"


class _Console:
    """Prints a training's progress, a line from time to time."""

    SECONDS_BETWEEN_LINES = 5.0

    def __init__(self) -> None:
        self._stage = ""
        self._printed_at = 0.0

    def show_progress(self, progress: api.TrainingProgress) -> None:
        now = time.monotonic()
        if progress.stage == self._stage and now - self._printed_at < self.SECONDS_BETWEEN_LINES:
            return
        self._stage, self._printed_at = progress.stage, now
        gap = "" if progress.mean_gap is None else f", gap {progress.mean_gap:+.1%}"
        rows = f", {len(progress.held_out)} held out" if progress.held_out else ""
        print(f"{progress.stage} {progress.done:.0%}, {progress.seconds:.0f} s{gap}{rows}", file=sys.stderr)
