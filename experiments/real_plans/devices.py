"""Four slowed processors as a cluster, and the stack's costs on them at any micro-batch.

An op's share of its pass is that of a profiler's trace; the pass takes as long as it took untraced, on the slowed
processor.
"""

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine import api
from engine.clusters.calibration import MeasuredFigure
from engine.clusters.cluster import Cluster, Contention
from engine.clusters.device_kinds import DeviceKind
from engine.costs.costs import Costs
from engine.graphs.graph import BACKWARD, FORWARD, OPTIMIZER
from engine.plans.by_batch import ModelByBatch, model_by_batch
from experiments.measured_streams.calibrated import cluster_of
from experiments.measured_streams.running import of_all_ranks
from experiments.measured_streams.towers import LARGE, SMALL

FACTORS = (8.0, 8.0, 16.0, 24.0)
"""of the processes: their shares of a processor are 0.35 together, so that each gets its own beside other work"""
MICRO_BATCHES = 16
"""of the small size, in a batch"""
STEPS = 10
SECONDS = 600.0
PHASES = (FORWARD, BACKWARD, OPTIMIZER)


def kind_of(factor: float) -> str:
    """The kind of a device that takes so many times the processor time."""
    return f"1/{factor:g} CPU"


def slowed_cluster(link: Mapping[str, MeasuredFigure]) -> Cluster:
    """A device for each of `FACTORS`, with gloo's link; processors are free for it while processes sleep."""
    cluster = cluster_of(len(FACTORS), link, 0.0)
    devices = tuple(
        dataclasses.replace(device, kind=kind_of(factor), own=_own(factor, device.memory_bytes))
        for device, factor in zip(cluster.devices, FACTORS, strict=True)
    )
    rests = {device.kind: 0.0 for device in devices}
    return dataclasses.replace(
        cluster, devices=devices, contention=Contention.PAIR, link_rest_us=0.0, op_rest_of_kind=rests
    )


def _own(factor: float, memory_bytes: int) -> DeviceKind:
    """The peaks are not used: each op has its measured time."""
    return DeviceKind(kind_of(factor), "CPU", memory_bytes, 1.0, 1.0, "measured here", op_rest_us=0.0)


def measured_passes() -> list[list[list[float]]]:
    """[small, large][devices][forward, backward, update] the median time in µs, while all devices do the same."""
    arguments: dict[str, api.Json] = {"towers": [SMALL, LARGE], "steps": STEPS, "factors": [*FACTORS]}
    times_us = np.array(of_all_ranks("pass_times", arguments, len(FACTORS), SECONDS))
    medians: list[list[list[float]]] = np.median(times_us, axis=2).transpose(1, 0, 2).tolist()
    return medians


def measured_model(passes_us: Sequence[Sequence[Sequence[float]]]) -> ModelByBatch:
    """The stack, recorded and profiled at both micro-batches; `passes_us` as measured."""
    readings = []
    for tower, of_tower in zip((SMALL, LARGE), passes_us, strict=True):
        prepared = _profiled(tower)
        costs = on_slowed(prepared.costs, prepared.graph.phase, of_tower)
        readings.append(dataclasses.replace(prepared, costs=costs))
    return model_by_batch(readings)


def _profiled(tower: str) -> api.PreparedGraph:
    with tempfile.TemporaryDirectory() as name:
        recording, trace = Path(name) / "step.json.gz", Path(name) / "trace.json.gz"
        arguments: dict[str, api.Json] = {
            "tower": tower,
            "steps": 0,
            "recording": str(recording),
            "traces": [str(trace)],
        }
        of_all_ranks("profile", arguments, 1, SECONDS)
        return api.prepare(
            recording, api.suffix_of(recording.name), lambda *_: None, api.Limits(), None, run_metadata=trace
        )


def on_slowed(costs: Costs, phase: NDArray[np.integer], passes_us: Sequence[Sequence[float]]) -> Costs:
    """The costs with times on the slowed kinds alone; `passes_us` [devices][forward, backward, update]."""
    shares = np.nan_to_num(costs.op_time_in_step_us()[costs.kinds.index("CPU")])
    for each in PHASES:
        shares[phase == each] /= shares[phase == each].sum()
    pass_of_op = np.searchsorted(PHASES, phase)
    times_us = {}
    for factor in dict.fromkeys(FACTORS):
        alike = [of_device for of_device, own in zip(passes_us, FACTORS, strict=True) if own == factor]
        times_us[kind_of(factor)] = shares * np.mean(alike, axis=0)[pass_of_op]
    return dataclasses.replace(
        costs,
        kinds=tuple(times_us),
        time_us=np.stack([*times_us.values()]),
        trips=np.empty(0, np.int64),
        moved_bytes=np.empty(0, np.int64),
        measured_us=np.empty((0, 0)),
    )
