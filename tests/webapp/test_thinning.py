"""A run that ended long ago keeps all improvements and an even selection of its other events."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.test import Client
from pytest_django import Settings

from tests.webapp.scripted_engine import CLUSTER
from webapp.graphs.models import Graph
from webapp.jobs.models import Event, bytes_of_events
from webapp.runs import thinning
from webapp.runs.models import KeptPolicy, Run, RunSummary
from webapp.runs.run_summary import summary_of
from webapp.runs.thinning import ThinOldRuns

EPISODES = 500
BETTER = {1: 90.0, 2: 80.0, 77: 70.0, 301: 60.0}
"""number of an episode → its step time; the others take longer"""


@pytest.fixture(autouse=True)
def few_are_kept(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(thinning, "KEPT_OF_THE_REST", 10)
    monkeypatch.setattr(thinning, "EVENTS_A_STEP", 64)
    settings.EVENTS_DAYS = 30


@pytest.fixture
def old_run(run: Run) -> Run:
    """One that ended 31 days ago."""
    contents = [started(), baseline(), *map(episode, range(1, EPISODES + 1)), {"type": "finished", "report": {}}]
    for seq, content in enumerate(contents, start=1):
        content |= {"seq": seq, "version": 1}
        Event.objects.create(job_id=run.id, seq=seq, type=content["type"], data=json.dumps(content))
    ended = Now() - timedelta(days=31)
    Run.objects.filter(id=run.id).update(status=Run.DONE, finished_at=ended, last_seq=len(contents))
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("most", [10, 1000])
def test_the_kept_policy_goes_whether_events_do_or_not(
    old_run: Run, graph: Graph, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(thinning, "KEPT_OF_THE_REST", most)
    young = Run.objects.create(
        graph=graph, cluster=CLUSTER, method="placeto", settings={}, evaluations=9, seed=0, status=Run.DONE
    )
    KeptPolicy.objects.create(run=old_run, policy=b"weights")
    KeptPolicy.objects.create(run=young, policy=b"weights")
    thin(ThinOldRuns())
    assert KeptPolicy.objects.get().run_id == young.id
    old_run.refresh_from_db()
    assert old_run.is_thinned == (most == 10)


def started() -> dict[str, Any]:
    """The first event."""
    sizes = {"evaluations": EPISODES, "groups": 3, "lower_bound_us": 50.0, "seed": 0}
    texts = {"method": "placeto", "settings": {}, "devices": ["/device:GPU:0"], "engine_version": "0.2.0"}
    return {"type": "started", **sizes, **texts}


def baseline() -> dict[str, Any]:
    """The second."""
    figures = {"step_time_us": 65.0, "mean_step_time_us": 65.0, "evaluations": 1}
    return {"type": "baseline", "method": "single_device", "note": "", **figures}


def episode(number: int) -> dict[str, Any]:
    """One of the others."""
    figures = {"step_time_us": BETTER.get(number, 100.0 + number), "evaluations": number, "elapsed_seconds": number / 9}
    best = min(65.0, *(us for better, us in BETTER.items() if better <= number))
    return {"type": "episode", "episode": number, "feasible": True, "best_step_time_us": best, **figures}


def thin(chore: ThinOldRuns) -> None:
    """All steps."""
    while chore():
        pass


def kept(run: Run) -> list[int]:
    """The numbers of the events that are left."""
    return list(Event.objects.filter(job_id=run.id).order_by("seq").values_list("seq", flat=True))


def test_improvements_stay_and_an_even_rest(old_run: Run) -> None:
    summary = summary_of(old_run).to_json()
    thin(ThinOldRuns())
    numbers = kept(old_run)
    stride = -(-old_run.last_seq // 10)
    last_episode, last = old_run.last_seq - 1, old_run.last_seq
    better = {number + 2 for number in BETTER}
    assert set(numbers) == {1, 2, *better, last_episode, last, *range(stride, last, stride)}
    old_run.refresh_from_db()
    assert (old_run.kept_events, old_run.is_thinned) == (len(numbers), True)
    assert old_run.event_bytes == bytes_of_events(Event.objects.filter(job_id=old_run.id))
    assert summary_of(Run.objects.get(id=old_run.id)).to_json() == summary


def test_a_summary_that_is_behind_is_made_before(old_run: Run) -> None:
    thin(ThinOldRuns())
    assert RunSummary.objects.get(run=old_run).seq == old_run.last_seq
    assert summary_of(Run.objects.get(id=old_run.id)).own_best_us == 60.0


def test_after_a_kill_the_same_events_stay(old_run: Run) -> None:
    killed = ThinOldRuns()
    for _ in range(4):
        assert killed()
    assert Run.objects.get(id=old_run.id).kept_events is None
    thin(ThinOldRuns())
    again = kept(old_run)
    assert Run.objects.get(id=old_run.id).kept_events == len(again)
    assert {number + 2 for number in BETTER} < set(again)
    assert len(again) == 2 + len(BETTER) + 2 + 9


def test_pages_and_scripts_bear_the_gaps_and_say_so(client: Client, old_run: Run) -> None:
    assert "kept_events" not in client.get(f"/runs/{old_run.id}/run.json").json()
    thin(ThinOldRuns())
    numbers, after = [], 0
    while True:
        page = client.get(f"/runs/{old_run.id}/events.json?after={after}&limit=5").json()
        if not page["events"]:
            break
        numbers += [event["seq"] for event in page["events"]]
        after = numbers[-1]
    assert numbers == kept(old_run)
    assert (page["kept_events"], page["last_seq"]) == (len(numbers), old_run.last_seq)
    assert client.get(f"/runs/{old_run.id}/run.json").json()["kept_events"] == len(numbers)
    assert f'thinned to <span data-count="{len(numbers)}">' in client.get(f"/runs/{old_run.id}/").content.decode()


@pytest.mark.parametrize(
    "columns",
    [
        {"finished_at": Now() - timedelta(days=29)},
        {"status": Run.RUNNING, "finished_at": None},
        {"deleted_at": Now()},
    ],
)
def test_other_runs_keep_all(old_run: Run, columns: dict[str, Any]) -> None:
    Run.objects.filter(id=old_run.id).update(**columns)
    assert not ThinOldRuns()()
    assert len(kept(old_run)) == old_run.last_seq


def test_without_the_setting_nothing_is_thinned(old_run: Run, settings: Settings) -> None:
    settings.EVENTS_DAYS = 0
    assert not ThinOldRuns()()
    assert len(kept(old_run)) == old_run.last_seq


def test_a_short_run_keeps_all_and_is_asked_once(old_run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "KEPT_OF_THE_REST", 1000)
    chore = ThinOldRuns()
    assert chore()
    assert not chore()
    old_run.refresh_from_db()
    assert (old_run.kept_events, old_run.is_thinned) == (old_run.last_seq, False)
