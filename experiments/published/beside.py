"""What stands beside trained policies on a graph: their start, random placements, an untrained policy, searches."""

import zlib
from pathlib import Path
from typing import Any

import numpy as np

from engine.child.parent import ReportProgress, Results
from engine.events import Json
from engine.problem import Budget, PlacementProblem
from experiments.best_found import best_step_time_us
from experiments.grid import RESULT, Measurement
from experiments.published.trainings import TrainingOrder, rounded, shares_of

HEFT_EVALUATIONS = 100
"""more than HEFT needs"""


def beside_key(order: TrainingOrder, graph: int, seeds: int, auto_evaluations: int) -> Measurement:
    """The key of the measurements on one test graph, which is the child's arguments."""
    key = {name: value for name, value in order.key().items() if name not in ("seed", "episodes", "checkpoints")}
    return {"of": "beside", **key, "graph": graph, "seeds": seeds, "auto_evaluations": auto_evaluations}


def beside_in_child(arguments: dict[str, Json], _folder: Path, _report_progress: ReportProgress) -> Results:
    """The shares of one device: a list for each method, with a value for each seed where it has seeds."""
    values: dict[str, Any] = {**arguments, "seed": 0, "episodes": 1, "checkpoints": 1}
    graph, seeds, evaluations = (values.pop(name) for name in ("graph", "seeds", "auto_evaluations"))
    values.pop("of")
    order = TrainingOrder(**values)
    problem = order.problems("test")[graph][1]
    return {}, {RESULT: {name: rounded(found) for name, found in measured(order, problem, seeds, evaluations).items()}}


def measured(
    order: TrainingOrder, problem: PlacementProblem, seeds: int, auto_evaluations: int
) -> dict[str, list[float | None]]:
    """Name → shares of one device: `start`, `random` and `untrained` by seed, `heft`, `auto` by seed."""
    from engine.placeto.episodes import random_placements, start_without_draws
    from engine.placeto.networks.making import make_network
    from engine.placeto.passes import greedy_and_sampled
    from engine.placeto.seeing.features import fastest_device_placement, group_graph

    settings, graph = order.placeto(), group_graph(problem)
    start = start_without_draws(settings, graph, fastest_device_placement(graph))
    found = {"start": shares_of(problem, start[None, :])}
    found["random"] = found["untrained"] = []
    for seed in range(seeds):
        drawn = random_placements(problem.allowed, 1, np.random.default_rng([seed, zlib.crc32(b"random")]))
        network = make_network(settings, problem.device_count, np.random.default_rng(seed))
        untrained = greedy_and_sampled(settings, network, problem, np.random.default_rng(seed), 0)
        found["random"] = found["random"] + shares_of(problem, drawn)
        found["untrained"] = found["untrained"] + shares_of(problem, untrained)
    found["heft"] = [_best(problem, "heft", HEFT_EVALUATIONS, 0)]
    found["auto"] = [_best(problem, "auto", auto_evaluations, seed) for seed in range(seeds)]
    return found


def _best(problem: PlacementProblem, method: str, evaluations: int, seed: int) -> float | None:
    """The share of the best that `method` finds."""
    one_device_us = best_step_time_us(problem, Budget(HEFT_EVALUATIONS), "single_device", np.random.default_rng(0))
    time_us = best_step_time_us(problem, Budget(evaluations), method, np.random.default_rng(seed))
    return None if time_us is None or one_device_us is None else time_us / one_device_us
