"""What a run takes is estimated before it starts, and one that may not have so much is refused."""

import dataclasses
import json
import subprocess
import sys

import pytest

from engine.errors import LimitError
from engine.events import Emitted
from engine.placers import memory
from engine.placers.memory import ANY_RUN_BYTES, ProblemSize
from engine.placers.registry import PLACERS, make_placer, settings_dataclass_of
from engine.policy_training import TrainRequest, train
from engine.problem import Budget
from engine.run.request import RunRequest
from engine.run.run import Run
from tests.engine.placers.small_problems import small_cluster
from tests.engine.small_runs import prepared_graph, request

LARGE = ProblemSize(4000, 64, 40_000, 60_000)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process is Linux's")
def test_every_estimate_is_above_the_measured_peak_and_within_three_times_of_it() -> None:
    command = [sys.executable, "-m", "tests.engine.placers.memory_peaks"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    peaks = [json.loads(line) for line in lines]
    assert {peak["method"] for peak in peaks} == set(PLACERS)
    for peak in peaks:
        assert peak["taken"] < peak["estimated"] < 3 * peak["taken"] + 1.25 * ANY_RUN_BYTES, peak


@pytest.mark.parametrize("method", list(PLACERS))
def test_more_groups_or_devices_take_more_and_smaller_settings_less(method: str) -> None:
    need, settings = PLACERS[method].memory, settings_dataclass_of(make_placer(method, {}))
    needed = need.bytes_of(settings, LARGE)
    for name in ("groups", "devices", "ops", "edges"):
        more = dataclasses.replace(LARGE, **{name: 2 * getattr(LARGE, name)})
        assert needed < need.bytes_of(settings, more) < 9 * needed
    for name in need.settings:
        smaller = dataclasses.replace(settings, **{name: (getattr(settings, name) or 256) // 2})
        assert need.bytes_of(smaller, LARGE) < needed


def test_a_run_that_may_not_have_enough_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "room_bytes", lambda: 128 * 1024**2)
    heard: list[Emitted] = []
    prepared = prepared_graph(200)
    with pytest.raises(LimitError) as refused:
        Run(prepared, request("rnn"), heard.append, lambda: False)
    assert not heard and refused.value.field == "method"
    words = str(refused.value)
    assert words.startswith("rnn on 200 groups and 3 devices: it would take about ")
    assert "use fewer groups, a smaller batch_episodes or hidden_width, fewer devices or another method" in words
    assert words.endswith("allowed: at most 128 MiB here")
    Run(prepared, request("auto"), heard.append, lambda: False)


def test_a_setting_that_the_sentence_names_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "room_bytes", lambda: 400 * 1024**2)
    prepared, budget = prepared_graph(200), Budget(9)
    small = RunRequest(small_cluster(2), "rnn", budget, 0, {"batch_episodes": 1, "hidden_width": 16})
    Run(prepared, small, lambda _: None, lambda: False)
    with pytest.raises(LimitError):
        Run(prepared, dataclasses.replace(small, settings={}), lambda _: None, lambda: False)


def test_a_training_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "room_bytes", lambda: 64 * 1024**2)
    asked = TrainRequest((prepared_graph(12),), (), (small_cluster(2),), "a name")
    with pytest.raises(LimitError, match="the training on 12 groups and 2 devices: it would take about"):
        train(asked, lambda _: None, lambda: False)
