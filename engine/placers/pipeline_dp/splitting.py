"""The dynamic programme: the least period of each ideal on each number of devices of each class.

The period of ideal I on devices s is the least, over the ideals J within I and the classes c, of the greater of the
load of the stage I − J on a device of class c and the period of J on s without one of c.
Source: Tarnawski, Phanishayee, Devanur, Mahajan, Nina Paravecino, Efficient algorithms for device placement of DNN
graph operators, NeurIPS 2020, section 5.1.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.files.compiled import compiled
from engine.placers.pipeline_dp.device_states import DeviceStates
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
    states: DeviceStates
    period_us: NDArray[np.float64]
    """[ideals, states] infinite where there is none, or none up to the known bound"""
    most_us: float
    """the known bound"""

    @property
    def best_us(self) -> float:
        """The least period of the whole on all devices."""
        return float(self.period_us[-1, -1])


def least_periods(
    units: StageUnits,
    ideals: Ideals,
    states: DeviceStates,
    should_stop: ShouldStop,
    most_us: float = np.inf,
) -> Periods | None:
    """The least periods of `ideals`, or None if told to stop. Periods above `most_us`, a known one, are left out."""
    tables = make_stage_tables(units, ideals)
    scratch = make_stage_scratch(tables)
    period_us = np.full((ideals.count, states.count), np.inf)
    period_us[0] = 0.0
    most_us *= 1.0 + SLACK
    moves = (states.move_offset, states.device_class, states.next_state)
    room = _room(units, ideals, states, most_us)
    first = 1
    while first < ideals.count:
        if should_stop():
            return None
        rows = max(1, PAIRS_A_CHUNK // (first + 1))
        _fill(tables, scratch, moves, room, period_us, most_us, first, min(first + rows, ideals.count))
        first += rows
    return Periods(units, ideals, tables, states, period_us, most_us)


class _Room(NamedTuple):
    """The work for which devices have time within a period, in µs on the unit's fastest class."""

    fastest_us: NDArray[np.float64]
    """[units] time on the fastest class"""
    total_us: float
    """work of all units"""
    work_us: NDArray[np.float64]
    """[ideals] work of each ideal, once it is known"""
    used_us: NDArray[np.float64]
    """[states] most work on the devices of the state"""
    left_us: NDArray[np.float64]
    """[states] most work on all others"""


def _room(units: StageUnits, ideals: Ideals, states: DeviceStates, most_us: float) -> _Room:
    """What has no room in `most_us` need not be looked at: what comes first, or what comes after it."""
    fastest_us, known = units.time_us.min(axis=0), np.zeros(ideals.count)
    total_us = float(fastest_us.sum())
    if most_us == np.inf:
        return _Room(fastest_us, total_us, known, *np.full((2, states.count), np.inf))
    works = fastest_us > 0
    slower = (units.time_us[:, works] / fastest_us[works]).min(axis=1, initial=np.inf)
    used_us, left_us = (
        (devices * (most_us / slower)).sum(axis=1) + SLACK * total_us
        for devices in (states.devices, units.devices - states.devices)
    )
    return _Room(fastest_us, total_us, known, used_us, left_us)


@compiled
def _fill(
    tables: StageTables,
    scratch: StageScratch,
    moves: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    room: _Room,
    period_us: NDArray[np.float64],
    most_us: float,
    first: int,
    end: int,
) -> None:
    """Fill the rows `first` to `end` of `period_us` [ideals, states]; those before are filled."""
    move_offset, device_class, next_state = moves
    states = len(move_offset) - 1
    has_room = np.zeros(states, dtype=np.bool_)
    for whole in range(first, end):
        link = tables.smaller_offset[whole]
        room.work_us[whole] = room.work_us[tables.smaller[link]] + room.fastest_us[tables.removed[link]]
        later_us = room.total_us - room.work_us[whole]
        has_room[:] = (room.work_us[whole] <= room.used_us) & (later_us <= room.left_us)
        if not has_room.any():
            continue
        for stage in range(find_stages(tables, scratch, whole, most_us)):
            smaller = scratch.ideal[stage]
            for state in range(states):
                if not has_room[state]:
                    continue
                for move in range(move_offset[state], move_offset[state + 1]):
                    load_us = scratch.load_us[stage, device_class[move]]
                    if load_us <= most_us and load_us < period_us[whole, state]:
                        promised_us = max(load_us, period_us[smaller, next_state[move]])
                        period_us[whole, state] = min(period_us[whole, state], promised_us)
