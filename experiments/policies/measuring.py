"""Measures policies and other methods on held-out graphs: one child for each graph."""

import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.placers.registry import make_placer
from engine.policies.proposals import proposals
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import MOST_EVALUATIONS, Budget, PlacementProblem
from experiments.best_found import ledger_of_run
from experiments.folders import below_root
from experiments.grid import KEYS, RESULT, KeptResults, Measurement, measure_cells
from experiments.keeping.yardstick import FoundBy, Yardstick, key_of
from experiments.pages import ReportLine
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


class PolicyCell(NamedTuple):
    """A held-out graph on a cluster: where a policy is measured, or all other methods if `families` is empty."""

    set: str
    """of the graph (held_out.py), or the zoo"""
    number: int
    """of the graph in its set"""
    graph: str
    cluster: str
    families: tuple[str, ...] = ()
    """of the policy's training"""
    seed: int = 0

    @property
    def child(self) -> str:
        """What one child measures: all that is missing on a graph."""
        return f"measuring on graph {self.number} of {self.set}"

    def key(self, scope: ExperimentScope) -> Measurement:
        """All that the row depends on."""
        on = {"graph": self.graph, "cluster": self.cluster}
        if not self.families:
            searched = {"search_seconds": float(scope.search_seconds), "slow_methods": scope.slow_methods}
            return {"of": "compared", **on, **searched}
        trained: dict[str, Json] = {"families": list(self.families), "training": scope.training_key(self.families)}
        return {"of": "proposed", **on, **trained, "seed": self.seed, "samples": scope.samples}


def measure(
    kept: KeptResults,
    scope: ExperimentScope,
    settings: dict[str, Json],
    cells: Sequence[PolicyCell],
    report: ReportLine,
) -> None:
    """Measure the rows that `kept` lacks; `scope` was made from `settings`."""

    def beside(cell: PolicyCell) -> dict[str, Json]:
        return {"settings": settings, "family": cell.set, "index": cell.number}

    keys = {cell: cell.key(scope) for cell in cells}
    function = "experiments.policies.measuring:in_child"
    measure_cells(kept, function, keys, scope.processes, report, beside=beside, together=lambda cell: cell.child)


def in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """A row for each of the `keys`, all on one graph."""
    order: dict[str, Any] = dict(arguments)
    scope = make_scope(order["settings"])
    graph = graphs_of(scope, order["family"], "test")[order["index"]]
    problems = {cluster: problem_of(graph, cluster, time.process_time).problem for cluster in scope.cluster_names}
    rows: list[Json] = []
    for key in order[KEYS]:
        cluster, problem = key["cluster"], problems[key["cluster"]]
        offers = Offers(Yardstick(below_root(scope.yardstick)), f"{graph[0]} on {cluster}")
        if key["of"] == "compared":
            reached = _compared(problem, scope, offers)
            rows.append(asdict(Compared(graph[0], cluster, reached, key_of(problem))))
        else:
            families, seed = tuple(key["families"]), key["seed"]
            times = _proposed(problem, read_policy(scope, families, seed), scope.samples, seed, offers)
            rows.append(asdict(Proposed(graph[0], cluster, families, seed, *times)))
    return {}, {RESULT: rows}


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


def proposed_of(row: Mapping[str, Any]) -> Proposed:
    """A kept row."""
    return Proposed(**{**row, "families": tuple(row["families"])})
