"""The experiments and the benchmarks by name: what each does, how long it takes, and the function that does it."""

import importlib
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from engine import api
from experiments.folders import ROOT

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
        path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
        with path.open(encoding="utf-8") as source:
            return source.readline().strip().strip('"')


@dataclass(frozen=True, slots=True)
class Experiment(Measuring):
    """A row of the registry below."""

    folder: Path = Path("docs/results")
    """where it writes"""
    scoped: bool = False
    """whether `--set` can make it smaller"""
    scope: str = "experiments.policies.scope:make_scope"
    """`module:name` of what makes its settings"""
    options: bool = False
    """whether each setting is an option too: `--graphs 4` for `--set graphs=4`"""

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
    "benchmark": Experiment(
        "experiments.benchmark.table:run",
        "seven hours of one core",
        scoped=True,
        scope="experiments.benchmark.scope:make_benchmark_scope",
        options=True,
    ),
    "controls": Experiment(
        "experiments.policies.controls.table:run",
        "three hours of one core",
        scoped=True,
        scope="experiments.policies.controls.table:make_controls_scope",
    ),
    "cross_family": Experiment("experiments.policies.cross_family:run", "most of a day", scoped=True),
    "corpus": Experiment(
        "experiments.corpus.table:run",
        "an hour of one core",
        scoped=True,
        scope="experiments.corpus.table:make_corpus_scope",
    ),
    "corpus_policy": Experiment(
        "experiments.corpus_policy.table:run",
        "two hours of one core",
        scoped=True,
        scope="experiments.corpus_policy.table:make_corpus_policy_scope",
    ),
    "cluster_sizes": Experiment("experiments.cluster_sizes:run", "an hour of one core"),
    "devices": Experiment("experiments.devices_table:run", "a second", folder=Path("docs")),
    "families": Experiment("experiments.families_table:run", "ten minutes", folder=Path("docs")),
    "op_times": Experiment("experiments.op_times:run", "ten minutes of a quiet machine"),
    "elsewhere": Experiment("experiments.elsewhere:run", "ten minutes"),
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
    "measured_rewards": Experiment("experiments.measured_rewards:run", "an hour of a quiet machine"),
    "measured_streams": Experiment("experiments.measured_streams.table:run", "ten minutes of a quiet machine"),
    "memory_curve": Experiment("experiments.memory_curve:run", "a quarter of an hour"),
    "memory_peaks": Experiment("experiments.memory_peaks:run", "half an hour"),
    "own_best": Experiment("experiments.own_best:run", "three hours; Post alone ten minutes"),
    "placed_graphs": Experiment("experiments.placed.graphs:run", "minutes"),
    "plan_seconds": Experiment("experiments.plan_seconds:run", "half an hour of a quiet machine"),
    "plan_table": Experiment("experiments.plan_table:run", "half an hour"),
    "policy_sizes": Experiment(
        "experiments.policies.sizes:run",
        "an hour and a half of one core",
        scoped=True,
        scope="experiments.policies.sizes:make_sizes_scope",
    ),
    "public_workloads": Experiment(
        "experiments.public_workloads.table:run",
        "a quarter of an hour",
        scoped=True,
        scope="experiments.public_workloads.table:make_workload_scope",
    ),
    "real_plans": Experiment("experiments.real_plans.table:run", "a quarter of an hour of a quiet machine"),
    "recorded": Experiment("experiments.recorded.table:run", "an hour"),
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
    "stream_splits": Experiment("experiments.stream_splits.table:run", "half an hour"),
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
MOVED = {"models": "python -m tests.models", "lookups": "python -m tests.models.lookups"}
"""former experiment → its present command, which takes the same arguments"""
BENCHMARKS = {
    "simulator": Measuring("experiments.bench.simulator:run_benchmark", "minutes"),
    "moves": Measuring("experiments.bench.moves:run_benchmark", "minutes"),
    "sizes": Measuring("experiments.bench.sizes:run_benchmark", "minutes"),
    "training": Measuring("experiments.bench.training:run_benchmark", "minutes"),
    "reading": Measuring("experiments.bench.reading:run_benchmark", "minutes"),
}
"""name → benchmark, which returns a text"""


def paragraphs(rows: Mapping[str, Measuring]) -> str:
    """One paragraph for each of `rows`, for the end of a help text."""
    return "\n".join(("Each on two cores with nothing else to do, roughly:", *_paragraphs(rows)))


def _paragraphs(rows: Mapping[str, Measuring]) -> Iterator[str]:
    for name, row in rows.items():
        text = f"{row.words()} Takes {row.takes}."
        head = f"  {name:{NAME_WIDTH}}"
        yield textwrap.fill(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
