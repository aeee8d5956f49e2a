"""Which devices of a large cluster a search uses first: few that are close to each other, more when a cycle stalls.

Among many devices a random move rarely finds the good ones, and a walk spreads over all of them before it knows that
this helps: a search on 64 devices fell behind one on 8 of them. So it begins on those.
"""

import numpy as np
from numpy.typing import NDArray

from engine.problem import PlacementProblem

FEW_DEVICES = 8
"""a usual host; a search begins with all devices of a cluster that has no more"""


def nearest_devices(problem: PlacementProblem, placement: NDArray[np.int32], count: int) -> NDArray[np.int64]:
    """At least `count` devices, if there are so many: those that `placement` [groups] uses, then the ones next to them.

    Next is the device with most bandwidth, both ways, to all chosen before; of equals the one whose ops take least
    time, then the first.
    """
    bandwidth = problem.cluster.bandwidth_bytes_per_us.copy()
    np.fill_diagonal(bandwidth, 0.0)
    both_ways = bandwidth + bandwidth.T
    busy_us = np.nan_to_num(problem.op_time_us, nan=np.inf).sum(axis=1)
    chosen = np.unique(placement).tolist()
    near = both_ways[chosen].sum(axis=0)
    left = np.ones(problem.device_count, dtype=bool)
    left[chosen] = False
    while len(chosen) < count and left.any():
        best = min(np.flatnonzero(left).tolist(), key=lambda device: (-near[device], busy_us[device], device))
        chosen.append(best)
        left[best] = False
        near += both_ways[best]
    return np.array(chosen, dtype=np.int64)


def few_devices(problem: PlacementProblem, placement: NDArray[np.int32]) -> NDArray[np.int32] | None:
    """The part of the cluster where a method begins: `FEW_DEVICES` next to those that `placement` [groups] uses, and
    where else a group must go, in their order; None where that is the whole cluster."""
    chosen = nearest_devices(problem, placement, FEW_DEVICES).tolist()
    while (homeless := ~problem.allowed[:, chosen].any(axis=1)).any():
        chosen.append(int(problem.allowed[homeless][0].argmax()))
    return np.sort(np.array(chosen, dtype=np.int32)) if len(chosen) < problem.device_count else None
