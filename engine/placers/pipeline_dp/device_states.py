"""The states of the devices while a pipeline is divided: which are used already, as few numbers as suffice.

Devices of one class are alike, so a state is how many devices of each class may be used. Where that makes too many
states, the classes follow each other along the pipeline in one order, and a state is how many devices of that order
may be used.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_STATES = 4096


@dataclass(frozen=True, slots=True)
class DeviceStates:
    """States from 0, in which no device may be used, to the last, in which all may."""

    move_offset: NDArray[np.int64]
    """[states + 1] where the moves of each begin: the ways to use up a device for the last stage"""
    device_class: NDArray[np.int64]
    """[moves] the class of the device"""
    next_state: NDArray[np.int64]
    """[moves] the state for the stages before"""
    are_all: bool
    """whether classes may follow each other in any order"""

    @property
    def count(self) -> int:
        return len(self.move_offset) - 1


def states_of_devices(devices: NDArray[np.int64], most: int = MOST_STATES) -> DeviceStates:
    """The states for `devices` [classes], the number of devices of each class."""
    if float(np.prod(devices.astype(np.float64) + 1)) <= most:
        return _states(*_all_moves(devices), are_all=True)
    return _states(*_moves_in_order(devices), are_all=False)


def _states(
    state: NDArray[np.int64], device_class: NDArray[np.int64], next_state: NDArray[np.int64], *, are_all: bool
) -> DeviceStates:
    """The states with moves from `state` [moves], which rises."""
    offset = np.searchsorted(state, np.arange(int(state.max()) + 2))
    return DeviceStates(offset.astype(np.int64), device_class, next_state, are_all)


def _all_moves(devices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """From each state, one for each class of which a device may be used."""
    stride = np.concatenate(([1], np.cumprod(devices + 1)[:-1])).astype(np.int64)
    state = np.arange(int(np.prod(devices + 1)))
    moves = np.argwhere(state[:, None] // stride % (devices + 1) > 0)
    return moves[:, 0], moves[:, 1], moves[:, 0] - stride[moves[:, 1]]


def _moves_in_order(devices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """From each state, one to the last device of each class among the devices that may be used."""
    first = np.concatenate(([0], np.cumsum(devices)[:-1]))
    state = np.arange(int(devices.sum()) + 1)
    last = np.minimum(state[:, None], first + devices) - 1
    moves = np.argwhere(last >= first)
    return moves[:, 0], moves[:, 1], last[moves[:, 0], moves[:, 1]]
