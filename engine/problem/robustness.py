"""How much a run's answer loses if op times and links are not what the costs say.

Costs err by op type and by device kind, and the figures of a link hold for all links like it. So each of `DRAWS` fixed
draws multiplies the time of each op type on each device kind, and the bandwidth of each speed of link, by a factor that
is uniform from 1 - `SPREAD` to 1 + `SPREAD`, and simulates the run's good placements again. The regret of a placement
in a draw is its step time over that of the fastest of them, minus 1. The draws depend on the graph's op types and on
the cluster alone, so they are the same for all methods and seeds. Bytes, latencies and rests do not vary, and memory is
not judged again.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import CostError
from engine.events import Json
from engine.problem.problem import PlacementProblem
from engine.problem.varied import type_of_op, with_factors

DRAWS = 32
SPREAD = 0.3
DRAWS_SEED = 0
MOST_WORK = 80_000_000
"""most ops and edges simulated for a figure that nobody asked for, some five seconds; a number, so that no clock
decides what a report says"""


@dataclass(frozen=True, slots=True)
class Robustness:
    """The regret of a run's answer over the draws, against the good placements of the run, the answer among them."""

    mean_regret: float | None
    """over the draws; None where it was not computed"""
    worst_regret: float | None
    """in the worst of the draws"""
    best_share: float | None
    """share of the draws in which no other placement is faster"""
    draws: int
    candidates: int
    """good placements compared"""
    seconds: float
    """that this took, outside the run's budget"""
    fastest_step_time_us: float
    """step time of the fastest placement with the costs as they are: the answer's, unless regret chose another one"""
    note: str = ""
    """why it was not computed, or an empty string"""

    def to_json(self) -> dict[str, Json]:
        """The fields as JSON."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The placement that was chosen among a run's good ones, with its robustness."""

    placement: NDArray[np.int32]
    """[groups]"""
    robustness: Robustness


def judged(problem: PlacementProblem, placements: NDArray[np.int32], *, choose: bool) -> Judgement:
    """Judge the good `placements` [candidates, groups] of a run, the fastest first.

    The answer is the first one or, with `choose`, the one with the least mean regret, the first of equals. Without
    `choose`, a graph whose draws would take long is not judged.
    """
    began = problem.ledger.clock()
    fastest_us = float(problem.simulator.evaluate(placements[:1]).step_time_us[0])
    unjudged = Robustness(None, None, None, 0, len(placements), 0.0, fastest_us)
    work = DRAWS * len(placements) * (problem.graph.op_count + problem.graph.edge_count)
    if work > MOST_WORK and not choose:
        note = f"the graph is too large to judge unasked: {work:,} simulated ops and edges, at most {MOST_WORK:,}"
        return Judgement(placements[0], dataclasses.replace(unjudged, note=note))
    try:
        step_times_us = step_times_of_draws(problem, placements)
    except CostError as error:
        return Judgement(placements[0], dataclasses.replace(unjudged, note=f"a draw cannot be simulated: {error.what}"))
    regrets = _regrets(step_times_us)
    answer = int(regrets.mean(axis=0).argmin()) if choose else 0
    of_answer = regrets[:, answer]
    return Judgement(
        placements[answer],
        Robustness(
            mean_regret=float(of_answer.mean()),
            worst_regret=float(of_answer.max()),
            best_share=float((of_answer == 0).mean()),
            draws=DRAWS,
            candidates=len(placements),
            seconds=problem.ledger.clock() - began,
            fastest_step_time_us=fastest_us,
        ),
    )


def _regrets(step_times_us: NDArray[np.float64]) -> NDArray[np.float64]:
    """[draws, candidates] step time over the draw's least, minus 1; 0 for the least one, which may take no time."""
    least = step_times_us.min(axis=1, keepdims=True)
    ratios = np.full_like(step_times_us, np.inf)
    np.divide(step_times_us, least, out=ratios, where=least > 0)
    return np.where(step_times_us == least, 0.0, ratios - 1.0)


def step_times_of_draws(problem: PlacementProblem, placements: NDArray[np.int32]) -> NDArray[np.float64]:
    """[draws, candidates] the step time in µs of each of `placements` in each draw; they are charged to no budget.

    Raises CostError if a step could become too long to be simulated.
    """
    kinds = len({device.kind for device in problem.cluster.devices})
    types = type_of_op(problem)
    speed_of_link = _speed_of_link(problem)
    step_times_us = np.empty((DRAWS, len(placements)))
    for draw in range(DRAWS):
        rng = np.random.default_rng([DRAWS_SEED, draw])
        time_factors = rng.uniform(1 - SPREAD, 1 + SPREAD, (kinds, int(types.max()) + 1))
        bandwidth_factors = rng.uniform(1 - SPREAD, 1 + SPREAD, int(speed_of_link.max()) + 1)
        varied = with_factors(problem, time_factors[:, types], bandwidth_factors[speed_of_link])
        step_times_us[draw] = varied.simulator.evaluate(placements).step_time_us
    return step_times_us


def _speed_of_link(problem: PlacementProblem) -> NDArray[np.intp]:
    """[devices, devices] a number for each speed of link: links of one bandwidth and latency share it."""
    cluster = problem.cluster
    figures = np.stack((cluster.bandwidth_bytes_per_us.ravel(), cluster.latency_us.ravel()), axis=1)
    shape = cluster.bandwidth_bytes_per_us.shape
    return np.unique(figures, axis=0, return_inverse=True)[1].reshape(shape)
