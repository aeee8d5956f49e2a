"""Measures methods on graphs, seed by seed: a child process for each graph."""

import tempfile
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine import api
from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers import scotch
from engine.problem import Budget, PlacementProblem
from experiments.auto_check.cases import Case
from experiments.best_found import best_step_time_us
from experiments.children_here import children_here
from experiments.grid import KEYS, RESULT, KeptResults, Measurement, measure_cells
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
    """By case, the results of each method with its `seeds`; a child for each case adds what the file `kept` lacks."""
    by_name = {case.name: case for case in every}
    cells = {
        (name, method, seed): key(case, method, seed, budget)
        for name, case in by_name.items()
        for method, seed in members_of(seeds[name])
    }
    with tempfile.TemporaryDirectory() as work:

        def beside(cell: tuple[str, str, int]) -> dict[str, Json]:
            case = by_name[cell[0]]
            path = Path(work) / f"{case.digest}.npz"
            path.write_bytes(case.prepared.to_bytes())
            named: dict[str, Json] = {"name": case.name, "cluster": case.cluster, "levels": case.levels}
            return {"graph": str(path), **named, "evaluations": budget.evaluations, "seconds": budget.seconds}

        found = measure_cells(
            KeptResults(kept),
            "experiments.auto_check.measuring:in_child",
            cells,
            processes,
            report,
            beside=beside,
            together=lambda cell: cell[0],
        )
    of_case: dict[str, list[Reached]] = {name: [] for name in by_name}
    for (name, method, seed), step_time_us in found.items():
        of_case[name].append(Reached(method, seed, step_time_us))
    return of_case


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


def in_child(arguments: dict[str, Json], folder: Path, _report_progress: ReportProgress) -> Results:
    """Run the method with the seed of each of the `keys` on the case beside them."""
    order: dict[str, Any] = dict(arguments)
    prepared = api.PreparedGraph.from_bytes(Path(order["graph"]).read_bytes())
    case = Case("", order["name"], prepared, order["cluster"], with_all=False, timed=False, levels=order["levels"])
    budget, members = Budget(order["evaluations"], order["seconds"]), order[KEYS]
    clock = None if budget.seconds is None else time.process_time
    problem = case.problem(budget).with_budget(budget, clock=clock)
    with children_here(scotch, folder):
        _warm_up(problem, [each["method"] for each in members])
        return {}, {RESULT: [reached(problem, each["method"], each["seed"]) for each in members]}


def _warm_up(problem: PlacementProblem, methods: Iterable[str]) -> None:
    """Run each method once, so that loading and compiling do not count in its seconds."""
    if problem.ledger.budget.seconds is not None:
        for method in dict.fromkeys(methods):
            reached(problem.with_budget(Budget(EVALUATIONS_TO_WARM_UP)), method, 0)


def reached(problem: PlacementProblem, method: str, seed: int) -> float | None:
    """The best feasible step time with the problem's budget; None without one, or where the method refuses."""
    rng = np.random.default_rng([seed, zlib.crc32(method.encode())])
    return best_step_time_us(problem, problem.ledger.budget, method, rng)
