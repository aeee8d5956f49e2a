"""Device maps of graphs whose weights may wait in CPU memory: what accelerate does with the entries `cpu`.

Where a map names a GPU, its lowest-numbered GPU is the main device: accelerate runs the modules on `cpu` there, with
their buffers, and copies their weights to it each time they are used. A map that names no GPU runs on the CPU.

Source: accelerate 1.15, `dispatch_model` of big_modeling.py.
"""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, shortened
from engine.formats.offloading.building import WEIGHTS_OF
from engine.graphs.graph import ComputationGraph

NOWHERE = -1
"""the device of what a map says nothing of, and the main device of a map without a GPU"""


def main_device(cluster: Cluster, said: NDArray[np.integer]) -> int:
    """The GPU on which accelerate runs what a map puts on a CPU; `NOWHERE` where it names no GPU.

    `said`: devices of the map's entries, `NOWHERE` for none.
    """
    gpus = [device for device in np.unique(said).tolist() if device != NOWHERE and not cluster.devices[device].is_cpu]
    return min(gpus, key=lambda device: int(cluster.devices[device].name.rpartition(":")[2]), default=NOWHERE)


def run_by_accelerate(
    graph: ComputationGraph, cluster: Cluster, said: NDArray[np.int32], main: int
) -> NDArray[np.int32]:
    """[ops] where what a map puts on `said` [ops] is: weights there, and what it puts on a CPU on the `main` device."""
    if not len(graph.waiting_weights):
        return said
    is_cpu = np.array([device.is_cpu for device in cluster.devices] + [False])  # the last one is NOWHERE
    return np.where(is_cpu[said] & ~graph.waiting_weights, main, said).astype(np.int32)


def said_of(graph: ComputationGraph, device_of_op: NDArray[np.integer]) -> NDArray[np.integer]:
    """[ops] the devices that a map has to say for a placement [ops]: for ops, and buffers, that of their weights."""
    if not len(graph.waiting_weights):
        return device_of_op
    device_of_unit = {
        label.removeprefix(WEIGHTS_OF): int(device_of_op[op])
        for op in np.flatnonzero(graph.waiting_weights).tolist()
        for label in graph.colocation[op]
    }
    said = device_of_op.copy()
    for op in np.flatnonzero(~graph.waiting_weights).tolist():
        for label in graph.colocation[op]:
            said[op] = device_of_unit.get(label, said[op])
    return said


def require_said(
    graph: ComputationGraph, cluster: Cluster, device_of_op: NDArray[np.integer], read_back: NDArray[np.integer]
) -> None:
    """Raise PlacementError where accelerate would not run a map, `read_back` [ops], as the placement `device_of_op`."""
    astray = np.flatnonzero(device_of_op != read_back)
    if len(graph.waiting_weights) and len(astray):
        op = int(astray[0])
        ours, theirs = (cluster.devices[int(each[op])].short_name for each in (device_of_op, read_back))
        raise PlacementError(
            f"it is on {ours}, and with a device map accelerate has it on {theirs}",
            where=shortened(graph.op_names[op]),
            allowed="weights beside their ops, or on the CPU with their ops on the first GPU of the map",
            field="placement",
        )
