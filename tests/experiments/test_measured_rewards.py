"""Learning curves with simulated and with measured rewards, with measurements in closed form, and going on."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.measuring.many import GraphToMeasure
from engine.simulator import Simulator
from experiments import measured_rewards
from tests.engine.small_runs import prepared_graph

MACHINE: dict[str, api.Json] = {
    "devices": [{"name": f"/device:CPU:{index}", "kind": "CPU"} for index in range(2)],
    "calibration": {"machine": "2 × a processor", "date": "2026-01-31", "figures": {}},
}


@pytest.fixture
def visits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many placements each call measured: the slower one is simulated, the faster it is measured."""
    made: list[int] = []
    path = tmp_path / "graph.pb"
    path.write_bytes(b"a graph")
    prepared = prepared_graph(20)
    simulator = Simulator(prepared.graph, prepared.costs, api.parse_cluster(json.dumps(MACHINE)))

    def visit(self: GraphToMeasure, order: Mapping[str, Any], numbers: Sequence[int], *_told: Any) -> Any:
        made.append(len(numbers))
        placements = np.array(order["placements"], dtype=np.int32)[list(numbers)]
        return np.repeat((1e9 / simulator.evaluate(placements).step_time_us)[:, None], self.steps, axis=1)

    monkeypatch.setattr(GraphToMeasure, "visit", visit)
    monkeypatch.setattr(measured_rewards, "EVALUATIONS", 60)
    monkeypatch.setattr(measured_rewards, "built", lambda *_: path)
    monkeypatch.setattr("engine.api.prepare", lambda *_: prepared)
    (tmp_path / "kept" / "fidelity").mkdir(parents=True)
    (tmp_path / "kept" / "fidelity" / "machine.json").write_text(json.dumps(MACHINE))
    return made


def test_each_training_learns_from_its_own_rewards_on_one_axis(
    visits: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[measured_rewards.Training] = []
    draw = measured_rewards.draw

    def drawn(trainings: Sequence[measured_rewards.Training], path: Path) -> None:
        found.extend(trainings)
        draw(trainings, path)

    monkeypatch.setattr(measured_rewards, "draw", drawn)
    text = measured_rewards.run(tmp_path, lambda _: None)
    simulated, measured = found
    assert [len(each.measured_us) for each in found] == [60, 60] and (tmp_path / "measured_rewards.png").exists()
    for each in found:
        assert np.allclose(np.array(each.measured_us) * np.array(each.simulated_us), 1e9)
    assert measured.answer_us[-1] == min(measured.measured_us), "it answers with the measured fastest"
    assert simulated.answer_us[-1] == max(simulated.measured_us), "which is the simulated slowest"
    assert "| -1.00 |" in text and "| simulated |" in text
    kept = (tmp_path / "kept" / "measured_rewards.jsonl").read_text()
    done = len(visits)
    assert measured_rewards.run(tmp_path, lambda _: None) == text, "nothing is measured again"
    assert len(visits) == done and (tmp_path / "kept" / "measured_rewards.jsonl").read_text() == kept
