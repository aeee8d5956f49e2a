"""Placements by name, {op: device}: made from a run's answer, simulated, and applied to a graph's file."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.child.parent import Limits
from engine.clusters.cluster import Cluster
from engine.errors import PlacementError, shortened
from engine.events import Json
from engine.files.json_text import shown
from engine.formats.reading import AS_IT_IS
from engine.formats.writing import write_placed
from engine.graphs.reading_options import ReadingOptions
from engine.prepared import PreparedGraph
from engine.simulator import Simulator
from engine.simulator.bound import lower_bound_us


def device_of_group(report: Mapping[str, Json]) -> list[int]:
    """[groups] the placement from a run's report."""
    devices = report["device_of_group"]
    assert isinstance(devices, list)
    return [device for device in devices if isinstance(device, int)]


def placement_to_json(prepared: PreparedGraph, cluster: Cluster, device_of_group: list[int]) -> dict[str, str]:
    """{op name: device string} for `device_of_group` [groups]."""
    names = [device.name for device in cluster.devices]
    groups = prepared.grouping.group_of_op.tolist()
    return {op: names[device_of_group[group]] for op, group in zip(prepared.graph.op_names, groups, strict=True)}


def simulate(prepared: PreparedGraph, cluster: Cluster, placements: list[Json]) -> list[Json]:
    """A report (docs/formats.md) for each of `placements`, {op: device} of all ops. Raises PlacementError."""
    if not placements:
        raise PlacementError("an empty list", where="placement", allowed="at least one placement")
    device_of_op = np.stack([_device_of_op(prepared, cluster, placement) for placement in placements])
    evaluations = Simulator(prepared.graph, prepared.costs, cluster).evaluate(device_of_op)
    bound_us = lower_bound_us(prepared.graph, prepared.costs, cluster)
    return [
        {
            "step_time_us": float(step_time_us),
            "peak_bytes": [int(peak) for peak in peaks],
            "lower_bound_us": bound_us,
        }
        for step_time_us, peaks in zip(evaluations.step_time_us, evaluations.peak_bytes, strict=True)
    ]


def apply(
    source: Path,
    suffix: str,
    placement: Json,
    destination: Path,
    limits: Limits,
    options: ReadingOptions = AS_IT_IS,
    *,
    short: bool = False,
    keep_pins: bool = True,
) -> None:
    """Write the graph in `source` with the devices of `placement`, JSON {op: device} of all its ops.

    See `formats.write_placed`. Raises PlacementError, GraphError and LimitError.
    """
    if not isinstance(placement, dict):
        raise PlacementError(f"it is {shown(placement)}", where="placement", allowed="JSON {op: device}")
    device_of_op: dict[str, str] = {}
    for op, device in placement.items():
        if not isinstance(device, str):
            what = f"its device is {shown(device)}"
            raise PlacementError(what, where=shortened(op), allowed="a text, such as /device:GPU:0")
        device_of_op[op] = device
    write_placed(source, suffix, device_of_op, destination, limits, options, short=short, keep_pins=keep_pins)


def trace(prepared: PreparedGraph, cluster: Cluster, placement: Json) -> Json:
    """The timeline of one placement {op: device} as a Chrome trace."""
    from engine.simulator.timeline import timeline_to_trace

    timeline = Simulator(prepared.graph, prepared.costs, cluster).timeline(_device_of_op(prepared, cluster, placement))
    return timeline_to_trace(timeline, prepared.graph, cluster)


def _device_of_op(prepared: PreparedGraph, cluster: Cluster, placement: Json) -> NDArray[np.int32]:
    """[ops] `placement` as device indices. Raises PlacementError for a missing or unknown op, or an unknown device."""
    if not isinstance(placement, dict):
        raise PlacementError("no object", where="placement", allowed="JSON {op: device}")
    index = {device.name: number for number, device in enumerate(cluster.devices)}
    known = set(prepared.graph.op_names)
    for op, device in placement.items():
        if op not in known:
            raise PlacementError("no such op in the graph", where=shortened(op), allowed=f"{len(known)} ops")
        if not isinstance(device, str) or device not in index:
            raise PlacementError(
                f"no such device: {shortened(str(device))}", where=shortened(op), allowed=", ".join(index)
            )
    for op in prepared.graph.op_names:
        if op not in placement:
            raise PlacementError("it is not placed", where=shortened(op), allowed="a device for every op of the graph")
    return np.array([index[str(placement[op])] for op in prepared.graph.op_names], dtype=np.int32)
