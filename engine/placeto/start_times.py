"""When each group starts under a placement, by the simulator: a feature of the published code."""

import numpy as np
from numpy.typing import NDArray

from engine.problem import PlacementProblem
from engine.simulator.compiled import compiled
from engine.simulator.event_loop import simulate_step
from engine.simulator.records import Scratch, Tables


class GroupStartTimes:
    """Start times of the groups of one problem.

    They come with the evaluation of the same state, which the intermediate reward asks for and pays; so they are not
    charged here once more.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self._tables = problem.simulator.tables
        self._scratch = problem.simulator.new_scratch()

    def of(self, placements: NDArray[np.int32]) -> NDArray[np.float32]:
        """[rows, groups] µs from the step's beginning to the start of each group's first op.

        `placements` is [rows, groups], each group where it may go.
        """
        return _start_times(self._tables, self._scratch, np.require(placements, np.int32, ["C", "W"]))


@compiled
def _start_times(tables: Tables, scratch: Scratch, placements: NDArray[np.int32]) -> NDArray[np.float32]:
    starts = np.full(placements.shape, np.inf, dtype=np.float32)
    for row in range(len(placements)):
        simulate_step(tables, scratch, placements[row])
        for op in range(len(scratch.start_us)):
            group = tables.placed_ops[op].group
            starts[row, group] = min(starts[row, group], np.float32(scratch.start_us[op]))
    return starts
