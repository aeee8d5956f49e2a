"""By how much the comparison of two simulated steps is off, by where the op times come from.

The figures come from docs/results/fidelity.md: 60 placements of each of three graphs, simulated and measured. For each
of the 59 that are not on one device, the error is its measured step over the measured step on one device, divided by
the same ratio of simulated steps. What is off for all placements alike (a machine 1.3 times as slow as simulated) does
not count, since a verdict compares placements. The interval holds the middle `SHARE` of the errors of all three graphs.

- `ESTIMATED`: the fidelity experiment's costing "calibrated": Grappler's estimates with the efficiencies of a
  calibrated machine. A catalogue's kinds were never measured here, so their error may be larger: for the uncalibrated
  CPU kind it was 1.05 to 1.57.
- `MEASURED`: "calibrated, measured op times". What is left is the model's own error, and it is no smaller.
- `GIVEN`: the file says what each op takes, so these figures are the truth that a placement is judged by; no interval.

tests/experiments/test_model_error.py derives the figures again from the kept measurements.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.costs.costs import Costs, CostSource
from engine.number_words import LEAST_GAP

SHARE = 0.9
"""of the errors between `least` and `greatest`"""
COUNTS_FROM = 0.1
"""the least share of the ops' total time that a source must give in order to count"""


@dataclass(frozen=True, slots=True)
class ModelError:
    """The factors by which a ratio of two simulated steps of a graph may have to be multiplied."""

    kind: str
    """where the op times come from: `estimated`, `measured`, `given`"""
    least: float
    greatest: float

    def covers(self, ratio: float) -> bool:
        """Whether a step that is simulated `ratio` times as long as another may really be no longer."""
        return ratio * self.least <= 1 + LEAST_GAP

    @property
    def is_exact(self) -> bool:
        return self.least == self.greatest == 1.0


ESTIMATED = ModelError("estimated", 0.842, 1.140)
MEASURED = ModelError("measured", 0.884, 1.177)
GIVEN = ModelError("given", 1.0, 1.0)
ERROR_OF_SOURCE = {
    CostSource.UNKNOWN: ESTIMATED,
    CostSource.ESTIMATED: ESTIMATED,
    CostSource.BOUNDED: ESTIMATED,
    CostSource.MEASURED: MEASURED,
    CostSource.GIVEN: GIVEN,
}
"""unknown times count as zero, so they decide only where nothing else is known"""


def error_of(costs: Costs, op_time_us: NDArray[np.float64]) -> ModelError:
    """The error that a step has whose ops take `op_time_us` [ops]: that of the least sure source which counts.

    Estimates are less sure than measured times, these less than given ones.
    """
    time_us = np.nan_to_num(op_time_us)
    weights = time_us if time_us.any() else np.ones(len(time_us))
    sums = np.bincount(costs.source, weights, len(CostSource))
    for error in (ESTIMATED, MEASURED):
        share = sum(sums[source] for source, its in ERROR_OF_SOURCE.items() if its is error) / weights.sum()
        if share >= COUNTS_FROM:
            return error
    return GIVEN
