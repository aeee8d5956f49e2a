"""The best placement of one chunk of a compiled search; placements are compared as the ledger compares them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import inlined
from engine.problem import ChunkBest, PlacementProblem
from engine.simulator.records import Scratch, records_of
from engine.simulator.streams.state import Records

CHUNK_RESULT = np.dtype(
    [
        ("missing_bytes", "i8"),  # on the fullest device of the best
        ("step_time_us", "f8"),  # of the best
        ("sum_us", "f8"),  # of the step times of all evaluations; an evaluation that was stopped counts its limit
        ("at", "i8"),  # number of the best evaluation in its chunk, from 1; 0 before the first
        ("evaluations", "i8"),
    ],
    align=True,
)
WORK_OF_A_CHUNK = 3_000_000
"""simulated ops and edges, some tenths of a second; between chunks a search can be stopped, shown and saved"""


class ChunkResult(NamedTuple):
    """The best placement of a chunk, and the chunk's counts."""

    numbers: Records
    """[1] CHUNK_RESULT"""
    placement: NDArray[np.int32]
    """[groups]"""


def new_chunk_result(groups: int) -> ChunkResult:
    """An empty result for placements of `groups` groups."""
    return ChunkResult(records_of(1, CHUNK_RESULT), np.zeros(groups, np.int32))


@inlined
def clear(found: ChunkResult) -> None:
    """Reset `found` for a new chunk."""
    number = found.numbers[0]
    number.missing_bytes = 0
    number.step_time_us = np.inf
    number.sum_us = 0.0
    number.at = number.evaluations = 0


@inlined
def limit_of(found: ChunkResult) -> float:
    """The step time in µs from which an evaluation is no better than the best before it, whatever memory it misses."""
    number = found.numbers[0]
    return float(number.step_time_us) if number.at > 0 and number.missing_bytes == 0 else np.inf


@inlined
def note_stopped(found: ChunkResult, limit_us: float) -> None:
    """Count an evaluation that was stopped because it takes longer than `limit_us`, which is at least `limit_of`."""
    found.numbers[0].evaluations += 1
    found.numbers[0].sum_us += limit_us


@inlined
def note(found: ChunkResult, placement: NDArray[np.int32], step_time_us: float, missing_bytes: int) -> None:
    """Count one evaluation and keep it if it is better than all before: less memory missing, then less time."""
    number = found.numbers[0]
    number.evaluations += 1
    number.sum_us += step_time_us
    less = missing_bytes < number.missing_bytes or (
        missing_bytes == number.missing_bytes and step_time_us < number.step_time_us
    )
    if number.at == 0 or less:
        number.missing_bytes, number.step_time_us, number.at = missing_bytes, step_time_us, number.evaluations
        found.placement[:] = placement


@inlined
def missing_on_worst(scratch: Scratch, memory_bytes: NDArray[np.int64]) -> int:
    """The bytes by which the worst device exceeds its memory after an evaluation; 0 if all fit."""
    worst = 0
    for device in range(len(memory_bytes)):
        worst = max(worst, scratch.devices[device].peak_bytes - memory_bytes[device])
    return worst


def chunk_best(found: ChunkResult) -> ChunkBest:
    """The result of the chunk, as the ledger takes it."""
    number = found.numbers[0]
    return ChunkBest(
        placement=found.placement,
        step_time_us=float(number.step_time_us),
        missing_bytes=int(number.missing_bytes),
        sum_us=float(number.sum_us),
        evaluations=int(number.evaluations),
        at=int(number.at),
    )


def chunk_size(problem: PlacementProblem) -> int:
    """The number of evaluations in a chunk. It depends only on the problem, never on a clock."""
    return max(1, WORK_OF_A_CHUNK // (problem.graph.op_count + problem.graph.edge_count))
