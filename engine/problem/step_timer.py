"""What takes the step times of placements in place of the simulator: a run's rewards can be measured."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class StepTimer(Protocol):
    """Runs placements on real devices."""

    def step_time_us(self, device_of_op: NDArray[np.int32]) -> NDArray[np.float64]:
        """[placements] the step time in µs of each of `device_of_op` [placements, ops]; equal ones have equal times.

        Raises MeasuringError, after which the method ends: its answer is the best that was measured before.
        """
        ...
