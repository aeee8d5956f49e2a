"""What the kept rows say so far of the benchmark's problems: values of methods at each budget, best known, bounds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.problem import Budget
from experiments.benchmark.measuring import BenchmarkFiles, SeededProblem, budgets_of, known_facts, row_of_run
from experiments.benchmark.problems import BenchmarkProblem
from experiments.benchmark.running import BenchmarkMethod, best_within, in_seconds, run_key
from experiments.benchmark.scope import BenchmarkScope
from experiments.benchmark.scores import MethodValues, mean_of_seeds
from experiments.keeping.lower_bounds import KnownBound
from experiments.keeping.yardstick import BestKnown

EVALUATIONS, SECONDS = BUDGETS = ("evaluations", "seconds")


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A row with what it is of."""

    problem: BenchmarkProblem
    method: BenchmarkMethod
    budget: str
    """one of `BUDGETS`"""
    seed: int
    row: dict[str, Any]
    best_us: float | None
    """within the budget"""


@dataclass(frozen=True)
class Collected:
    """All that is known of the scope's problems; nothing is measured here."""

    scope: BenchmarkScope
    problems: Sequence[SeededProblem]
    methods: Sequence[BenchmarkMethod]
    """all that may have rows"""
    files: BenchmarkFiles

    @cached_property
    def facts(self) -> dict[BenchmarkProblem, dict[str, Any]]:
        """What is known beforehand of each problem that was looked at."""
        every = ((each.problem, known_facts(each.problem, self.files.rows)) for each in self.problems)
        return {problem: facts for problem, facts in every if facts is not None}

    @cached_property
    def runs(self) -> list[KnownRun]:
        """All runs that are known, problem by problem."""
        return list(self._runs())

    def _runs(self) -> Iterator[KnownRun]:
        for seeded in self.problems:
            if seeded.problem not in self.facts:
                continue
            key = self.facts[seeded.problem]["problem"]
            for method in self.methods:
                for seed in range(seeded.seeds_of(method)):
                    for budget in budgets_of(method, self.scope):
                        row = row_of_run(key, method, budget, seed, self.scope, self.files.rows)
                        if row is not None:
                            yield self._known(seeded.problem, method, budget, seed, row)

    def _known(
        self, problem: BenchmarkProblem, method: BenchmarkMethod, budget: Budget, seed: int, row: dict[str, Any]
    ) -> KnownRun:
        kind = EVALUATIONS if budget.seconds is None else SECONDS
        return KnownRun(problem, method, kind, seed, row, best_within(row, seconds=budget.seconds))

    def budget(self, kind: str) -> Budget:
        """The budget of a kind, as the scope has it."""
        return Budget(self.scope.evaluations) if kind == EVALUATIONS else in_seconds(self.scope.seconds)

    @property
    def budget_kinds(self) -> list[str]:
        """The kinds of budgets that the scope has."""
        return [EVALUATIONS] * bool(self.scope.evaluations) + [SECONDS] * bool(self.scope.seconds)

    def values(self, kind: str) -> dict[str, MethodValues]:
        """Method → its values at this kind of budget, of problems that it did not refuse; none without any value."""
        found: dict[str, dict[BenchmarkProblem, list[float | None]]] = {}
        for run in self.runs:
            if run.budget == kind and "refused" not in run.row:
                found.setdefault(run.method.name, {}).setdefault(run.problem, []).append(run.best_us)
        values = {
            method: {problem: mean_of_seeds(seeds) for problem, seeds in of_method.items()}
            for method, of_method in found.items()
        }
        return {method: of for method, of in values.items() if any(value is not None for value in of.values())}

    def rows_at_equal_evaluations(self) -> dict[str, dict[BenchmarkProblem, list[dict[str, Any]]]]:
        """Method → problem that it did not refuse → the rows of its seeds; methods without any value are left out."""
        found: dict[str, dict[BenchmarkProblem, list[dict[str, Any]]]] = {name: {} for name in self.values(EVALUATIONS)}
        for run in self.runs:
            if run.budget == EVALUATIONS and run.method.name in found and "refused" not in run.row:
                found[run.method.name].setdefault(run.problem, []).append(run.row)
        return found

    @cached_property
    def best(self) -> dict[BenchmarkProblem, BestKnown]:
        """The best known placement of each problem that has one."""
        lines = self.files.best.lines()
        return {problem: lines[facts["problem"]] for problem, facts in self.facts.items() if facts["problem"] in lines}

    @cached_property
    def best_us(self) -> dict[BenchmarkProblem, float]:
        """What the best known placements take."""
        return {problem: line.step_time_us for problem, line in self.best.items()}

    @cached_property
    def bounds(self) -> dict[BenchmarkProblem, KnownBound]:
        """The best lower bound of each problem."""
        lines = self.files.bounds.lines()
        return {problem: lines[facts["problem"]] for problem, facts in self.facts.items() if facts["problem"] in lines}

    def with_runs(self) -> list[BenchmarkMethod]:
        """The methods that have a row here."""
        named = {run.method.name for run in self.runs}
        return [method for method in self.methods if method.name in named]

    def without_answer(self) -> list[BenchmarkMethod]:
        """The methods that have rows and found no placement anywhere."""
        answered = {name for kind in self.budget_kinds for name in self.values(kind)}
        return [method for method in self.with_runs() if method.name not in answered]

    def made(self) -> str:
        """By which state of the code, on which days, the rows were made, in words."""
        keys = [
            key
            for run in self.runs
            for kind in BUDGETS
            if kind in self.budget_kinds
            for key in [run_key(self.facts[run.problem]["problem"], run.method, self.budget(kind), run.seed)]
            if key in self.files.rows
        ]
        return self.files.rows.made(keys) if keys else "no run is made yet"
