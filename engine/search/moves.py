"""The moves of a search, compiled: each turns a placement into another one near it."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import NO_DEVICE
from engine.search.neighbourhood import Neighbourhood
from engine.search.random_numbers import RandomState, below, uniform
from engine.simulator.compiled import compiled

KINDS = 9
SINGLE, CRITICAL, SWAP, AROUND, CHAIN, BLOCK, JOIN, REGION, LINK = range(KINDS)
ATTEMPTS = 4


class Trial(NamedTuple):
    """The arrays that a move reads and writes."""

    placement: NDArray[np.int32]
    """[groups] the search's current placement"""
    moved: NDArray[np.int32]
    """[groups] the placement after the move"""
    chain: NDArray[np.int32]
    """[ops] the groups on the critical chain; the first `chain_length` are valid"""
    chain_length: NDArray[np.int64]
    """[1]"""
    random: RandomState
    """[1]"""
    region: NDArray[np.int32]
    """[groups] room for the groups that a move has reached"""


@compiled
def propose(neighbourhood: Neighbourhood, trial: Trial, shares: NDArray[np.float64]) -> int:
    """Write a placement near `trial.placement` into `trial.moved`; returns the kind of the move.

    `shares` [kinds] are the cumulative frequencies of the kinds. The placement changes unless no group can move.
    """
    trial.moved[:] = trial.placement
    if len(neighbourhood.movable) == 0:
        return SINGLE
    for _ in range(ATTEMPTS):
        kind = int(np.searchsorted(shares, uniform(trial.random) * shares[-1], side="right"))
        if _move(neighbourhood, trial, kind):
            return kind
    _move_one(neighbourhood, trial, _any_group(neighbourhood, trial))
    return SINGLE


@compiled
def _move(neighbourhood: Neighbourhood, trial: Trial, kind: int) -> bool:
    if kind == CRITICAL:
        return _move_one(neighbourhood, trial, _critical_group(neighbourhood, trial))
    if kind == SWAP:
        return _swap(neighbourhood, trial)
    if kind == AROUND:
        return _move_around(neighbourhood, trial)
    if kind == CHAIN:
        return _move_chain(neighbourhood, trial)
    if kind == BLOCK:
        return _move_block(neighbourhood, trial)
    if kind == JOIN:
        return _join(neighbourhood, trial)
    if kind == REGION:
        return _move_region(neighbourhood, trial)
    if kind == LINK:
        return _move_link(neighbourhood, trial)
    return _move_one(neighbourhood, trial, _any_group(neighbourhood, trial))


@compiled
def _any_group(neighbourhood: Neighbourhood, trial: Trial) -> int:
    return int(neighbourhood.movable[below(trial.random, len(neighbourhood.movable))])


@compiled
def _critical_group(neighbourhood: Neighbourhood, trial: Trial) -> int:
    """A random group of the critical chain, or any group if the chain is empty."""
    if trial.chain_length[0] == 0:
        return _any_group(neighbourhood, trial)
    return int(trial.chain[below(trial.random, trial.chain_length[0])])


@compiled
def _other_device(neighbourhood: Neighbourhood, trial: Trial, group: int) -> int:
    """A random device where `group` may be and is not, or `NO_DEVICE`."""
    devices = neighbourhood.allowed.shape[1]
    current, others = trial.placement[group], 0
    for device in range(devices):
        others += neighbourhood.allowed[group, device] and device != current
    if others == 0:
        return NO_DEVICE
    left = below(trial.random, others)
    for device in range(devices):
        if neighbourhood.allowed[group, device] and device != current:
            if left == 0:
                return device
            left -= 1
    return NO_DEVICE


@compiled
def _put(neighbourhood: Neighbourhood, trial: Trial, group: int, device: int) -> bool:
    """Put `group` on `device` if it may be there; returns whether that is a change."""
    if not neighbourhood.allowed[group, device] or trial.moved[group] == device:
        return False
    trial.moved[group] = device
    return True


@compiled
def _move_one(neighbourhood: Neighbourhood, trial: Trial, group: int) -> bool:
    device = _other_device(neighbourhood, trial, group)
    return device != NO_DEVICE and _put(neighbourhood, trial, group, device)


@compiled
def _join(neighbourhood: Neighbourhood, trial: Trial) -> bool:
    """Move a critical group to the device of one of its neighbours."""
    group = _critical_group(neighbourhood, trial)
    first, beyond = neighbourhood.first_neighbour[group], neighbourhood.first_neighbour[group + 1]
    if first == beyond:
        return False
    neighbour = neighbourhood.neighbours[first + below(trial.random, beyond - first)]
    return _put(neighbourhood, trial, group, trial.placement[neighbour])


@compiled
def _swap(neighbourhood: Neighbourhood, trial: Trial) -> bool:
    """Swap the devices of a critical group and of any other group."""
    one, other = _critical_group(neighbourhood, trial), _any_group(neighbourhood, trial)
    there, here = trial.placement[other], trial.placement[one]
    if not (neighbourhood.allowed[one, there] and neighbourhood.allowed[other, here]):
        return False
    return _put(neighbourhood, trial, one, there) and _put(neighbourhood, trial, other, here)


@compiled
def _move_around(neighbourhood: Neighbourhood, trial: Trial) -> bool:
    """Move a group, and each of its neighbours with probability 1/2, to one device."""
    group = _any_group(neighbourhood, trial)
    device = _other_device(neighbourhood, trial, group)
    if device == NO_DEVICE:
        return False
    _put(neighbourhood, trial, group, device)
    for place in range(neighbourhood.first_neighbour[group], neighbourhood.first_neighbour[group + 1]):
        if uniform(trial.random) < 0.5:
            _put(neighbourhood, trial, neighbourhood.neighbours[place], device)
    return True


@compiled
def _stretch(trial: Trial, longest: int) -> int:
    """A random length from 2 to about `longest`, uniform on a logarithmic scale."""
    return 1 + int(math.exp(uniform(trial.random) * math.log(max(2, longest))))


@compiled
def _move_chain(neighbourhood: Neighbourhood, trial: Trial) -> bool:
    """Move a stretch of the critical chain to one device."""
    length = trial.chain_length[0]
    if length == 0:
        return False
    place = below(trial.random, length)
    device = _other_device(neighbourhood, trial, trial.chain[place])
    if device == NO_DEVICE:
        return False
    stretch = _stretch(trial, length // 4)
    changed = False
    for at in range(place, min(place + stretch, length)):
        changed |= _put(neighbourhood, trial, trial.chain[at], device)
    return changed


@compiled
def _move_block(neighbourhood: Neighbourhood, trial: Trial) -> bool:
    """Move those of a row of groups in topological order that share a device to another device."""
    group = _any_group(neighbourhood, trial)
    device = _other_device(neighbourhood, trial, group)
    if device == NO_DEVICE:
        return False
    groups, current = len(trial.placement), trial.placement[group]
    size = _stretch(trial, groups // 8)
    for member in range(group, min(group + size, groups)):
        if trial.placement[member] == current:
            _put(neighbourhood, trial, member, device)
    return True


@compiled
def _move_region(neighbourhood: Neighbourhood, trial: Trial) -> bool:
    """Move a connected region of one device, grown from a group over half of the edges, to another device."""
    group = _any_group(neighbourhood, trial)
    device = _other_device(neighbourhood, trial, group)
    if device == NO_DEVICE:
        return False
    current, size = trial.placement[group], _stretch(trial, len(trial.placement) // 4)
    _put(neighbourhood, trial, group, device)
    trial.region[0] = group
    done, reached = 0, 1
    while done < reached and reached < size:
        member = trial.region[done]
        done += 1
        for place in range(neighbourhood.first_neighbour[member], neighbourhood.first_neighbour[member + 1]):
            neighbour = neighbourhood.neighbours[place]
            if trial.moved[neighbour] != current or reached == size or uniform(trial.random) < 0.5:
                continue
            if _put(neighbourhood, trial, neighbour, device):
                trial.region[reached] = neighbour
                reached += 1
    return True


@compiled
def _move_link(neighbourhood: Neighbourhood, trial: Trial) -> bool:
    """Save a transfer on the critical chain: move a stretch of the chain on one side of it to the other side."""
    length = trial.chain_length[0]
    if length < 2:
        return False
    begin = below(trial.random, length - 1)
    for step in range(length - 1):
        at = (begin + step) % (length - 1)
        if trial.placement[trial.chain[at]] != trial.placement[trial.chain[at + 1]]:
            return _save_transfer(neighbourhood, trial, at)
    return False


@compiled
def _save_transfer(neighbourhood: Neighbourhood, trial: Trial, at: int) -> bool:
    """Move a stretch of the chain before or after the transfer behind place `at` to the device of the other side."""
    length, stretch = trial.chain_length[0], _stretch(trial, trial.chain_length[0] // 4) - 1
    place, away, step = at + 1, trial.placement[trial.chain[at]], 1
    if uniform(trial.random) < 0.5:
        place, away, step = at, trial.placement[trial.chain[at + 1]], -1
    current, changed = trial.placement[trial.chain[place]], False
    for _ in range(stretch):
        if not 0 <= place < length or trial.placement[trial.chain[place]] != current:
            break
        changed |= _put(neighbourhood, trial, trial.chain[place], away)
        place += step
    return changed
