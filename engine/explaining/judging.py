"""What a given placement is worth, in one line: its step, the device that waits most, and what does not fit."""

from collections.abc import Mapping

import numpy as np

from engine.clusters.cluster import Cluster
from engine.errors import shortened
from engine.events import Json
from engine.explaining.verdict import shortage_words
from engine.formats.modules.device_map import is_device_map, main_of_map, modules_without_ops
from engine.graphs.constraints import Constraints
from engine.graphs.graph import FORWARD
from engine.number_words import bytes_words, counted, part_words, time_words
from engine.placement_files import simulated_step
from engine.prepared import PreparedGraph
from engine.problem.constrained import RunConstraints
from engine.simulator import Timeline

LEAST_IDLE = 0.05
"""share of the step from which on a device's waiting is worth saying"""
PATHS_SHOWN = 3
"""paths of a map that place nothing"""


def judgement(
    prepared: PreparedGraph,
    cluster: Cluster,
    placement: Json,
    whose: str = "this placement",
    constraints: Constraints | None = None,
) -> str:
    """`this placement takes 41.0 ms; GPU 1 idles 60 % of it; it needs 2.3 GiB more than the 24 GiB of GPU 0, …`.

    Also the first rule that it breaks, of the graph's file and of `constraints`. Raises PlacementError, SettingsError.
    """
    timeline = simulated_step(prepared, cluster, placement)
    parts = [f"{whose} takes {time_words(timeline.step_time_us)}", *_idle(prepared, timeline, cluster)]
    missing = timeline.peak_bytes - cluster.usable_bytes
    if (missing > 0).any():
        parts.append(
            f"it needs {shortage_words(missing, cluster)}{_largest(prepared, timeline, int(missing.argmax()))}"
        )
    rules = RunConstraints.of(prepared.graph, constraints or Constraints(), cluster)
    if broken := rules.broken_by(timeline.device_of_op, cluster):
        parts.append(broken)
    if prepared.origin.is_recording and isinstance(placement, dict) and is_device_map(placement):
        parts += _of_accelerate(prepared, cluster, placement)
        parts += _astray(prepared, placement)
    return "; ".join(parts)


def _of_accelerate(prepared: PreparedGraph, cluster: Cluster, device_map: Mapping[str, Json]) -> list[str]:
    """What accelerate does with a device map's modules on `cpu`, where the graph was read as if they ran there."""
    graph = prepared.graph
    is_read_so = len(graph.waiting_weights) > 0 or bool(np.any(graph.phase > FORWARD))
    if is_read_so or "cpu" not in device_map.values():
        return []
    main = main_of_map(cluster, device_map)
    if main is None:
        return []
    runs_on = cluster.devices[main].short_name
    return [
        f"modules on cpu run there, as with placeto.apply; accelerate runs them on {runs_on}, their weights waiting in "
        "CPU memory: to judge that, read the graph with --offload (in the browser: Weights may wait in CPU memory)"
    ]


def _astray(prepared: PreparedGraph, device_map: Mapping[str, Json]) -> list[str]:
    """The paths of a device map that place nothing."""
    paths = modules_without_ops(prepared, device_map)
    some = ", ".join(map(shortened, paths[:PATHS_SHOWN])) + ", …" * (len(paths) > PATHS_SHOWN)
    return [f"{counted(len(paths), 'path')} of the map without ops here: {some}"] if paths else []


def _idle(prepared: PreparedGraph, timeline: Timeline, cluster: Cluster) -> list[str]:
    """The device with ops that idles most, where that is much, the devices without ops, and what waits on them."""
    waits = prepared.graph.waiting_weights
    runs = ~waits if len(waits) else np.ones(prepared.graph.op_count, dtype=np.bool_)
    occupied_us = timeline.busy_us + timeline.rest_us + timeline.sending_us
    is_used = np.bincount(timeline.device_of_op[runs], minlength=len(cluster.devices)) > 0
    kept = np.where(runs, 0, prepared.costs.persistent_bytes)
    waiting_bytes = np.bincount(timeline.device_of_op, kept, len(cluster.devices)).astype(np.int64)
    idle = np.where(is_used, 1 - occupied_us / max(timeline.step_time_us, 1e-9), 0.0)
    most = int(idle.argmax())
    found = [f"{cluster.devices[most].short_name} idles {part_words(float(idle[most]))} of it"]
    holding = [
        f"{bytes_words(int(waiting_bytes[device]))} of weights wait on {cluster.devices[device].short_name}"
        for device in np.flatnonzero(~is_used & (waiting_bytes > 0)).tolist()
    ]
    unused = [cluster.devices[device].short_name for device in np.flatnonzero(~is_used & (waiting_bytes == 0)).tolist()]
    return found * bool(idle[most] > LEAST_IDLE) + [f"{', '.join(unused)} without ops"] * bool(unused) + holding


def _largest(prepared: PreparedGraph, timeline: Timeline, device: int) -> str:
    """The op on the device that keeps most bytes during the whole step."""
    held = np.where(timeline.device_of_op == device, prepared.costs.kept_bytes(), 0)
    op = int(held.argmax())
    return f", where {prepared.graph.op_names[op]} keeps {bytes_words(int(held[op]))}" if held[op] else ""
