"""Where each group may go: the devices that the file fixes, and the kinds that its ops have a time on."""

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.errors import GraphError, shortened
from engine.graphs.device_string import parse_device_string
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping import Grouping


def allowed_devices(
    graph: ComputationGraph, costs: Costs, grouping: Grouping, cluster: Cluster, *, drop_pins: bool = False
) -> NDArray[np.bool_]:
    """[groups, devices] whether a group may go to a device; every row has a True.

    With `drop_pins` the devices in the file count for nothing. Raises GraphError where an op is fixed to a device that
    the cluster has not, or where no device suits all ops of a group.
    """
    fits = ~np.isnan(costs.time_on([device.kind for device in cluster.devices]))  # [devices, ops]
    if not drop_pins:
        fits &= _pinned(graph, cluster)
    missing = [np.bincount(grouping.group_of_op[~row], minlength=grouping.group_count) for row in fits]
    allowed = np.stack(missing, axis=1) == 0
    stuck = np.flatnonzero(~allowed.any(axis=1))
    if len(stuck):
        _raise_stuck(graph, grouping, cluster, fits, int(stuck[0]))
    return allowed


def _pinned(graph: ComputationGraph, cluster: Cluster) -> NDArray[np.bool_]:
    """[devices, ops] whether the file leaves an op free to be on a device."""
    free = np.ones((cluster.device_count, graph.op_count), dtype=bool)
    has = [parse_device_string(device.name, device.name) for device in cluster.devices]
    suits: dict[str, NDArray[np.bool_]] = {}
    for op, text in enumerate(graph.devices):
        if not text:
            continue
        if text not in suits:
            fixed = parse_device_string(text, graph.op_names[op])
            suits[text] = np.array([fixed.agrees_with(device) for device in has])
            if not suits[text].any():
                what = f"it is fixed to {shortened(text)}, which the cluster has not"
                raise GraphError(what, where=shortened(graph.op_names[op]), allowed=_names(cluster), field="cluster")
        free[:, op] = suits[text]
    return free


def _raise_stuck(
    graph: ComputationGraph, grouping: Grouping, cluster: Cluster, fits: NDArray[np.bool_], group: int
) -> None:
    """Say of a group that may go nowhere which op is to blame: the one that fits the fewest devices."""
    ops = np.flatnonzero(grouping.group_of_op == group)
    op = int(ops[np.argmin(fits[:, ops].sum(axis=0))])
    beside = f", nor can the {len(ops) - 1} ops that move with it" if fits[:, op].any() and len(ops) > 1 else ""
    what = f"no device of the cluster can run it{beside}"
    raise GraphError(what, where=shortened(graph.op_names[op]), allowed=_names(cluster), field="cluster")


def _names(cluster: Cluster) -> str:
    return ", ".join(f"{device.name} ({device.kind})" for device in cluster.devices)
