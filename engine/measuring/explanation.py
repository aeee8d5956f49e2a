"""What a measurement says beyond the step time: a traced step and the memory of processes, beside the simulation."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.clusters.cluster import Cluster
from engine.events import Json
from engine.files.whole_files import write_whole
from engine.measuring.measured_order import peaks_in_measured_order
from engine.measuring.step_difference import difference
from engine.measuring.step_record import measured_record, simulated_record
from engine.measuring.timelines import timelines_to_trace
from engine.prepared import PreparedGraph
from engine.simulator.timeline import Timeline

ALLOCATED = (
    "Peak memory is what TensorFlow's allocator held at most in the measured steps, above an idle process; it counts "
    "allocations of at least 256 KiB."
)
RESIDENT = "Peak memory is the resident memory of the measured steps above an idle process."
ON_GPUS = "No step was traced beside the simulated one: that is done on CPUs alone."


def explanation(
    arrays: Mapping[str, NDArray[np.generic]],
    names: Sequence[str],
    prepared: PreparedGraph,
    cluster: Cluster,
    timeline: Timeline,
    timelines: Path | None,
) -> dict[str, Json]:
    """`difference` and `memory` of a report of `measure` (docs/formats.md), None where the child traced no step.

    `arrays` and `names` are the child's, `timeline` is the simulated step on `cluster`. `timelines` gets a Chrome trace
    of both steps.
    """
    if "ran" not in arrays:
        return {"difference": None, "memory": None}
    graph, costs, devices = prepared.graph, prepared.costs, [device.name for device in cluster.devices]
    traced = measured_record(arrays, names, graph.op_names)
    if timelines is not None:
        trace = timelines_to_trace(traced, timeline, graph, costs, cluster)
        write_whole(timelines, (json.dumps(trace) + "\n").encode())
    memory: list[Json] | None = None
    if "memory" in arrays:
        in_order = peaks_in_measured_order(traced, timeline, graph, costs, cluster)
        memory = _memory(arrays["memory"].astype(np.float64), timeline, in_order, devices)
    compared = difference(traced, simulated_record(timeline), devices, graph.op_names, graph.op_types)
    return {"difference": compared, "memory": memory}


def notes_on(arrays: Mapping[str, NDArray[np.generic]]) -> list[str]:
    """Sentences for people on what was traced and how memory was measured."""
    if "ran" not in arrays:
        return [ON_GPUS]
    if "memory" not in arrays:
        return []
    return [RESIDENT if np.isnan(arrays["memory"].astype(np.float64)[:, 0]).any() else ALLOCATED]


def _memory(
    measured_bytes: NDArray[np.float64], timeline: Timeline, in_order: Sequence[int], devices: Sequence[str]
) -> list[Json]:
    """A row for each device; `measured_bytes` [devices, 2] are allocated and resident ones."""
    rows: list[Json] = []
    simulated_bytes = timeline.peak_bytes.tolist()
    for device, of_device, simulated, ordered in zip(devices, measured_bytes, simulated_bytes, in_order, strict=True):
        allocated, resident = (None if np.isnan(each) else int(each) for each in of_device)
        peak = resident if allocated is None else allocated
        rows.append(
            {
                "device": device,
                "peak_bytes": peak,
                "resident_peak_bytes": resident,
                "simulated_peak_bytes": simulated,
                "simulated_in_measured_order_bytes": ordered,
                "measured_over_simulated": peak / simulated if peak is not None and simulated else None,
            }
        )
    return rows
