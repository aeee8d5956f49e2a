"""All stages that can end a part of a pipeline, with their loads, in compiled code."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.files.compiled import borrowed, compiled, inlined
from engine.placers.pipeline_dp.ideals import Ideals
from engine.placers.pipeline_dp.units import StageUnits


class StageTables(NamedTuple):
    """Units and ideals for compiled code."""

    smaller_offset: NDArray[np.int64]
    """[ideals + 1] as in `Ideals`"""
    smaller: NDArray[np.int32]
    removed: NDArray[np.int32]
    time_us: NDArray[np.float64]
    """[units, classes] as in `StageUnits`, transposed as the three below"""
    kept_bytes: NDArray[np.int64]
    made_offset: NDArray[np.int64]
    """[units + 1] where the outputs begin that each unit makes"""
    made: NDArray[np.int32]
    used_offset: NDArray[np.int64]
    """[units + 1] where the outputs of others begin that each unit uses"""
    used: NDArray[np.int32]
    producer: NDArray[np.int32]
    consumers: NDArray[np.int64]
    """[outputs] number of other units that use each"""
    send_us: NDArray[np.float64]
    """[outputs, classes]"""
    receive_us: NDArray[np.float64]
    channel_us: NDArray[np.float64]
    memory_bytes: NDArray[np.int64]
    """[classes]"""


class StageScratch(NamedTuple):
    """Working arrays, and the stages that were found."""

    ideal: NDArray[np.int32]
    """[ideals] the ideal that is left without each found stage"""
    load_us: NDArray[np.float64]
    """[ideals, classes] the load of each found stage; infinite where it does not fit"""
    seen: NDArray[np.int64]
    """[ideals] the number of the last call that reached each"""
    calls: NDArray[np.int64]
    """[1] number of calls of `find_stages`"""
    inside: NDArray[np.int64]
    """[outputs] number of consumers in the stage"""
    holds: NDArray[np.bool_]
    """[units] whether the stage holds the unit"""
    link: NDArray[np.int64]
    """[depth] the next link to follow"""
    at: NDArray[np.int32]
    """[depth] the ideal that is left"""
    unit: NDArray[np.int32]
    """[depth] the unit added last"""
    device_us: NDArray[np.float64]
    """[depth, classes]"""
    channel_us: NDArray[np.float64]
    """[depth, classes]"""
    work_us: NDArray[np.float64]
    """[depth, classes] the part of `device_us` that only grows with the stage"""
    kept_bytes: NDArray[np.int64]
    """[depth]"""


def make_stage_tables(units: StageUnits, ideals: Ideals) -> StageTables:
    """The tables for `ideals` of `units`."""
    uses = np.diff(units.consumer_offset)
    output_of_use = np.repeat(np.arange(len(uses), dtype=np.int32), uses)
    return StageTables(
        ideals.smaller_offset,
        ideals.smaller,
        ideals.removed,
        np.ascontiguousarray(units.time_us.T),
        units.kept_bytes,
        *_by_unit(units.producer, np.arange(len(uses), dtype=np.int32), units.unit_count),
        *_by_unit(units.consumer, output_of_use, units.unit_count),
        units.producer,
        uses.astype(np.int64),
        np.ascontiguousarray(units.send_us.T),
        np.ascontiguousarray(units.receive_us.T),
        np.ascontiguousarray(units.channel_us.T),
        units.memory_bytes,
    )


def make_stage_scratch(tables: StageTables) -> StageScratch:
    """Working arrays for `tables`, for one thread."""
    ideals = len(tables.smaller_offset) - 1
    units, classes = tables.time_us.shape
    depth = units + 2
    return StageScratch(
        np.empty(ideals, dtype=np.int32),
        np.empty((ideals, classes)),
        np.zeros(ideals, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(len(tables.producer), dtype=np.int64),
        np.zeros(units, dtype=np.bool_),
        np.zeros(depth, dtype=np.int64),
        np.zeros(depth, dtype=np.int32),
        np.zeros(depth, dtype=np.int32),
        np.zeros((depth, classes)),
        np.zeros((depth, classes)),
        np.zeros((depth, classes)),
        np.zeros(depth, dtype=np.int64),
    )


def _by_unit(
    unit: NDArray[np.int32], output: NDArray[np.int32], units: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The outputs sorted by unit: [units + 1] where each unit's begin, [outputs]."""
    offset = np.concatenate(([0], np.cumsum(np.bincount(unit, minlength=units))))
    return offset, output[np.argsort(unit, kind="stable")]


@inlined
def _borrow_tables(tables: StageTables) -> StageTables:
    return StageTables(
        borrowed(tables.smaller_offset),
        borrowed(tables.smaller),
        borrowed(tables.removed),
        borrowed(tables.time_us),
        borrowed(tables.kept_bytes),
        borrowed(tables.made_offset),
        borrowed(tables.made),
        borrowed(tables.used_offset),
        borrowed(tables.used),
        borrowed(tables.producer),
        borrowed(tables.consumers),
        borrowed(tables.send_us),
        borrowed(tables.receive_us),
        borrowed(tables.channel_us),
        borrowed(tables.memory_bytes),
    )


@inlined
def _borrow_scratch(scratch: StageScratch) -> StageScratch:
    return StageScratch(
        borrowed(scratch.ideal),
        borrowed(scratch.load_us),
        borrowed(scratch.seen),
        borrowed(scratch.calls),
        borrowed(scratch.inside),
        borrowed(scratch.holds),
        borrowed(scratch.link),
        borrowed(scratch.at),
        borrowed(scratch.unit),
        borrowed(scratch.device_us),
        borrowed(scratch.channel_us),
        borrowed(scratch.work_us),
        borrowed(scratch.kept_bytes),
    )


@inlined
def _add(tables: StageTables, scratch: StageScratch, depth: int, unit: int) -> None:
    """Put `unit` into the stage; the sums of `depth` are those of the depth before with it."""
    classes = len(tables.memory_bytes)
    device_us, channel_us, work_us = scratch.device_us, scratch.channel_us, scratch.work_us
    for row in range(classes):
        device_us[depth, row] = device_us[depth - 1, row] + tables.time_us[unit, row]
        work_us[depth, row] = work_us[depth - 1, row] + tables.time_us[unit, row]
        channel_us[depth, row] = channel_us[depth - 1, row]
    scratch.kept_bytes[depth] = scratch.kept_bytes[depth - 1] + tables.kept_bytes[unit]
    scratch.holds[unit] = True
    _add_made(tables, scratch, depth, unit)
    _add_used(tables, scratch, depth, unit)


@inlined
def _add_made(tables: StageTables, scratch: StageScratch, depth: int, unit: int) -> None:
    """Count the outputs that `unit` makes: sent where others use them, received no more where the stage does."""
    for place in range(tables.made_offset[unit], tables.made_offset[unit + 1]):
        output = tables.made[place]
        if scratch.inside[output] > 0:
            _change(scratch.device_us, depth, tables.receive_us, output, -1.0)
        if scratch.inside[output] < tables.consumers[output]:
            _change(scratch.device_us, depth, tables.send_us, output, 1.0)
            _change(scratch.channel_us, depth, tables.channel_us, output, 1.0)


@inlined
def _add_used(tables: StageTables, scratch: StageScratch, depth: int, unit: int) -> None:
    """Count the outputs that `unit` uses: received if another stage makes them, sent no more if no other uses them."""
    for place in range(tables.used_offset[unit], tables.used_offset[unit + 1]):
        output = tables.used[place]
        scratch.inside[output] += 1
        if not scratch.holds[tables.producer[output]]:
            if scratch.inside[output] == 1:
                _change(scratch.device_us, depth, tables.receive_us, output, 1.0)
        elif scratch.inside[output] == tables.consumers[output]:
            _change(scratch.device_us, depth, tables.send_us, output, -1.0)
            _change(scratch.channel_us, depth, tables.channel_us, output, -1.0)


@inlined
def _change(sums: NDArray[np.float64], depth: int, figures: NDArray[np.float64], output: int, sign: float) -> None:
    """Add the figures of `output` to the sums [depth, classes], or take them away."""
    for row in range(figures.shape[1]):
        sums[depth, row] += sign * figures[output, row]


@inlined
def _take_out(tables: StageTables, scratch: StageScratch, unit: int) -> None:
    """Take `unit` out of the stage again."""
    scratch.holds[unit] = False
    for place in range(tables.used_offset[unit], tables.used_offset[unit + 1]):
        scratch.inside[tables.used[place]] -= 1


@inlined
def _note(tables: StageTables, scratch: StageScratch, found: int, depth: int, most_us: float) -> tuple[bool, bool]:
    """Write the loads of the stage at `depth`; returns whether one is small enough, and whether one of a larger can be.

    The second is False where its work alone is too much, or its bytes fit no device, which more units cannot mend.
    """
    useful, may_grow = False, False
    for row in range(len(tables.memory_bytes)):
        load_us = np.inf
        if scratch.kept_bytes[depth] <= tables.memory_bytes[row] and scratch.work_us[depth, row] <= most_us:
            may_grow = True
            load_us = max(scratch.device_us[depth, row], scratch.channel_us[depth, row])
        if load_us <= most_us:
            useful = True
        scratch.load_us[found, row] = load_us
    return useful, may_grow


@compiled
def find_stages(tables: StageTables, scratch: StageScratch, whole: int, most_us: float) -> int:
    """Find the stages that can end ideal `whole` with a load of at most `most_us` on some class; returns their number.

    They are in `scratch.ideal` and `scratch.load_us`. It removes one unit after the other, so that each stage costs
    no more than the outputs of one unit.
    """
    tables, scratch = _borrow_tables(tables), _borrow_scratch(scratch)
    scratch.calls[0] += 1
    found, depth, call = 0, 0, scratch.calls[0]
    scratch.at[0] = whole
    scratch.link[0] = tables.smaller_offset[whole]
    scratch.seen[whole] = call
    while True:
        here = scratch.at[depth]
        if scratch.link[depth] == tables.smaller_offset[here + 1]:
            if depth == 0:
                return found
            _take_out(tables, scratch, scratch.unit[depth])
            depth -= 1
            continue
        link = scratch.link[depth]
        scratch.link[depth] += 1
        smaller, unit = tables.smaller[link], tables.removed[link]
        if scratch.seen[smaller] == call:
            continue
        scratch.seen[smaller] = call
        depth += 1
        _add(tables, scratch, depth, unit)
        useful, may_grow = _note(tables, scratch, found, depth, most_us)
        if useful:
            scratch.ideal[found] = smaller
            found += 1
        scratch.at[depth], scratch.unit[depth] = smaller, unit
        scratch.link[depth] = tables.smaller_offset[smaller] if may_grow else tables.smaller_offset[smaller + 1]
