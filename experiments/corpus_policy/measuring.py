"""What a policy's passes, list schedules and one device reach on a problem, beside the best that a search finds."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import PlacetoError
from engine.placers.registry import make_placer
from engine.policies.proposals import proposals
from engine.policies.teacher import taught_placement
from engine.policies.trained_policy import TrainedPolicy
from engine.problem import Budget, PlacementProblem
from engine.problem.trivial import one_device_placements
from experiments.corpus_policy.problems import cluster_words

LISTS = ("m_topo", "heft", "m_etf")
LIST_EVALUATIONS = 8


@dataclass(frozen=True, slots=True)
class Rivals:
    """Feasible step times in µs without a policy, None where nothing fits."""

    cluster: str
    devices: int
    tight: bool
    one_us: float | None
    """the best single device"""
    lists_us: Mapping[str, float | None]
    """of each list schedule of the registry"""
    search_us: float | None
    """local search, the policy's teacher, with its evaluations"""


@dataclass(frozen=True, slots=True)
class PolicyTimes:
    """The same of a policy."""

    greedy_us: float | None
    best_us: float | None
    """of the greedy pass and the sampled ones"""
    swept_us: float | None
    """of these after a sweep: each group on each device once, kept where the step gets shorter"""
    greedy_seconds: float
    """of the processor, for the greedy pass with its features"""


def rivals_of(problem: PlacementProblem, evaluations: int) -> Rivals:
    """What the others reach on `problem`; the search has `evaluations`."""
    rng = np.random.default_rng(0)
    one, _ = _best(problem, one_device_placements(problem))
    lists = {method: _list_us(problem, method) for method in LISTS}
    searched, _ = taught_placement(problem, Budget(evaluations), rng, lambda: False)
    return Rivals(
        cluster=(words := cluster_words(problem.cluster)),
        devices=problem.device_count,
        tight=words.endswith("tight"),
        one_us=one,
        lists_us=lists,
        search_us=_best(problem, searched[None])[0],
    )


def _list_us(problem: PlacementProblem, method: str) -> float | None:
    alone = problem.with_budget(Budget(LIST_EVALUATIONS))
    try:
        make_placer(method, {}).place(alone, np.random.default_rng(0), lambda: False)
    except PlacetoError:
        return None
    return alone.ledger.best_step_time_us


def times_of(problem: PlacementProblem, policy: TrainedPolicy, samples: int) -> PolicyTimes:
    """What `policy` reaches on `problem` with the greedy pass and `samples` others."""
    rng = np.random.default_rng(0)
    began = time.process_time()
    greedy = proposals(policy, problem, rng, 0)
    seconds = time.process_time() - began
    placements = np.concatenate([greedy, proposals(policy, problem, rng, samples)[1:]])
    best_us, best = _best(problem, placements)
    after = swept(problem, placements[0] if best is None else best)
    times = [each for each in (best_us, _best(problem, after[None])[0]) if each is not None]
    return PolicyTimes(_best(problem, greedy)[0], best_us, min(times, default=None), seconds)


def _best(problem: PlacementProblem, placements: NDArray[np.int32]) -> tuple[float | None, NDArray[np.int32] | None]:
    """The least feasible step time of `placements` [count, groups], and which has it."""
    evaluations = problem.simulator.evaluate(placements)
    times = np.where(problem.feasible(evaluations), evaluations.step_time_us, np.inf)
    least = int(np.argmin(times))
    return (float(times[least]), placements[least]) if np.isfinite(times[least]) else (None, None)


def swept(problem: PlacementProblem, placement: NDArray[np.int32]) -> NDArray[np.int32]:
    """`placement` after one look at each group: it moves to the device with the shortest feasible step."""
    kept = placement.copy()
    for group in range(problem.group_count):
        tried = np.repeat(kept[None], problem.device_count, axis=0)
        tried[:, group] = np.arange(problem.device_count)
        tried = tried[problem.allowed[group]]
        best = _best(problem, tried)[1]
        kept = kept if best is None else best
    return kept


def gap(reached_us: float | None, best_us: float) -> float:
    """How much longer than the best known step, as a share of it; infinite where nothing fits."""
    return math.inf if reached_us is None else reached_us / best_us - 1.0
