"""Measures policies and other methods on held-out graphs: one child for each graph, one file for each row."""

import json
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import BUDGETED_LIMITS, ReportProgress, Results, run_in_child
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.placers.registry import make_placer
from engine.policies.proposals import proposals
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from experiments.best_found import ledger_of_run
from experiments.folders import below_root
from experiments.keeping.yardstick import FoundBy, Yardstick, key_of
from experiments.policies.making import read_policy
from experiments.policies.problems import graphs_of, problem_of
from experiments.policies.scope import MIDDLE_SECONDS, SHORT_SECONDS, ExperimentScope, make_scope

QUICK, SLOW = ("m_etf", "heft"), ("m_sct", "scotch")
SEARCH = "auto"
RANDOM_PLACEMENTS = 100


@dataclass(frozen=True, slots=True)
class Compared:
    """The other methods' step times in µs on one graph and cluster, None if nothing is feasible."""

    graph: str
    cluster: str
    reached: dict[str, float | None]
    """method → step time; `random` is the mean of a hundred placements, `search_N` a search of N seconds"""
    problem: str
    """its key in the yardstick"""


@dataclass(frozen=True, slots=True)
class Proposed:
    """One policy's step times there."""

    graph: str
    cluster: str
    families: tuple[str, ...]
    """of its training"""
    seed: int
    greedy_us: float | None
    best_of_us: float | None
    searched_us: float | None
    """Auto with the policy and SHORT_SECONDS in all, the passes included"""
    greedy_seconds: float
    """of the greedy pass alone, features included"""


def compared_path(scope: ExperimentScope, graph: str, cluster: str) -> Path:
    """The file of the row."""
    return below_root(scope.work) / f"compared-{graph}-{cluster}-{scope.key('search_seconds', 'slow_methods')}.json"


def proposed_path(scope: ExperimentScope, graph: str, cluster: str, families: tuple[str, ...], seed: int) -> Path:
    """The file of the row."""
    key = scope.training_key(families, "samples")
    return below_root(scope.work) / f"proposed-{'-'.join(families)}-{seed}-{graph}-{cluster}-{key}.json"


def measure(settings: dict[str, Json], family: str, index: int, trained: list[tuple[str, ...]]) -> None:
    """Measure the missing rows of the held-out graph `index` of `family`, on all clusters.

    `settings` are the scope's; `trained` lists the training families of the policies, each measured with every seed.
    """
    order: dict[str, Json] = {
        "settings": settings,
        "family": family,
        "index": index,
        "trained": [list(names) for names in trained],
    }
    task = f"measuring on graph {index} of {family}"
    run_in_child("experiments.policies.measuring:in_child", order, BUDGETED_LIMITS, task=task)


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """Measure one graph on all clusters, and write each row at once."""
    order: dict[str, Any] = dict(arguments)
    scope = make_scope(order["settings"])
    graph = graphs_of(scope, order["family"], "test")[order["index"]]
    for cluster in scope.cluster_names:
        problem = problem_of(graph, cluster, time.process_time).problem
        offers = Offers(Yardstick(below_root(scope.yardstick)), f"{graph[0]} on {cluster}")
        path = compared_path(scope, graph[0], cluster)
        if not path.exists():
            row = Compared(graph[0], cluster, _compared(problem, scope, offers), key_of(problem))
            write_whole(path, json.dumps(asdict(row)).encode())
        for families in map(tuple, order["trained"]):
            for seed in range(scope.seeds):
                path = proposed_path(scope, graph[0], cluster, families, seed)
                if not path.exists():
                    policy = read_policy(scope, families, seed)
                    times = _proposed(problem, policy, scope.samples, seed, offers)
                    write_whole(path, json.dumps(asdict(Proposed(graph[0], cluster, families, seed, *times))).encode())
    return {}, {}


@dataclass(frozen=True, slots=True)
class Offers:
    """Offers all that is found for one problem to the yardstick."""

    yardstick: Yardstick
    name: str
    """of the problem"""

    def make(self, problem: PlacementProblem, placement: NDArray[np.int32], found_by: FoundBy) -> None:
        self.yardstick.offer(problem, placement, found_by, self.name)


def _compared(problem: PlacementProblem, scope: ExperimentScope, offers: Offers) -> dict[str, float | None]:
    methods = QUICK + SLOW * scope.slow_methods
    reached = {method: _reached(problem, method, None, offers) for method in ("single_device", *methods)}
    reached["random"] = _random_us(problem)
    for seconds in dict.fromkeys((SHORT_SECONDS, MIDDLE_SECONDS, scope.search_seconds)):
        reached[f"search_{seconds:g}"] = _reached(problem, SEARCH, seconds, offers)
    return reached


def _reached(problem: PlacementProblem, method: str, seconds: float | None, offers: Offers) -> float | None:
    """The best feasible step time that `method` finds in `seconds`; None without one, or where it refuses."""
    seed = zlib.crc32(method.encode())
    ledger = ledger_of_run(problem, Budget(MOST_EVALUATIONS, seconds), method, np.random.default_rng(seed))
    if ledger is None or ledger.best_placement is None:
        return None
    offers.make(problem, ledger.best_placement, FoundBy(method, seed, seconds or 0.0))
    return ledger.best_step_time_us


def _random_us(problem: PlacementProblem) -> float:
    """The mean step time of random placements, feasible or not."""
    from engine.placeto.episodes import random_placements

    placements = random_placements(problem.allowed, RANDOM_PLACEMENTS, np.random.default_rng(0))
    return float(problem.simulator.evaluate(placements).step_time_us.mean())


def _proposed(
    problem: PlacementProblem, policy: TrainedPolicy, samples: int, seed: int, offers: Offers
) -> tuple[float | None, float | None, float | None, float]:
    """(greedy, best of all, Auto with the policy: step times in µs; seconds of the greedy pass)."""
    proposals(policy, problem, np.random.default_rng(0), 0)  # loads torch and the compiled code
    began = time.process_time()
    proposals(policy, problem, np.random.default_rng(0), 0)
    seconds = time.process_time() - began
    placements = proposals(policy, problem, np.random.default_rng(seed), samples)
    greedy_us, best_us = _best_us(problem, placements[:1]), _best_us(problem, placements)
    searched = problem.with_budget(Budget(MOST_EVALUATIONS, SHORT_SECONDS))
    auto = make_placer(SEARCH, {}, policy)
    auto.place(searched, np.random.default_rng(seed), lambda: False)
    offers.make(problem, searched.ledger.answer(), FoundBy(f"{SEARCH} with a policy", seed, SHORT_SECONDS))
    return greedy_us, best_us, searched.ledger.best_step_time_us, seconds


def _best_us(problem: PlacementProblem, placements: NDArray[np.int32]) -> float | None:
    """The least feasible step time of `placements` [batch, groups]."""
    evaluations = problem.simulator.evaluate(placements)
    feasible = problem.feasible(evaluations)
    return float(evaluations.step_time_us[feasible].min()) if feasible.any() else None


def read_compared(path: Path) -> Compared:
    """A row from its file."""
    return Compared(**json.loads(path.read_bytes()))


def read_proposed(path: Path) -> Proposed:
    """A row from its file."""
    known = json.loads(path.read_bytes())
    return Proposed(**{**known, "families": tuple(known["families"])})
