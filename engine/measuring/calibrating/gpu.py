"""Calibrates this machine's GPUs: runs small trials through torch and describes them, with their host, as a cluster.

A GPU's link is measured to its host, from and to pinned memory, and to the next GPU where there is one. No step of
TensorFlow is run, so the cluster has no error band.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

import numpy as np
from numpy.typing import NDArray

from engine.child.machine_memory import machine_memory_bytes
from engine.child.parent import GPU_DRIVER, Limits, Pulse, ReportProgress, child_results, no_progress, no_pulse
from engine.clusters.calibration import Calibration, MeasuredFigure
from engine.clusters.cluster import Cluster, Device, MemoryModel
from engine.clusters.device_kinds import CATALOGUE, DeviceKind, FloatType
from engine.errors import SettingsError
from engine.events import Json
from engine.measuring.calibrating import fitting
from engine.measuring.calibrating.calibration import (
    CALIBRATING,
    CALIBRATING_LIMITS,
    MOST_NOISE,
    OPS_FILE,
    STEPS,
    contention_of,
    figures_of,
    link_figures_of,
    require_idle,
    require_quiet,
    require_rounds,
    today,
    work_of_ops,
)
from engine.measuring.calibrating.fitting import Times, TrialWork, figure
from engine.measuring.calibrating.gpu_trials import HALF_TYPES, USUAL, GpuSizes, peak_trial
from engine.measuring.calibrating.trials import COPIES
from engine.measuring.this_machine import machine_words

KIND, HOST_KIND = "this-GPU", "CPU"
_CHILD = "engine.measuring.calibrating.gpu_trials_in_child"


@dataclasses.dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU of this machine."""

    name: str
    memory_bytes: int


def gpus_here(limits: Limits = CALIBRATING_LIMITS) -> list[Gpu]:
    """The GPUs that torch can use on this machine."""
    if not GPU_DRIVER.exists():
        return []
    with child_results(f"{_CHILD}:gpus_in_child", {}, limits, task="looking for GPUs", with_gpus=True) as found:
        return [Gpu(str(name), int(size)) for name, size in cast(list[list[str | int]], found[0][1]["gpus"])]


def calibrate_gpus(
    report_progress: ReportProgress = no_progress,
    *,
    rounds: int = 5,
    most_noise: float = MOST_NOISE,
    limits: Limits = CALIBRATING_LIMITS,
    pulse: Pulse = no_pulse,
    sizes: GpuSizes = USUAL,
) -> Cluster:
    """The cluster of this machine's GPUs and its host, with the measured figures of the first in its `calibration`.

    Raises SettingsError for a machine without a GPU that torch can use, and as `calibrate_processors` does.
    """
    require_rounds(rounds)
    gpus = gpus_here(limits)
    if not gpus:
        raise SettingsError("torch finds no GPU here", where="device", allowed="cpu", field="device")
    if most_noise < np.inf:
        require_idle()
    times = trial_times(("cuda:0", "cpu"), rounds, sizes, limits, report_progress, pulse, with_ops=True)
    require_quiet(times, most_noise)
    between = None
    if len(gpus) > 1:
        between = trial_times(("cuda:0", "cuda:1"), rounds, sizes, limits, report_progress, pulse, with_ops=False)
    work = counted_work(sizes, limits, pulse)
    return gpu_cluster(gpus, times, between, work, sizes)


def trial_times(
    devices: Sequence[str],
    rounds: int,
    sizes: GpuSizes,
    limits: Limits,
    report_progress: ReportProgress,
    pulse: Pulse,
    *,
    with_ops: bool,
) -> Times:
    """Run the trials on two of torch's devices in a child: [rounds] µs by trial."""
    order: dict[str, Json] = {
        "devices": [*devices],
        "rounds": rounds,
        "steps": STEPS,
        "sizes": dataclasses.asdict(sizes),
        "with_ops": with_ops,
    }
    with child_results(
        f"{_CHILD}:gpu_trials_in_child",
        order,
        limits,
        task=CALIBRATING,
        report_progress=report_progress,
        pulse=pulse,
        with_gpus=True,
    ) as ((arrays, _), _folder):
        return {name: array.astype(np.float64) for name, array in arrays.items()}


def counted_work(sizes: GpuSizes, limits: Limits, pulse: Pulse = no_pulse) -> dict[str, TrialWork]:
    """By name, the work that the engine counts for each op of the trials."""
    ops: list[Json] = [[op.type, [*op.shape]] for op in sizes.ops()]
    made = "engine.measuring.calibrating.trials_in_child:ops_in_child"
    with child_results(made, {"ops": ops}, limits, task=CALIBRATING, pulse=pulse) as (_, folder):
        return work_of_ops(folder / OPS_FILE, sizes.ops())


def gpu_cluster(
    gpus: Sequence[Gpu], times: Times, between: Times | None, work: Mapping[str, TrialWork], sizes: GpuSizes
) -> Cluster:
    """The cluster that the times describe: `times` to the host, `between` two GPUs if there are."""
    ops, date = sizes.ops(), today()
    machine = f"{len(gpus)} × {gpus[0].name}, {machine_words()}"
    figures = figures_of(times, work, ops) | _peaks(times, sizes)
    if between is not None:
        figures |= {f"{name}.between_gpus": each for name, each in link_figures_of(between).items()}
    kind = DeviceKind(
        name=KIND,
        device_class="GPU",
        memory_bytes=gpus[0].memory_bytes,
        peak_gflops=figures["peak_gflops"].value,
        peak_gflops_by_type={FloatType(each): figures[f"peak_gflops.{each}"].value for each in HALF_TYPES},
        memory_bandwidth_bytes_per_us=figures["memory_bandwidth_bytes_per_us"].value,
        source=f"measured on {machine}, {date}",
        efficiency=figures["efficiency"].value,
        efficiency_by_op_type=fitting.efficiency_of_types(fitting.roofline(times, work, ops).efficiency_of_op, ops),
        op_rest_us=figures["op_rest_us"].value,
    )
    devices = [Device(f"/device:GPU:{index}", KIND, gpu.memory_bytes, kind) for index, gpu in enumerate(gpus)]
    devices.append(Device("/device:CPU:0", HOST_KIND, machine_memory_bytes()))
    apart = ~np.eye(len(devices), dtype=bool)
    return Cluster(
        devices=tuple(devices),
        contention=contention_of(figures),
        bandwidth_bytes_per_us=_by_pair(figures, "bandwidth_bytes_per_us", len(gpus)),
        latency_us=np.where(apart, _by_pair(figures, "latency_us", len(gpus)), 0.0),
        link_rest_us=0.0,
        op_rest_us=CATALOGUE[HOST_KIND].op_rest_us,
        op_rest_of_kind={KIND: kind.op_rest_us},
        memory_model=MemoryModel.FULL,
        calibration=Calibration(machine, date, MappingProxyType(figures)),
    )


def _peaks(times: Times, sizes: GpuSizes) -> dict[str, MeasuredFigure]:
    """The peak of each data type but float32."""
    operations, found = 2.0 * sizes.matrix**3, {}
    for float_type in HALF_TYPES:
        one_us = (times[peak_trial(float_type, COPIES)] - times[peak_trial(float_type, 1)]) / (COPIES - 1)
        how = f"10⁹ operations a second of a matrix product of {sizes.matrix:,} × {sizes.matrix:,}, {float_type}"
        found[f"peak_gflops.{float_type}"] = figure(operations / np.maximum(one_us, fitting.LEAST_US) / 1e3, how)
    return found


def _by_pair(figures: Mapping[str, MeasuredFigure], name: str, gpus: int) -> NDArray[np.float64]:
    """[devices, devices] a figure of each link: between GPUs as measured, else as to the host."""
    links = np.full((gpus + 1, gpus + 1), figures[name].value)
    if f"{name}.between_gpus" in figures:
        links[:gpus, :gpus] = figures[f"{name}.between_gpus"].value
    return links
