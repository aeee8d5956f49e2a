"""A run's answer in a stream: of its good placements the one with the shortest batch, and what a report says of it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import Json
from engine.problem import PlacementProblem
from engine.problem.trivial import one_device_placements
from engine.simulator.streams.batch import SimulatedBatch
from engine.simulator.streams.figures import fields_of_batch


@dataclass(frozen=True, slots=True)
class StreamAnswer:
    """The answer and its batch."""

    placement: NDArray[np.int32]
    """[units]"""
    batch: SimulatedBatch
    missing_bytes: int
    """bytes that the worst device lacks over the batch; 0 if it fits"""


def stream_answer_of(problem: PlacementProblem, good: NDArray[np.int32]) -> StreamAnswer:
    """Of the `good` placements [candidates, units] of a run and the single devices the one with the shortest batch.

    The search judges by the period and estimates memory; a whole batch decides. Of placements that all lack memory it
    is the one that lacks least. Batches are charged to no budget.
    """
    best: StreamAnswer | None = None
    for placement in np.unique(np.concatenate([good, one_device_placements(problem)]), axis=0):
        batch = problem.simulator.batch(placement)
        answer = StreamAnswer(placement, batch, int(np.maximum(batch.peak_bytes - problem.memory_bytes, 0).max()))
        if best is None or _rank(answer) < _rank(best):
            best = answer
    assert best is not None
    return best


def _rank(answer: StreamAnswer) -> tuple[int, float]:
    return answer.missing_bytes, answer.batch.batch_time_us


def stream_fields(problem: PlacementProblem, answer: StreamAnswer, samples: int) -> dict[str, Json]:
    """The fields of a report that only a stream has; `samples` of a micro-batch, 0 where it is not known."""
    assert problem.stream is not None
    period_us = float(problem.simulator.evaluate(answer.placement[None, :]).step_time_us[0])
    return fields_of_batch(answer.batch, problem.stream, period_us, problem.simulator.loads(answer.placement), samples)
