"""Calibrates this machine's processors: runs small trials and describes them as a cluster with the measured figures.

Each device is a process with one thread, joined to the other by TensorFlow's gRPC over the loopback of a network of its
own, so bytes really move between them. Nothing of a user's is run.
"""

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np

from engine.child.machine_memory import machine_memory_bytes
from engine.child.parent import Limits, Pulse, ReportProgress, child_results, no_progress, no_pulse
from engine.clusters.calibration import Calibration, MeasuredFigure
from engine.clusters.cluster import Cluster, Contention, Device, MemoryModel
from engine.clusters.device_kinds import DeviceKind
from engine.errors import SettingsError
from engine.events import Json
from engine.formats.reading import prepare
from engine.measuring.calibrating import fitting, trials
from engine.measuring.calibrating.checking import CHECKS, CheckGraph, checked
from engine.measuring.calibrating.fitting import Times, TrialWork, figure
from engine.measuring.calibrating.trials import OpSize
from engine.measuring.this_machine import machine_words
from engine.number_words import counted
from engine.simulator.batches import usable_cores

KIND = "this-CPU"
DEVICES = 2
"""processes that stand for devices; links to more of them would be alike"""
MOST_ROUNDS = 100
STEPS = 7
"""of each trial in a round"""
OPS_FILE = "ops.pb"
CALIBRATING = "measuring this machine"
CALIBRATING_LIMITS = Limits(memory_bytes=16 * 1024**3, seconds=1800.0)
MOST_NOISE = 0.2
"""by which rounds of one computation may differ: on a busier machine the figures would mean nothing"""
MOST_LOAD = 0.5
"""processes that are ready to run, of each processor, when it begins"""
SHARED = 0.5
"""transfers that delay each other by more of their time than this wait for each other in the model"""


def calibrate_processors(
    report_progress: ReportProgress = no_progress,
    *,
    rounds: int = 5,
    most_noise: float = MOST_NOISE,
    limits: Limits = CALIBRATING_LIMITS,
    pulse: Pulse = no_pulse,
    checks: Sequence[CheckGraph] = CHECKS,
) -> Cluster:
    """The cluster of two processes of this machine, of one thread each, with the measured figures in its `calibration`.

    `rounds` over all trials give each figure its range; `checks` are graphs whose steps correct the times of ops and
    give the error band; without them there is neither. `pulse` is called several times a second; what it raises ends
    the child. Raises SettingsError on a machine with one processor, on a busy one, where no network namespace can be
    made, or where rounds of one computation differ by more than `most_noise`, a share; infinite: any machine will do.
    """
    require_rounds(rounds)
    _require_processors()
    if most_noise < np.inf:
        require_idle()
    names = [f"/device:CPU:{index}" for index in range(DEVICES)]
    order: dict[str, Json] = {"devices": [*names], "threads": 1, "rounds": rounds, "steps": STEPS}
    with child_results(
        "engine.measuring.calibrating.trials_in_child:trials_in_child",
        order,
        limits,
        task=CALIBRATING,
        report_progress=report_progress,
        pulse=pulse,
        own_network=True,
    ) as ((arrays, _), folder):
        times = {name: array.astype(np.float64) for name, array in arrays.items()}
        work = work_of_ops(folder / OPS_FILE, trials.OPS)
    require_quiet(times, most_noise)
    cluster = calibrated_cluster(times, work, names, machine_memory_bytes() // DEVICES, machine_words(), today())
    return checked(cluster, limits, report_progress, pulse, checks, most_noise=most_noise) if checks else cluster


def require_rounds(rounds: int) -> None:
    """Raise SettingsError for a number of rounds that is not allowed."""
    if not 1 <= rounds <= MOST_ROUNDS:
        raise SettingsError(f"{rounds}", where="rounds", allowed=f"1 to {MOST_ROUNDS}", field="rounds")


def _require_processors() -> None:
    """Raise SettingsError where the devices would share a processor, so that no figure is that of one alone."""
    if usable_cores() < DEVICES:
        what = f"the {DEVICES} devices would share this machine's one processor"
        raise SettingsError(what, where="calibrate", allowed=f"a machine with at least {DEVICES} processors")


def require_idle() -> None:
    """Raise SettingsError on a machine that is busy already: work that goes on slows all rounds alike, which no
    difference between them shows.
    """
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    most = processors * MOST_LOAD
    if load > most:
        what = f"the machine is busy with other work: a load of {load:.1f} on {counted(processors, 'processor')}"
        allowed = f"at most {most:g} in the last minute, on an idle machine"
        raise SettingsError(what, where="calibrate", allowed=allowed)


def require_quiet(times: Times, most_noise: float) -> None:
    """Raise SettingsError if the machine did other work meanwhile."""
    fitting.require_low(float(fitting.noise(times).max()), most_noise)


def work_of_ops(path: Path, ops: Sequence[OpSize]) -> dict[str, TrialWork]:
    """By name, the operations and bytes that the engine counts for each op of the graph of a trial's `ops`."""
    prepared = prepare(path, path.suffix, no_progress, Limits(), groups=None)
    costs, place = prepared.costs, {name: op for op, name in enumerate(prepared.graph.op_names)}
    return {
        op.name: TrialWork(float(costs.flops[place[op.name]]), float(costs.moved_bytes[place[op.name]])) for op in ops
    }


def calibrated_cluster(
    times: Times, work: Mapping[str, TrialWork], names: list[str], memory_of_device: int, machine: str, date: str
) -> Cluster:
    """The cluster that the times of the trials describe."""
    figures = figures_of(times, work)
    kind = DeviceKind(
        name=KIND,
        device_class="CPU",
        memory_bytes=memory_of_device,
        peak_gflops=figures["peak_gflops"].value,
        memory_bandwidth_bytes_per_us=figures["memory_bandwidth_bytes_per_us"].value,
        source=f"measured on {machine}, {date}",
        efficiency=figures["efficiency"].value,
        efficiency_by_op_type=fitting.efficiency_of_types(fitting.roofline(times, work).efficiency_of_op),
        op_rest_us=figures["op_rest_us"].value,
    )
    count, contention = len(names), contention_of(figures)
    apart = ~np.eye(count, dtype=bool)
    return Cluster(
        devices=tuple(Device(name, KIND, memory_of_device, kind) for name in names),
        contention=contention,
        bandwidth_bytes_per_us=np.full((count, count), figures["bandwidth_bytes_per_us"].value),
        latency_us=np.where(apart, figures["latency_us"].value, 0.0),
        link_rest_us=figures["further_small_transfer_us"].value if contention == Contention.SENDER else 0.0,
        op_rest_us=kind.op_rest_us,
        memory_model=MemoryModel.FULL,
        calibration=Calibration(machine, date, MappingProxyType(figures)),
    )


def contention_of(figures: Mapping[str, MeasuredFigure]) -> Contention:
    """The rule that comes closest to what was measured."""
    if figures["overlap_share.sender"].value < SHARED:
        return Contention.SENDER
    return Contention.PAIR if figures["waiting_share"].value > SHARED else Contention.NONE


def figures_of(
    times: Times, work: Mapping[str, TrialWork], ops: Sequence[OpSize] = trials.OPS
) -> dict[str, MeasuredFigure]:
    """All figures by name, of the trials with these ops."""
    step_us, joined_step_us = fitting.step_us(times)
    chain = f"chains of {trials.FEW_OPS:,} and {trials.MANY_OPS:,} ops without work"
    return {
        "noise": figure(fitting.noise(times), "share by which rounds of one computation took longer than the fastest"),
        "op_rest_us": figure(fitting.op_overhead_us(times), f"µs an op costs beside its work: {chain}"),
        "step_us": figure(step_us, "µs a step costs beside its ops, on one device"),
        "joined_step_us": figure(joined_step_us, "µs of a step that sends 4 bytes to the other device and waits"),
        **link_figures_of(times),
        **_figures_of_ops(times, work, ops),
    }


def link_figures_of(times: Times) -> dict[str, MeasuredFigure]:
    """The figures of a link between two devices, by name."""
    latency_us, bandwidth = fitting.link(times)
    sizes = f"{trials.LINK_BYTES[0]} bytes to {trials.LINK_BYTES[-1] // 2**20} MiB"
    large = f"{trials.LARGE_BYTES // 2**20} MiB"
    return {
        "latency_us": figure(latency_us, f"µs before a transfer's bytes: tensors of {sizes} to and fro, a fitted line"),
        "bandwidth_bytes_per_us": figure(bandwidth, "bytes a µs between the devices: the same line"),
        **{
            f"transfer_us.{size}": figure(fitting.hop_us(times, size), f"µs a transfer of {size:,} bytes adds")
            for size in trials.LINK_BYTES
        },
        "further_small_transfer_us": figure(
            fitting.further_transfer_us(times, trials.SMALL_BYTES),
            "µs each further tensor of 4 bytes sent at once takes",
        ),
        "waiting_share": figure(
            fitting.waiting_share(times), f"share of a transfer of {large} by which one the same way delays another"
        ),
        "opposite_share": figure(
            fitting.opposite_share(times), f"share of transfers of {large} by which those the other way delay them"
        ),
        **{
            f"overlap_share.{at}": figure(
                fitting.overlap_share(times, at), f"share of transfers and of a computation on the {at} that overlap"
            )
            for at in ("sender", "receiver")
        },
    }


def _figures_of_ops(times: Times, work: Mapping[str, TrialWork], ops: Sequence[OpSize]) -> dict[str, MeasuredFigure]:
    reached = fitting.roofline(times, work, ops)
    largest = max(op.shape[0] for op in ops if op.type in trials.STREAMING)
    shown = {
        "peak_gflops": figure(reached.peak_gflops, "10⁹ operations a second of the fastest matrix product, float32"),
        "memory_bandwidth_bytes_per_us": figure(
            reached.bandwidth_bytes_per_us,
            f"bytes a µs of the fastest of Relu, AddV2 and Tanh, on {4 * largest // 2**20} MiB",
        ),
        "efficiency": figure(reached.efficiency, "share of peak and bandwidth that ops reach: the geometric mean"),
    }
    for name, rounds in reached.efficiency_of_op.items():
        shown[f"efficiency.{name}"] = figure(rounds, "share of peak and bandwidth that this op reaches")
    return shown


def today() -> str:
    """The date, ISO 8601, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()
