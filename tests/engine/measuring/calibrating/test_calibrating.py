"""This machine calibrated for real, and the refusals: a busy machine, numbers out of range."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine import api
from engine.cli.main import main
from engine.clusters.parsing import parse_cluster
from engine.errors import SettingsError
from engine.measuring.calibrating import calibration, trials
from engine.measuring.calibrating.calibration import calibrate
from tests.own_network import NEEDS_OWN_NETWORK


@NEEDS_OWN_NETWORK
def test_this_machine_becomes_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(calibration, "STEPS", 3)
    monkeypatch.setattr("engine.api.calibrate", lambda *given, **more: calibrate(*given, most_noise=np.inf, **more))
    path = tmp_path / "machine.json"
    assert main(["calibrate", "--out", str(path), "--rounds", "1"]) == 0
    assert "bandwidth_bytes_per_us: " in capsys.readouterr().out
    cluster = parse_cluster(path.read_text())
    assert [device.name for device in cluster.devices] == ["/device:CPU:0", "/device:CPU:1"]
    assert cluster.calibration is not None
    figures = cluster.calibration.figures
    assert {f"efficiency.{op.name}" for op in trials.OPS} < set(figures)
    assert figures["transfer_us.16777216"].value > figures["transfer_us.4"].value > 1.0  # bytes really move
    assert figures["peak_gflops"].value > 0.1 and cluster.bandwidth_bytes_per_us[0, 1] > 1.0
    (report,) = api.simulate(two_ops(tmp_path), cluster, [{"a": "/device:CPU:0", "b": "/device:CPU:1"}])
    assert isinstance(report, dict) and isinstance(report["step_time_us"], float)
    assert report["step_time_us"] > 20.0 + cluster.latency_us[0, 1]


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


@pytest.mark.parametrize("rounds", [0, 101])
def test_rounds_have_their_range(rounds: int) -> None:
    with pytest.raises(SettingsError, match=rf"^rounds: {rounds}; allowed: 1 to 100$"):
        calibrate(rounds=rounds)
