"""Measured rewards: what is asked for, what is measured how often, and which placement becomes the answer."""

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import api
from engine.cli.main import main
from engine.errors import InfeasibleError, LimitError, MeasuringError, SettingsError
from engine.events import Json
from engine.graphs.reading_options import ReadingOptions
from engine.measuring.fidelity import APART, MeasuredSteps
from engine.measuring.many import GraphToMeasure
from engine.measuring.real_rewards import CHECKING, EVALUATING, RealRewards, WhatToMeasure
from engine.problem.robustness import step_times_of_draws
from engine.run.problem import RunProblem
from tests.engine.measuring.conftest import LIMITS
from tests.engine.placers.small_problems import small_cluster
from tests.engine.small_runs import prepared_graph

OPS = ("a", "b")


@dataclasses.dataclass(frozen=True, slots=True)
class Clockwork(GraphToMeasure):
    """A graph whose ops on device 1 take 10 µs each, beside `base_us`; visits are noted, and some are disturbed."""

    noted: list[list[list[int]]] = dataclasses.field(default_factory=list)
    base_us: float = 100.0
    disturbed_us: float = 0.0
    """added to each second visit of a child"""

    def visit(self, order: Mapping[str, Json], visits: Sequence[int], *_reported: Any) -> NDArray[np.float64]:
        placements: Any = order["placements"]
        self.noted.append([placements[visit] for visit in visits])
        step_us = [
            self.base_us + 10.0 * sum(placements[visit]) + self.disturbed_us * (index % 2)
            for index, visit in enumerate(visits)
        ]
        return np.repeat(np.array(step_us)[:, None], self.steps, axis=1)


@dataclasses.dataclass(frozen=True, slots=True)
class Recorded(GraphToMeasure):
    """A graph whose rounds have these step times, one list after the other, and this noise."""

    step_times_us: list[list[float]] = dataclasses.field(default_factory=list)
    noise: float = 0.0
    asked: list[list[list[int]]] = dataclasses.field(default_factory=list)

    def measured(
        self, _op_names: Sequence[str], device_of_op: NDArray[np.int32], rounds: int, *_reported: Any
    ) -> MeasuredSteps:
        self.asked.append(device_of_op.tolist())
        times_us = np.array(self.step_times_us[len(self.asked) - 1])
        return MeasuredSteps(np.broadcast_to(times_us[:, None, None], (len(times_us), rounds, 1)), self.noise, 0.0)


OUT_OF_MEMORY = LimitError("too little memory", where="fill", allowed="tensors that the machine can hold")


class FailingAfterTheRun(Clockwork):
    def visit(
        self, order: Mapping[str, Json], visits: Sequence[int], words: str, *reported: Any
    ) -> NDArray[np.float64]:
        if words != CHECKING:
            raise OUT_OF_MEMORY
        return super().visit(order, visits, words, *reported)


@dataclasses.dataclass(frozen=True)
class FailingInTheRun(Clockwork):
    """Nothing that the run evaluates is measured from a batch on."""

    good_batches: int = 0

    def visit(
        self, order: Mapping[str, Json], visits: Sequence[int], words: str, *reported: Any
    ) -> NDArray[np.float64]:
        if words == EVALUATING and len(self.noted) > self.good_batches:  # the check of the devices is noted, too
            raise OUT_OF_MEMORY
        return super().visit(order, visits, words, *reported)


class FailingInTheCheck(Clockwork):
    def visit(
        self, order: Mapping[str, Json], visits: Sequence[int], words: str, *reported: Any
    ) -> NDArray[np.float64]:
        if words == CHECKING and visits:
            raise OUT_OF_MEMORY
        return super().visit(order, visits, words, *reported)


def fields_of(graph: GraphToMeasure) -> dict[str, Any]:
    return {field.name: getattr(graph, field.name) for field in dataclasses.fields(GraphToMeasure)}


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
    reported: Any = choice.report["measured"]
    assert (choice.index, reported["chosen"], reported["what"]) == (2, 2, "top 3")
    assert reported["gain"] == pytest.approx(0.2) and reported["noise"] == 0.0
    assert [row["step_time_us"] for row in reported["placements"]] == [120.0, 110.0, 100.0]
    assert [row["simulated_step_time_us"] for row in reported["placements"]] == [50.0, 60.0, 70.0]
    assert [len(visits) for visits in clockwork.noted] == [4, 4, 3, 3], "two rounds of three, then of two alone"
    assert reported["confirmed"] == {"placement": 2, "step_time_us": [120.0, 100.0], "least_gain": 0.0}


NOISE = 0.02


@pytest.mark.parametrize("rounds", [2, 8])
@pytest.mark.parametrize(("noises_faster", "is_taken"), [(APART + 0.01, True), (APART - 0.01, False), (-1.0, False)])
def test_fresh_rounds_decide_between_the_measured_fastest_and_the_runs_own(
    rounds: int, noises_faster: float, is_taken: bool, clockwork: Clockwork
) -> None:
    of_median = math.sqrt(2 / rounds)
    faster_us = 200.0 * math.exp(-noises_faster * NOISE * of_median)
    graph = Recorded(**fields_of(clockwork), step_times_us=[[100.0, 95.0, 50.0, 97.0], [200.0, faster_us]], noise=NOISE)
    placements = np.array([[1, 1], [0, 1], [0, 0], [1, 0]], dtype=np.int32)
    choice = RealRewards(graph, OPS, WhatToMeasure(4), rounds=rounds)(placements, np.arange(4.0))
    reported: Any = choice.report["measured"]
    assert graph.asked == [placements.tolist(), [[1, 1], [0, 0]]]
    assert choice.index == reported["chosen"] == (2 if is_taken else 0)
    assert reported["gain"] == pytest.approx(200.0 / faster_us - 1 if is_taken else 0.0), "of the fresh rounds alone"
    assert reported["confirmed"]["step_time_us"] == [200.0, faster_us]
    assert reported["confirmed"]["least_gain"] == pytest.approx(math.exp(APART * NOISE * of_median) - 1)
    assert [row["step_time_us"] for row in reported["placements"]] == [100.0, 95.0, 50.0, 97.0]


def test_nothing_is_measured_again_where_the_runs_own_is_the_measured_fastest(clockwork: Clockwork) -> None:
    placements = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    choice = RealRewards(clockwork, OPS, WhatToMeasure(3), rounds=2)(placements, np.arange(3.0))
    reported: Any = choice.report["measured"]
    assert (choice.index, reported["gain"], reported["confirmed"]) == (0, 0.0, None)
    assert [len(visits) for visits in clockwork.noted] == [4, 4]


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


def test_a_placement_runs_before_the_run_begins(clockwork: Clockwork) -> None:
    """All on one device, but for a pinned group."""
    prepared, cluster = prepared_graph(), api.parse_cluster("2xCPU")
    request = api.RunRequest(cluster, "random", api.Budget(40), 0, pins={3: 1}, baselines=())
    rewards = RealRewards(clockwork, prepared.graph.op_names, WhatToMeasure(1), rounds=1)
    api.place(prepared, request, lambda _: None, lambda: False, rewards=rewards)
    assert clockwork.noted[0] == [(prepared.grouping.group_of_op == 3).astype(int).tolist()]
    heard: list[api.Emitted] = []
    failing = FailingInTheCheck(**fields_of(clockwork))
    rewards = RealRewards(failing, prepared.graph.op_names, WhatToMeasure(1), rounds=1)
    with pytest.raises(LimitError):
        api.place(prepared, request, heard.append, lambda: False, rewards=rewards)
    assert heard == []


def test_no_placement_runs_before_a_run_of_which_no_simple_one_fits(clockwork: Clockwork) -> None:
    prepared, cluster = prepared_graph(), small_cluster(2, memory_bytes=1, cpu=False)
    request = api.RunRequest(cluster, "random", api.Budget(40), 0, baselines=())
    rewards = RealRewards(clockwork, prepared.graph.op_names, WhatToMeasure(1), rounds=1)
    with pytest.raises(InfeasibleError):
        api.place(prepared, request, lambda _: None, lambda: False, rewards=rewards)
    assert clockwork.noted == [[]], "the devices alone are checked"


@pytest.mark.parametrize("top", [1, 3])
def test_a_measuring_that_fails_after_the_run_leaves_its_simulated_answer(top: int, clockwork: Clockwork) -> None:
    prepared, cluster = prepared_graph(), api.parse_cluster("2xCPU")
    request = api.RunRequest(cluster, "random", api.Budget(40), 0, baselines=())
    failing = FailingAfterTheRun(**fields_of(clockwork))
    rewards = RealRewards(failing, prepared.graph.op_names, WhatToMeasure(top), rounds=1)
    heard: list[api.Emitted] = []
    report: Any = api.place(prepared, request, heard.append, lambda: False, rewards=rewards)
    simulated: Any = api.place(prepared, request, lambda _: None, lambda: False)
    assert report["measured"] == {"what": "last" if top == 1 else "top 3", "error": str(OUT_OF_MEMORY)}
    for name in ("device_of_group", "step_time_us"):
        assert report[name] == simulated[name]
    assert report["robustness"]["mean_regret"] == simulated["robustness"]["mean_regret"]
    last = heard[-1]
    assert isinstance(last, api.NumberedEvent) and last.event == api.Finished(report)


@pytest.mark.parametrize("method", ["random", "post", "placeto"])
def test_a_measuring_that_fails_in_the_run_ends_its_method_with_the_best_so_far(
    method: str, clockwork: Clockwork
) -> None:
    prepared, cluster = prepared_graph(), api.parse_cluster("2xCPU")
    request = api.RunRequest(cluster, method, api.Budget(400), 0, baselines=("random",))
    failing = FailingInTheRun(**fields_of(clockwork), good_batches=2)
    rewards = RealRewards(failing, prepared.graph.op_names, WhatToMeasure(3, every=True), rounds=1)
    heard: list[api.Emitted] = []
    report: Any = api.place(prepared, request, heard.append, lambda: False, rewards=rewards)
    assert report["ended_by"] == str(OUT_OF_MEMORY)
    assert 2 <= report["evaluations"] < 400
    assert report["device_of_group"] == [0] * prepared.grouping.group_count, "the devices alone were measured"
    assert report["measured"]["placements"][0]["step_time_us"] == 100.0, "the choice is still measured"
    last = heard[-1]
    assert isinstance(last, api.NumberedEvent) and last.event == api.Finished(report)


def test_a_baseline_that_cannot_be_measured_says_so_and_the_run_goes_on(clockwork: Clockwork) -> None:
    prepared, cluster = prepared_graph(), api.parse_cluster("2xCPU")
    request = api.RunRequest(cluster, "random", api.Budget(40), 0, baselines=("single_device", "random"))
    failing = FailingInTheRun(**fields_of(clockwork), good_batches=1)
    rewards = RealRewards(failing, prepared.graph.op_names, WhatToMeasure(3, every=True), rounds=1)
    heard: list[api.Emitted] = []
    report: Any = api.place(prepared, request, heard.append, lambda: False, rewards=rewards)
    ran = [item.event for item in heard if isinstance(item, api.NumberedEvent)]
    notes = {event.method: event.note for event in ran if isinstance(event, api.Baseline)}
    assert notes == {"single_device": "", "random": str(OUT_OF_MEMORY)}
    assert report["evaluations"] == 2, "the devices alone, which the baseline measured"


def test_a_run_of_which_nothing_can_be_measured_ends_with_the_error(clockwork: Clockwork) -> None:
    prepared, cluster = prepared_graph(), api.parse_cluster("2xCPU")
    request = api.RunRequest(cluster, "random", api.Budget(40), 0, baselines=())
    failing = FailingInTheRun(**fields_of(clockwork))
    rewards = RealRewards(failing, prepared.graph.op_names, WhatToMeasure(3, every=True), rounds=1)
    with pytest.raises(MeasuringError, match=f"^{OUT_OF_MEMORY}$"):
        api.place(prepared, request, lambda _: None, lambda: False, rewards=rewards)


def test_robustness_is_that_of_the_placement_that_was_measured_fastest(clockwork: Clockwork) -> None:
    prepared, cluster = prepared_graph(), api.parse_cluster("2xCPU")
    request = api.RunRequest(cluster, "random", api.Budget(200), 0, baselines=())
    rewards = RealRewards(clockwork, prepared.graph.op_names, WhatToMeasure(10), rounds=1)
    report: Any = api.place(prepared, request, lambda _: None, lambda: False, rewards=rewards)
    chosen, rows = report["measured"]["chosen"], report["measured"]["placements"]
    assert chosen > 0, "another one than the simulated fastest"
    placements = np.unique(np.array(clockwork.noted[1], dtype=np.int32), axis=0)
    problem = RunProblem(prepared, request, lambda _: None).problem
    times_us = step_times_of_draws(problem, placements)
    of_answer = (placements == np.array(report["device_of_group"])).all(axis=1)
    regrets = times_us[:, of_answer][:, 0] / times_us.min(axis=1) - 1
    reported = report["robustness"]
    assert reported["mean_regret"] == pytest.approx(regrets.mean()) and regrets.mean() > 0
    assert reported["worst_regret"] == pytest.approx(regrets.max()) and reported["candidates"] == len(placements)
    assert reported["fastest_step_time_us"] == rows[0]["simulated_step_time_us"] < report["step_time_us"]


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
    def visit(self: GraphToMeasure, order: Mapping[str, Any], visits: Sequence[int], *_reported: Any) -> Any:
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
    reported = capsys.readouterr().err
    assert re.search(r"^measured: a step of 1\.\d+ ms, simulated .*; noise 0\.0 %; \d+ s$", reported, re.MULTILINE)
    assert measured["chosen"] > 0 and "chosen for it" not in reported
    answered = r"^number [23] of 3 placements, .* % faster in fresh rounds than the simulated fastest, number 1$"
    assert re.search(answered, reported, re.MULTILINE)


def test_the_command_answers_with_the_simulated_fastest_where_measuring_fails(
    tiny_cnn_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def visit(
        self: GraphToMeasure, order: Mapping[str, Any], visits: Sequence[int], words: str, *_reported: Any
    ) -> Any:
        if words != CHECKING:
            raise OUT_OF_MEMORY
        assert len(visits) == len(order["placements"]) == 1
        return np.ones((1, self.steps))

    monkeypatch.setattr(GraphToMeasure, "visit", visit)
    report, placement = tmp_path / "report.json", tmp_path / "placement.json"
    command = ["place", str(tiny_cnn_path), "--cluster", "2xCPU", "--method", "random", "--evaluations", "50"]
    command += ["--measure", "last", "--report", str(report), "--out", str(placement)]
    assert main(command) == 0
    warning = f"warning: nothing was measured after the run, and its own answer stays: {OUT_OF_MEMORY}"
    assert warning in capsys.readouterr().err.splitlines()
    reported = json.loads(report.read_text())
    assert reported["measured"] == {"what": "last", "error": str(OUT_OF_MEMORY)}
    assert reported["placement"] == json.loads(placement.read_text())


def test_the_command_says_that_the_method_ended_early(
    tiny_cnn_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    batches = 0

    def visit(
        self: GraphToMeasure, _order: Mapping[str, Any], visits: Sequence[int], words: str, *_reported: Any
    ) -> Any:
        nonlocal batches
        batches += words == EVALUATING
        if words == EVALUATING and batches > 2:
            raise OUT_OF_MEMORY
        return np.ones((len(visits), self.steps))

    monkeypatch.setattr(GraphToMeasure, "visit", visit)
    report = tmp_path / "report.json"
    command = ["place", str(tiny_cnn_path), "--cluster", "2xCPU", "--method", "post", "--evaluations", "50"]
    assert main([*command, "--measure", "all", "--report", str(report)]) == 0
    evaluations = json.loads(report.read_text())["evaluations"]
    ended = f"the method ended after {evaluations} evaluations, since the next could not be measured: {OUT_OF_MEMORY}"
    assert f"warning: {ended}" in capsys.readouterr().err.splitlines()
