"""Routes of micro-batches: stages that several devices take in turn, as PipeDream replicates them.

Micro-batch m takes route m mod R, a placement like the others up to the devices that take turns. Each stage has one
device on a route, and each device the micro-batches of its turn. The ops of the optimizer do not run: they need what
the devices of all routes have summed up, which is for those who know how that is added (engine/plans).

In the order of 1F1B a device begins as many forward passes as there are devices at its stage and behind it, divided by
those of its stage, before its first backward pass: a level of a stage counts once for each device of it.

Source: Narayanan et al.: PipeDream, SOSP 2019, sections 3.2 and 3.3.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from engine.simulator.streams.stages import NO_STAGE, Stages


def devices_of_stages(stages: Stages, routes: NDArray[np.int32]) -> NDArray[np.int64]:
    """[routes, stages] the device of each stage; `routes` is [routes, ops]."""
    early = np.flatnonzero(stages.stage_of_op != NO_STAGE)
    devices = np.empty((len(routes), len(stages)), np.int64)
    devices[:, stages.stage_of_op[early]] = routes[:, early]
    return devices


def first_micros(routes: NDArray[np.int32], devices: int) -> NDArray[np.uint32]:
    """[devices] the first micro-batch that each takes, 0 for one without ops."""
    first = np.zeros(devices, np.uint32)
    for micro in reversed(range(len(routes))):
        first[routes[micro]] = micro
    return first


def spread_levels(stages: Stages, devices: NDArray[np.int64]) -> Stages:
    """`stages` with levels that count each device of a stage; `devices` is [routes, stages]."""
    if len(devices) == 1:
        return stages
    width = np.array([len(np.unique(of_stage)) for of_stage in devices.T])
    count = int(stages.level.max()) + 1
    widths, is_backward = np.ones(count, np.int64), np.zeros(count, bool)
    np.maximum.at(widths, stages.level, width)
    np.logical_or.at(is_backward, stages.level, stages.is_backward)
    level = np.zeros(count, np.int64)
    for each in range(1, count):
        before = each - 1
        if not is_backward[each]:
            step = widths[before]
        elif is_backward[before]:
            step = widths[each]
        else:  # from the last forward pass to the first backward pass
            step = widths[before] + widths[each] - 1
        level[each] = level[before] + step
    return dataclasses.replace(stages, level=level[stages.level])
