"""The stages of a placement: the parts of a pass that a device can run in one go.

Where the data of each pass never come back to a device that they have left, a device has one stage of the forward pass
and one of the backward pass. Else an op's stage begins after as many changes of device as lie on the longest way to it,
and a device may have several; an op whose consumers all are in later stages of its own device goes with the first of
these. The level of a stage is the number of stages before it on the longest way.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import compiled
from engine.graphs.graph import BACKWARD, NOT_SAID, OPTIMIZER
from engine.graphs.ordering import distinct, levels, strong_components
from engine.simulator.records import Tables

NO_STAGE = -1


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of one placement, by their levels, then by device."""

    stage_of_op: NDArray[np.int64]
    """[ops] by the tables' numbers; `NO_STAGE` for ops of the optimizer and those that are not executed"""
    device: NDArray[np.int64]
    """[stages]"""
    is_backward: NDArray[np.bool_]
    """[stages]"""
    level: NDArray[np.int64]
    """[stages]"""

    def __len__(self) -> int:
        return len(self.device)

    @property
    def is_contiguous(self) -> bool:
        """Whether each device has at most one stage a pass."""
        return len(np.unique(2 * self.device + self.is_backward)) == len(self)


def stages_of(tables: Tables, device_of_op: NDArray[np.integer]) -> Stages:
    """The stages of ops on `device_of_op` [ops], by the tables' numbers."""
    early = (tables.phase != NOT_SAID) & (tables.phase != OPTIMIZER)
    source, target = tables.flows.producer[tables.entries.flow], tables.entries.consumer
    source, target = source.astype(np.int64), target.astype(np.int64)
    between = early[source] & early[target]
    source, target = source[between], target[between]
    part = 2 * device_of_op.astype(np.int64) + (tables.phase == BACKWARD)
    parts = int(part.max()) + 1
    joined = distinct(np.stack((part[source], part[target]), axis=1))
    if len(np.unique(strong_components(joined, parts))) == parts:
        level_of_op = levels(joined, parts)[part]
    else:
        by_source = np.argsort(source, kind="stable")
        first = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=len(part)))))
        level_of_op = _levels_of_ops(first, target[by_source], part)
    keys = np.stack((level_of_op[early], part[early]))
    (level, part_of_stage), stage = np.unique(keys, axis=1, return_inverse=True)
    stage_of_op = np.full(len(part), NO_STAGE, dtype=np.int64)
    stage_of_op[early] = stage.ravel()
    return Stages(stage_of_op, part_of_stage // 2, part_of_stage % 2 == 1, level)


@compiled
def _levels_of_ops(first: NDArray[np.int64], target: NDArray[np.int64], part: NDArray[np.int64]) -> NDArray[np.int64]:
    """[ops] changes of part on the longest way to each; ops are in topological order, their `target`s from `first` on.

    An op that gives only to later ops of its own part is as late as the first of them.
    """
    level = np.zeros(len(part), np.int64)
    for op in range(len(part)):
        for place in range(first[op], first[op + 1]):
            consumer = target[place]
            level[consumer] = max(level[consumer], level[op] + (part[consumer] != part[op]))
    for op in range(len(part) - 1, -1, -1):
        soonest, is_alone = np.int64(len(part)), first[op + 1] > first[op]
        for place in range(first[op], first[op + 1]):
            is_alone &= part[target[place]] == part[op]
            soonest = min(soonest, level[target[place]])
        if is_alone:
            level[op] = soonest
    return level
