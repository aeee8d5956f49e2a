"""The command `build`: a graph of the zoo as a file, or a family of graphs as a folder."""

import argparse
import sys
from pathlib import Path

from engine import api
from engine.cli import Commands
from engine.cli.graph_arguments import add_settings, print_progress, settings_of_pairs
from engine.errors import SettingsError
from engine.files.destinations import require_writable

GRAPH_SUFFIX = ".pb"


def add_build(commands: Commands) -> None:
    """Add the command `build NAME --out PATH`."""
    families = ", ".join(api.families())
    parser = commands.add_parser("build", help="build a graph of the zoo, or a family of graphs, with TensorFlow")
    parser.add_argument("name", help=f"a graph: {', '.join(api.samples())}; a family: {families}")
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help=f"where to write it; of {families} a name that ends in .pb asks for the one graph, any other for a folder "
        "with the family",
    )
    parser.add_argument(
        "--inference", action="store_true", help="build only the forward pass of a graph, no training step"
    )
    add_settings(parser, "of a graph: a setting of the model, such as batch=32", "NAME")
    parser.add_argument(
        "--count", type=int, metavar="N", help=f"number of graphs of a family (default {api.FAMILY_COUNT})"
    )
    parser.add_argument("--seed", type=int, metavar="S", help="seed of a family (default 0)")
    parser.set_defaults(command=_build)


def _build(parsed: argparse.Namespace) -> int:
    if parsed.name in api.families() and parsed.out.suffix != GRAPH_SUFFIX:
        return _build_family(parsed)
    for option, value in (("--count", parsed.count), ("--seed", parsed.seed)):
        if value is not None:
            allowed = f"it for a family ({', '.join(api.families())}), with a folder as --out"
            raise SettingsError("one graph has none", where=option, allowed=allowed)
    require_writable("--out", parsed.out, replaced=True)
    settings = settings_of_pairs(parsed.set)
    if parsed.inference:
        settings["inference"] = True
    ops = api.build(parsed.name, parsed.out, print_progress, settings)
    print(f"{parsed.out}: {ops} ops", file=sys.stderr)
    return 0


def _build_family(parsed: argparse.Namespace) -> int:
    if parsed.out.suffix in api.FORMATS:
        allowed = f"a name that ends in {GRAPH_SUFFIX} for the one graph, a folder's for the family"
        raise SettingsError(f"{parsed.out.name!r}", where="--out", allowed=allowed)
    for option, given in (("--set", parsed.set), ("--inference", parsed.inference)):
        if given:
            what = "the graphs of a family have settings of their own"
            raise SettingsError(what, where=option, allowed="it for one graph: --out that ends in .pb")
    count = api.FAMILY_COUNT if parsed.count is None else parsed.count
    seed = 0 if parsed.seed is None else parsed.seed
    api.build_family(parsed.name, parsed.out, print_progress, seed, count)
    splits = [member.split for member in api.family_members(parsed.name, seed, count)]
    counts = f"{count} graphs, {splits.count('train')} to train on, {splits.count('test')} to test on"
    print(f"{parsed.out}: {counts}", file=sys.stderr)
    return 0
