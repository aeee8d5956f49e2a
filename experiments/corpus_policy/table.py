"""A policy for unseen architectures: trained on the corpus, measured on families of one side that it has never seen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.events import Json
from engine.policies.settings import PolicyTrainingSettings, make_training_settings
from engine.policies.trained_policy import TrainedPolicy
from engine.settings.fields import choice, mapping, number, require_allowed, text, whole
from engine.settings.making import make_settings
from experiments.corpus.cached import CACHE, LIST, CorpusSplit, graphs_of
from experiments.corpus_policy.measuring import rivals_of, times_of
from experiments.corpus_policy.page import page
from experiments.corpus_policy.problems import CorpusProblem, balanced, measured_problems, training_problems
from experiments.folders import below_root
from experiments.grid import KeptResults, of_any_code
from experiments.pages import ReportLine, write_page, write_rows
from experiments.policies.making import train_to_file
from experiments.policies.scope import digest

COMMAND = "python -m experiments corpus_policy"
TRAINING: dict[str, Json] = {
    "drawn": 512,
    "drawn_share": 0.75,
    "drawn_on_given": 0.85,
    "drawn_uses": 24,
    "message_rounds": 4,
    "embedding_width": 48,
    "sampled_share_end": 0.15,
    "torch_threads": 1,
}
"""what differs from the defaults of a training"""
SIDES = ("development", "test", "train")


@dataclass(frozen=True, slots=True)
class CorpusPolicyScope:
    """The defaults are the whole experiment; smaller values make it shorter, and the page shows them."""

    side: str = choice(SIDES, "families on which the policy is measured")
    graphs: int = whole(60, 1, 10_000, "that are measured, of each family in turn")
    clusters: int = whole(3, 1, 100, "drawn for each graph")
    policy: str = text("", "file of a policy to measure; empty: one is trained")
    train_seconds: float = number(3600.0, 1.0, 1e7, "of the processor, for the training")
    train_graphs: int = whole(0, 0, 10_000, "to train on, of each family in turn; 0: all of the training side")
    training: Mapping[str, Json] = mapping("settings of a training", "settings of the training that differ")
    seed: int = whole(0, 0, 2**31 - 1, "of the training")
    samples: int = whole(16, 0, 4096, "sampled passes beside the greedy one")
    search_evaluations: int = whole(20_000, 1, 10**8, "of the search that gaps are taken to, where it is the best")
    cache: str = text("", "folder for recordings and graphs; empty: the user's cache folder")
    listed: str = text("", "the corpus's list; empty: docs/results/corpus.json")
    work: str = text(".cache/corpus_policy", "folder for trained policies and states of trainings")

    def __post_init__(self) -> None:
        require_allowed(self)

    @property
    def cache_folder(self) -> Path:
        return below_root(self.cache) if self.cache else CACHE

    @property
    def list_file(self) -> Path:
        return below_root(self.listed) if self.listed else LIST

    def training_settings(self) -> PolicyTrainingSettings:
        """Those of the training."""
        return make_training_settings({**TRAINING, "seconds": self.train_seconds, **self.training})


def make_corpus_policy_scope(settings: Mapping[str, Json]) -> CorpusPolicyScope:
    """The scope with these `settings`; the others are the whole experiment's. Raises SettingsError."""
    return make_settings("the experiment", CorpusPolicyScope, settings)


def run(folder: Path, report: ReportLine, settings: Mapping[str, Json] | None = None) -> str:
    """Train where no policy is given, measure what is missing, write `folder`/corpus_policy.{md,json}."""
    scope = make_corpus_policy_scope(settings or {})
    file = below_root(scope.policy) if scope.policy else _trained(scope, report)
    policy = TrainedPolicy.from_bytes(file.read_bytes(), file.name)
    side: CorpusSplit = scope.side  # type: ignore[assignment]  # one of them, as the setting says
    graphs = graphs_of(side, cache=scope.cache_folder, listed=scope.list_file)
    problems = list(measured_problems(graphs, scope.graphs, scope.clusters))
    kept = KeptResults(folder / "kept" / "corpus_policy.jsonl", also=of_any_code)
    rows = list(_rows(scope, problems, policy, file, kept, report))
    write_rows(folder, "corpus_policy", rows, indent=1)
    drawn = f"on {scope.clusters} drawn clusters each, beside a search of {scope.search_evaluations:,} evaluations."
    what = f"Made by `{COMMAND}`: graphs of the {scope.side} side of [the corpus](corpus.md), of each family in turn,"
    return write_page(folder, "corpus_policy", page(rows, policy.card, f"{what}\n{drawn}"))


def _trained(scope: CorpusPolicyScope, report: ReportLine) -> Path:
    """The file of the policy that is trained, or was."""
    settings = scope.training_settings()
    graphs = graphs_of("train", cache=scope.cache_folder, listed=scope.list_file)
    graphs = balanced(graphs, scope.train_graphs or len(graphs))
    known = digest([asdict(settings), [graph.digest for graph in graphs], scope.seed])
    path = below_root(scope.work) / f"corpus-{known}.safetensors"
    if not path.exists():
        report(f"training on {len(graphs)} graphs for {scope.train_seconds:g} s: {path.name}")
        problems = training_problems(graphs, scope.cache_folder, scope.seed)
        train_to_file(problems, settings, scope.seed, path)
    return path


def _rows(
    scope: CorpusPolicyScope,
    problems: Sequence[CorpusProblem],
    policy: TrainedPolicy,
    file: Path,
    kept: KeptResults,
    report: ReportLine,
) -> Iterator[dict[str, Any]]:
    """The facts of each problem, what the others reach there, and what the policy does."""
    of_policy = digest(file.read_bytes().hex())
    for count, each in enumerate(problems, 1):
        on: dict[str, Json] = {"graph": each.graph.digest, "mode": each.graph.mode, "number": each.number}
        others = {"of": "rivals", **on, "evaluations": scope.search_evaluations}
        passes = {"of": "policy", **on, "policy": of_policy, "samples": scope.samples}
        if others not in kept or passes not in kept:
            problem = each.problem(scope.cache_folder)
            if others not in kept:
                kept.add(others, asdict(rivals_of(problem, scope.search_evaluations)))
            if passes not in kept:
                kept.add(passes, asdict(times_of(problem, policy, scope.samples)))
            report(f"{count} of {len(problems)}: {each.graph.name}, {kept[others]['cluster']}")
        graph = each.graph
        facts = {"graph": graph.name, "family": graph.family, "kind": graph.kind, "mode": graph.mode}
        yield {**facts, **kept[others], **kept[passes]}
