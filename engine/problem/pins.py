"""The devices where each group may go: by what the file fixes, by the times and kernels of its ops, and by pins."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.costs.costs import Costs
from engine.errors import GraphError, PlacementError, shortened
from engine.graphs.colocation import colocation_classes
from engine.graphs.device_string import DROP_DEVICES, machines_of, parse_device_string, spelled_device
from engine.graphs.graph import ComputationGraph
from engine.graphs.grouping.grouping import Grouping

READ_AGAIN = "; the graph was read before other kinds were known: read it again"
"""added for costs of an older version, which lack the ops' work"""

MACHINES_SHOWN = 4
"""machines that an error names"""
EXAMPLE_OF_MACHINE = "/job:worker/task:0/device:GPU:0"


def allowed_devices(
    graph: ComputationGraph, costs: Costs, grouping: Grouping, cluster: Cluster, *, drop_pins: bool = False
) -> NDArray[np.bool_]:
    """[groups, devices] whether each group may go to each device; every group has at least one.

    A fixed device string stands for the devices that agree with it. `drop_pins` ignores such strings. A group with an
    op that no CPU can run goes to a GPU; one with an op that no GPU can run to a CPU, unless the cluster has none.
    Raises GraphError if a fixed device is not in the cluster, if the file fixes ops to several machines and the
    cluster's devices name none, or if no device can take all ops of a group.
    """
    allowed_of_op = _runnable_and_fixed(graph, costs, cluster, drop_pins=drop_pins)
    allowed = np.ones((grouping.group_count, cluster.device_count), dtype=bool)
    np.logical_and.at(allowed, grouping.group_of_op, allowed_of_op)
    lost = np.flatnonzero(~allowed.any(axis=1))
    if len(lost):
        ops = np.flatnonzero(grouping.group_of_op == lost[0])
        pins_alone = bool(_runnable(costs, cluster)[ops].all(axis=0).any())
        raise _nowhere(ops, allowed_of_op, graph, cluster, pins_alone)
    for_cpu, for_gpu = (np.zeros(grouping.group_count, dtype=bool) for _ in range(2))
    for_cpu[grouping.group_of_op[graph.needs_cpu]] = True
    for_gpu[grouping.group_of_op[graph.needs_gpu]] = True
    if (both := np.flatnonzero(for_cpu & for_gpu)).size:
        raise _on_both(np.flatnonzero(grouping.group_of_op == both[0]), graph)
    allowed, lost_group = _where_kernels_are(allowed, for_cpu, for_gpu, cluster)
    if lost_group is not None:
        raise _no_gpu(np.flatnonzero(grouping.group_of_op == lost_group), graph, cluster)
    return allowed


def allowed_of_ops(
    graph: ComputationGraph, costs: Costs, cluster: Cluster, *, drop_pins: bool = False
) -> NDArray[np.bool_]:
    """[ops, devices] whether each op by itself may go to each device; raises GraphError for an op that has none."""
    allowed = _runnable_and_fixed(graph, costs, cluster, drop_pins=drop_pins)
    allowed, lost_op = _where_kernels_are(allowed, graph.needs_cpu, graph.needs_gpu, cluster)
    if lost_op is not None:
        raise _no_gpu(np.array([lost_op]), graph, cluster)
    return allowed


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


def _where_kernels_are(
    allowed: NDArray[np.bool_], for_cpu: NDArray[np.bool_], for_gpu: NDArray[np.bool_], cluster: Cluster
) -> tuple[NDArray[np.bool_], int | None]:
    """[rows, devices] `allowed`, narrowed for the rows that need a CPU or a GPU; and the first row that has no GPU.

    Rows that need a CPU keep only CPUs, if they may go to one: else TensorFlow runs them with soft placement.
    """
    is_cpu = _is_cpu(cluster)
    on_cpus, on_gpus = allowed & is_cpu, allowed & ~is_cpu
    lost = np.flatnonzero(for_gpu & ~on_gpus.any(axis=1))
    narrowed = np.where((for_cpu & on_cpus.any(axis=1))[:, None], on_cpus, allowed)
    return np.where(for_gpu[:, None], on_gpus, narrowed), int(lost[0]) if len(lost) else None


def _runnable(costs: Costs, cluster: Cluster) -> NDArray[np.bool_]:
    """[ops, devices] whether an op has a time on a device."""
    return ~np.isnan(costs.time_on_devices(cluster.devices)).T


def _apply_pins(allowed_of_op: NDArray[np.bool_], graph: ComputationGraph, cluster: Cluster) -> None:
    """Forbid each op with a fixed device all other devices."""
    names = [parse_device_string(device.name, device.name) for device in cluster.devices]
    names_machines = any(device.machine for device in cluster.devices)
    if not names_machines:
        _require_one_machine(graph)
    matches: dict[str, NDArray[np.bool_]] = {}
    for op, text in enumerate(graph.devices):
        if not text:
            continue
        if text not in matches:
            fixed = parse_device_string(text, graph.op_names[op])
            fixed = fixed if names_machines else fixed.on_its_machine
            matches[text] = np.array([name.agrees_with(fixed) for name in names])
        if not matches[text].any():
            raise GraphError(
                f"it is fixed to {shortened(text)}, which is not in the cluster",
                where=shortened(graph.op_names[op]),
                allowed=f"{_names(np.ones(cluster.device_count, dtype=bool), cluster)}, or {DROP_DEVICES}",
                field="cluster",
            )
        allowed_of_op[op] &= matches[text]


def _require_one_machine(graph: ComputationGraph) -> None:
    """Raise GraphError where the file fixes ops to several machines: one machine would hold them without a word."""
    machines = machines_of(graph.devices)
    if len(machines) > 1:
        named = ", ".join(shortened(spelled_device(machine)) for machine in machines[:MACHINES_SHOWN])
        dots = ", …" * (len(machines) > MACHINES_SHOWN)
        raise GraphError(
            f"the file fixes ops to {len(machines)} machines ({named}{dots}), and the cluster's devices name none",
            allowed=f"cluster JSON with names such as {EXAMPLE_OF_MACHINE}, or {DROP_DEVICES}",
            field="cluster",
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
        allowed="a device for all ops that are co-located" + (f", or {DROP_DEVICES}" * pins_alone),
        field="cluster",
    )


def _no_gpu(ops: NDArray[np.intp], graph: ComputationGraph, cluster: Cluster) -> GraphError:
    """The error for `ops` that must share a device, one of which needs a GPU, where they may go to none."""
    op = int(ops[graph.needs_gpu[ops]][0])
    return GraphError(
        f"it needs a GPU ({graph.gpu_reason[op]}), but it may go to none",
        where=shortened(graph.op_names[op]),
        allowed=f"a cluster with a GPU; this one has {_names(np.ones(cluster.device_count, dtype=bool), cluster)}",
        field="cluster",
    )


def _on_both(ops: NDArray[np.intp], graph: ComputationGraph) -> GraphError:
    """The error for `ops` that must share a device, one of which needs a GPU, another one a CPU."""
    for_gpu, for_cpu = int(ops[graph.needs_gpu[ops]][0]), int(ops[graph.needs_cpu[ops]][0])
    if graph.needs_cpu[for_gpu]:
        what = f"neither a CPU nor a GPU can run it: {graph.gpu_reason[for_gpu]}"
        return GraphError(what, where=shortened(graph.op_names[for_gpu]), allowed="ops that one of them can run")
    return GraphError(
        f"it needs a GPU ({graph.gpu_reason[for_gpu]}), but {shortened(graph.op_names[for_cpu])}, which must share its "
        f"device, a CPU ({graph.cpu_reason[for_cpu]})",
        where=shortened(graph.op_names[for_gpu]),
        allowed="one device for all ops that are co-located",
        field="cluster",
    )


def _names(devices: NDArray[np.bool_], cluster: Cluster) -> str:
    return ", ".join(device.name for device, chosen in zip(cluster.devices, devices, strict=True) if chosen)
