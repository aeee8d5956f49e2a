"""Learning curves with simulated and with measured rewards, with measurements in closed form, and going on."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.errors import SettingsError
from engine.measuring import this_machine
from engine.measuring.many import GraphToMeasure
from engine.simulator import Simulator
from experiments import fidelity, measured_rewards
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

    def visit(self: GraphToMeasure, order: Mapping[str, Any], numbers: Sequence[int], *_reported: Any) -> Any:
        made.append(len(numbers))
        placements = np.array(order["placements"], dtype=np.int32)[list(numbers)]
        return np.repeat((1e9 / simulator.evaluate(placements).step_time_us)[:, None], self.steps, axis=1)

    for module in (this_machine, measured_rewards):
        monkeypatch.setattr(module, "machine_words", lambda: "2 × a processor")
    monkeypatch.setattr(GraphToMeasure, "visit", visit)
    monkeypatch.setattr(measured_rewards, "EVALUATIONS", 60)
    monkeypatch.setattr(measured_rewards, "built", lambda *_: path)
    monkeypatch.setattr("engine.api.prepare", lambda *_: prepared)
    (tmp_path / "kept" / "measured_rewards").mkdir(parents=True)
    (tmp_path / "kept" / "measured_rewards" / "machine.json").write_text(json.dumps(MACHINE))
    return made


def listen(monkeypatch: pytest.MonkeyPatch) -> list[measured_rewards.Training]:
    """The trainings of each call."""
    found: list[measured_rewards.Training] = []
    draw = measured_rewards.draw

    def drawn(trainings: Sequence[measured_rewards.Training], path: Path) -> None:
        found.extend(trainings)
        draw(trainings, path)

    monkeypatch.setattr(measured_rewards, "draw", drawn)
    return found


def cells(text: str) -> list[list[str]]:
    """The rows of the page's table."""
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    return [row.strip("| ").split(" | ") for row in rows]


def test_each_training_learns_from_its_own_rewards_on_one_axis(
    visits: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = listen(monkeypatch)
    text = measured_rewards.run(tmp_path, lambda _: None)
    simulated, measured = found
    assert [len(each.measured_us) for each in found] == [60, 60] and (tmp_path / "measured_rewards.png").exists()
    for each in found:
        assert np.allclose(np.array(each.measured_us) * np.array(each.simulated_us), 1e9)
    assert measured.answer_us[-1] == min(measured.measured_us), "it answers with the measured fastest"
    assert simulated.answer_us[-1] == max(simulated.measured_us), "which is the simulated slowest"
    assert "| -1.00 |" in text and "| simulated |" in text
    kept = (tmp_path / "kept" / "measured_rewards" / "step_times.jsonl").read_text()
    *_, one_device, again = (json.loads(line)["key"]["measured"] for line in kept.splitlines())
    of = f"2 × a processor; {measured_rewards.GRAPH.words}; 3 steps; post"
    assert one_device.startswith(f"{of}; measured, one device after 60 evaluations; ")
    assert again.startswith(f"{of}; answers and one device, 5 rounds; ")
    done = len(visits)
    assert measured_rewards.run(tmp_path, lambda _: None) == text, "nothing is measured again"
    assert len(visits) == done and (tmp_path / "kept" / "measured_rewards" / "step_times.jsonl").read_text() == kept


def test_answers_are_measured_again_beside_one_device_and_the_machine_is_watched(
    visits: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call to the machine takes 1 % longer than the last, and a training's first placement is luckily fast."""
    measure = GraphToMeasure.visit

    def drifting(
        self: GraphToMeasure, order: Mapping[str, Any], numbers: Sequence[int], words: str, *reported: Any
    ) -> Any:
        times_us = measure(self, order, numbers, words, *reported)
        lucky = 0.1 if words == measured_rewards.NAME and len(numbers) > 1 else 1.0
        times_us[-1] *= lucky
        return times_us * 1.01 ** len(visits)

    monkeypatch.setattr(GraphToMeasure, "visit", drifting)
    found = listen(monkeypatch)
    reported = cells(measured_rewards.run(tmp_path, lambda _: None))
    simulated, measured = found
    for training in found:
        before, after = training.one_device_us
        assert after > before
    again_us = 1e9 / simulated.simulator.evaluate(np.stack([measured.answer, measured.one_device])).step_time_us
    assert reported[1][3].split(" ± ")[0] == f"{again_us[0] / again_us[1]:.3f}", "without the luck of the first time"
    assert float(reported[1][4]) < 0.5 * float(reported[1][3].split(" ± ")[0])
    assert [row[6] < row[7] for row in reported] == [True, True] and reported[0][7] <= reported[1][6]


def test_noise_of_the_answers_is_that_of_both_step_times() -> None:
    found = measured_rewards.ComparedAnswers([80.0, 120.0], 100.0, 0.01)
    assert found.share(0) == pytest.approx(0.8) and found.share_noise(1) == pytest.approx(1.2 * 0.01 * np.sqrt(2))
    assert measured_rewards.ComparedAnswers(**found.to_json()) == found  # type: ignore[arg-type]


def test_another_machine_than_the_calibrated_one_is_refused(
    visits: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (this_machine, fidelity):
        monkeypatch.setattr(module, "machine_words", lambda: "9 × another one")
    with pytest.raises(SettingsError, match=r"of 2 × a processor; this machine is 9 × another one; remove"):
        measured_rewards.run(tmp_path, lambda _: None)
    assert not visits
