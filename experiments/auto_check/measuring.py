"""Measures methods on graphs, seed by seed, in child processes that divide the graphs; each result is kept at once."""

import tempfile
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine import api
from engine.child.parent import BUDGETED_LIMITS, ReportProgress, Results, run_in_child
from engine.events import Json
from engine.placers import scotch
from engine.problem import Budget, PlacementProblem
from experiments.auto_check.cases import Case
from experiments.best_found import best_step_time_us
from experiments.children_here import children_here
from experiments.grid import KeptResults, Measurement
from experiments.pages import ReportLine

EVALUATIONS_TO_WARM_UP = 1000
Seeds = Mapping[str, int]
"""method → its number of seeds, from 0"""


@dataclass(frozen=True, slots=True)
class Reached:
    """What one method with one seed found on a case."""

    method: str
    seed: int
    step_time_us: float | None
    """None if it finds nothing feasible or refuses the graph"""


def measure(
    every: Sequence[Case], seeds: Mapping[str, Seeds], budget: Budget, kept: Path, processes: int, report: ReportLine
) -> dict[str, list[Reached]]:
    """By case, the results of each method with its `seeds`; `processes` children add what the file `kept` lacks."""
    known = KeptResults(kept)
    with tempfile.TemporaryDirectory() as work:
        missing: list[Json] = []
        for number, case in enumerate(every):
            members: list[Json] = [
                [method, seed]
                for method, seed in members_of(seeds[case.name])
                if key(case, method, seed, budget) not in known
            ]
            if members:
                path = Path(work) / f"{number}.npz"
                path.write_bytes(case.prepared.to_bytes())
                named: dict[str, Json] = {"name": case.name, "cluster": case.cluster, "levels": case.levels}
                missing.append({"graph": str(path), "members": members, **named})
        shares = [missing[first::processes] for first in range(processes) if missing[first::processes]]
        with ThreadPoolExecutor(processes) as pool:
            for future in [pool.submit(_measure_share, share, budget, kept, report) for share in shares]:
                future.result()
    known = KeptResults(kept)
    return {
        case.name: [
            Reached(method, seed, known[key(case, method, seed, budget)])
            for method, seed in members_of(seeds[case.name])
        ]
        for case in every
    }


def members_of(seeds: Seeds) -> list[tuple[str, int]]:
    """Each method with each of its seeds."""
    return [(method, seed) for method, count in seeds.items() for seed in range(count)]


def key(case: Case, method: str, seed: int, budget: Budget) -> Measurement:
    """What a result is kept under; `seconds` are those of one processor."""
    spent: dict[str, Json] = (
        {"evaluations": budget.evaluations} if budget.seconds is None else {"seconds": budget.seconds}
    )
    through: dict[str, Json] = {"groups": "auto"} if case.levels else {}
    return {"graph": case.name, "digest": case.digest, "method": method, "seed": seed, **spent, **through}


def _measure_share(share: list[Json], budget: Budget, kept: Path, report: ReportLine) -> None:
    order: dict[str, Json] = {
        "share": share,
        "evaluations": budget.evaluations,
        "seconds": budget.seconds,
        "kept": str(kept.absolute()),
    }
    run_in_child(
        "experiments.auto_check.measuring:in_child",
        order,
        BUDGETED_LIMITS,
        task="measuring",
        report_progress=lambda stage, done, total: report(f"{stage}: {done} of {total}"),
    )


def in_child(arguments: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Measure each [method, seed] of `members` on each graph of the `share`, and keep each result at once."""
    with children_here(scotch, folder):
        _measure_graphs(dict(arguments), report_progress)
    return {}, {}


def _measure_graphs(order: dict[str, Any], report_progress: ReportProgress) -> None:
    kept, budget = KeptResults(Path(order["kept"])), Budget(order["evaluations"], order["seconds"])
    for number, graph in enumerate(order["share"]):
        report_progress(graph["name"], number, len(order["share"]))
        prepared = api.PreparedGraph.from_bytes(Path(graph["graph"]).read_bytes())
        name, cluster = graph["name"], graph["cluster"]
        case = Case("", name, prepared, cluster, with_all=False, timed=False, levels=graph["levels"])
        clock = None if budget.seconds is None else time.process_time
        problem = case.problem(budget).with_budget(budget, clock=clock)
        if number == 0:
            _warm_up(problem, [method for method, _ in graph["members"]])
        for method, seed in graph["members"]:
            kept.add(key(case, method, seed, budget), reached(problem, method, seed))


def _warm_up(problem: PlacementProblem, methods: Iterable[str]) -> None:
    """Run each method once, so that loading and compiling do not count in its seconds."""
    if problem.ledger.budget.seconds is not None:
        for method in dict.fromkeys(methods):
            reached(problem.with_budget(Budget(EVALUATIONS_TO_WARM_UP)), method, 0)


def reached(problem: PlacementProblem, method: str, seed: int) -> float | None:
    """The best feasible step time with the problem's budget; None without one, or where the method refuses."""
    rng = np.random.default_rng([seed, zlib.crc32(method.encode())])
    return best_step_time_us(problem, problem.ledger.budget, method, rng)
