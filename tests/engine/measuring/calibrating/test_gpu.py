"""GPUs calibrated: the trials on the device of torch that each machine has, and the cluster of known times."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from engine.cli.main import main
from engine.clusters.cluster import Contention
from engine.clusters.cluster_json import cluster_to_json
from engine.clusters.parsing import parse_cluster
from engine.errors import SettingsError
from engine.events import Json
from engine.measuring.calibrating import gpu, gpu_trials_in_child, machine, trials
from engine.measuring.calibrating.calibration import CALIBRATING_LIMITS
from engine.measuring.calibrating.fitting import Times, TrialWork
from engine.measuring.calibrating.gpu import Gpu, calibrate_gpus, gpu_cluster
from engine.measuring.calibrating.gpu_trials import HALF_TYPES, GpuSizes, peak_trial
from engine.measuring.calibrating.trials import OpSize

SMALL = GpuSizes(batch=2, matrix=64, computed=64, elements=2**14)
"""ops that a processor runs in little time"""
GPUS = [Gpu("Card", 2**34), Gpu("Card", 2**34)]
OPERATIONS_PER_US, MOVED_PER_US, OP_US, STEP_US = 1e7, 1e6, 5.0, 20.0
HOST_US, HOST_BYTES_PER_US, GPU_US, GPU_BYTES_PER_US = 10.0, 25_000.0, 4.0, 200_000.0


def test_all_trials_run_on_torchs_device_that_every_machine_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu_trials_in_child, "COPIES", 2)
    reported: list[tuple[int, int]] = []
    order: dict[str, Json] = {"devices": ["cpu", "cpu"], "rounds": 2, "steps": 1, "with_ops": True}
    order["sizes"] = dataclasses.asdict(SMALL)

    def report(_stage: str, done: int, total: int) -> None:
        reported.append((done, total))

    arrays, _ = gpu_trials_in_child.gpu_trials_in_child(order, tmp_path, report)
    times = {name: array.astype(np.float64) for name, array in arrays.items()}
    assert {trials.op_trial(op.name, 1) for op in SMALL.ops()} < set(times)
    assert {peak_trial(each, 1) for each in HALF_TYPES} < set(times)
    assert all(rounds.shape == (2,) and (rounds > 0).all() for rounds in times.values())
    assert reported[-1] == (3 * len(times), 3 * len(times))


@pytest.mark.parametrize("type_", sorted(gpu_trials_in_child.MAKERS))
def test_an_op_of_torch_reads_and_writes_what_tensorflows_op_does(type_: str) -> None:
    """The results have the shapes of TensorFlow's, in torch's order of axes."""
    op = next(op for op in SMALL.ops() if op.type == type_)
    made: Any = gpu_trials_in_child.MAKERS[type_](torch.device("cpu"), op)()
    result = next(each for each in made if each is not None) if isinstance(made, tuple) else made
    assert sorted(result.shape) == sorted(shape_of_result(op))


def shape_of_result(op: OpSize) -> tuple[int, ...]:
    """The shape of TensorFlow's result."""
    match op.type:
        case "MatMul" | "BatchMatMulV2":
            return (*op.shape[:-2], op.shape[-1])
        case "Conv2D":
            return (*op.shape[:3], op.shape[4])
        case "Conv2DBackpropFilter":
            *_, channels, channels_out, width = op.shape
            return (width, width, channels, channels_out)
        case "Conv2DBackpropInput":
            return op.shape[:4]
        case "MaxPool" | "AvgPool":
            batch, height, width, channels = op.shape
            return (batch, height // 2, width // 2, channels)
        case "BiasAddGrad" | "Mean" | "Sum":
            return op.shape[-1:]
        case "ConcatV2":
            return (*op.shape[:3], 2 * op.shape[3])
        case "Slice":
            return (*op.shape[:3], op.shape[3] // 2)
    return op.shape


def test_the_engine_counts_work_for_every_op() -> None:
    work = gpu.counted_work(SMALL, CALIBRATING_LIMITS)
    assert set(work) == {op.name for op in SMALL.ops()}
    assert all(each.moved_bytes > 0 for each in work.values())
    matrix = SMALL.matrix
    assert work[f"MatMul_{matrix}x{matrix}x{matrix}"].operations == 2 * matrix**3


def times_of(latency_us: float, bytes_per_us: float, work: dict[str, TrialWork]) -> Times:
    """A card whose copies wait for those the same way alone, and go on beside its computing."""

    def hop_us(size: int) -> float:
        return latency_us + size / bytes_per_us

    times = {trials.overhead(ops): STEP_US + OP_US * ops for ops in (trials.FEW_OPS, trials.MANY_OPS)}
    for size in trials.LINK_BYTES:
        times[trials.there_and_back(size, local=True)] = STEP_US
        times[trials.there_and_back(size, local=False)] = STEP_US + trials.HOPS * hop_us(size)
    for size in (trials.SMALL_BYTES, trials.LARGE_BYTES):
        for count in (1, trials.AT_ONCE):
            times[trials.sent_at_once(size, count)] = STEP_US + count * hop_us(size)
    one_way = trials.OVERLAPPED_TRANSFERS * hop_us(trials.LARGE_BYTES)
    for way in ({}, {"back": True}, {"both": True}):
        times[trials.sent_at_once(trials.LARGE_BYTES, trials.OVERLAPPED_TRANSFERS, **way)] = one_way
    for at in ("sender", "receiver"):
        times[trials.computing(at, alone=True)] = times[trials.computing(at, alone=False)] = 2 * one_way
    times |= times_of_ops(work)
    return {name: np.full(3, us) for name, us in times.items()}


def times_of_ops(work: dict[str, TrialWork]) -> dict[str, float]:
    """Every op reaches peak and bandwidth; half types are two and three times as fast."""
    times = {}
    for op in SMALL.ops():
        own_us = work[op.name].operations / OPERATIONS_PER_US + work[op.name].moved_bytes / MOVED_PER_US
        for copies in (1, trials.COPIES):
            times[trials.op_trial(op.name, copies)] = STEP_US + copies * own_us
    for number, float_type in enumerate(HALF_TYPES, 2):
        for copies in (1, trials.COPIES):
            own_us = 2 * SMALL.matrix**3 / (number * OPERATIONS_PER_US)
            times[peak_trial(float_type, copies)] = STEP_US + copies * own_us
    return times


@pytest.mark.parametrize("count", [1, 2])
def test_the_cluster_of_known_times_has_their_figures(count: int) -> None:
    work = {op.name: TrialWork(0.0, 1e8) for op in SMALL.ops()}
    largest = f"MatMul_{SMALL.matrix}x{SMALL.matrix}x{SMALL.matrix}"
    work |= {op.name: TrialWork(1e10, 0.0) for op in SMALL.ops() if op.type == "MatMul"}
    assert largest in work
    between = times_of(GPU_US, GPU_BYTES_PER_US, work) if count == 2 else None
    cluster = gpu_cluster(GPUS[:count], times_of(HOST_US, HOST_BYTES_PER_US, work), between, work, SMALL)
    assert [device.kind for device in cluster.devices] == [gpu.KIND] * count + [gpu.HOST_KIND]
    kind = cluster.devices[0].own
    assert kind is not None
    assert kind.peak_gflops == pytest.approx(OPERATIONS_PER_US / 1e3)
    assert list(kind.peak_gflops_by_type.values()) == pytest.approx(
        [OPERATIONS_PER_US * 2e-3, OPERATIONS_PER_US * 3e-3]
    )
    assert kind.memory_bandwidth_bytes_per_us == pytest.approx(MOVED_PER_US)
    assert cluster.op_rests_us == pytest.approx([OP_US] * count + [machine_rest()])
    assert cluster.contention == Contention.PAIR, "copies the same way wait for each other, and computing goes on"
    assert cluster.latency_us[0, count] == pytest.approx(HOST_US, rel=1e-6)
    assert cluster.bandwidth_bytes_per_us[count, 0] == pytest.approx(HOST_BYTES_PER_US)
    if count == 2:
        assert cluster.latency_us[0, 1] == pytest.approx(GPU_US, rel=1e-6)
        assert cluster.bandwidth_bytes_per_us[1, 0] == pytest.approx(GPU_BYTES_PER_US)
    assert cluster_to_json(parse_cluster(json.dumps(cluster_to_json(cluster)))) == cluster_to_json(cluster)


def machine_rest() -> float:
    """The rest of the host, a kind of the catalogue."""
    return float(parse_cluster("1xCPU").op_rests_us[0])


def test_a_machine_without_a_gpu_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu, "GPU_DRIVER", tmp_path / "nvidiactl")
    with pytest.raises(SettingsError, match=r"^device: torch finds no GPU here; allowed: cpu$"):
        calibrate_gpus()
    assert main(["calibrate", "--device", "cuda", "--out", str(tmp_path / "machine.json")]) == 2
    assert "torch finds no GPU here" in capsys.readouterr().err
    with pytest.raises(SettingsError, match=r"^device: tpu; allowed: auto, cpu, cuda$"):
        machine.calibrate(device="tpu")


def test_auto_takes_the_gpus_where_there_are_any(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    monkeypatch.setattr(machine, "calibrate_gpus", lambda *_, **__: taken.append("gpus"))
    monkeypatch.setattr(machine, "calibrate_processors", lambda *_, **__: taken.append("processors"))
    for found in ([], GPUS):
        monkeypatch.setattr(machine, "gpus_here", lambda found=found: found)
        machine.calibrate()
    machine.calibrate(device="cpu")
    assert taken == ["processors", "gpus", "processors"]
