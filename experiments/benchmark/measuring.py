"""Makes the runs that are missing, problem by problem, and keeps each row as it comes."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.placers import scotch
from engine.problem import Budget, PlacementProblem
from experiments.benchmark.problems import BenchmarkProblem, facts_of, prepared_of
from experiments.benchmark.running import (
    WITHOUT_EVALUATIONS,
    BenchmarkMethod,
    MethodRun,
    carried_out,
    ended_by_itself,
    in_seconds,
    run_key,
    warm_up,
)
from experiments.benchmark.scope import BenchmarkScope
from experiments.children_here import children_here
from experiments.grid import KeptResults
from experiments.keeping.lower_bounds import FORMULA, KeptBounds
from experiments.keeping.yardstick import FoundBy, Yardstick
from experiments.pages import ReportLine


@dataclass(frozen=True, slots=True)
class BenchmarkFiles:
    """The files that a benchmark keeps."""

    rows: KeptResults
    best: Yardstick
    bounds: KeptBounds


@dataclass(frozen=True, slots=True)
class SeededProblem:
    """A problem with the number of seeds of a method that draws at random."""

    problem: BenchmarkProblem
    seeds: int

    def seeds_of(self, method: BenchmarkMethod) -> int:
        """The number of seeds of `method`."""
        return 1 if method.deterministic else self.seeds


def with_seeds(problems: Sequence[BenchmarkProblem], scope: BenchmarkScope) -> list[SeededProblem]:
    """The problems; those of the first graphs have all seeds."""
    first = list(dict.fromkeys(each.graph.name for each in problems))[: scope.seed_graphs]
    return [SeededProblem(each, scope.seeds if each.graph.name in first else 1) for each in problems]


def budgets_of(method: BenchmarkMethod, scope: BenchmarkScope) -> Iterator[Budget]:
    """The budgets of the scope that the method may have, evaluations first."""
    if scope.evaluations and method.name not in WITHOUT_EVALUATIONS:
        yield Budget(scope.evaluations)
    if scope.seconds:
        yield in_seconds(scope.seconds)


def measure_missing(
    problems: Sequence[SeededProblem],
    methods: Sequence[BenchmarkMethod],
    scope: BenchmarkScope,
    files: BenchmarkFiles,
    report: ReportLine,
) -> None:
    """Make all runs that `files` lack. Raises OwnMethodError for a mistake in one's own method."""
    warm: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory() as work, children_here(scotch, Path(work)):
        for number, seeded in enumerate(problems, 1):
            made = _measure_problem(seeded, methods, scope, files, warm)
            if made:
                report(f"{number} of {len(problems)}: {seeded.problem.name}: {made} runs")


def _measure_problem(
    seeded: SeededProblem,
    methods: Sequence[BenchmarkMethod],
    scope: BenchmarkScope,
    files: BenchmarkFiles,
    warm: set[tuple[str, str]],
) -> int:
    """Make the missing runs on one problem; returns their number. `warm`: methods with objectives that ran already."""
    named, made = seeded.problem, 0
    problem: PlacementProblem | None = None
    facts = known_facts(named, files.rows)
    if facts is None:
        problem = named.of_prepared(prepared_of(named.graph, scope.corpus_folder))
        facts = facts_of(problem)
        files.rows.add(named.facts_key(), facts)
        files.bounds.offer(facts["problem"], named.name, facts["lower_bound_us"], FORMULA, None)
    if "infeasible" in facts:
        return made
    for method, budget, seed in missing_runs(seeded, facts["problem"], methods, scope, files.rows):
        problem = problem or named.of_prepared(prepared_of(named.graph, scope.corpus_folder))
        if (method.name, named.objective) not in warm:
            warm_up(problem, method)
            warm.add((method.name, named.objective))
        run = carried_out(problem, method, budget, seed)
        _offer(run, named, facts["problem"], method, budget, seed, files)
        files.rows.add(run_key(facts["problem"], method, budget, seed), run.row)
        made += 1
    return made


def missing_runs(
    seeded: SeededProblem, key: str, methods: Sequence[BenchmarkMethod], scope: BenchmarkScope, rows: KeptResults
) -> Iterator[tuple[BenchmarkMethod, Budget, int]]:
    """What is not in `rows` yet; they are looked at as one goes, since a run may make another one needless."""
    for method in methods:
        for seed in range(seeded.seeds_of(method)):
            for budget in budgets_of(method, scope):
                if not is_known(key, method, budget, seed, scope, rows):
                    yield method, budget, seed


def is_known(
    key: str, method: BenchmarkMethod, budget: Budget, seed: int, scope: BenchmarkScope, rows: KeptResults
) -> bool:
    """Whether there is a row of this run, or one at equal evaluations that says what it would."""
    return row_of_run(key, method, budget, seed, scope, rows) is not None


def row_of_run(
    key: str, method: BenchmarkMethod, budget: Budget, seed: int, scope: BenchmarkScope, rows: KeptResults
) -> dict[str, Any] | None:
    """The row of this run; with seconds that of the run at equal evaluations, where that ended by itself."""
    if budget.seconds is not None and scope.evaluations:
        other = Budget(scope.evaluations)
        if (instead := run_key(key, method, other, seed)) in rows and ended_by_itself(rows[instead], other):
            return dict(rows[instead])
    own = run_key(key, method, budget, seed)
    return dict(rows[own]) if own in rows else None


def known_facts(problem: BenchmarkProblem, rows: KeptResults) -> dict[str, Any] | None:
    """What is kept of a problem, None before it was looked at."""
    key = problem.facts_key()
    return dict(rows[key]) if key in rows else None


def _offer(
    run: MethodRun,
    named: BenchmarkProblem,
    key: str,
    method: BenchmarkMethod,
    budget: Budget,
    seed: int,
    files: BenchmarkFiles,
) -> None:
    """Offer what the run found and proved to the files; the simulator says again what its placement takes."""
    ledger = run.problem.ledger
    if ledger.best_step_time_us is not None and ledger.best_placement is not None:
        found_by = FoundBy(method.name, seed, budget.seconds or 0.0)
        files.best.offer(run.problem, ledger.best_placement, found_by, named.name)
    if ledger.lower_bound_us is not None:
        line = files.best.lines().get(key)
        best_us = None if line is None else line.step_time_us
        files.bounds.offer(key, named.name, ledger.lower_bound_us, method.name, best_us)
