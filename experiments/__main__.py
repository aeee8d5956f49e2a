"""`python -m experiments NAME` makes the tables and figures of docs/ again; `python -m experiments bench` measures."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from engine import api
from engine.cli.graph_arguments import settings_of_pairs
from engine.cli.listing import print_settings
from engine.cli.main import run_parsed
from engine.errors import SettingsError
from experiments.registry import BENCHMARKS, EXPERIMENTS, MOVED, paragraphs

BENCH = "bench"
SCOPED = tuple(name for name, experiment in EXPERIMENTS.items() if experiment.scoped)
FOLDERS = " and ".join(name for name, experiment in EXPERIMENTS.items() if experiment.folder == Path("docs"))


def main(arguments: Sequence[str]) -> int:
    """Run one experiment or benchmark and return its exit status, the same as those of `python -m engine`."""
    if list(arguments[:1]) == [BENCH]:
        return run_parsed(make_bench_parser().parse_args(arguments[1:]))
    return run_parsed(make_parser(next(iter(arguments), "")).parse_args(arguments))


def make_parser(name: str = "") -> argparse.ArgumentParser:
    """The parser of the command for experiment `name`, whose settings may be options."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=f"Makes the tables and figures of docs/ again; `{BENCH}` measures speed, see `{BENCH} --help`.",
        epilog=paragraphs(EXPERIMENTS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=[*EXPERIMENTS, *MOVED], metavar="NAME", help="see below")
    parser.add_argument("--out", type=Path, help=f"folder (default docs/results; docs for {FOLDERS})")
    some = ", ".join(SCOPED)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=JSON", help=f"for {some}; `--settings` lists them"
    )
    parser.add_argument("--settings", action="store_true", help="list what --set takes, and run nothing")
    if name in EXPERIMENTS and EXPERIMENTS[name].options:
        _add_options(parser, name)
    parser.set_defaults(command=_run)
    return parser


def _add_options(parser: argparse.ArgumentParser, name: str) -> None:
    """An option for each setting of experiment `name`, which stands for its pair of `--set`."""
    group = parser.add_argument_group(f"settings of {name}, each also for --set")
    for setting in api.list_settings(EXPERIMENTS[name].make_scope(), {}):
        group.add_argument(
            f"--{setting.name.replace('_', '-')}",
            dest="set",
            action="append",
            type=partial("{}={}".format, setting.name),
            metavar="VALUE",
            help=f"{setting.sentence} (default {setting.default})".replace("%", "%%"),
        )


def make_bench_parser() -> argparse.ArgumentParser:
    """The parser of what stands behind `bench`."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments {BENCH}",
        description="Measures the engine against its yardsticks.",
        epilog=paragraphs(BENCHMARKS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=list(BENCHMARKS), metavar="NAME", help="see below")
    parser.set_defaults(command=_bench)
    return parser


def _bench(parsed: argparse.Namespace) -> int:
    print(BENCHMARKS[parsed.what].call()())
    return 0


def _run(parsed: argparse.Namespace) -> int:
    if parsed.name in MOVED:
        raise SettingsError("it stands beside the tests", where=parsed.name, allowed=MOVED[parsed.name])
    experiment = EXPERIMENTS[parsed.name]
    settings = settings_of_pairs(parsed.set)
    if (settings or parsed.settings) and not experiment.scoped:
        where = "--set" if settings else "--settings"
        raise SettingsError(f"{parsed.name} has no settings", where=where, allowed=f"with {', '.join(SCOPED)}")
    if parsed.settings:
        print_settings(api.list_settings(experiment.make_scope(), settings), as_json=False)
        return 0
    more = [settings] if settings else []
    print(experiment.call()(parsed.out or experiment.folder, lambda line: print(line, file=sys.stderr), *more))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
