"""The dynamic programme: the least period of each ideal on each number of devices of each class.

The period of ideal I on devices s is the least, over the ideals J within I and the classes c, of the greater of the
load of the stage I − J on a device of class c and the period of J on s without one of c.
Source: Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino, Efficient algorithms for device placement of DNN
graph operators, NeurIPS 2020, section 5.1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.files.compiled import compiled
from engine.placers.pipeline_dp.ideals import Ideals
from engine.placers.pipeline_dp.stages import (
    StageScratch,
    StageTables,
    find_stages,
    make_stage_scratch,
    make_stage_tables,
)
from engine.placers.pipeline_dp.units import StageUnits

PAIRS_A_CHUNK = 3_000_000
"""pairs of ideals between two looks at `should_stop`: a second at most"""
SLACK = 1e-9
"""relative: sums in another order may differ by so much"""


@dataclass(frozen=True, slots=True)
class Periods:
    """The least periods of all ideals."""

    units: StageUnits
    ideals: Ideals
    tables: StageTables
    stride: NDArray[np.int64]
    """[classes] by how much a device of each class changes the number of a state"""
    period_us: NDArray[np.float64]
    """[ideals, states] infinite where there is none, or none up to the known bound"""
    most_us: float
    """the known bound"""

    @property
    def best_us(self) -> float:
        """The least period of the whole on all devices."""
        return float(self.period_us[-1, -1])


def state_count(units: StageUnits) -> int:
    """The number of states: of numbers of devices of each class that are used."""
    return int(np.prod(units.devices + 1))


def least_periods(
    units: StageUnits, ideals: Ideals, should_stop: ShouldStop, most_us: float = np.inf
) -> Periods | None:
    """The least periods of `ideals`, or None if told to stop. Periods above `most_us`, a known one, are left out."""
    tables = make_stage_tables(units, ideals)
    scratch = make_stage_scratch(tables)
    stride = np.concatenate(([1], np.cumprod(units.devices + 1)[:-1])).astype(np.int64)
    period_us = np.full((ideals.count, state_count(units)), np.inf)
    period_us[0] = 0.0
    most_us *= 1.0 + SLACK
    used = _used_devices(units.devices)
    first = 1
    while first < ideals.count:
        if should_stop():
            return None
        rows = max(1, PAIRS_A_CHUNK // (first + 1))
        _fill(tables, scratch, stride, used, period_us, most_us, first, min(first + rows, ideals.count))
        first += rows
    return Periods(units, ideals, tables, stride, period_us, most_us)


def _used_devices(devices: NDArray[np.int64]) -> NDArray[np.int64]:
    """[states, classes] the number of devices of each class in each state."""
    grids = np.indices([count + 1 for count in devices[::-1].tolist()])
    return np.ascontiguousarray(grids.reshape(len(devices), -1)[::-1].T)


@compiled
def _fill(
    tables: StageTables,
    scratch: StageScratch,
    stride: NDArray[np.int64],
    used: NDArray[np.int64],
    period_us: NDArray[np.float64],
    most_us: float,
    first: int,
    end: int,
) -> None:
    """Fill the rows `first` to `end` of `period_us` [ideals, states]; those before are filled."""
    states, classes = used.shape
    for whole in range(first, end):
        row = period_us[whole]
        for stage in range(find_stages(tables, scratch, whole, most_us)):
            before = period_us[scratch.ideal[stage]]
            for device_class in range(classes):
                load_us = scratch.load_us[stage, device_class]
                if load_us > most_us:
                    continue
                for state in range(states):
                    if used[state, device_class] and load_us < row[state]:
                        row[state] = min(row[state], max(load_us, before[state - stride[device_class]]))
