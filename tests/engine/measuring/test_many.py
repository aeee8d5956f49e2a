"""Many placements measured for real, in rounds that a second call does not repeat, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine import api
from engine.cli.main import main
from engine.clusters.calibration import Calibration
from engine.errors import ClusterError, NoisyMachineError, PlacementError, SettingsError, TimeLimitError
from engine.graphs.reading_options import ReadingOptions
from engine.measuring import many
from engine.measuring.many import measure_many
from engine.measuring.this_machine import machine_words
from tests.engine.measuring.conftest import LIMITS
from tests.own_network import NEEDS_OWN_NETWORK

AS_IT_IS = ReadingOptions()


@pytest.fixture
def placements(prepared: api.PreparedGraph) -> list[api.Json]:
    """All ops on the first device; half of the groups there; each second group there."""
    groups = prepared.grouping.group_of_op
    count = prepared.grouping.group_count
    chosen = [np.zeros(count, int), np.arange(count) * 2 // count, np.arange(count) % 2]
    return [
        {op: f"/device:CPU:{of[group]}" for op, group in zip(prepared.graph.op_names, groups, strict=True)}
        for of in chosen
    ]


@NEEDS_OWN_NETWORK
def test_each_placement_is_measured_in_every_round_and_kept_rounds_are_not_repeated(
    placements: list[api.Json], tiny_cnn_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "NOISE_SHARE", np.inf)
    listed, report, kept = (tmp_path / name for name in ("placements.json", "report.json", "placements.rounds.json"))
    listed.write_text(json.dumps(placements))
    command = ["measure", str(tiny_cnn_path), "--placement", str(listed), "--cluster", "2xCPU", "--steps", "2"]
    assert main([*command, "--rounds", "1", "--report", str(report)]) == 0
    first = json.loads(kept.read_text())
    assert first["machine"] == machine_words() and first["tensorflow"] and first["warm_up_steps"] == 2
    assert [[visit[0] for visit in visits] for visits in first["rounds"]] == [[0, *sorted_others(first), 0]]
    assert main([*command, "--rounds", "2", "--report", str(report)]) == 0
    rounds = json.loads(kept.read_text())["rounds"]
    assert len(rounds) == 2 and rounds[0] == first["rounds"][0]
    reported = json.loads(report.read_text())
    assert [len(row["rounds_us"]) for row in reported["placements"]] == [2, 2, 2]
    times = [visit[1:] for visits in rounds for visit in visits[:-1] if visit[0] == 1]
    assert reported["placements"][1]["step_time_us"] == np.median(times)
    assert reported["placements"][1]["fastest_us"] == np.min(times)
    assert all(row["simulated_step_time_us"] > 0 for row in reported["placements"])
    assert reported["step_time_noise"] == pytest.approx(reported["noise"] / np.sqrt(2))
    assert (
        reported["noise"] >= 0
        and reported["spread"] > 0
        and reported["notes"] == []
        and set(reported["fidelity"]) >= {"spearman", "top_1_regret"}
    )
    with pytest.raises(SettingsError, match=r"^--kept: placements.rounds.json holds rounds of another graph, of other"):
        measure(tiny_cnn_path, list(reversed(placements)), kept)


def sorted_others(kept: Any) -> list[int]:
    """The visits between the first and the last, which are each of the other placements once."""
    others = [visit[0] for visit in kept["rounds"][0][1:-1]]
    assert sorted(others) == [1, 2]
    return others


def measure(path: Path, placements: list[api.Json], kept: Path, cluster: str = "2xCPU", **more: Any) -> Any:
    on = api.parse_cluster(cluster)
    return measure_many(path, ".pb", placements, AS_IT_IS, LIMITS, cluster=on, kept=kept, steps=2, **more)


def test_noise_that_hides_the_order_is_refused_with_its_figure(
    placements: list[api.Json], tiny_cnn_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "rounds.json"
    monkeypatch.setattr(many.GraphToMeasure, "round", lambda *_: NOISY)
    with pytest.raises(NoisyMachineError) as raised:
        measure(tiny_cnn_path, placements, kept, rounds=1)
    assert json.loads(kept.read_text())["rounds"] == [NOISY]
    assert str(raised.value) == (
        "measure: the machine is too noisy to tell these placements apart: the step time of a placement, over 1 round, "
        "scatters by 12.9 %, the placements differ from each other by 9.5 %; measure more rounds, or on an idle "
        "machine; allowed: the first at most 0.5 of the second"
    )


def test_more_rounds_of_the_same_noise_separate_the_placements(
    placements: list[api.Json], tiny_cnn_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last placement takes 50 µs more in each second round: noise of 14 %, beside a spread of 19 %."""

    def round_of(_graph: object, _order: object, number: int, *_: object) -> list[list[float]]:
        return [[0, 100.0, 100.0], [1, 110.0, 110.0], [2, *[120.0 + 50.0 * (number % 2)] * 2], [0, 100.0, 100.0]]

    monkeypatch.setattr(many.GraphToMeasure, "round", round_of)
    kept = tmp_path / "rounds.json"
    with pytest.raises(NoisyMachineError, match=r"over 2 rounds, scatters by 10\.1 %, the placements .* by 19\.3 %"):
        measure(tiny_cnn_path, placements, kept, rounds=2)
    report = measure(tiny_cnn_path, placements, kept, rounds=6)
    assert report["noise"] > many.NOISE_SHARE * report["spread"] >= report["step_time_noise"]


NOISY = [[0, 100.0, 100.0], [1, 110.0, 110.0], [2, 121.0, 121.0], [0, 120.0, 120.0]]
QUIET = [*NOISY[:-1], [0, 101.0, 101.0]]


def test_refused_rounds_are_measured_anew_and_more_rounds_go_on_from_them(
    placements: list[api.Json], tiny_cnn_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "rounds.json"
    monkeypatch.setattr(many, "_identity", lambda _order: {"of": "these"})
    kept.write_text(json.dumps({"of": "these", "rounds": [NOISY]}))
    monkeypatch.setattr(many.GraphToMeasure, "round", lambda *_: QUIET)
    assert measure(tiny_cnn_path, placements, kept, rounds=1)["rounds"] == 1
    assert json.loads(kept.read_text())["rounds"] == [QUIET]
    kept.write_text(json.dumps({"of": "these", "rounds": [NOISY]}))
    measure(tiny_cnn_path, placements, kept, rounds=12)
    assert json.loads(kept.read_text())["rounds"] == [NOISY, *[QUIET] * 11]


def test_rounds_of_another_machine_or_tensorflow_are_refused(
    placements: list[api.Json], tiny_cnn_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many.GraphToMeasure, "round", lambda *_: QUIET)
    kept = tmp_path / "rounds.json"
    measure(tiny_cnn_path, placements, kept, rounds=1)
    made = json.loads(kept.read_text())
    of_others = {"tensorflow": "1.0", "warm_up_steps": 9, "of": "others"}
    for other in (*({**made, key: value} for key, value in of_others.items()), {"of": made["of"], "rounds": []}, []):
        kept.write_text(json.dumps(other))
        with pytest.raises(SettingsError, match=r"rounds of another graph, .* or of another TensorFlow; "):
            measure(tiny_cnn_path, placements, kept, rounds=1)
    kept.write_text(json.dumps(made))
    monkeypatch.setattr(many, "machine_words", lambda: "2 × another processor")
    with pytest.raises(SettingsError) as raised:
        measure(tiny_cnn_path, placements, kept, rounds=1)
    assert str(raised.value) == (
        f"--kept: rounds.json holds rounds of {machine_words()}; this machine is 2 × another processor; "
        "allowed: a new file, or the one of this measurement"
    )


def test_a_cluster_that_was_calibrated_on_another_machine_has_a_note(
    placements: list[api.Json], tiny_cnn_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many.GraphToMeasure, "round", lambda *_: QUIET)
    noted = {}
    for machine in (machine_words(), f"1 × A GPU, {machine_words()}", "2 × another processor"):
        calibrated = replace(api.parse_cluster("2xCPU"), calibration=Calibration(machine, "2026-01-31", {}))
        cluster = json.dumps(api.cluster_to_json(calibrated))
        noted[machine] = measure(tiny_cnn_path, placements, tmp_path / "rounds.json", cluster, rounds=1)["notes"]
    other = noted.pop("2 × another processor")
    assert list(noted.values()) == [[], []]
    assert other == [
        "The simulated steps are those of another machine, 2 × another processor; this one is "
        f"{machine_words()}: calibrate it to compare with its own."
    ]


def test_a_round_may_take_longer_than_a_step_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("engine.measuring.many.time.monotonic", lambda: now)
    pulses: list[float] = []
    deadline = many.Deadline(600.0, 8000.0, lambda: pulses.append(now))
    for step in range(10):
        now = 500.0 * step
        deadline.pulse()
        deadline.begin_step()
    now += 601.0
    with pytest.raises(TimeLimitError) as raised:
        deadline.pulse()
    assert str(raised.value) == "measure: a step took too long; allowed: at most 600 seconds"
    assert len(pulses) == 11
    deadline.begin_step()
    now = 8001.0
    deadline.begin_step()
    with pytest.raises(TimeLimitError) as raised:
        deadline.pulse()
    assert str(raised.value) == (
        "measure: a round over all placements took too long; allowed: at most 8000 seconds: fewer placements or steps, "
        "or a smaller graph"
    )


def test_what_cannot_be_compared_is_refused(placements: list[api.Json], tiny_cnn_path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "rounds.json"
    with pytest.raises(PlacementError, match=r"^placement: 1 placements; allowed: a list of 2 to 500 placements$"):
        measure(tiny_cnn_path, placements[:1], kept)
    with pytest.raises(SettingsError, match=r"^rounds: 0; allowed: 1 to 100$"):
        measure(tiny_cnn_path, placements, kept, rounds=0)
    on_gpus: list[api.Json] = [
        {op: str(device).replace("CPU", "GPU") for op, device in placement.items()}
        for placement in placements
        if isinstance(placement, dict)
    ]
    with pytest.raises(ClusterError, match=r"^cluster: this machine lacks devices of the cluster; allowed: this mach"):
        measure(tiny_cnn_path, on_gpus, kept, "2xK80")
    assert not kept.exists()


def test_a_list_of_placements_asks_for_a_cluster(
    placements: list[api.Json], tiny_cnn_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "placements.json"
    listed.write_text(json.dumps(placements))
    assert main(["measure", str(tiny_cnn_path), "--placement", str(listed)]) == 2
    assert capsys.readouterr().err == "--cluster: there is none; allowed: what a list of placements is compared with\n"
    assert (
        main(["measure", str(tiny_cnn_path), "--placement", str(listed), "--timelines", str(tmp_path / "t.json")]) == 2
    )
    assert capsys.readouterr().err == "--timelines: 3 placements; allowed: one placement\n"
