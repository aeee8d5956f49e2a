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
    devices: NDArray[np.int64]
    """[states, classes] the number of devices of each class that may be used"""
    are_all: bool
    """whether classes may follow each other in any order"""

    @property
    def count(self) -> int:
        return len(self.move_offset) - 1


def states_of_devices(devices: NDArray[np.int64], most: int = MOST_STATES) -> DeviceStates:
    """The states for `devices` [classes], the number of devices of each class."""
    if float(np.prod(devices.astype(np.float64) + 1)) <= most:
        return _all_states(devices)
    return _states_in_order(devices)


def _all_states(devices: NDArray[np.int64]) -> DeviceStates:
    """From each state a move for each class of which a device may be used."""
    stride = np.concatenate(([1], np.cumprod(devices + 1)[:-1])).astype(np.int64)
    used = np.arange(int(np.prod(devices + 1)))[:, None] // stride % (devices + 1)
    state, device_class = np.nonzero(used)
    return DeviceStates(_offset(state, len(used)), device_class, state - stride[device_class], used, are_all=True)


def _states_in_order(devices: NDArray[np.int64]) -> DeviceStates:
    """From each state a move to the last device of each class among those that may be used."""
    first = np.cumsum(devices) - devices
    used = np.clip(np.arange(int(devices.sum()) + 1)[:, None] - first, 0, devices)
    state, device_class = np.nonzero(used)
    next_state = (first + used - 1)[state, device_class]
    return DeviceStates(_offset(state, len(used)), device_class, next_state, used, are_all=False)


def _offset(state: NDArray[np.int64], states: int) -> NDArray[np.int64]:
    """[states + 1] where the moves of each state begin; `state` [moves] rises."""
    return np.searchsorted(state, np.arange(states + 1)).astype(np.int64)
