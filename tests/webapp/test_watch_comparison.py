"""A comparison is watched: its state comes as one numbered event, and nobody replays its runs for it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from engine import api
from tests.webapp.processes import Surroundings
from tests.webapp.scripted_engine import episode, started
from tests.webapp.streams import messages, open_stream
from webapp.comparisons import lifecycle
from webapp.comparisons.models import ComparedRun, Comparison
from webapp.comparisons.time_left import left_seconds
from webapp.graphs.models import Graph
from webapp.jobs.cancelling import cancel
from webapp.jobs.claim import Claim
from webapp.jobs.models import Event
from webapp.runs import run_summary
from webapp.runs.models import Run, RunSummary
from webapp.runs.placing import place_run
from webapp.runs.run_store import RunStore


@pytest.fixture
def comparison(real_graph: Graph) -> Comparison:
    """Two methods, two seeds of the one that draws at random, queued."""
    cluster = api.parse_cluster("2xK80")
    return lifecycle.start(real_graph, api.ComparisonRequest(cluster, ("random", "heft"), api.Budget(30), 2))


def carry_out(comparison: Comparison) -> None:
    """As workers do with what is queued."""
    for compared in ComparedRun.objects.filter(comparison=comparison):
        place_run(compared.run_id)


def state(client: Client, comparison: Comparison) -> dict[str, Any]:
    """As scripts get it."""
    found: dict[str, Any] = client.get(f"/comparisons/{comparison.id}/state.json").json()
    return found


def events(client: Client, comparison: Comparison, after: int = 0) -> dict[str, Any]:
    """A page of events."""
    found: dict[str, Any] = client.get(f"/comparisons/{comparison.id}/events.json?after={after}").json()
    return found


def test_its_one_event_is_its_state_and_is_there_for_whoever_has_another(
    client: Client, comparison: Comparison
) -> None:
    page = events(client, comparison)
    assert (page["status"], page["last_seq"]) == ("queued", 1)
    [event] = page["events"]
    assert event == {"type": "comparison", "version": 1, "seq": 1, **state(client, comparison)}
    carry_out(comparison)
    page = events(client, comparison, after=1)
    [event] = page["events"]
    assert (page["status"], event["ended"], event["total"]) == ("done", 3, 3)
    assert event["seq"] == page["last_seq"] > 1
    assert events(client, comparison, after=event["seq"])["events"] == []


def test_whatever_changes_a_run_changes_its_number(client: Client, comparison: Comparison) -> None:
    [first, second, _] = lifecycle.runs_of(comparison)
    numbers = [events(client, comparison)["last_seq"]]
    claim = Claim.take(Run, first.id)
    assert claim is not None
    numbers.append(events(client, comparison)["last_seq"])
    claim.update(evaluations_used=1)
    numbers.append(events(client, comparison)["last_seq"])
    cancel(second)
    numbers.append(events(client, comparison)["last_seq"])
    claim.end(Run.FAILED, error="x")
    numbers.append(events(client, comparison)["last_seq"])
    assert numbers == sorted(set(numbers))


def test_the_time_left_follows_the_evaluations_and_seconds_of_each_method(
    client: Client, comparison: Comparison
) -> None:
    assert "left_seconds" not in state(client, comparison), "none works"
    runs = lifecycle.runs_of(comparison)
    assert [(run.method, run.evaluations) for run in runs] == [("random", 30), ("random", 30), ("heft", 30)]
    running, ended, waiting = runs
    running.status, ended.status = Run.RUNNING, Run.DONE
    done = {"ended": True, "evaluations": 20, "wall_seconds": 8.0}
    outcomes = [outcome("random", evaluations=10, wall_seconds=7.0), outcome("random", **done), outcome("heft")]
    rate = 15.0 / 30
    assert left_seconds(runs, outcomes) == pytest.approx((20 - 10) * rate + 30 * rate), "heft: at the speed of all"
    waiting.status = Run.RUNNING
    assert left_seconds(runs, outcomes) == pytest.approx(30 * rate), "two beside each other: the longer one"
    waiting.seconds = 6.0
    assert left_seconds(runs, outcomes) == pytest.approx(6.0), "its budget of seconds"
    assert left_seconds(runs, [outcome("random"), outcome("random"), outcome("heft")]) is None, "nothing is known"


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("beside_seconds", [0.0, 3.0, 30.0])
def test_the_time_left_is_right_after_the_first_tenth(workers: int, beside_seconds: float) -> None:
    """Of runs that evaluate baselines first, which no evaluation of theirs counts."""
    evaluations, rates = 100, {"random": 0.05, "heft": 0.08}
    planned = [(method, seed) for seed in range(5) for method in rates]
    lengths = [beside_seconds + evaluations * rates[method] for method, _ in planned]
    ends, starts = [0.0] * workers, []
    for length in lengths:  # each worker takes the next one
        starts.append(min(ends))
        ends[ends.index(min(ends))] += length
    whole, begin = max(ends), datetime(2026, 1, 31, tzinfo=UTC)
    for share in (0.11, 0.25, 0.4, 0.6, 0.8):
        now = share * whole
        runs, outcomes = [], []
        for (method, seed), start, length in zip(planned, starts, lengths, strict=True):
            seconds = min(max(0.0, now - start - beside_seconds), evaluations * rates[method])
            status = Run.QUEUED if start > now else Run.RUNNING if start + length > now else Run.DONE
            run = Run(method=method, seed=seed, status=status, evaluations=evaluations)
            run.started_at = None if start > now else begin + timedelta(seconds=start)
            run.finished_at = begin + timedelta(seconds=start + length) if status == Run.DONE else None
            used = round(seconds / rates[method])
            runs.append(run)
            outcomes.append(outcome(method, evaluations=used, wall_seconds=seconds, ended=status == Run.DONE))
        left = left_seconds(runs, outcomes, begin + timedelta(seconds=now))
        if left is not None:  # before the first evaluation nothing is said
            assert (whole - now) / 1.5 <= left <= (whole - now) * 1.5, (share, left, whole - now)
        else:
            assert share < 0.25


def outcome(method: str, **fields: Any) -> api.Outcome:
    """One of a run that has found nothing yet."""
    return api.Outcome(method=method, seed=0, **{"ended": False, "step_time_us": None, "feasible": False, **fields})


def test_a_comparison_that_works_says_what_is_left(client: Client, comparison: Comparison) -> None:
    first = lifecycle.runs_of(comparison)[0]
    claim = Claim.take(Run, first.id)
    assert claim is not None
    first.refresh_from_db()
    store = RunStore(claim, first)
    for item in [api.NumberedEvent(1, started()), *(api.NumberedEvent(seq, episode(seq, 9.0)) for seq in range(2, 9))]:
        store.emit(item)
    store.write()
    assert state(client, comparison)["left_seconds"] > 0


def test_no_event_of_a_run_is_read_for_it(transactional_db: None, client: Client, comparison: Comparison) -> None:
    carry_out(comparison)
    assert Event.objects.exists()
    addresses = [f"/comparisons/{comparison.id}/{name}" for name in ("", "state.json", "table.html", "comparison.json")]
    before = [client.get(address).content for address in addresses]
    Event.objects.all().delete()
    assert [client.get(address).content for address in addresses[1:]] == before[1:]
    assert client.get(addresses[0]).status_code == 200


def test_what_an_older_version_has_stored_is_summarised_by_a_chore(
    transactional_db: None, client: Client, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_out(comparison)
    before = state(client, comparison)
    assert Event.objects.exists()
    RunSummary.objects.all().delete()
    monkeypatch.setattr(run_summary, "EVENTS_AT_ONCE", 7)
    assert state(client, comparison) == before
    assert not RunSummary.objects.exists(), "whoever looks stores nothing"
    chore = run_summary.MissingSummaries()
    assert [chore() for _ in range(Run.objects.count() + 2)] == [True] * Run.objects.count() + [False] * 2
    Event.objects.all().delete()
    assert state(client, comparison) == before


def test_events_of_a_resumed_run_are_summarised_once(run: Run) -> None:
    emitted = [
        api.NumberedEvent(1, started()),
        *(api.NumberedEvent(seq, episode(seq, 9.0 / seq)) for seq in range(2, 9)),
    ]
    claim = Claim.take(Run, run.id)
    assert claim is not None
    run.refresh_from_db()
    first = RunStore(claim, run)
    for item in emitted[:5]:
        first.emit(item)
    first.write()
    run.refresh_from_db()
    second = RunStore(claim, run)
    for item in emitted[3:]:
        second.emit(item)
    second.write()
    listener = api.ComparisonListener()
    for item in emitted:
        listener.add(item)
    run = Run.objects.select_related("summary").get()
    assert run.summary.seq == 8
    assert run_summary.summary_of(run) == listener
    assert json.loads(json.dumps(listener.to_json())) == run.summary.content


def test_a_summary_is_never_put_back_by_a_late_reader(run: Run) -> None:
    run_summary.store_summary(run.id, 9, api.ComparisonListener(elapsed_seconds=9.0).to_json())
    run_summary.store_summary(run.id, 4, api.ComparisonListener(elapsed_seconds=4.0).to_json())
    assert (RunSummary.objects.get().seq, RunSummary.objects.get().content["elapsed_seconds"]) == (9, 9.0)  # type: ignore[call-overload, index]


def test_it_comes_as_a_stream_until_the_last_run_has_ended(around: Surroundings, comparison: Comparison) -> None:
    around.start_redis()
    stream = messages(open_stream(around.start_web(), f"/comparisons/{comparison.id}/events?after=1"))
    assert [next(stream).event for _ in range(2)] == ["", "status"]
    carry_out(comparison)
    seen = list(stream)
    states = [json.loads(message.data)[0] for message in seen if message.event == "events"]
    assert states[-1]["ended"] == 3
    numbers = [one["seq"] for one in states]
    assert numbers == sorted(set(numbers))
    assert json.loads(seen[-1].data) == {"status": "done", "error": ""}


def test_one_that_is_deleted_ends_its_stream(around: Surroundings, comparison: Comparison) -> None:
    around.start_redis()
    stream = messages(open_stream(around.start_web(), f"/comparisons/{comparison.id}/events?after=1"))
    assert [next(stream).event for _ in range(2)] == ["", "status"]
    lifecycle.delete(comparison)
    assert json.loads(next(stream).data) == {"status": "deleted", "error": "This comparison has been deleted."}
