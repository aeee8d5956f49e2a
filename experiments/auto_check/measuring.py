"""Measures each method on each graph, seed by seed; results stay in a folder, so a second call continues.

Child processes divide the graphs among them, so that all cores are used.
"""

import hashlib
import json
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION, api
from engine.child.parent import BUDGETED_LIMITS, ReportProgress, Results, run_in_child
from engine.comparing.work_folder import KEY_LENGTH
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.placers import scotch
from engine.problem import Budget, PlacementProblem
from experiments.auto_check.cases import Case
from experiments.best_found import best_step_time_us
from experiments.children_here import children_here
from experiments.pages import ReportLine

EVALUATIONS_TO_WARM_UP = 1000


@dataclass(frozen=True, slots=True)
class Reached:
    """What one method with one seed found on a case."""

    method: str
    seed: int
    step_time_us: float | None
    """None if it finds nothing feasible or refuses the graph"""
    wall_seconds: float


def measure(
    every: Sequence[Case],
    seeds: Mapping[str, dict[str, int]],
    budget: Budget,
    work: Path,
    processes: int,
    report: ReportLine,
) -> dict[str, list[Reached]]:
    """By case, the results of each method with its number of `seeds`; `processes` children measure missing ones."""
    work.mkdir(parents=True, exist_ok=True)
    missing: list[Json] = []
    for case in every:
        key = _key(case, budget)
        members: list[Json] = [
            [method, seed]
            for method, count in seeds[case.name].items()
            for seed in range(count)
            if not _path(work, key, method, seed).exists()
        ]
        if members:
            write_whole(work / f"graph-{key}.npz", case.prepared.to_bytes())
            missing.append({"key": key, "name": case.name, "cluster": case.cluster, "members": members})
    shares = [missing[first::processes] for first in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        for _ in pool.map(
            lambda share: _measure_share(share, budget, work, report), [share for share in shares if share]
        ):
            pass
    return {
        case.name: [
            _read(work, _key(case, budget), method, seed)
            for method, count in seeds[case.name].items()
            for seed in range(count)
        ]
        for case in every
    }


def _measure_share(share: list[Json], budget: Budget, work: Path, report: ReportLine) -> None:
    order: dict[str, Json] = {
        "share": share,
        "evaluations": budget.evaluations,
        "seconds": budget.seconds,
        "work": str(work),
    }
    run_in_child(
        "experiments.auto_check.measuring:in_child",
        order,
        BUDGETED_LIMITS,
        task="measuring",
        report_progress=lambda stage, done, total: report(f"{stage}: {done} of {total}"),
    )


def in_child(arguments: dict[str, Json], folder: Path, report_progress: ReportProgress) -> Results:
    """Measure each [method, seed] of `members` on each graph of the `share`, and write each result at once."""
    with children_here(scotch, folder):
        _measure_graphs(dict(arguments), report_progress)
    return {}, {}


def _measure_graphs(order: dict[str, Any], report_progress: ReportProgress) -> None:
    work, budget = Path(order["work"]), Budget(order["evaluations"], order["seconds"])
    for number, graph in enumerate(order["share"]):
        report_progress(graph["name"], number, len(order["share"]))
        prepared = api.PreparedGraph.from_bytes((work / f"graph-{graph['key']}.npz").read_bytes())
        case = Case("", "", prepared, graph["cluster"], with_all=False, with_placeto=False)
        clock = None if budget.seconds is None else time.process_time
        problem = case.problem(budget).with_budget(budget, clock=clock)
        if number == 0:
            _warm_up(problem, [method for method, _ in graph["members"]])
        for method, seed in graph["members"]:
            began = time.monotonic()
            step_time_us = reached(problem, method, seed)
            found = {"step_time_us": step_time_us, "wall_seconds": time.monotonic() - began}
            write_whole(_path(work, graph["key"], method, seed), json.dumps(found).encode())


def _warm_up(problem: PlacementProblem, methods: Iterable[str]) -> None:
    """Run each method once, so that loading and compiling do not count in its seconds."""
    if problem.ledger.budget.seconds is not None:
        for method in dict.fromkeys(methods):
            reached(problem.with_budget(Budget(EVALUATIONS_TO_WARM_UP)), method, 0)


def reached(problem: PlacementProblem, method: str, seed: int) -> float | None:
    """The best feasible step time with the problem's budget; None without one, or where the method refuses."""
    rng = np.random.default_rng([seed, zlib.crc32(method.encode())])
    return best_step_time_us(problem, problem.ledger.budget, method, rng)


def _key(case: Case, budget: Budget) -> str:
    """A digest of everything that a case's results depend on, except method and seed."""
    known = [VERSION, case.cluster, budget.evaluations, budget.seconds]
    digest = hashlib.sha256(case.prepared.to_bytes() + json.dumps(known).encode())
    return digest.hexdigest()[:KEY_LENGTH]


def _path(work: Path, key: str, method: str, seed: int) -> Path:
    return work / f"{method}-{seed}-{key}.json"


def _read(work: Path, key: str, method: str, seed: int) -> Reached:
    found = json.loads(_path(work, key, method, seed).read_bytes())
    return Reached(method, seed, found["step_time_us"], found["wall_seconds"])
