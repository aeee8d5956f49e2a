"""Groups in order onto one device after the other, each filled up to a cap, compiled: the core of m-TOPO.

Source: Jeon et al.: Baechi, SoCC 2020, section 3.1.
"""

import numpy as np
from numpy.typing import NDArray

from engine.simulator.compiled import compiled


@compiled
def fill(
    allowed: NDArray[np.bool_],
    memory_bytes: NDArray[np.float64],
    devices: NDArray[np.int64],
    capacity_bytes: NDArray[np.float64],
) -> NDArray[np.int32]:
    """[groups] the device of each group; groups are in a topological order.

    `devices`: those that are filled, in this order, up to `capacity_bytes` [all devices]. A group that may not go to
    the one that is being filled (`allowed` [groups, all devices]) goes to the next where it may and has room. Where no
    device has room it goes to the one with most room left.
    """
    left_bytes = capacity_bytes.copy()
    device_of_group = np.empty(len(memory_bytes), np.int32)
    filled = 0
    for group in range(len(memory_bytes)):
        while filled < len(devices) - 1 and left_bytes[devices[filled]] < memory_bytes[group]:
            if not allowed[group, devices[filled]]:
                break
            filled += 1
        best = -1
        for place in range(filled, len(devices)):
            device = devices[place]
            if allowed[group, device] and left_bytes[device] >= memory_bytes[group]:
                best = device
                break
        if best < 0:
            best = _roomiest(allowed[group], left_bytes, devices)
        device_of_group[group] = best
        left_bytes[best] -= memory_bytes[group]
    return device_of_group


@compiled
def _roomiest(allowed: NDArray[np.bool_], left_bytes: NDArray[np.float64], devices: NDArray[np.int64]) -> int:
    """Of the allowed devices the one with most room left; of `devices`, if one of these is allowed."""
    best = -1
    for device in devices:
        if allowed[device] and (best < 0 or left_bytes[device] > left_bytes[best]):
            best = device
    if best >= 0:
        return best
    for device in range(len(allowed)):
        if allowed[device] and (best < 0 or left_bytes[device] > left_bytes[best]):
            best = device
    return best
