"""The benchmark's results as JSON, as docs/formats/benchmark.schema.json describes them."""

import math
from typing import Any

from engine import VERSION
from experiments.benchmark.clusters import BENCHMARK_CLUSTERS, TIGHT_SHARE
from experiments.benchmark.collected import EVALUATIONS, Collected, KnownRun
from experiments.benchmark.few_evaluations import after, evaluations_to_near, marks_within, median_to_near
from experiments.benchmark.problems import MICRO_BATCHES, BenchmarkProblem
from experiments.benchmark.running import BenchmarkMethod
from experiments.benchmark.sample import SAMPLE_SEED, SIZES, size_of
from experiments.benchmark.scores import StratumScore, ahead_of_auto, least_of, score, strata_of
from experiments.keeping.code_state import code_state

FORM = 1
"""raise it with a change of the file's form"""


def results_of(found: Collected) -> dict[str, Any]:
    """All of it."""
    problems = [each.problem for each in found.problems if each.problem in found.facts]
    numbers = {problem: number for number, problem in enumerate(problems)}
    return {
        "form": FORM,
        "version": VERSION,
        "code": code_state(),
        "made": found.made(),
        "scope": _scope(found),
        "graphs": _graphs(found),
        "methods": [_method(method, found) for method in found.with_runs()],
        "problems": [_problem(problem, found) for problem in problems],
        "runs": [_run(run, numbers[run.problem], found) for run in found.runs],
        "scores": [row for kind in found.budget_kinds for row in _scores(kind, found)],
        "ahead_of_auto": [row for kind in found.budget_kinds for row in _ahead(kind, found)],
        "few_evaluations": _few(found),
    }


def _scope(found: Collected) -> dict[str, Any]:
    scope = found.scope
    return {
        "side": scope.side,
        "sample_seed": SAMPLE_SEED,
        "sizes": {size: most for size, most in SIZES.items() if most < SIZES["large"]},
        "clusters": {
            name: {"shorthand": row.shorthand, "words": row.words, "memory_share": TIGHT_SHARE if row.tight else None}
            for name, row in BENCHMARK_CLUSTERS.items()
            if name in scope.cluster_names
        },
        "objectives": scope.objectives,
        "micro_batches": MICRO_BATCHES,
        "evaluations": scope.evaluations,
        "seconds": scope.seconds,
        "seeds": scope.seeds,
        "seed_graphs": scope.seed_graphs,
    }


def _graphs(found: Collected) -> list[dict[str, Any]]:
    graphs = dict.fromkeys(each.problem.graph for each in found.problems)
    return [
        {
            "name": graph.name,
            "digest": graph.digest,
            "family": graph.family,
            "kind": graph.kind,
            "mode": graph.mode,
            "size": size_of(graph),
            "ops": graph.ops,
        }
        for graph in graphs
    ]


def _method(method: BenchmarkMethod, found: Collected) -> dict[str, Any]:
    return {
        "name": method.name,
        "label": method.label,
        "kind": method.kind,
        "deterministic": method.deterministic,
        "settings": method.settings(),
        "seeds": sorted({run.seed for run in found.runs if run.method.name == method.name}),
        **method.file(),
    }


def _problem(problem: BenchmarkProblem, found: Collected) -> dict[str, Any]:
    facts, best, bound = found.facts[problem], found.best.get(problem), found.bounds.get(problem)
    return {
        "key": facts["problem"],
        "graph": problem.graph.name,
        "cluster": problem.cluster,
        "objective": problem.objective,
        "groups": facts["groups"],
        "devices": facts["devices"],
        "device_bytes": facts["device_bytes"],
        "infeasible": facts.get("infeasible"),
        "best_known_us": best.step_time_us if best else None,
        "found_by": best.found_by if best else None,
        "lower_bound_us": bound.lower_bound_us if bound else None,
        "proven_by": bound.proven_by if bound else None,
    }


def _run(run: KnownRun, number: int, found: Collected) -> dict[str, Any]:
    row: dict[str, Any] = {
        "problem": number,
        "method": run.method.name,
        "budget": run.budget,
        "seed": run.seed,
        "best_us": run.best_us,
        "evaluations": run.row["evaluations"],
        "seconds": run.row["seconds"],
    }
    if run.budget == EVALUATIONS:
        row["after"] = after(run.row, marks_within(found.scope.evaluations))
        if run.problem in found.best_us:
            row["to_near"] = _finite(evaluations_to_near(run.row, found.best_us[run.problem]))
    return row | {name: run.row[name] for name in ("refused", "infeasible") if name in run.row}


def _scores(kind: str, found: Collected) -> list[dict[str, Any]]:
    values = found.values(kind)
    least = least_of(values)
    return [
        {"budget": kind, "dimension": dimension, "stratum": stratum, "method": method}
        | _score(score(of_method, problems, found.best_us, least))
        for dimension, strata in strata_of(found.best_us).items()
        for stratum, problems in strata.items()
        for method, of_method in values.items()
    ]


def _score(of: StratumScore) -> dict[str, Any]:
    gap = of.gap
    return {
        "problems": of.problems,
        "answered": of.answered,
        "gap": None if gap is None else {"mean": gap.mean, "low": gap.low, "high": gap.high},
        "nine_in_ten": _finite(of.nine_in_ten),
        "best": of.best,
    }


def _ahead(kind: str, found: Collected) -> list[dict[str, Any]]:
    return [
        {
            "budget": kind,
            "dimension": one.dimension,
            "stratum": one.stratum,
            "method": one.method,
            "behind": _finite(one.behind.mean),
            "low": _finite(one.behind.low),
            "high": _finite(one.behind.high),
            "surely": one.surely,
        }
        for one in ahead_of_auto(found.values(kind), found.best_us)
    ]


def _few(found: Collected) -> list[dict[str, Any]]:
    rows = []
    for method, of_method in found.rows_at_equal_evaluations().items():
        median, share = median_to_near(of_method, found.best_us)
        rows.append({"method": method, "median_to_near": _finite(median), "share_near": _finite(share)})
    return rows


def _finite(value: float) -> float | None:
    """The number, None for one that JSON does not have."""
    return value if math.isfinite(value) else None
