"""The devices where each group may go: by what the file fixes, by the times and kernels of its ops, and by pins."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.errors import GraphError, PlacementError, shortened
from engine.graphs.colocation import colocation_classes
from engine.graphs.device_string import DeviceString, parse_device_string
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping

READ_AGAIN = "; the graph was read before other kinds were known: read it again"
"""added for costs of an older version, which lack the ops' work"""


def allowed_devices(
    graph: ComputationGraph, costs: Costs, grouping: Grouping, cluster: Cluster, *, drop_pins: bool = False
) -> NDArray[np.bool_]:
    """[groups, devices] whether each group may go to each device; every group has at least one.

    A fixed device string stands for the devices of its type and number; its job and task do not count, since a cluster
    is one machine. `drop_pins` ignores such strings. A group with an op that no GPU can run goes to a CPU, unless the
    cluster has none or the file fixes the group elsewhere. Raises GraphError if a fixed device is not in the cluster,
    or if no device can take all ops of a group.
    """
    allowed_of_op = _runnable_and_fixed(graph, costs, cluster, drop_pins=drop_pins)
    allowed = np.ones((grouping.group_count, cluster.device_count), dtype=bool)
    np.logical_and.at(allowed, grouping.group_of_op, allowed_of_op)
    lost = np.flatnonzero(~allowed.any(axis=1))
    if len(lost):
        ops = np.flatnonzero(grouping.group_of_op == lost[0])
        pins_alone = bool(_runnable(costs, cluster)[ops].all(axis=0).any())
        raise _nowhere(ops, allowed_of_op, graph, cluster, pins_alone)
    return _on_cpus_where_needed(allowed, graph, grouping, cluster)


def allowed_of_ops(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, *, drop_pins: bool = False
) -> NDArray[np.bool_]:
    """[ops, devices] whether each op by itself may go to each device; raises GraphError for an op that has none."""
    allowed = _runnable_and_fixed(graph, costs, cluster, drop_pins=drop_pins)
    on_cpus = allowed & _is_cpu(cluster)
    for_cpu = np.array([bool(reason) for reason in graph.cpu_reason])
    return np.where((for_cpu & on_cpus.any(axis=1))[:, None], on_cpus, allowed)


def require_ops_allowed(
    graph: ComputationGraph,
    allowed_of_op: NDArray[np.bool_],
    cluster: Cluster,
    device_of_op: NDArray[np.int32],
    checked: NDArray[np.bool_],
) -> None:
    """Raise PlacementError where an op that is `checked` [ops] is on another device than `allowed_of_op` says.

    Also where ops that must share a device are on several.
    """
    wrong = np.flatnonzero(checked & ~allowed_of_op[np.arange(graph.op_count), device_of_op])
    if len(wrong):
        op = int(wrong[0])
        raise PlacementError(
            f"it may not go to {cluster.devices[device_of_op[op]].name}",
            where=shortened(graph.op_names[op]),
            allowed=_names(allowed_of_op[op], cluster),
            field="placement",
        )
    class_of_op = colocation_classes(graph)
    first = np.unique(class_of_op, return_index=True)[1][class_of_op]
    apart = np.flatnonzero(device_of_op != device_of_op[first])
    if len(apart):
        op = int(apart[0])
        raise PlacementError(
            f"it must share the device of {shortened(graph.op_names[first[op]])}",
            where=shortened(graph.op_names[op]),
            allowed=cluster.devices[device_of_op[first[op]]].name,
            field="placement",
        )


def pinned(
    allowed: NDArray[np.bool_], pins: Mapping[int, int], grouping: Grouping, cluster: Cluster
) -> NDArray[np.bool_]:
    """[groups, devices] `allowed`, with the groups of `pins` {group: device} on those devices alone.

    Raises PlacementError for a group or device that is not there, or a device where the group may not go.
    """
    narrowed = allowed.copy()
    for group, device in pins.items():
        if not 0 <= group < grouping.group_count:
            what = f"there is no group {group}"
            raise PlacementError(what, where="pins", allowed=f"0 to {grouping.group_count - 1}", field="pins")
        if not 0 <= device < cluster.device_count:
            what = f"there is no device {device}"
            raise PlacementError(what, where="pins", allowed=f"0 to {cluster.device_count - 1}", field="pins")
        if not allowed[group, device]:
            raise PlacementError(
                f"it cannot be pinned to {cluster.devices[device].name}",
                where=shortened(grouping.names[group]),
                allowed=_names(allowed[group], cluster),
                field="pins",
            )
        narrowed[group] = np.arange(cluster.device_count) == device
    return narrowed


def checked_start(
    given: NDArray[np.int32], allowed: NDArray[np.bool_], grouping: Grouping, cluster: Cluster
) -> NDArray[np.int32]:
    """[groups] the start `given`. Raises PlacementError for another length, or a device where a group may not go."""
    if given.shape != (grouping.group_count,):
        what = f"{given.size} devices"
        allowed_words = f"{grouping.group_count} integers, one for each group"
        raise PlacementError(what, where="start", allowed=allowed_words, field="start")
    is_device = (given >= 0) & (given < cluster.device_count)
    known = np.where(is_device, given, 0)
    wrong = np.flatnonzero(~is_device | ~allowed[np.arange(len(given)), known])
    if len(wrong):
        group = int(wrong[0])
        device = cluster.devices[known[group]].name if is_device[group] else f"device {given[group]}"
        raise PlacementError(
            f"the start has it on {device}, where it may not go",
            where=shortened(grouping.names[group]),
            allowed=_names(allowed[group], cluster),
            field="start",
        )
    return given


def _runnable_and_fixed(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, *, drop_pins: bool
) -> NDArray[np.bool_]:
    """[ops, devices] by the ops' times and the file's fixed devices; raises GraphError for an op that has none."""
    allowed_of_op = _runnable(costs, cluster)
    if not drop_pins:
        _apply_pins(allowed_of_op, graph, cluster)
    _require_somewhere(allowed_of_op, graph, costs, cluster)
    return allowed_of_op


def _is_cpu(cluster: Cluster) -> NDArray[np.bool_]:
    """[devices]"""
    return np.array([device.is_cpu for device in cluster.devices])


def _on_cpus_where_needed(
    allowed: NDArray[np.bool_], graph: ComputationGraph, grouping: Grouping, cluster: Cluster
) -> NDArray[np.bool_]:
    """[groups, devices] `allowed`, but groups with an op that no GPU can run keep only CPUs, if they may go to one."""
    for_cpu = np.zeros(grouping.group_count, dtype=bool)
    for_cpu[grouping.group_of_op[np.array([bool(reason) for reason in graph.cpu_reason])]] = True
    on_cpus = allowed & _is_cpu(cluster)
    return np.where((for_cpu & on_cpus.any(axis=1))[:, None], on_cpus, allowed)


def _runnable(costs: Costs, cluster: Cluster) -> NDArray[np.bool_]:
    """[ops, devices] whether an op has a time on a device."""
    return ~np.isnan(costs.time_on_devices(cluster.devices)).T


def _apply_pins(allowed_of_op: NDArray[np.bool_], graph: ComputationGraph, cluster: Cluster) -> None:
    """Forbid each op with a fixed device all other devices."""
    matches: dict[str, NDArray[np.bool_]] = {}
    for op, text in enumerate(graph.devices):
        if not text:
            continue
        if text not in matches:
            matches[text] = _matching(parse_device_string(text, graph.op_names[op]), cluster)
        if not matches[text].any():
            raise GraphError(
                f"it is fixed to {shortened(text)}, which is not in the cluster",
                where=shortened(graph.op_names[op]),
                allowed=_names(np.ones(cluster.device_count, dtype=bool), cluster),
                field="cluster",
            )
        allowed_of_op[op] &= matches[text]


def _matching(fixed: DeviceString, cluster: Cluster) -> NDArray[np.bool_]:
    """[devices] whether `fixed` may stand for each device of the cluster."""
    return np.array(
        [
            DeviceString(type=name.type, index=name.index).agrees_with(DeviceString(type=fixed.type, index=fixed.index))
            for name in (parse_device_string(device.name, device.name) for device in cluster.devices)
        ]
    )


def _require_somewhere(
    allowed_of_op: NDArray[np.bool_], graph: ComputationGraph, costs: Costs, cluster: Cluster
) -> None:
    """Raise GraphError unless each op by itself has a device."""
    lost = np.flatnonzero(~allowed_of_op.any(axis=1))
    if len(lost):
        op = int(lost[0])
        fixed = f", where it is fixed to {shortened(graph.devices[op])}" if graph.devices[op] else ""
        known = sorted({name for device in cluster.devices for name in (device.kind, device.device_class)})
        raise GraphError(
            f"it has no time on the cluster's devices{fixed}",
            where=shortened(graph.op_names[op]),
            allowed=f"a time on one of {', '.join(known)}{READ_AGAIN if costs.only_of_its_kinds else ''}",
            field="cluster",
        )


def _nowhere(
    ops: NDArray[np.intp], allowed_of_op: NDArray[np.bool_], graph: ComputationGraph, cluster: Cluster, pins_alone: bool
) -> GraphError:
    """The error for a group without a device; it names the first of its `ops` that leaves none, and an earlier one.

    `pins_alone`: whether the group could go somewhere without the file's fixed devices.
    """
    left = np.ones(cluster.device_count, dtype=bool)
    for op in ops.tolist():
        if not (left & allowed_of_op[op]).any():
            break
        left &= allowed_of_op[op]
    first = next(earlier for earlier in ops.tolist() if not allowed_of_op[earlier].all())
    return GraphError(
        f"it may go to {_names(allowed_of_op[op], cluster)} only, but the ops that must share its device, such as "
        f"{shortened(graph.op_names[first])}, to {_names(left, cluster)} only",
        where=shortened(graph.op_names[op]),
        allowed="a device for all ops that are co-located"
        + (", or a run that ignores the devices that the file fixes" * pins_alone),
        field="cluster",
    )


def _names(devices: NDArray[np.bool_], cluster: Cluster) -> str:
    return ", ".join(device.name for device, chosen in zip(cluster.devices, devices, strict=True) if chosen)
