"""The commands that measure the engine itself: `bench`, and `experiments`, which makes the figures of docs/ again."""

import argparse
import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from engine.cli.graph_arguments import add_settings, settings_of_pairs
from engine.errors import SettingsError

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


@dataclass(frozen=True, slots=True)
class Measuring:
    """A row of the registries below: what is called, imported on first use."""

    function: str
    """`module:name`"""
    takes: str
    """on two cores with nothing else to do, roughly"""
    folder: Path = Path("docs/results")
    """where an experiment writes"""
    scoped: bool = False
    """whether `--set` makes it smaller: engine/experiments/policy_scope.py"""

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
    "simulator": Measuring("engine.experiments.simulator_speed:run_benchmark", "minutes"),
    "training": Measuring("engine.experiments.training_speed:run_benchmark", "minutes"),
    "reading": Measuring("engine.experiments.reading_speed:run_benchmark", "minutes"),
}
"""each returns a text"""
EXPERIMENTS = {
    "ablations": Measuring("engine.experiments.ablations:run", "a quarter of an hour"),
    "auto_check": Measuring("engine.experiments.auto_check:run", "an hour"),
    "cross_family": Measuring("engine.experiments.cross_family:run", "most of a day", scoped=True),
    "families": Measuring("engine.experiments.families_table:run", "ten minutes", folder=Path("docs")),
    "learning_choices": Measuring("engine.experiments.learning_choices:run", "hours", scoped=True),
    "learning_curve": Measuring("engine.experiments.learning_curve:run", "minutes"),
    "models": Measuring("engine.experiments.models.table:run", "an hour", folder=Path("docs"), scoped=True),
    "placed_graphs": Measuring("engine.experiments.placed_graphs:run", "minutes"),
    "table1": Measuring("engine.experiments.table1:run", "ten minutes"),
    "traversal_orders": Measuring("engine.experiments.traversal_orders:run", "a quarter of an hour"),
    "zero_shot": Measuring("engine.experiments.zero_shot:run", "a day", scoped=True),
    "zoo": Measuring("engine.experiments.zoo_table:run", "minutes", folder=Path("docs")),
    "zoo_samples": Measuring("engine.experiments.zoo_samples:run", "a quarter of an hour"),
}
"""each writes into a folder, tells its progress, and returns a text"""
SCOPED = tuple(name for name, experiment in EXPERIMENTS.items() if experiment.scoped)
FOLDERS = " and ".join(name for name, experiment in EXPERIMENTS.items() if experiment.folder == Path("docs"))
WIDTH = 118
NAME_WIDTH = 20


def add_bench(commands: Commands) -> None:
    """`bench WHAT`"""
    parser = commands.add_parser(
        "bench",
        help="measure the engine against its yardsticks",
        epilog=_told(BENCHMARKS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", choices=list(BENCHMARKS), help="see below")
    parser.set_defaults(command=_bench)


def add_experiments(commands: Commands) -> None:
    """`experiments NAME --out FOLDER`"""
    parser = commands.add_parser(
        "experiments",
        help="make the figures of docs/ again",
        epilog=_told(EXPERIMENTS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=list(EXPERIMENTS), help="see below")
    parser.add_argument("--out", type=Path, help=f"folder (default docs/results; docs for {FOLDERS})")
    add_settings(parser, f"for {', '.join(SCOPED)}, which it makes smaller", "NAME")
    parser.set_defaults(command=_experiment)


def _told(rows: Mapping[str, Measuring]) -> str:
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


def _experiment(parsed: argparse.Namespace) -> int:
    experiment = EXPERIMENTS[parsed.name]
    settings = settings_of_pairs(parsed.set)
    if settings and not experiment.scoped:
        raise SettingsError(f"{parsed.name} has no settings", where="--set", allowed=f"with {', '.join(SCOPED)}")
    more = [settings] if settings else []
    print(experiment.call()(parsed.out or experiment.folder, lambda line: print(line, file=sys.stderr), *more))
    return 0
