"""The experiment on streams that really run: its page from measurements in closed form, and clocks as times."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from engine.clusters.calibration import MeasuredFigure
from engine.clusters.cluster import Contention
from experiments.measured_streams import calibrated, table, tower_runs
from experiments.measured_streams.tower_runs import ALONE, DRAW, EQUAL, RunTower

FIGURES = {
    name: MeasuredFigure(value, value / 2, value * 2, "a figure")
    for name, value in {
        "latency_us": 100.0,
        "bandwidth_bytes_per_us": 2000.0,
        "further_small_transfer_us": 30.0,
        "waiting_share": 1.0,
        "overlap_share.sender": 0.0,
        "overlap_share.receiver": 0.0,
    }.items()
}
SIMULATED_MS = (300.0, 200.0, 150.0, 290.0)


def run_tower(_tower: str, _processes: int, _link: Mapping[str, MeasuredFigure]) -> RunTower:
    """Four splits that take 1.1 times as long as simulated, each round 1 % longer than the last."""
    rounds = [[[1.1e3 * time * (1 + 0.01 * number)] * 2 for number in range(3)] for time in SIMULATED_MS]
    return RunTower(
        names=[[ALONE], [EQUAL], ["auto, gpipe", "auto, 1f1b"], [DRAW]],
        splits=[{}, *({f"layers.{cut}": "BEGINNING"} for cut in (8, 4, 1))],
        batch_us=[rounds, rounds],
        processor_us=[[[1.0, 2.0]] * 4] * 2,
        simulated_us=[[1e3 * time for time in SIMULATED_MS]] * 2,
        passes_us=[40_000.0],
        ops_us=36_000.0,
        op_rest_us=20.0,
    )


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The towers that were measured."""
    made: list[tuple[str, int]] = []

    def tower(name: str, processes: int, link: Mapping[str, MeasuredFigure]) -> RunTower:
        made.append((name, processes))
        return run_tower(name, processes, link)

    monkeypatch.setattr(table, "measured_tower", tower)
    monkeypatch.setattr(table, "measured_link", lambda: FIGURES)
    monkeypatch.setattr("engine.api.most_processes", lambda: 2)
    return made


def test_the_page_has_order_and_ratios_and_nothing_is_measured_twice(
    measured: list[tuple[str, int]], tmp_path: Path
) -> None:
    text = table.run(tmp_path, lambda _: None)
    assert measured == [(tower, 2) for tower in table.TOWERS]
    assert "| blocks, 2 | gpipe | ours, `auto` | 167 (165 to 168) | 150 | 1.11 |" in text
    assert "| blocks, 2, 1f1b | 4 |" in text and "| 1.00 | 1.00 | 100.0% of 6 | 0.0% | 1.11 (1.11 to 1.11) |" in text
    assert "3 and 4 processes were not run" in text
    assert json.loads((tmp_path / "measured_streams.json").read_text())["settings"] == table.settings()
    assert table.run(tmp_path, lambda _: None) == text and len(measured) == len(table.TOWERS)


def test_three_and_four_processes_run_where_each_has_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.api.most_processes", lambda: 16)
    assert table.counts_here() == [2, 3, 4]


def test_a_trial_lasts_from_the_first_process_to_the_last() -> None:
    one = {"sent": [[(0.0, 1.0), (2.0, 2.5)]]}
    other = {"sent": [[(0.5, 3.0), (1.9, 2.4)]]}
    assert calibrated.times_of([one, other])["sent"].tolist() == pytest.approx([0.6e6])


def test_the_cluster_has_gloo_s_link_and_the_rest_of_an_op() -> None:
    cluster = calibrated.cluster_of(3, FIGURES, 20.0)
    assert cluster.device_count == 3 and cluster.contention is Contention.SENDER
    assert cluster.op_rest_us == 20.0 and cluster.link_rest_us == 30.0
    assert np.unique(cluster.latency_us[~np.eye(3, dtype=bool)]).tolist() == [100.0]


def test_noise_is_of_batches_beside_what_a_round_changes_for_all() -> None:
    found = run_tower("blocks", 2, FIGURES).measured(0)
    assert found.noise == pytest.approx(0.0, abs=1e-12)
    assert found.step_time_us.tolist() == pytest.approx([1.1e3 * 1.01 * time for time in SIMULATED_MS])
    assert tower_runs.stream_of("gpipe").contiguous
