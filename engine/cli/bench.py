"""The command `bench`, which measures the engine itself; `experiments`, which names the command that took its place."""

import argparse
import importlib
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.cli import Commands
from engine.errors import SettingsError

WIDTH = 118
NAME_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Measuring:
    """A row of a registry of measurements: what is called, imported on first use."""

    function: str
    """`module:name`"""
    takes: str
    """on two cores with nothing else to do, roughly"""

    def call(self) -> Callable[..., str]:
        """The function."""
        module, _, name = self.function.partition(":")
        function: Callable[..., str] = getattr(importlib.import_module(module), name)
        return function

    def words(self) -> str:
        """What it does: the first line of its module, which is read and not imported."""
        module = self.function.partition(":")[0]
        path = Path(__file__).parents[2].joinpath(*module.split(".")).with_suffix(".py")
        with path.open(encoding="utf-8") as source:
            return source.readline().strip().strip('"')


BENCHMARKS = {
    "simulator": Measuring("engine.bench.simulator:run_benchmark", "minutes"),
    "training": Measuring("engine.bench.training:run_benchmark", "minutes"),
    "reading": Measuring("engine.bench.reading:run_benchmark", "minutes"),
}
"""each returns a text"""


def add_bench(commands: Commands) -> None:
    """`bench WHAT`"""
    parser = commands.add_parser(
        "bench",
        help="measure the engine against its yardsticks",
        epilog=paragraphs(BENCHMARKS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=list(BENCHMARKS), help="see below")
    parser.set_defaults(command=_bench)


def add_experiments(commands: Commands) -> None:
    """`experiments`, which has moved"""
    parser = commands.add_parser("experiments", help="now `python -m experiments`")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="as before")
    parser.set_defaults(command=_moved)


def paragraphs(rows: Mapping[str, Measuring]) -> str:
    """A paragraph a name, for the end of a help."""
    return "\n".join(("Each on two cores with nothing else to do, roughly:", *_paragraphs(rows)))


def _paragraphs(rows: Mapping[str, Measuring]) -> Iterator[str]:
    for name, row in rows.items():
        text = f"{row.words()} Takes {row.takes}."
        head = f"  {name:{NAME_WIDTH}}"
        yield textwrap.fill(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))


def _bench(parsed: argparse.Namespace) -> int:
    print(BENCHMARKS[parsed.what].call()())
    return 0


def _moved(_parsed: argparse.Namespace) -> int:
    raise SettingsError("experiments have a command of their own", where="experiments", allowed="python -m experiments")
