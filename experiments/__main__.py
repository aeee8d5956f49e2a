"""`python -m experiments NAME` makes the tables and figures of docs/ again, each by one command."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import api
from engine.cli.bench import Measuring, paragraphs
from engine.cli.graph_arguments import settings_of_pairs
from engine.cli.listing import print_settings
from engine.cli.main import run_parsed
from engine.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Experiment(Measuring):
    """A row of the registry below."""

    folder: Path = Path("docs/results")
    """where it writes"""
    scoped: bool = False
    """whether `--set` can make it smaller"""
    scope: str = "experiments.policies.scope:make_scope"
    """`module:name` of what makes its settings"""

    def make_scope(self) -> api.MakeSettings:
        """Import what makes its settings."""
        module, _, name = self.scope.partition(":")
        make: api.MakeSettings = getattr(importlib.import_module(module), name)
        return make


EXPERIMENTS = {
    "ablations": Experiment(
        "experiments.ablations:run",
        "thirteen to twenty hours of one core",
        scoped=True,
        scope="experiments.published.scope:make_published_scope",
    ),
    "auto_check": Experiment("experiments.auto_check.table:run", "an hour"),
    "controls": Experiment(
        "experiments.policies.controls.table:run",
        "three hours of one core",
        scoped=True,
        scope="experiments.policies.controls.table:make_controls_scope",
    ),
    "cross_family": Experiment("experiments.policies.cross_family:run", "most of a day", scoped=True),
    "cluster_sizes": Experiment("experiments.cluster_sizes:run", "an hour of one core"),
    "devices": Experiment("experiments.devices_table:run", "a second", folder=Path("docs")),
    "families": Experiment("experiments.families_table:run", "ten minutes", folder=Path("docs")),
    "op_times": Experiment("experiments.op_times:run", "ten minutes of a quiet machine"),
    "fidelity": Experiment("experiments.fidelity:run", "an hour or two of a quiet machine"),
    "figure5": Experiment(
        "experiments.figure5:run",
        "fourteen hours of one core after ablations",
        scoped=True,
        scope="experiments.published.scope:make_published_scope",
    ),
    "generalisation": Experiment(
        "experiments.policies.generalisation.table:run",
        "six hours of one core",
        scoped=True,
        scope="experiments.policies.generalisation.table:make_generalisation_scope",
    ),
    "k80_measured": Experiment("experiments.k80_measured:run", "minutes"),
    "known_optima": Experiment(
        "experiments.policies.known_optima:run",
        "minutes",
        scoped=True,
        scope="experiments.policies.known_optima:make_optima_scope",
    ),
    "learning_curve": Experiment("experiments.learning_curve:run", "minutes"),
    "list_schedules": Experiment("experiments.list_schedules:run", "a quarter of an hour"),
    "lookups": Experiment("experiments.lookups:run", "two minutes"),
    "measured_rewards": Experiment("experiments.measured_rewards:run", "an hour of a quiet machine"),
    "memory_curve": Experiment("experiments.memory_curve:run", "a quarter of an hour"),
    "memory_peaks": Experiment("experiments.memory_peaks:run", "half an hour"),
    "models": Experiment("experiments.models.table:run", "an hour", folder=Path("docs"), scoped=True),
    "own_best": Experiment("experiments.own_best:run", "three hours; Post alone ten minutes"),
    "placed_graphs": Experiment("experiments.placed.graphs:run", "minutes"),
    "policy_sizes": Experiment(
        "experiments.policies.sizes:run",
        "an hour and a half of one core",
        scoped=True,
        scope="experiments.policies.sizes:make_sizes_scope",
    ),
    "regal_family": Experiment("experiments.regal_family:run", "half an hour"),
    "rnn_paper": Experiment("experiments.rnn_paper:run", "three quarters of an hour"),
    "sensitivity": Experiment("experiments.sensitivity:run", "half an hour"),
    "shipped_policy": Experiment(
        "experiments.policies.shipped:run",
        "an hour of one core",
        scoped=True,
        scope="experiments.policies.shipped:make_shipped_scope",
    ),
    "shipped_orders": Experiment(
        "experiments.policies.shipped_orders:run",
        "ten minutes",
        scoped=True,
        scope="experiments.policies.shipped:make_shipped_scope",
    ),
    "table1": Experiment("experiments.table1:run", "hours"),
    "traversal_orders": Experiment("experiments.traversal_orders:run", "a quarter of an hour"),
    "verdicts": Experiment("experiments.verdicts:run", "half an hour"),
    "worst_runs": Experiment("experiments.auto_check.worst_runs:run", "half an hour"),
    "yardstick": Experiment(
        "experiments.yardstick.table:run",
        "nine hours of one core",
        scoped=True,
        scope="experiments.yardstick.scope:make_yardstick_scope",
    ),
    "zero_shot": Experiment("experiments.policies.zero_shot:run", "a day", scoped=True),
    "zoo": Experiment("experiments.zoo_table:run", "minutes", folder=Path("docs")),
    "zoo_samples": Experiment("experiments.zoo_samples:run", "an hour"),
}
"""each writes into a folder, reports its progress, and returns its page"""
SCOPED = tuple(name for name, experiment in EXPERIMENTS.items() if experiment.scoped)
FOLDERS = " and ".join(name for name, experiment in EXPERIMENTS.items() if experiment.folder == Path("docs"))


def main(arguments: Sequence[str]) -> int:
    """Run one experiment and return its exit status, the same as those of `python -m engine`."""
    return run_parsed(make_parser().parse_args(arguments))


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Makes the tables and figures of docs/ again.",
        epilog=paragraphs(EXPERIMENTS),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", choices=list(EXPERIMENTS), metavar="NAME", help="see below")
    parser.add_argument("--out", type=Path, help=f"folder (default docs/results; docs for {FOLDERS})")
    some = ", ".join(SCOPED)
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=JSON", help=f"for {some}; `--settings` lists them"
    )
    parser.add_argument("--settings", action="store_true", help="list what --set takes, and run nothing")
    parser.set_defaults(command=_run)
    return parser


def _run(parsed: argparse.Namespace) -> int:
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
