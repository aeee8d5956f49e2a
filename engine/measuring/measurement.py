"""Measures a placement: runs the placed graph on this machine's devices, and compares with the simulated step time.

The graph is executed, as for a profile. On a machine without the placement's GPUs, all its devices become virtual CPU
devices of TensorFlow, which share the machine's processors, and the report has a note. On request each device becomes a
process of its own, so that bytes really move. Soft placement is off.
"""

import dataclasses
from pathlib import Path
from typing import cast

import numpy as np

from engine.child.parent import (
    Limits,
    Pulse,
    ReportProgress,
    Results,
    child_results,
    no_progress,
    no_pulse,
    require_size,
)
from engine.clusters.cluster import LARGEST_BANDWIDTH_BYTES_PER_US, Cluster, Contention, Device, MemoryModel
from engine.clusters.device_kinds import DEVICE_CLASSES, default_memory_bytes
from engine.errors import GraphError, PlacementError, shortened
from engine.events import Json
from engine.formats.reading import order_of, prepare
from engine.graphs.device_string import DeviceString, parse_device_string
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.explanation import explanation, notes_on
from engine.measuring.profiling import busy_notes, require_graphdef, require_steps
from engine.placement_files import simulated_step

MEASURING = "measuring the placement"
WARM_UP_STEPS = 3
TRACED_STEPS = 5
"""beside the measured ones: tracing slows them"""
MISMATCHES_SHOWN = 200
VIRTUAL = (
    "This machine lacks GPUs of the placement: the devices were virtual CPU devices of TensorFlow, which "
    "share the machine's processors and pass tensors on without copying them."
)
PROCESSES = (
    "Each device was a process of its own, joined to the others by gRPC over loopback; inputs were constants that lie "
    "on their devices."
)
PARALLEL = "TensorFlow may run two ops of one device at once; the simulator runs one after the other."
ESTIMATED = "The simulated step time uses estimated costs; a profile on this machine gives closer ones."


def measure(
    path: Path,
    suffix: str,
    placement: Json,
    options: ReadingOptions,
    limits: Limits,
    report_progress: ReportProgress = no_progress,
    *,
    cluster: Cluster | None = None,
    steps: int = 10,
    threads: int | None = None,
    run_metadata: Path | None = None,
    processes: bool = False,
    timelines: Path | None = None,
) -> dict[str, Json]:
    """Run the graph in `path` under `placement`, JSON {op: device} of all its ops, and report its step time.

    The step is also simulated on `cluster`, with CPUs for devices that ran as virtual CPUs; None: the placement's own
    devices, with links that take no time. Costs are those of `run_metadata`, else estimates. `threads` of each op on a
    CPU; None: the machine's processors shared among the devices, or one with `processes`, which makes each device a
    process of its own. `timelines` gets a Chrome trace of a traced step beside the simulated one, on CPUs. Returns

    - `step_time_us`, the median, `fastest_us`, `slowest_us`, `steps`; `processor_us`, the median time of all threads
      together, which shows a busy machine; `simulated_step_time_us` (None for real GPUs without a cluster) and
      `measured_over_simulated`; `sources` of the simulation's costs as in a graph's summary;
    - `difference`, which devices, ops and transfers of a traced step explain it; None on GPUs; `memory`, a row for each
      device with its peak beside the simulated one; None without `processes`;
    - `devices` {the placement's: the machine's}, `virtual` (virtual CPUs ran in place of other devices), `threads`;
    - `executed_ops`, `mismatches` (number of ops that ran on another device than placed), the first `mismatched_ops`
      [[op, placed, ran], ...], `left_out` [[op, why], ...] and `notes`.

    Raises GraphError, PlacementError, SettingsError (also where no processes can be joined), LimitError.
    """
    require_steps(steps, threads)
    require_graphdef(suffix)
    modelled = cluster or _own_cluster(placement)
    prepared = prepare(path, suffix, report_progress, limits, groups=None, options=options, run_metadata=run_metadata)
    cpus = _on_cpus(modelled)
    simulated = simulated_step(prepared, cpus, placement)  # and the placement belongs to the graph
    names = [device.name for device in modelled.devices]
    run: dict[str, Json] = {"devices": [*names], "steps": steps, "threads": threads or 0, "processes": processes}
    arrays, texts = run_placed(path, suffix, placement, run, options, limits, report_progress)
    on_cpus = bool(texts["virtual"]) or processes or all(device.is_cpu for device in modelled.devices)
    simulated_us: float | None = simulated.step_time_us
    if not on_cpus:
        simulated_us = simulated_step(prepared, modelled, placement).step_time_us if cluster is not None else None
    wall_us, processor_us = arrays["wall_us"].astype(np.float64), arrays["processor_us"].astype(np.float64)
    step_time_us = float(np.median(wall_us))
    notes = [*prepared.origin.notes, *([VIRTUAL] if texts["virtual"] else []), PROCESSES if processes else PARALLEL]
    notes += [*notes_on(arrays), *([ESTIMATED] if run_metadata is None else [])]
    notes += busy_notes(step_time_us, float(np.median(processor_us))) if on_cpus else []
    return {
        "step_time_us": step_time_us,
        "fastest_us": float(wall_us.min()),
        "slowest_us": float(wall_us.max()),
        "processor_us": float(np.median(processor_us)),
        "simulated_step_time_us": simulated_us,
        "measured_over_simulated": step_time_us / simulated_us if simulated_us else None,
        **explanation(arrays, cast(list[str], texts["names"]), prepared, cpus, simulated, timelines),
        "sources": prepared.summary()["sources"],
        "devices": texts["devices"],
        "virtual": texts["virtual"],
        "threads": texts["threads"],
        "steps": steps,
        "executed_ops": texts["executed"],
        **_mismatches(cast(list[Json], texts["mismatches"])),
        "left_out": texts["left_out"],
        "notes": list(notes),
    }


def run_placed(
    path: Path,
    suffix: str,
    placement: Json,
    run: dict[str, Json],
    options: ReadingOptions,
    limits: Limits,
    report_progress: ReportProgress,
    pulse: Pulse = no_pulse,
) -> Results:
    """The results of `measure_in_child` for a `placement` that fits the graph; `run` has its other arguments."""
    assert isinstance(placement, dict)
    require_size(path, limits)
    order = order_of(path, suffix, options, limits) | {"device_of_op": dict(placement), **run}
    with child_results(
        f"{__name__}_in_child:measure_in_child",
        order,
        limits,
        task=MEASURING,
        report_progress=report_progress,
        pulse=pulse,
        with_gpus=not run["processes"],
        own_network=bool(run["processes"]),
    ) as (results, _):
        return results


def _mismatches(mismatches: list[Json]) -> dict[str, Json]:
    return {"mismatches": len(mismatches), "mismatched_ops": mismatches[:MISMATCHES_SHOWN]}


def _on_cpus(cluster: Cluster) -> Cluster:
    """The cluster with CPUs in place of all devices that are none."""
    cpus = (each if each.is_cpu else dataclasses.replace(each, kind="CPU", own=None) for each in cluster.devices)
    return dataclasses.replace(cluster, devices=tuple(cpus))


def _own_cluster(placement: Json) -> Cluster:
    """The devices that `placement` names, as parts of one process: tensors pass between them in no time."""
    if not isinstance(placement, dict):
        raise PlacementError("no object", where="placement", allowed="JSON {op: device}")
    names = sorted({_device_name(op, device) for op, device in placement.items()}, key=_order)
    count = len(names)
    kinds = [parse_device_string(name, name).type for name in names]
    devices = [Device(name, kind, default_memory_bytes(kind)) for name, kind in zip(names, kinds, strict=True)]
    return Cluster(
        devices=tuple(devices),
        contention=Contention.NONE,
        bandwidth_bytes_per_us=np.full((count, count), LARGEST_BANDWIDTH_BYTES_PER_US),
        latency_us=np.zeros((count, count)),
        link_rest_us=0.0,
        op_rest_us=0.0,
        memory_model=MemoryModel.FULL,
    )


def _device_name(op: str, device: Json) -> str:
    """`device`, if it names one CPU or GPU. Raises PlacementError."""
    parts = _parts(device) if isinstance(device, str) else None
    if not isinstance(device, str) or parts is None or parts.type not in DEVICE_CLASSES or not parts.index:
        what = f"not a device of one machine: {shortened(str(device))}"
        raise PlacementError(what, where=shortened(op), allowed="/device:CPU:N or /device:GPU:N")
    return device


def _parts(name: str) -> DeviceString | None:
    try:
        return parse_device_string(name, name)
    except GraphError:
        return None


def _order(name: str) -> tuple[str, int, str]:
    """The sort key of a device: GPUs first, as in clusters, then by number."""
    parts = parse_device_string(name, name)
    return ("" if parts.type == "GPU" else parts.type, int(parts.index), name)
