"""The moves of a search, compiled: each turns a placement into another one near it."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.files.compiled import compiled
from engine.search.neighbourhood import Neighbourhood
from engine.search.random_numbers import RandomState, below, uniform

KINDS = 9
SINGLE, CRITICAL, SWAP, AROUND, CHAIN, BLOCK, JOIN, REGION, LINK = range(KINDS)
ATTEMPTS = 4
WHOLE_SHARE = 0.5
"""of the moves at several levels: what finer moves have taken from a group would else stay behind for ever"""
ANY_DEVICE = -2
"""stands for all units of a group, wherever they are"""


class Trial(NamedTuple):
    """The arrays that a move reads and writes."""

    placement: NDArray[np.int32]
    """[units] the search's current placement"""
    moved: NDArray[np.int32]
    """[units] the placement after the move"""
    chain: NDArray[np.int32]
    """[ops] the units on the critical chain; the first `chain_length` are valid"""
    chain_length: NDArray[np.int64]
    """[1]"""
    random: RandomState
    """[1]"""
    region: NDArray[np.int32]
    """[units] room for the groups that a move has reached"""
    choices: NDArray[np.bool_]
    """[devices] whether a move may choose the device; of unused devices that are alike only the first"""
    is_in_use: NDArray[np.bool_]
    """[devices] room for classes: whether any device of the class is in use"""
    is_offered: NDArray[np.bool_]
    """[2, devices] room for classes: whether an unused device of the class is among the choices, then for kinds of
    unused classes"""
    is_open: NDArray[np.bool_]
    """[devices] whether a move may choose the device though it is unused"""
    stretch: NDArray[np.int32]
    """[ops] room for the chain at a level: the first unit of each row of units of one group and device"""
    whole: NDArray[np.bool_]
    """[1] whether the move takes all units of a group, wherever they are, or only those on the device that it moves"""


@compiled
def propose(
    neighbourhood: Neighbourhood, trial: Trial, shares: NDArray[np.float64], level_shares: NDArray[np.float64]
) -> int:
    """Write a placement near `trial.placement` into `trial.moved`; returns the kind of the move.

    `shares` [kinds] are the cumulative frequencies of the kinds, `level_shares` [levels] those of the levels. The
    placement changes unless no group can move.
    """
    trial.moved[:] = trial.placement
    _choose_devices(neighbourhood, trial)
    level = _level(trial, level_shares)
    trial.whole[0] = len(level_shares) > 1 and uniform(trial.random) < WHOLE_SHARE
    if neighbourhood.first_movable[level] == neighbourhood.first_movable[level + 1]:
        return SINGLE
    for _ in range(ATTEMPTS):
        kind = int(np.searchsorted(shares, uniform(trial.random) * shares[-1], side="right"))
        if _move(neighbourhood, trial, level, kind):
            return kind
    _move_one(neighbourhood, trial, _any_unit(neighbourhood, trial, _any_group(neighbourhood, trial, level)), level)
    return SINGLE


@compiled
def _choose_devices(neighbourhood: Neighbourhood, trial: Trial) -> None:
    """Write `trial.choices`: of unused devices that are alike it makes no difference which one is used first."""
    trial.choices[:] = False
    for unit in range(len(trial.placement)):
        trial.choices[trial.placement[unit]] = True
    trial.is_in_use[:] = False
    trial.is_offered[:] = False
    devices = len(neighbourhood.class_of_device)
    for device in range(devices):
        if trial.choices[device]:
            trial.is_in_use[neighbourhood.class_of_device[device]] = True
    for device in range(devices):
        if trial.choices[device] or not trial.is_open[device]:
            continue
        row, number = 0, neighbourhood.class_of_device[device]
        if not trial.is_in_use[number]:
            row, number = 1, neighbourhood.kind_of_class[number]
        if not trial.is_offered[row, number]:
            trial.choices[device] = trial.is_offered[row, number] = True


@compiled
def _level(trial: Trial, level_shares: NDArray[np.float64]) -> int:
    if len(level_shares) == 1:
        return 0
    return int(np.searchsorted(level_shares, uniform(trial.random) * level_shares[-1], side="right"))


@compiled
def _move(neighbourhood: Neighbourhood, trial: Trial, level: int, kind: int) -> bool:
    if kind == CRITICAL:
        return _move_one(neighbourhood, trial, _critical_unit(neighbourhood, trial, level), level)
    if kind == SWAP:
        return _swap(neighbourhood, trial, level)
    if kind == AROUND:
        return _move_around(neighbourhood, trial, level)
    if kind == CHAIN:
        return _move_chain(neighbourhood, trial, level)
    if kind == BLOCK:
        return _move_block(neighbourhood, trial, level)
    if kind == JOIN:
        return _join(neighbourhood, trial, level)
    if kind == REGION:
        return _move_region(neighbourhood, trial, level)
    if kind == LINK:
        return _move_link(neighbourhood, trial, level)
    return _move_one(
        neighbourhood, trial, _any_unit(neighbourhood, trial, _any_group(neighbourhood, trial, level)), level
    )


@compiled
def _any_group(neighbourhood: Neighbourhood, trial: Trial, level: int) -> int:
    first, beyond = neighbourhood.first_movable[level], neighbourhood.first_movable[level + 1]
    return int(neighbourhood.movable[first + below(trial.random, beyond - first)])


@compiled
def _any_unit(neighbourhood: Neighbourhood, trial: Trial, group: int) -> int:
    """A random unit of `group`, which stands for those of its units that are on the same device."""
    first, beyond = neighbourhood.first_member[group], neighbourhood.first_member[group + 1]
    if beyond - first == 1:
        return int(neighbourhood.members[first])
    return int(neighbourhood.members[first + below(trial.random, beyond - first)])


@compiled
def _critical_unit(neighbourhood: Neighbourhood, trial: Trial, level: int) -> int:
    """A random unit of the critical chain, or any unit if the chain is empty."""
    if trial.chain_length[0] == 0:
        return _any_unit(neighbourhood, trial, _any_group(neighbourhood, trial, level))
    return int(trial.chain[below(trial.random, trial.chain_length[0])])


@compiled
def _other_device(neighbourhood: Neighbourhood, trial: Trial, unit: int) -> int:
    """A random device of the choices where `unit` may be and is not, or `NO_DEVICE`."""
    devices = neighbourhood.allowed.shape[1]
    current, others = trial.placement[unit], 0
    for device in range(devices):
        others += trial.choices[device] and neighbourhood.allowed[unit, device] and device != current
    if others == 0:
        return NO_DEVICE
    left = below(trial.random, others)
    for device in range(devices):
        if trial.choices[device] and neighbourhood.allowed[unit, device] and device != current:
            if left == 0:
                return device
            left -= 1
    return NO_DEVICE


@compiled
def _put(neighbourhood: Neighbourhood, trial: Trial, group: int, current: int, device: int) -> bool:
    """Put those units of `group` that are on `current`, or all, on `device`, where they may be; whether any moved."""
    changed, everything = False, current == ANY_DEVICE or trial.whole[0]
    for place in range(neighbourhood.first_member[group], neighbourhood.first_member[group + 1]):
        unit = neighbourhood.members[place]
        here = trial.moved[unit]
        if here != device and (everything or here == current) and neighbourhood.allowed[unit, device]:
            trial.moved[unit] = device
            changed = True
    return changed


@compiled
def _is_on(neighbourhood: Neighbourhood, trial: Trial, group: int, device: int) -> bool:
    """Whether any unit of `group` is on `device` after what has moved."""
    for place in range(neighbourhood.first_member[group], neighbourhood.first_member[group + 1]):
        if trial.moved[neighbourhood.members[place]] == device:
            return True
    return False


@compiled
def _move_one(neighbourhood: Neighbourhood, trial: Trial, unit: int, level: int) -> bool:
    """Move the group of `unit`, as far as it is on the same device."""
    device, group = _other_device(neighbourhood, trial, unit), neighbourhood.group_of_unit[level, unit]
    return device != NO_DEVICE and _put(neighbourhood, trial, group, trial.placement[unit], device)


@compiled
def _join(neighbourhood: Neighbourhood, trial: Trial, level: int) -> bool:
    """Move a critical group to the device of one of its neighbours."""
    unit = _critical_unit(neighbourhood, trial, level)
    group = neighbourhood.group_of_unit[level, unit]
    first, beyond = neighbourhood.first_neighbour[group], neighbourhood.first_neighbour[group + 1]
    if first == beyond:
        return False
    neighbour = _any_unit(neighbourhood, trial, neighbourhood.neighbours[first + below(trial.random, beyond - first)])
    return _put(neighbourhood, trial, group, trial.placement[unit], trial.placement[neighbour])


@compiled
def _swap(neighbourhood: Neighbourhood, trial: Trial, level: int) -> bool:
    """Swap the devices of a critical group and of any other group."""
    one = _critical_unit(neighbourhood, trial, level)
    other = _any_unit(neighbourhood, trial, _any_group(neighbourhood, trial, level))
    there, here = trial.placement[other], trial.placement[one]
    if there == here or not (neighbourhood.allowed[one, there] and neighbourhood.allowed[other, here]):
        return False
    first, second = neighbourhood.group_of_unit[level, one], neighbourhood.group_of_unit[level, other]
    if first == second:
        return False
    return _put(neighbourhood, trial, first, here, there) and _put(neighbourhood, trial, second, there, here)


@compiled
def _move_around(neighbourhood: Neighbourhood, trial: Trial, level: int) -> bool:
    """Move a group, and each of its neighbours with probability 1/2, to one device."""
    group = _any_group(neighbourhood, trial, level)
    unit = _any_unit(neighbourhood, trial, group)
    device = _other_device(neighbourhood, trial, unit)
    if device == NO_DEVICE:
        return False
    _put(neighbourhood, trial, group, trial.placement[unit], device)
    for place in range(neighbourhood.first_neighbour[group], neighbourhood.first_neighbour[group + 1]):
        if uniform(trial.random) < 0.5:
            _put(neighbourhood, trial, neighbourhood.neighbours[place], ANY_DEVICE, device)
    return True


@compiled
def _stretch(trial: Trial, longest: int) -> int:
    """A random length from 2 to about `longest`, uniform on a logarithmic scale."""
    return 1 + int(math.exp(uniform(trial.random) * math.log(max(2, longest))))


@compiled
def _chain_at(neighbourhood: Neighbourhood, trial: Trial, level: int) -> int:
    """Write the critical chain at `level` into `trial.stretch`; returns its length."""
    length, last = 0, -1
    for at in range(trial.chain_length[0]):
        unit = trial.chain[at]
        if at == 0 or not _are_together(neighbourhood, trial, level, unit, last):
            trial.stretch[length] = last = unit
            length += 1
    return length


@compiled
def _are_together(neighbourhood: Neighbourhood, trial: Trial, level: int, one: int, other: int) -> bool:
    """Whether two units are of one group of `level` and on one device."""
    same_group = neighbourhood.group_of_unit[level, one] == neighbourhood.group_of_unit[level, other]
    return bool(same_group and trial.placement[one] == trial.placement[other])


@compiled
def _move_chain(neighbourhood: Neighbourhood, trial: Trial, level: int) -> bool:
    """Move a stretch of the critical chain to one device."""
    length = _chain_at(neighbourhood, trial, level)
    if length == 0:
        return False
    place = below(trial.random, length)
    device = _other_device(neighbourhood, trial, trial.stretch[place])
    if device == NO_DEVICE:
        return False
    stretch = _stretch(trial, length // 4)
    changed = False
    for at in range(place, min(place + stretch, length)):
        unit = trial.stretch[at]
        group = neighbourhood.group_of_unit[level, unit]
        changed |= _put(neighbourhood, trial, group, trial.placement[unit], device)
    return changed


@compiled
def _move_block(neighbourhood: Neighbourhood, trial: Trial, level: int) -> bool:
    """Move those of a row of groups in topological order that share a device to another device."""
    group = _any_group(neighbourhood, trial, level)
    unit = _any_unit(neighbourhood, trial, group)
    device = _other_device(neighbourhood, trial, unit)
    if device == NO_DEVICE:
        return False
    beyond, current = neighbourhood.first_group[level + 1], trial.placement[unit]
    size = _stretch(trial, (beyond - neighbourhood.first_group[level]) // 8)
    for member in range(group, min(group + size, beyond)):
        _put(neighbourhood, trial, member, current, device)
    return True


@compiled
def _move_region(neighbourhood: Neighbourhood, trial: Trial, level: int) -> bool:
    """Move a connected region of one device, grown from a group over half of the edges, to another device."""
    group = _any_group(neighbourhood, trial, level)
    unit = _any_unit(neighbourhood, trial, group)
    device = _other_device(neighbourhood, trial, unit)
    if device == NO_DEVICE:
        return False
    groups = neighbourhood.first_group[level + 1] - neighbourhood.first_group[level]
    current, size = trial.placement[unit], _stretch(trial, groups // 4)
    _put(neighbourhood, trial, group, current, device)
    trial.region[0] = group
    done, reached = 0, 1
    while done < reached and reached < size:
        member = trial.region[done]
        done += 1
        for place in range(neighbourhood.first_neighbour[member], neighbourhood.first_neighbour[member + 1]):
            neighbour = neighbourhood.neighbours[place]
            if reached == size or not _is_on(neighbourhood, trial, neighbour, current) or uniform(trial.random) < 0.5:
                continue
            if _put(neighbourhood, trial, neighbour, current, device):
                trial.region[reached] = neighbour
                reached += 1
    return True


@compiled
def _move_link(neighbourhood: Neighbourhood, trial: Trial, level: int) -> bool:
    """Save a transfer on the critical chain: move a stretch of the chain on one side of it to the other side."""
    length = _chain_at(neighbourhood, trial, level)
    if length < 2:
        return False
    begin = below(trial.random, length - 1)
    for step in range(length - 1):
        at = (begin + step) % (length - 1)
        if trial.placement[trial.stretch[at]] != trial.placement[trial.stretch[at + 1]]:
            return _save_transfer(neighbourhood, trial, level, length, at)
    return False


@compiled
def _save_transfer(neighbourhood: Neighbourhood, trial: Trial, level: int, length: int, at: int) -> bool:
    """Move a stretch of the chain before or after the transfer behind place `at` to the device of the other side."""
    stretch = _stretch(trial, length // 4) - 1
    place, away, step = at + 1, trial.placement[trial.stretch[at]], 1
    if uniform(trial.random) < 0.5:
        place, away, step = at, trial.placement[trial.stretch[at + 1]], -1
    current, changed = trial.placement[trial.stretch[place]], False
    for _ in range(stretch):
        if not 0 <= place < length or trial.placement[trial.stretch[place]] != current:
            break
        group = neighbourhood.group_of_unit[level, trial.stretch[place]]
        changed |= _put(neighbourhood, trial, group, current, away)
        place += step
    return changed
