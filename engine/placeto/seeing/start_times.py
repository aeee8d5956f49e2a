"""The start time of each group under a placement, by the simulator: a feature of the published code."""

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.placeto.settings import PlacetoSettings
from engine.simulator import Simulator
from engine.simulator.event_loop import simulate_step
from engine.simulator.records import Scratch, Tables


class GroupStartTimes:
    """Start times of the groups of one problem: the mean over a group's ops, each counted by its time.

    The first op would be no use: in a training step nearly every group has a variable or a constant, which waits for
    nothing and starts with the step. A group whose ops take no time starts with the first of them.

    The evaluation of the same state, which the intermediate reward needs, has already been charged; so the start times
    are not charged again.
    """

    def __init__(self, simulator: Simulator) -> None:
        self._tables = simulator.tables
        self._scratch = simulator.new_scratch()

    @property
    def op_count(self) -> int:
        """The ops that each placement simulates."""
        return len(self._scratch.start_us)

    def of(self, placements: NDArray[np.int32]) -> NDArray[np.float32]:
        """[rows, groups] the start of each group, in µs from the step's beginning.

        `placements` [rows, groups] must have each group where it may go.
        """
        return _start_times(self._tables, self._scratch, np.require(placements, np.int32, ["C", "W"]))


def sees_start_times(settings: PlacetoSettings) -> bool:
    """Whether the network sees start times: if asked, and if the reward evaluates every state (`intermediate`)."""
    return settings.network != "shared_head" and settings.start_time_feature and settings.reward == "intermediate"


@compiled
def _start_times(tables: Tables, scratch: Scratch, placements: NDArray[np.int32]) -> NDArray[np.float32]:
    rows, groups = placements.shape
    starts = np.empty((rows, groups), dtype=np.float32)
    for row in range(rows):
        simulate_step(tables, scratch, placements[row])
        first, weighted, time = np.full(groups, np.inf), np.zeros(groups), np.zeros(groups)
        for op in range(len(scratch.start_us)):
            group = tables.placed_ops[op].group
            first[group] = min(first[group], scratch.start_us[op])
            weighted[group] += scratch.start_us[op] * scratch.ops[op].time_us
            time[group] += scratch.ops[op].time_us
        for group in range(groups):
            starts[row, group] = weighted[group] / time[group] if time[group] > 0 else first[group]
    return starts
