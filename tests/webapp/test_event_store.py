"""Events go into the database once each, in batches, with their checkpoint, and only for whoever has the claim."""

import json
import threading
import time

import pytest
from django.db import DatabaseError

from engine import api
from tests.webapp.scripted_engine import episode, rows, started
from webapp.jobs import event_store
from webapp.jobs.claim import Claim, ClaimLostError
from webapp.jobs.models import Event, SavedState
from webapp.runs.models import Answer, Run
from webapp.runs.run_store import RunStore


@pytest.fixture
def claim(run: Run) -> Claim[Run]:
    """The run's."""
    claim = Claim.take(Run, run.id)
    assert claim is not None
    return claim


@pytest.fixture
def store(claim: Claim[Run], run: Run) -> RunStore:
    """Of a run that begins."""
    run.refresh_from_db()
    return RunStore(claim, run)


def emit(store: RunStore, first: int, step_times_us: list[float]) -> None:
    """Episodes as events numbered from `first`."""
    for seq, step_time_us in enumerate(step_times_us, start=first):
        store.emit(api.NumberedEvent(seq, episode(seq, step_time_us)))


def test_nothing_is_written_before_write(store: RunStore, run: Run) -> None:
    emit(store, 1, [5.0, 4.0])
    assert rows(run) == []
    store.write()
    assert rows(run) == [(1, "episode"), (2, "episode")]


def test_an_event_is_stored_as_the_engine_says_it(store: RunStore, run: Run) -> None:
    numbered = api.NumberedEvent(1, started())
    store.emit(numbered)
    store.write()
    assert json.loads(run.events.get().data) == numbered.to_json()


def test_the_row_shows_last_event_best_and_evaluations(store: RunStore, run: Run) -> None:
    emit(store, 1, [5.0, 3.0, 4.0])
    store.write()
    run.refresh_from_db()
    assert (run.last_seq, run.best_step_time_us, run.evaluations_used) == (3, 3.0, 3)
    assert (run.answer.step_time_us, run.answer.device_of_group) == (3.0, episode(2, 3.0).placement)


def test_an_infeasible_placement_is_never_the_answer(store: RunStore, run: Run) -> None:
    store.emit(api.NumberedEvent(1, episode(1, 1.0, feasible=False)))
    store.emit(api.NumberedEvent(2, episode(2, 2.0)))
    store.write()
    assert Answer.objects.get(run=run).step_time_us == 2.0


def test_a_trivial_baselines_placement_is_an_answer(store: RunStore, run: Run) -> None:
    store.emit(api.NumberedEvent(1, api.Baseline("single_device", 9.0, 9.0, 1, "", [0, 0, 0])))
    store.emit(api.NumberedEvent(2, api.Baseline("cpu_only", None, None, 0, "no CPU")))
    store.emit(api.NumberedEvent(3, api.Baseline("random", 8.0, 9.0, 1, "", [1, 0, 0])))
    store.emit(api.NumberedEvent(4, episode(4, 10.0)))
    store.write()
    assert Answer.objects.get(run=run).device_of_group == [0, 0, 0]


def test_who_asks_for_a_trivial_placement_gets_just_that(run: Run) -> None:
    Run.objects.update(method="cpu_only")
    run.refresh_from_db()
    claim = Claim.take(Run, run.id)
    assert claim is not None
    store = RunStore(claim, run)
    store.emit(api.NumberedEvent(1, api.Baseline("single_device", 9.0, 9.0, 1, "", [0, 0, 0])))
    store.emit(api.NumberedEvent(2, episode(4, 10.0)))
    store.write()
    assert Answer.objects.get(run=run).step_time_us == 10.0


def test_a_checkpoint_comes_with_the_events_before_it(store: RunStore, run: Run) -> None:
    emit(store, 1, [5.0])
    store.emit(api.Checkpoint(1, b"first"))
    emit(store, 2, [4.0])
    store.emit(api.Checkpoint(2, b"second"))
    emit(store, 3, [3.0])
    store.write()
    checkpoint = SavedState.objects.get(job_id=run.id)
    assert (checkpoint.seq, bytes(checkpoint.state)) == (2, b"second")
    assert rows(run)[-1] == (3, "episode")


def test_events_and_checkpoint_are_one_transaction(store: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    emit(store, 1, [5.0])
    store.emit(api.Checkpoint(1, b"state"))

    def refuse(*args: object, **kwargs: object) -> None:
        raise DatabaseError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(SavedState.objects, "update_or_create", refuse)
        with pytest.raises(DatabaseError):
            store.write()
    assert rows(run) == []
    run.refresh_from_db()
    assert run.last_seq == 0
    emit(store, 2, [4.0])
    store.write()
    assert rows(run) == [(1, "episode"), (2, "episode")]
    assert SavedState.objects.get(job_id=run.id).seq == 1


def test_what_is_shown_again_after_going_on_is_skipped(store: RunStore, claim: Claim[Run], run: Run) -> None:
    emit(store, 1, [5.0, 4.0, 3.0])
    store.write()
    first_life = list(Event.objects.values_list("id", "data"))
    run.refresh_from_db()
    second = RunStore(claim, run)
    emit(second, 2, [4.0, 3.0, 2.0])
    second.write()
    assert rows(run) == [(seq, "episode") for seq in (1, 2, 3, 4)]
    assert list(Event.objects.order_by("seq").values_list("id", "data"))[:3] == first_life


def test_the_end_counts_even_if_it_comes_sooner_than_before(store: RunStore, claim: Claim[Run], run: Run) -> None:
    emit(store, 1, [5.0, 4.0, 3.0])
    store.write()
    run.refresh_from_db()
    second = RunStore(claim, run)
    emit(second, 2, [4.0])
    report: dict[str, api.Json] = {
        "step_time_us": 4.0,
        "feasible": True,
        "evaluations": 2,
        "device_of_group": [0, 1, 0],
    }
    second.emit(api.NumberedEvent(3, api.Finished(report)))
    second.end_with(Run.DONE, report)
    assert rows(run)[-1] == (4, "finished")
    assert json.loads(run.events.get(seq=4).data)["seq"] == 4
    run.refresh_from_db()
    assert (run.best_step_time_us, run.answer.step_time_us) == (3.0, 3.0)


def test_the_end_is_stored_with_the_last_status_alone(
    store: RunStore, claim: Claim[Run], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the database fails in between, the next attempt ends the run, and the end is there once."""
    report: dict[str, api.Json] = {
        "step_time_us": 5.0,
        "feasible": True,
        "evaluations": 1,
        "device_of_group": [0, 1, 0],
    }
    emit(store, 1, [5.0])
    store.emit(api.Checkpoint(1, b"state"))
    store.emit(api.NumberedEvent(2, api.Finished(report)))
    store.write()  # as the heartbeat does, at any moment
    assert rows(run) == [(1, "episode")]

    def refuse(*_: object, **__: object) -> None:
        raise DatabaseError("locked")

    with monkeypatch.context() as patch, pytest.raises(DatabaseError):
        patch.setattr(Claim, "end", refuse)
        store.end_with(Run.DONE, report)
    assert rows(run) == [(1, "episode")]
    run.refresh_from_db()
    second = RunStore(claim, run)
    second.emit(api.NumberedEvent(2, api.Finished(report)))
    second.end_with(Run.DONE, report)
    assert rows(run) == [(1, "episode"), (2, "finished")]


def test_a_gap_is_our_own_bug(store: RunStore) -> None:
    emit(store, 1, [5.0])
    with pytest.raises(AssertionError):
        emit(store, 3, [4.0])


def test_a_worker_that_lost_its_claim_stores_nothing(store: RunStore, run: Run) -> None:
    emit(store, 1, [5.0])
    Run.objects.filter(id=run.id).update(status=Run.QUEUED, claim=None)
    with pytest.raises(ClaimLostError):
        store.write()
    with pytest.raises(ClaimLostError):
        store.end_with(Run.DONE)
    assert rows(run) == []


def test_a_deleted_run_stores_nothing(store: RunStore, run: Run) -> None:
    emit(store, 1, [5.0])
    Run.objects.filter(id=run.id).delete()
    with pytest.raises(ClaimLostError):
        store.write()
    assert not Event.objects.exists()


def test_the_end_is_one_transaction_with_the_last_events(store: RunStore, run: Run) -> None:
    emit(store, 1, [5.0])
    store.emit(api.Checkpoint(1, b"state"))
    store.end_with(Run.CANCELLED)
    run.refresh_from_db()
    assert (run.status, run.last_seq, run.claim) == (Run.CANCELLED, 1, None)


def test_a_placer_that_reports_too_much_waits_for_the_database(
    store: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_store, "MOST_BUFFERED", 3)
    emitter = threading.Thread(target=emit, args=(store, 1, [5.0] * 10))
    emitter.start()
    while emitter.is_alive():
        store.write()
        time.sleep(0.01)
    store.write()
    assert rows(run) == [(seq, "episode") for seq in range(1, 11)]


def test_a_placer_whose_run_is_lost_does_not_wait(store: RunStore, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_store, "MOST_BUFFERED", 3)
    monkeypatch.setattr(event_store, "LONGEST_WAIT_SECONDS", 1e6)
    emit(store, 1, [5.0] * 3)
    Run.objects.all().delete()
    with pytest.raises(ClaimLostError):
        store.write()
    emit(store, 4, [5.0] * 10)


def test_text_that_no_database_likes_is_stored(store: RunStore, run: Run) -> None:
    stage = "\x00 \ud800 ‮ </script>"
    store.emit(api.NumberedEvent(1, api.Progress(stage, 0, 0)))
    store.write()
    assert json.loads(run.events.get().data)["stage"] == stage
