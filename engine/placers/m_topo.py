"""m-TOPO: fills one device after the other in a topological order.

Source: Jeon, Cai, Srivastava, Jiang, Ke, Meng, Xie, Gupta: Baechi: fast device placement of machine learning graphs,
SoCC 2020, section 3.1. The cap of each device is the memory of all ops through the number of devices, and the largest
op's.

Deviations: groups in the place of ops; the cap is never above the device's memory; CPUs of a cluster that has other
devices are not filled, and get only what may go nowhere else: the paper's devices are equal; where no device has room
the one with most room left is taken, and the plan is made again with less room where the simulator finds a device too
full.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.events import EmitFromPlacer, ShouldStop
from engine.list_scheduling.filling import fill
from engine.list_scheduling.tasks import memory_of_groups
from engine.placers.list_plans import evaluate_plans
from engine.placers.placer import Placement
from engine.problem import Budget, PlacementProblem


@dataclass(frozen=True, slots=True)
class MTopo:
    """Makes one plan."""

    def place(
        self,
        problem: PlacementProblem,
        budget: Budget,
        rng: np.random.Generator,
        emit: EmitFromPlacer,
        should_stop: ShouldStop,
    ) -> Placement:
        memory_bytes, allowed = memory_of_groups(problem), np.ascontiguousarray(problem.allowed)
        is_cpu = np.array([device.is_cpu for device in problem.cluster.devices])
        filled = np.flatnonzero(~is_cpu) if not is_cpu.all() else np.arange(len(is_cpu))
        cap_bytes = memory_bytes.sum() / len(filled) + memory_bytes.max()

        def plan(room_bytes: NDArray[np.float64]) -> NDArray[np.int32]:
            return fill(allowed, memory_bytes, filled, np.minimum(room_bytes, cap_bytes))

        return evaluate_plans(problem, [plan], emit, should_stop)
