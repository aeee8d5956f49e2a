"""Measured rewards: what is asked for, what is measured how often, and which placement becomes the answer."""

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import api
from engine.cli.main import main
from engine.errors import SettingsError
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.many import GraphToMeasure
from engine.measuring.real_rewards import RealRewards, WhatToMeasure
from tests.engine.measuring.conftest import LIMITS
from tests.engine.small_runs import prepared_graph

OPS = ("a", "b")


@dataclasses.dataclass(frozen=True, slots=True)
class Clockwork(GraphToMeasure):
    """A graph whose ops on device 1 take 10 µs each, beside `base_us`; visits are noted, and some are disturbed."""

    noted: list[list[list[int]]] = dataclasses.field(default_factory=list)
    base_us: float = 100.0
    disturbed_us: float = 0.0
    """added to each second visit of a child"""

    def visit(self, order: Mapping[str, Json], visits: Sequence[int], *_told: Any) -> NDArray[np.float64]:
        placements: Any = order["placements"]
        self.noted.append([placements[visit] for visit in visits])
        step_us = [
            self.base_us + 10.0 * sum(placements[visit]) + self.disturbed_us * (index % 2)
            for index, visit in enumerate(visits)
        ]
        return np.repeat(np.array(step_us)[:, None], self.steps, axis=1)


@pytest.fixture
def clockwork(tiny_cnn_path: Path) -> Clockwork:
    return Clockwork(tiny_cnn_path, ".pb", ReadingOptions(), LIMITS, api.parse_cluster("2xCPU"), 3)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["last"], WhatToMeasure(1)),
        (["top", "4"], WhatToMeasure(4)),
        (["top 10"], WhatToMeasure(10)),
        (["all"], WhatToMeasure(5, every=True)),
    ],
)
def test_what_is_measured_is_said_in_words(words: list[str], found: WhatToMeasure) -> None:
    assert WhatToMeasure.of_words(words) == found == WhatToMeasure.of_words([found.words])


@pytest.mark.parametrize("words", [["top"], ["top", "1"], ["top", "11"], ["top", "-2"], ["some"], ["last", "all"], []])
def test_other_words_are_refused(words: list[str]) -> None:
    with pytest.raises(SettingsError, match=r"^measure: .*; allowed: last, top K with K from 2 to 10, or all$"):
        WhatToMeasure.of_words(words)


def test_an_evaluation_is_measured_once_however_often_it_is_asked_for(clockwork: Clockwork) -> None:
    rewards = RealRewards(clockwork, OPS, WhatToMeasure(5, every=True))
    assert rewards.timer is rewards
    times = rewards.step_time_us(np.array([[0, 1], [1, 1], [0, 1]], dtype=np.int32))
    assert times.tolist() == [110.0, 120.0, 110.0]
    assert rewards.step_time_us(np.array([[1, 1], [0, 0]], dtype=np.int32)).tolist() == [120.0, 100.0]
    assert clockwork.noted == [[[0, 1], [1, 1]], [[0, 0]]]


def test_the_measured_fastest_is_the_answer_where_the_noise_allows_it(clockwork: Clockwork) -> None:
    placements = np.array([[1, 1], [0, 1], [0, 0], [1, 0]], dtype=np.int32)
    simulated_us = np.array([50.0, 60.0, 70.0, 80.0])
    rewards = RealRewards(clockwork, OPS, WhatToMeasure(3), rounds=2)
    assert rewards.timer is None
    choice = rewards(placements, simulated_us)
    told: Any = choice.told["measured"]
    assert (choice.index, told["chosen"], told["what"]) == (2, 2, "top 3")
    assert told["gain"] == pytest.approx(0.2) and told["noise"] == 0.0
    assert [row["step_time_us"] for row in told["placements"]] == [120.0, 110.0, 100.0]
    assert [row["simulated_step_time_us"] for row in told["placements"]] == [50.0, 60.0, 70.0]
    assert [len(visits) for visits in clockwork.noted] == [4, 4], "the first of three twice, in each of two rounds"

    noisy = dataclasses.replace(clockwork, disturbed_us=30.0)
    kept = RealRewards(noisy, OPS, WhatToMeasure(3), rounds=2)(placements, simulated_us)
    assert kept.index == 0 and kept.told["measured"]["gain"] == 0.0  # type: ignore[index,call-overload]


def test_a_run_answers_with_what_was_measured_and_its_method_learns_from_it(clockwork: Clockwork) -> None:
    prepared, cluster = prepared_graph(), api.parse_cluster("2xCPU")
    heard: list[api.Emitted] = []
    request = api.RunRequest(cluster, "random", api.Budget(40), 0, baselines=("single_device", "random"))
    rewards = RealRewards(clockwork, prepared.graph.op_names, WhatToMeasure(2, every=True), rounds=1)
    report: Any = api.place(prepared, request, heard.append, lambda: False, rewards=rewards)
    ran = [item.event for item in heard if isinstance(item, api.NumberedEvent)]
    episodes = [event for event in ran if isinstance(event, api.Episode)]
    ops = prepared.graph.op_count
    assert {event.step_time_us % 10.0 for event in episodes} == {0.0}
    assert all(100.0 <= event.step_time_us <= 100.0 + 10.0 * ops for event in episodes)
    baselines = {event.method: event for event in ran if isinstance(event, api.Baseline)}
    assert baselines["single_device"].step_time_us == 100.0
    assert baselines["random"].evaluations == 10
    seen = {tuple(placement) for visits in clockwork.noted for placement in visits}
    assert report["measured"]["measured_evaluations"] == len(seen)
    assert report["device_of_group"] == [0] * prepared.grouping.group_count, "all on the device without extra time"
    assert report["measured"]["placements"][report["measured"]["chosen"]]["step_time_us"] == 100.0


@pytest.mark.parametrize("method", ["auto", "local_search", "exhaustive"])
def test_a_method_that_evaluates_in_compiled_code_cannot_learn_from_measurements(
    method: str, clockwork: Clockwork
) -> None:
    prepared = prepared_graph()
    request = api.RunRequest(api.parse_cluster("2xCPU"), method, api.Budget(5000), 0)
    everything = RealRewards(clockwork, prepared.graph.op_names, WhatToMeasure(5, every=True))
    with pytest.raises(SettingsError, match=rf"^measure: {method} evaluates in compiled code, "):
        api.place(prepared, request, lambda _: None, lambda: False, rewards=everything)
    best = RealRewards(clockwork, prepared.graph.op_names, WhatToMeasure(3), rounds=1)
    report: Any = api.place(prepared, request, lambda _: None, lambda: False, rewards=best)
    assert 1 <= len(report["measured"]["placements"]) <= 3


def test_two_rules_for_one_answer_are_refused(tiny_cnn_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["place", str(tiny_cnn_path), "--cluster", "2xCPU", "--robust", "--measure", "top", "3"]
    assert main(command) == 2
    assert capsys.readouterr().err == (
        "--measure: --robust and --measure both choose the answer; allowed: one of them, or --measure last\n"
    )


def test_the_command_measures_and_says_what_it_found(
    tiny_cnn_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def visit(self: GraphToMeasure, order: Mapping[str, Any], visits: Sequence[int], *_told: Any) -> Any:
        assert self.processes and set(order["ops"]) == {*order["ops"]}
        on_first = [order["placements"][visit].count(0) for visit in visits]
        return np.repeat(1000.0 + np.array(on_first, dtype=float)[:, None], self.steps, axis=1)

    monkeypatch.setattr(GraphToMeasure, "visit", visit)
    path = tmp_path / "report.json"
    command = ["place", str(tiny_cnn_path), "--cluster", "2xCPU", "--method", "random", "--evaluations", "50"]
    assert main([*command, "--measure", "top", "3", "--report", str(path)]) == 0
    report = json.loads(path.read_text())
    measured = report["measured"]
    placements = [row["simulated_step_time_us"] for row in measured["placements"]]
    assert report["step_time_us"] == placements[measured["chosen"]] and placements == sorted(placements)
    on_first = sum(device == "/device:CPU:0" for device in report["placement"].values())
    assert measured["placements"][measured["chosen"]]["step_time_us"] == 1000.0 + on_first
    told = capsys.readouterr().err
    assert re.search(r"^measured: a step of 0\.001\d s, simulated .*; noise 0\.0 %; \d+ s$", told, re.MULTILINE)
    answered = r"^(number [23] of 3 placements, .* % faster than|the simulated fastest stays)"
    assert re.search(answered, told, re.MULTILINE)
