"""Which devices a task may go to, given what is placed already, compiled: its group's device, or those with room."""

import numpy as np
from numpy.typing import NDArray

from engine.list_scheduling.tasks import Tasks
from engine.simulator.compiled import inlined

NOWHERE = -1


@inlined
def find_candidates(
    tasks: Tasks,
    group_device: NDArray[np.int32],
    left_bytes: NDArray[np.float64],
    task: int,
    candidates: NDArray[np.bool_],
) -> None:
    """Set `candidates` [devices].

    Where the group has been placed, its device alone; else the devices with room for the group, `left_bytes` [devices];
    where none has room the one with most room left, of equals the lowest.
    """
    group = tasks.group[task]
    fixed, roomiest, any_room = group_device[group], NOWHERE, False
    for device in range(len(left_bytes)):
        possible = tasks.time_us[task, device] < np.inf
        candidates[device] = possible and (device == fixed or fixed == NOWHERE)
        if fixed == NOWHERE and possible:
            candidates[device] = left_bytes[device] >= tasks.memory_bytes[group]
            any_room = any_room or candidates[device]
            if roomiest == NOWHERE or left_bytes[device] > left_bytes[roomiest]:
                roomiest = device
    if fixed == NOWHERE and not any_room:
        candidates[roomiest] = True


@inlined
def occupy(
    tasks: Tasks, group_device: NDArray[np.int32], left_bytes: NDArray[np.float64], task: int, device: int
) -> None:
    """The task goes to the device, and its group with it."""
    group = tasks.group[task]
    if group_device[group] == NOWHERE:
        group_device[group] = device
        left_bytes[device] -= tasks.memory_bytes[group]
