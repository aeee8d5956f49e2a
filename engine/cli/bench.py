"""The command `bench`, which measures the engine itself, and `experiments`, which names its new command."""

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
    """A row of a registry of measurements: a function, imported on first use, and its duration."""

    function: str
    """`module:name`"""
    takes: str
    """roughly, on two idle cores"""

    def call(self) -> Callable[..., str]:
        """Import the function."""
        module, _, name = self.function.partition(":")
        function: Callable[..., str] = getattr(importlib.import_module(module), name)
        return function

    def words(self) -> str:
        """The first line of its module's docstring, read without importing the module."""
        module = self.function.partition(":")[0]
        path = Path(__file__).parents[2].joinpath(*module.split(".")).with_suffix(".py")
        with path.open(encoding="utf-8") as source:
            return source.readline().strip().strip('"')


BENCHMARKS = {
    "simulator": Measuring("engine.bench.simulator:run_benchmark", "minutes"),
    "moves": Measuring("engine.bench.moves:run_benchmark", "minutes"),
    "sizes": Measuring("engine.bench.sizes:run_benchmark", "minutes"),
    "training": Measuring("engine.bench.training:run_benchmark", "minutes"),
    "reading": Measuring("engine.bench.reading:run_benchmark", "minutes"),
}
"""name → benchmark, which returns a text"""


def add_bench(commands: Commands) -> None:
    """Add the command `bench WHAT`."""
    parser = commands.add_parser(
        "bench",
        help="measure the engine against its yardsticks",
        epilog=paragraphs(BENCHMARKS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=list(BENCHMARKS), help="see below")
    parser.set_defaults(command=_bench)


def add_experiments(commands: Commands) -> None:
    """Add the command `experiments`, which names the command that replaced it."""
    parser = commands.add_parser("experiments", help="now `python -m experiments`")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="as before")
    parser.set_defaults(command=_moved)


def paragraphs(rows: Mapping[str, Measuring]) -> str:
    """One paragraph for each of `rows`, for the end of a help text."""
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
