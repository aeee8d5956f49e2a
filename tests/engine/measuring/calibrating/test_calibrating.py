"""This machine calibrated for real, and the refusals: a busy machine, numbers out of range."""

import dataclasses
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shutil import copy

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import api
from engine.cli.main import main
from engine.clusters.calibration import ERROR_BAND, Calibration, MeasuredFigure
from engine.clusters.cluster import Cluster
from engine.clusters.parsing import parse_cluster
from engine.errors import SettingsError
from engine.measuring.calibrating import calibration, checking, machine, trials
from engine.measuring.calibrating.calibration import calibrate_processors
from engine.measuring.calibrating.checking import CheckGraph
from engine.measuring.calibrating.machine import calibrate
from engine.measuring.calibrating.training_steps import StepsOfGraph
from engine.measuring.fidelity import MeasuredSteps
from engine.measuring.many import GraphToMeasure
from tests.engine.measuring.calibrating.made_up_machine import machine_of, step_on_one
from tests.own_network import NEEDS_OWN_NETWORK


@NEEDS_OWN_NETWORK
def test_this_machine_becomes_a_cluster(
    tiny_cnn_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(calibration, "STEPS", 1)
    monkeypatch.setattr(checking, "STEPS", 1)
    monkeypatch.setattr(checking, "SHARES", ())
    monkeypatch.setattr(checking, "ROUNDS", 1)
    monkeypatch.setattr(checking, "build_graph", lambda _name, path, *_given, **_more: copy(tiny_cnn_path, path))
    checks = [CheckGraph("a network")]
    monkeypatch.setattr(
        machine, "calibrate_processors", partial(calibrate_processors, most_noise=np.inf, checks=checks)
    )
    path = tmp_path / "machine.json"
    assert main(["calibrate", "--device", "cpu", "--out", str(path), "--rounds", "1"]) == 0
    reported = capsys.readouterr().out
    assert "bandwidth_bytes_per_us: " in reported and "measured_over_simulated: " in reported
    cluster = parse_cluster(path.read_text())
    assert [device.name for device in cluster.devices] == ["/device:CPU:0", "/device:CPU:1"]
    assert cluster.calibration is not None
    figures, band = cluster.calibration.figures, cluster.calibration.error_band
    assert band is not None and 0 < band.low <= band.value <= band.high
    assert band.how.startswith("measured over simulated step times of 4 placements of 1 graph (a network), each")
    assert {f"efficiency.{op.name}" for op in trials.OPS} < set(figures)
    assert figures["transfer_us.16777216"].value > figures["transfer_us.4"].value  # bytes really move
    assert figures["peak_gflops"].value > 0.1 and cluster.bandwidth_bytes_per_us[0, 1] > 1.0
    (report,) = api.simulate(two_ops(tmp_path), cluster, [{"a": "/device:CPU:0", "b": "/device:CPU:1"}])
    assert isinstance(report, dict) and isinstance(report["step_time_us"], float)
    assert report["step_time_us"] > 20.0 + cluster.latency_us[0, 1]


def test_the_error_band_holds_four_in_five_of_the_placements() -> None:
    ratios = np.random.default_rng(0).permutation(np.linspace(1.0, 2.0, 11))
    band = checking.band_of(ratios, 3, ["one", "other"])
    assert (band.low, band.value, band.high) == pytest.approx((1.1, 1.5, 1.9))
    assert ((ratios >= band.low - 1e-9) & (ratios <= band.high + 1e-9)).sum() == 9
    assert (
        "11 placements of 3 graphs (one and other), each left out of the figures: the median, and the range of 80 %"
        in band.how
    )


@pytest.mark.parametrize(("groups", "devices"), [(1, 2), (7, 2), (40, 3), (5, 1)])
def test_the_checked_placements_are_of_the_first_two_devices(groups: int, devices: int) -> None:
    placements = checking.check_placements(groups, devices)
    assert placements.shape == (8, groups) and placements.min() == 0 and placements.max() <= min(1, devices - 1)
    assert not placements[0].any()
    if groups == 40:
        assert placements.sum(axis=1)[1:4].tolist() == [30, 20, 10] and len(np.unique(placements, axis=0)) == 8


def test_a_run_on_a_calibrated_cluster_reports_its_error_band(tmp_path: Path) -> None:
    prepared, cluster = two_ops(tmp_path), parse_cluster("2xCPU")
    figures = {ERROR_BAND: MeasuredFigure(1.5, 1.2, 2.0, "by hand")}
    measured = dataclasses.replace(cluster, calibration=Calibration("2 × a processor", "2026-11-25", figures))
    for on, band in ((cluster, None), (measured, {"machine": "2 × a processor", "date": "2026-11-25"})):
        request = api.RunRequest(on, "single_device", api.Budget(2), 0)
        report = api.place(prepared, request, lambda _: None, lambda: False)
        step_time_us = report["step_time_us"]
        assert isinstance(step_time_us, float)
        ends = {"low_us": 1.2 * step_time_us, "middle_us": 1.5 * step_time_us, "high_us": 2.0 * step_time_us}
        assert report.get("error_band") == (None if band is None else ends | band)


def two_ops(folder: Path) -> api.PreparedGraph:
    """Two ops of 10 µs, one after the other."""
    nodes = [{"id": name, "time_us": 10, "output_bytes": [4]} for name in ("a", "b")]
    edges = [{"source": "a", "target": "b", "output": 0}]
    path = folder / "two.json"
    path.write_text(json.dumps({"directed": True, "multigraph": False, "graph": {}, "nodes": nodes, "edges": edges}))
    return api.prepare(path, ".json", lambda *_: None, api.Limits(), None)


def test_a_busy_machine_is_refused() -> None:
    times = {trials.computing("sender", alone=True): np.array([100.0, 135.0])}
    line = "calibrate: the machine was busy with other work: one computation took up to 35 % longer than before"
    with pytest.raises(SettingsError) as raised:
        calibration.require_quiet(times, 0.2)
    assert str(raised.value) == f"{line}; allowed: at most 20 %, on an idle machine"
    calibration.require_quiet(times, 0.4)


@pytest.mark.parametrize(("load", "is_idle"), [(9.0, False), (1.1, False), (1.0, True), (0.0, True)])
def test_a_machine_that_is_busy_all_the_time_is_refused_before_anything_runs(
    load: float, is_idle: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rounds are alike, since other work slows them all."""

    def begin(*_: object, **__: object) -> None:
        raise AssertionError("it begins")

    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.setattr(calibration, "usable_cores", lambda: 2)
    monkeypatch.setattr(calibration, "child_results", begin)
    with pytest.raises(AssertionError if is_idle else SettingsError) as raised:
        api.calibrate(device="cpu")
    if load == 9.0:
        what = "calibrate: the machine is busy with other work: a load of 9.0 on 2 processors"
        assert str(raised.value) == f"{what}; allowed: at most 1 in the last minute, on an idle machine"


@pytest.mark.parametrize("second_round", [1.0, 2.0])
def test_a_machine_that_becomes_busy_while_it_runs_steps_is_refused(
    second_round: float, tiny_cnn_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared = api.prepare(tiny_cnn_path, ".pb", lambda *_: None, api.Limits(), 16)
    step, slow = step_on_one(prepared, machine_of()), step_on_one(prepared, machine_of(), tracing=3.0)
    traced, seen = iter([slow, step] * len(checking.CHECKS)), list[StepsOfGraph]()

    def measured(_graph: GraphToMeasure, _ops: object, placements: NDArray[np.int32], *_more: object) -> MeasuredSteps:
        numbers = [0, *range(1, len(placements)), 0]
        slower = [second_round if number % 2 else 1.0 for number in numbers]  # each other placement
        rounds = [[[number, 100.0] for number in numbers]]
        rounds += [[[number, 100.0 * times] for number, times in zip(numbers, slower, strict=True)]]
        return MeasuredSteps.of_rounds(rounds, len(placements))

    def with_steps(cluster: Cluster, steps: Sequence[StepsOfGraph], _names: object) -> Cluster:
        seen.extend(steps)
        return cluster

    monkeypatch.setattr(checking, "build_graph", lambda _name, path, *_given, **_more: path.write_bytes(b""))
    monkeypatch.setattr(checking, "prepare", lambda *_, **__: prepared)
    monkeypatch.setattr(checking, "traced_on_one_device", lambda *_: next(traced))
    monkeypatch.setattr(checking, "with_steps", with_steps)
    monkeypatch.setattr(GraphToMeasure, "measured", measured)
    if second_round == 1.0:
        checking.checked(machine_of(), api.Limits(), lambda *_: None, most_noise=0.2)
        assert [graph.on_one_device.ops_us() for graph in seen] == [step.ops_us()] * len(checking.CHECKS)
    else:
        with pytest.raises(SettingsError, match=r"^calibrate: the machine was busy with other work: "):
            checking.checked(machine_of(), api.Limits(), lambda *_: None, most_noise=0.2)


def test_a_machine_with_one_processor_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.measuring.calibrating.calibration.usable_cores", lambda: 1)
    with pytest.raises(SettingsError) as raised:
        api.calibrate(device="cpu")
    what = "calibrate: the 2 devices would share this machine's one processor"
    assert str(raised.value) == f"{what}; allowed: a machine with at least 2 processors"


@pytest.mark.parametrize("rounds", [0, 101])
def test_rounds_have_their_range(rounds: int) -> None:
    with pytest.raises(SettingsError, match=rf"^rounds: {rounds}; allowed: 1 to 100$"):
        calibrate(rounds=rounds)
