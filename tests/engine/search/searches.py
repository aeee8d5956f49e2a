"""Walks over small problems, as the tests of the search need them."""

import numpy as np
from numpy.typing import NDArray

from engine.problem import ChunkBest, PlacementProblem
from engine.search.annealer import Annealer
from engine.search.moves import Trial
from engine.search.random_numbers import new_random_state

MOST_DEVICES = 8


def trial_at(placement: NDArray[np.int32], chain: list[int], seed: int = 0) -> Trial:
    """A move's room, at `placement` with `chain` as the groups that the step waits for."""
    return Trial(
        placement=placement.copy(),
        moved=np.zeros_like(placement),
        chain=np.array(chain, dtype=np.int32),
        chain_length=np.array([len(chain)]),
        random=new_random_state(np.random.default_rng(seed)),
        region=np.zeros_like(placement),
        choices=np.zeros(MOST_DEVICES, np.bool_),
        is_in_use=np.zeros(MOST_DEVICES, np.bool_),
        is_offered=np.zeros((2, MOST_DEVICES), np.bool_),
        is_open=np.ones(MOST_DEVICES, np.bool_),
        stretch=np.zeros(max(len(placement), len(chain)), np.int32),
        whole=np.zeros(1, np.bool_),
    )


def one_by_one(problem: PlacementProblem, start: NDArray[np.int32], count: int, heat_us: float) -> list[ChunkBest]:
    """A walk in chunks of one evaluation: what each of them was."""
    annealer = Annealer(problem, np.random.default_rng(0))
    annealer.go_to(start, 1000.0)
    walked = []
    for _ in range(count):
        best = annealer.evaluate(1, heat_us, heat_us)
        walked.append(
            ChunkBest(
                best.placement.copy(), best.step_time_us, best.missing_bytes, best.sum_us, best.evaluations, best.at
            )
        )
    return walked
