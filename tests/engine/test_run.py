"""A run: its events in order, its baselines, its answer, and going on from a checkpoint."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from engine.api import Budget, PreparedGraph, RunRequest, SplitPlacement, place, placement_of_report
from engine.errors import InfeasibleError, PlacementError, SettingsError
from engine.events import Baseline, Checkpoint, Emitted, Episode, Finished, NumberedEvent, Started
from engine.problem import PlacementProblem
from engine.run.run import Run
from engine.simulator import Evaluations
from tests.engine.placers.small_problems import small_cluster
from tests.engine.small_runs import Heard, events_of, prepared_graph, request, without_seconds, without_times


@pytest.mark.parametrize("method", ["placeto", "random", "single_device", "cpu_only"])
def test_events_are_numbered_from_one_without_a_gap(method: str) -> None:
    heard: Heard = []
    place(prepared_graph(), request(method), heard.append, lambda: False)
    numbers = [item.seq for item in heard if isinstance(item, NumberedEvent)]
    assert numbers == list(range(1, len(numbers) + 1))
    types = [event.type for event in events_of(heard)]
    assert types[:4] == ["started", "baseline", "baseline", "baseline"]
    assert types[-1] == "finished"
    assert set(types[4:-1]) == ({"episode", "update"} if method == "placeto" else {"episode"})


def test_the_answer_is_the_best_evaluated_and_never_behind_one_device() -> None:
    heard: Heard = []
    report = place(prepared_graph(), request("placeto", 50), heard.append, lambda: False)
    baselines = {event.method: event for event in events_of(heard) if isinstance(event, Baseline)}
    episodes = [event for event in events_of(heard) if isinstance(event, Episode)]
    one_device_us = baselines["single_device"].step_time_us
    assert one_device_us is not None
    best_us = min([one_device_us, *(event.step_time_us for event in episodes)])
    assert report["step_time_us"] == best_us
    assert report["evaluations"] == 50
    lower_bound_us = report["lower_bound_us"]
    assert isinstance(lower_bound_us, float)
    assert 0 < lower_bound_us <= best_us
    assert events_of(heard)[-1] == Finished(report)


def test_a_baseline_says_what_its_placement_takes_and_how_long_it_took() -> None:
    heard: Heard = []
    asked = dataclasses.replace(request("random", 20, cpu=False), baselines=("single_device", "cpu_only", "random"))
    run = Run(prepared_graph(), asked, heard.append, lambda: False)
    run.execute(None)
    baselines = {event.method: event for event in events_of(heard) if isinstance(event, Baseline)}
    assert baselines["cpu_only"].peak_bytes is None, "there is no CPU"
    for event in baselines.values():
        assert event.wall_seconds is not None and event.wall_seconds >= 0
        if event.placement is not None:
            evaluation = run._problem.simulator.evaluate(np.array([event.placement], dtype=np.int32))
            assert event.peak_bytes == evaluation.peak_bytes[0].tolist()
    assert baselines["random"].peak_bytes


def test_a_budget_of_one_evaluation_gives_the_best_device() -> None:
    report = place(prepared_graph(), request("placeto", 1), lambda _: None, lambda: False)
    placement = report["device_of_group"]
    assert isinstance(placement, list)
    assert len(set(map(str, placement))) == 1
    assert report["evaluations"] == 1


def test_a_stopped_run_reports_its_best_without_finishing() -> None:
    heard: Heard = []

    def stop_after_an_episode() -> bool:
        return any(isinstance(event, Episode) for event in events_of(heard))

    report = place(prepared_graph(), request("placeto", 100_000), heard.append, stop_after_an_episode)
    assert report["feasible"] is True
    assert not any(isinstance(event, Finished) for event in events_of(heard))


def test_going_on_from_a_checkpoint_equals_never_stopping() -> None:
    whole: Heard = []
    prepared = prepared_graph()
    asked = dataclasses.replace(request("placeto", 400), settings={"checkpoint_seconds": 0.0})
    report = place(prepared, asked, whole.append, lambda: False)
    checkpoints = [item for item in whole if isinstance(item, Checkpoint)]
    assert checkpoints, "placeto emits at least one checkpoint a run"
    for checkpoint in (*checkpoints[:2], *checkpoints[2::4]):
        rest: Heard = []
        again = place(prepared, asked, rest.append, lambda: False, checkpoint.state)
        numbers = [item.seq for item in rest if isinstance(item, NumberedEvent)]
        assert numbers[0] == checkpoint.seq + 1
        expected = [item for item in whole if isinstance(item, NumberedEvent) and item.seq > checkpoint.seq]
        assert [without_times(event) for event in events_of(rest)][:-1] == [
            without_times(item.event) for item in expected
        ][:-1]
        assert again["device_of_group"] == report["device_of_group"]
        assert again["evaluations"] == report["evaluations"]
        assert again["verdict"] == report["verdict"], "the baselines are those evaluated at the beginning"
        assert without_seconds(again)["simplest"] == without_seconds(report)["simplest"]


ROOM = 15_900_000
"""bytes of each device: just more than the largest op needs by itself: none of the placements drawn here fits"""


def test_without_room_it_says_how_much_is_missing_on_which_device() -> None:
    heard: Heard = []
    with pytest.raises(InfeasibleError) as caught:
        place(prepared_graph(), request("random", 20, memory_bytes=ROOM), heard.append, lambda: False)
    assert re.fullmatch(
        r"none of the placements fits in memory \(20 evaluated\): the closest needs [\d.]+ [KMG]iB "
        r"more than the [\d.]+ [KMG]iB of [CG]PU \d; use more or larger devices, or allow more evaluations",
        str(caught.value),
    )
    verdict = caught.value.verdict
    assert verdict is not None and verdict["kind"] == "infeasible"
    assert str(verdict["sentence"]).startswith("No placement was found that fits in memory: the closest needs ")
    baseline = next(event for event in events_of(heard) if isinstance(event, Baseline))
    assert baseline.step_time_us is None
    assert re.fullmatch(
        r"does not fit in memory: it needs [\d.]+ [KMG]iB more than the [\d.]+ [KMG]iB of [CG]PU \d", baseline.note
    )


def test_without_a_cpu_the_cpu_baseline_says_so() -> None:
    heard: Heard = []
    place(prepared_graph(), request("random", 20, cpu=False), heard.append, lambda: False)
    baselines = {event.method: event for event in events_of(heard) if isinstance(event, Baseline)}
    assert baselines["cpu_only"].step_time_us is None
    assert baselines["cpu_only"].note == "the cluster has no CPU"


def test_random_has_the_same_evaluations_as_the_run() -> None:
    heard: Heard = []
    place(prepared_graph(), request("placeto", 123), heard.append, lambda: False)
    baselines = {event.method: event for event in events_of(heard) if isinstance(event, Baseline)}
    assert baselines["random"].evaluations == 123


def test_random_does_not_keep_a_large_graph_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepared_graph()
    heard: Heard = []
    monkeypatch.setattr(
        "engine.run.baselines.MOST_RANDOM_WORK", 40 * (prepared.graph.op_count + prepared.graph.edge_count)
    )
    place(prepared, request("heft", 123), heard.append, lambda: False)
    baselines = {event.method: event for event in events_of(heard) if isinstance(event, Baseline)}
    assert baselines["random"].evaluations == 40


def test_random_has_a_small_share_of_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("engine.problem.ledger.time.monotonic", lambda: clock[0])
    evaluate = PlacementProblem.evaluate

    def slowly(problem: PlacementProblem, placements: NDArray[np.int32]) -> Evaluations:
        clock[0] += 1.0
        return evaluate(problem, placements)

    monkeypatch.setattr(PlacementProblem, "evaluate", slowly)
    heard: Heard = []
    told = RunRequest(small_cluster(2), "random", Budget(10_000, seconds=60.0), 0)
    report = place(prepared_graph(), told, heard.append, lambda: False)
    baselines = {event.method: event for event in events_of(heard) if isinstance(event, Baseline)}
    assert baselines["random"].evaluations == 3 * 64  # batches
    evaluations = report["evaluations"]
    assert isinstance(evaluations, int) and evaluations > 50 * 64


def test_of_a_large_budget_improvements_and_every_nth_evaluation_are_reported() -> None:
    heard: Heard = []
    report = place(prepared_graph(), request("random", 6001), heard.append, lambda: False)
    episodes = [event for event in events_of(heard) if isinstance(event, Episode)]
    assert len(episodes) <= 2000
    assert report["evaluations"] == 6001
    assert report["step_time_us"] == episodes[-1].best_step_time_us
    times = [event.best_step_time_us for event in episodes]
    by_themselves = [
        event for event, before in zip(episodes[1:], times, strict=False) if event.best_step_time_us == before
    ]
    assert all(event.episode % 4 == 0 for event in by_themselves)


def test_settings_and_seed_come_first() -> None:
    heard: Heard = []
    place(prepared_graph(), request("placeto", 20, seed=7), heard.append, lambda: False)
    started = events_of(heard)[0]
    assert isinstance(started, Started)
    assert started.seed == 7
    assert started.settings["preset"] == "fast"


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_outside_the_bounds_is_refused(seed: int) -> None:
    with pytest.raises(SettingsError) as caught:
        request("random", seed=seed)
    assert str(caught.value) == f"seed: {seed}; allowed: an integer from 0 to {2**63 - 1}"


def test_a_prepared_graph_survives_bytes() -> None:
    prepared = prepared_graph()
    again = PreparedGraph.from_bytes(prepared.to_bytes())
    assert again.to_bytes() == prepared.to_bytes()
    assert again.graph.op_names == prepared.graph.op_names
    assert np.array_equal(again.costs.time_us, prepared.costs.time_us)
    assert again.summary() == prepared.summary()


def test_the_baselines_cost_the_run_no_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("engine.problem.ledger.time.monotonic", lambda: clock[0])

    def note(item: Emitted) -> None:
        if isinstance(item, NumberedEvent) and isinstance(item.event, Baseline):
            clock[0] += 1000.0

    told = RunRequest(small_cluster(2), "random", Budget(20, seconds=1.0), 0)
    report = place(prepared_graph(), told, note, lambda: False)
    assert report["wall_seconds"] == 0.0
    assert report["evaluations"] == 20


def test_baselines_can_be_left_out() -> None:
    heard: Heard = []
    told = RunRequest(small_cluster(2), "random", Budget(20), 0, baselines=("single_device",))
    place(prepared_graph(), told, heard.append, lambda: False)
    assert [event.method for event in events_of(heard) if isinstance(event, Baseline)] == ["single_device"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"start": SplitPlacement([0, 1])}, "start: 2 devices; allowed: 12 integers, one for each group"),
        ({"start": SplitPlacement([9] * 12)}, "block/branch_0/op_0: the start has it on device 9, where it may not go"),
        ({"pins": {99: 0}}, "pins: there is no group 99; allowed: 0 to 11"),
        ({"pins": {0: 7}}, "pins: there is no device 7; allowed: 0 to 2"),
        (
            {"start": SplitPlacement([0] * 12), "pins": {3: 1}},
            "block/branch_0/op_3: the start has it on /device:GPU:0, where it may not",
        ),
    ],
)
def test_a_start_and_pins_that_cannot_be_are_refused_in_one_line(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(PlacementError, match=re.escape(message)):
        place(prepared_graph(), dataclasses.replace(request("heft"), **asked), lambda _: None, lambda: False)


def test_a_resumed_run_keeps_its_start_and_its_pins() -> None:
    asked = dataclasses.replace(request("local_search", 600), start=SplitPlacement([0, 1] * 6), pins={1: 1, 2: 0})
    whole: Heard = []
    expected = place(prepared_graph(), _saving_often(asked), whole.append, lambda: False)
    saved = [item for item in whole if isinstance(item, Checkpoint)]
    again: Heard = []
    report = place(prepared_graph(), _saving_often(asked), again.append, lambda: False, saved[1].state)
    assert without_seconds(report) == without_seconds(expected)
    assert report["pinned_groups"] == 2 and "start_step_time_us" in report


@pytest.mark.parametrize("method", ["local_search", "placeto", "rnn"])
def test_a_run_leaves_nothing_in_its_request(method: str) -> None:
    """The same request begins anew after a run that went on from a checkpoint."""
    evaluations = 600 if method == "local_search" else 60
    asked, prepared = _saving_often(request(method, evaluations)), prepared_graph()
    whole: Heard = []
    expected = place(prepared, asked, whole.append, lambda: False)
    saved = [item for item in whole if isinstance(item, Checkpoint)]
    place(prepared, asked, lambda _: None, lambda: False, saved[0].state)
    assert without_seconds(place(prepared, asked, lambda _: None, lambda: False)) == without_seconds(expected)


def _saving_often(asked: RunRequest) -> RunRequest:
    return dataclasses.replace(asked, settings={"checkpoint_seconds": 0.0})


def test_local_search_begins_from_a_good_start_and_not_from_the_list_schedules() -> None:
    best = place(prepared_graph(), request("exhaustive", 600_000), lambda _: None, lambda: False)
    asked = dataclasses.replace(request("local_search", 20), start=placement_of_report(best))
    report = place(prepared_graph(), asked, lambda _: None, lambda: False)
    assert report["step_time_us"] == best["step_time_us"]
