"""Keeps a run's good placements in a stream: judged by whole batches, not by the period for which a search looks."""

import numpy as np
from numpy.typing import NDArray

from engine.problem.good_placements import MOST_OF_A_BATCH, GoodPlacements
from engine.simulator import Simulator


class GoodBatches(GoodPlacements):
    """The placements with the shortest batches so far whose batches fit in memory; the first one is the best.

    A batch takes at least as many periods as it has micro-batches: what can then not be kept is not simulated.
    """

    judges_otherwise = True

    def __init__(
        self, class_of_device: NDArray[np.int32], simulator: Simulator, memory_bytes: NDArray[np.int64]
    ) -> None:
        """`simulator` has a stream; `memory_bytes` [devices]."""
        super().__init__(class_of_device)
        assert simulator.stream is not None
        self._simulator, self._memory_bytes = simulator, memory_bytes
        self._micro_batches = simulator.stream.micro_batches
        self._known: set[bytes] = set()

    def add(self, placements: NDArray[np.int32], step_time_us: NDArray[np.float64]) -> None:
        """Keep those of `placements` [batch, groups] that are good; `step_time_us` [batch] are their periods."""
        best = np.argsort(step_time_us, kind="stable")[:MOST_OF_A_BATCH]
        for index in best:
            if step_time_us[index] * self._micro_batches >= self._limit_us():
                return
            placement = placements[index].astype(np.int32)
            if placement.tobytes() in self._known:
                continue
            self._known.add(placement.tobytes())
            batch = self._simulator.batch(placement)
            if (batch.peak_bytes <= self._memory_bytes).all():
                super().add(placement[None, :], np.array([batch.batch_time_us]))
