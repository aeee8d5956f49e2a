"""What each method reaches on a graph, seed by seed; kept in a folder, so that a second call goes on.

A graph is measured in a child process of its own, so that several can be measured at once.
"""

import hashlib
import json
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine import VERSION, api
from engine.child import Limits, ReportProgress, Results, run_in_child
from engine.comparing.work_folder import KEY_LENGTH
from engine.errors import PlacetoError
from engine.events import Json
from engine.experiments.auto_check_cases import Case
from engine.placers.registry import make_placer
from engine.problem import Budget, PlacementProblem
from engine.whole_files import write_whole

LIMITS = Limits(memory_bytes=64 * 1024**3, seconds=14 * 24 * 3600.0)
"""of a child: it works on what is ours, and the budgets bound it"""


@dataclass(frozen=True, slots=True)
class Reached:
    """What one method with one seed found on a case."""

    method: str
    seed: int
    step_time_us: float | None
    """None where it finds nothing feasible or says that it has no rule"""
    wall_seconds: float


def measure(case: Case, seeds: dict[str, int], budget: Budget, work: Path) -> list[Reached]:
    """Let each method of `seeds` place with so many seeds, in a child, but for what `work` has already."""
    key = _key(case, budget)
    missing: list[Json] = [
        [method, seed]
        for method, count in seeds.items()
        for seed in range(count)
        if not _path(work, key, method, seed).exists()
    ]
    if missing:
        graph = work / f"graph-{key}.npz"
        write_whole(graph, case.prepared.to_bytes())
        told: dict[str, Json] = {
            "graph": str(graph),
            "cluster": case.cluster,
            "members": missing,
            "evaluations": budget.evaluations,
            "seconds": budget.seconds,
            "work": str(work),
            "key": key,
        }
        run_in_child("engine.experiments.auto_check_measuring:in_child", told, LIMITS, task=f"measuring on {case.name}")
    return [_read(work, key, method, seed) for method, count in seeds.items() for seed in range(count)]


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Measure the `members`, [method, seed] each, and keep each at once."""
    told: dict[str, Any] = dict(arguments)
    prepared = api.PreparedGraph.from_bytes(Path(told["graph"]).read_bytes())
    problem = Case("", "", prepared, told["cluster"], False).problem(Budget(told["evaluations"], told["seconds"]))
    for method, seed in told["members"]:
        began = time.monotonic()
        step_time_us = reached(problem, method, seed)
        found = {"step_time_us": step_time_us, "wall_seconds": time.monotonic() - began}
        write_whole(_path(Path(told["work"]), told["key"], method, seed), json.dumps(found).encode())
    return {}, {}


def reached(problem: PlacementProblem, method: str, seed: int) -> float | None:
    """The best feasible step time with the problem's budget; None where there is none or the method has no rule."""
    own = problem.with_budget(problem.ledger.budget)
    rng = np.random.default_rng([seed, zlib.crc32(method.encode())])
    try:
        make_placer(method, {}).place(own, own.ledger.budget, rng, lambda _: None, lambda: False)
    except PlacetoError:
        return None
    return own.ledger.best_step_time_us


def _key(case: Case, budget: Budget) -> str:
    """What all its figures depend on, beside method and seed."""
    known = [VERSION, case.cluster, budget.evaluations, budget.seconds]
    digest = hashlib.sha256(case.prepared.to_bytes() + json.dumps(known).encode())
    return digest.hexdigest()[:KEY_LENGTH]


def _path(work: Path, key: str, method: str, seed: int) -> Path:
    return work / f"{method}-{seed}-{key}.json"


def _read(work: Path, key: str, method: str, seed: int) -> Reached:
    found = json.loads(_path(work, key, method, seed).read_bytes())
    return Reached(method, seed, found["step_time_us"], found["wall_seconds"])
