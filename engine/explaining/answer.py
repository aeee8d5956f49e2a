"""What a report says of a run's answer: whether it pays, and the simplest placement beside it."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.explaining.model_error import ModelError
from engine.explaining.stream_verdict import stream_verdict_of
from engine.explaining.verdict import VerdictKind, verdict_of
from engine.graphs.grouping.nesting import Levels
from engine.problem import PlacementProblem
from engine.search.crossing import GroupEdges
from engine.search.preference import Preference
from engine.search.simplest import devices_used, simplest_of
from engine.simulator.streams.batch import SimulatedBatch


def answer_to_json(
    problem: PlacementProblem,
    levels: Levels,
    answer: NDArray[np.int32],
    prefer: Preference,
    baselines: Mapping[str, float | None],
    refusal: str = "",
    batch: SimulatedBatch | None = None,
    samples: int = 0,
) -> dict[str, Json]:
    """The fields `devices_used`, `crossing_edges`, `verdict`, `prefer` and `simplest` of a report.

    `answer` [groups of the problem], which `levels` splits; `baselines`: method → step time in µs, or None;
    `refusal`: why no placement can fit in memory, where that is known. `batch`: the answer's, in a stream; `samples`
    of a micro-batch, 0 where it is not known.
    """
    if batch is None:
        verdict = verdict_of(problem, answer, baselines, refusal)
        kind, error, words = verdict.kind, verdict.error, verdict.to_json()
    else:
        of_stream = stream_verdict_of(problem, answer, batch, samples, refusal)
        kind, error, words = of_stream.kind, of_stream.error, of_stream.to_json(baselines)
    feasible = kind is not VerdictKind.INFEASIBLE
    return {
        "devices_used": devices_used(answer),
        "crossing_edges": GroupEdges.of(problem.graph, problem.simulator.group_of_op).crossing(answer),
        "verdict": words,
        "prefer": prefer.words,
        "simplest": _simplest(problem, levels, answer, prefer.tolerance, error) if feasible else None,
    }


def _simplest(
    problem: PlacementProblem, levels: Levels, answer: NDArray[np.int32], tolerance: float, error: ModelError
) -> dict[str, Json]:
    answer_us = float(problem.simulator.evaluate(answer[None, :]).step_time_us[0])
    found = simplest_of(problem, answer, tolerance)
    placement = levels.split_placement(found.placement)
    return {
        "step_time_us": found.step_time_us,
        "devices_used": found.devices_used,
        "crossing_edges": found.crossing_edges,
        "device_of_group": [*placement.device_of_group],
        "parts": [[*devices] for devices in placement.parts],
        "tolerance": tolerance,
        "within_error": error.covers(found.step_time_us / answer_us if answer_us > 0 else 1.0),
        "evaluations": found.evaluations,
        "seconds": found.seconds,
    }
