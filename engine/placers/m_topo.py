"""m-TOPO: fills one device after the other in a topological order.

Source: Jeon, Cai, Srivastava, Jiang, Ke, Meng, Xie, Gupta: Baechi: fast device placement of machine learning graphs,
SoCC 2020, section 3.1. The cap of each device is the memory of all ops divided by the number of devices, plus the
memory of the largest op.

Deviations: groups take the place of ops; the cap is never above the device's memory; in a cluster with other devices,
CPUs get only groups that may go nowhere else (the paper's devices are equal); where no device has room, the one with
most room left is taken; where the simulator finds a device too full, the method runs again with less room there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import ShouldStop
from engine.files.compiled import compiled
from engine.placers.list_schedules import evaluate_schedules
from engine.problem import PlacementProblem
from engine.search.tasks import IsLate, memory_of_groups


@compiled
def fill(
    allowed: NDArray[np.bool_],
    memory_bytes: NDArray[np.float64],
    devices: NDArray[np.int64],
    capacity_bytes: NDArray[np.float64],
) -> NDArray[np.int32]:
    """[groups] the device of each group; groups are in a topological order.

    `devices` are filled in this order, up to `capacity_bytes` [all devices]. A group that may not go to the current one
    (`allowed` [groups, all devices]) goes to the next where it may go and that has room. Where no device has room it
    goes to the one with most room left.
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
    """The allowed device with most room left, among `devices` if one of these is allowed, else among all."""
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


def devices_to_fill(problem: PlacementProblem) -> NDArray[np.int64]:
    """The GPUs in the cluster's order; its CPUs where it has no GPUs."""
    is_cpu = np.array([device.is_cpu for device in problem.cluster.devices])
    return np.flatnonzero(~is_cpu) if not is_cpu.all() else np.arange(len(is_cpu))


@dataclass(frozen=True, slots=True)
class MTopo:
    """Fills the devices once, and again with less room where one is too full."""

    def place(self, problem: PlacementProblem, rng: np.random.Generator, should_stop: ShouldStop) -> None:
        memory_bytes, allowed = memory_of_groups(problem), np.ascontiguousarray(problem.allowed)
        filled = devices_to_fill(problem)
        cap_bytes = memory_bytes.sum() / len(filled) + memory_bytes.max()

        def schedule(room_bytes: NDArray[np.float64], _is_late: IsLate) -> NDArray[np.int32]:
            return fill(allowed, memory_bytes, filled, np.minimum(room_bytes, cap_bytes))

        evaluate_schedules(problem, [schedule], should_stop)
