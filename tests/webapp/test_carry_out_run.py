"""What a worker does with a run: the engine's events and its end come into the database, whatever happens."""

import sqlite3
import threading
import time
from contextlib import suppress

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from pytest_django import Settings

from engine import api
from tests.supervisor.started import eventually
from tests.webapp.scripted_engine import Script, install, rows
from webapp.jobs import attempt, cancelling, heartbeat, reaper
from webapp.jobs.claim import Claim
from webapp.jobs.models import SavedState
from webapp.jobs.reaper import TIMES_WITHOUT_STATE
from webapp.runs.models import Answer, Run
from webapp.runs.placing import place_run
from webapp.runs.run_store import RunStore

pytestmark = pytest.mark.usefixtures("transactional_db")

EPISODES = [(seq, "episode") for seq in (2, 3, 4)]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "LOOK_EVERY_SECONDS", 0.01)


def test_a_run_ends_with_its_events_and_its_report(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    script = install(monkeypatch, Script([5.0, 3.0, 4.0]))
    place_run(run.id)
    run.refresh_from_db()
    assert rows(run) == [(1, "started"), *EPISODES, (5, "finished")]
    assert (run.status, run.error, run.best_step_time_us, run.claim) == (Run.DONE, "", 3.0, None)
    assert run.finished_at is not None
    report = script.report(3)
    assert run.answer.device_of_group == report.pop("device_of_group")
    assert run.answer.report == report
    assert bytes(run.kept_policy.policy) == b"policy after 3"


def test_a_second_message_does_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    script = install(monkeypatch, Script([5.0]))
    place_run(run.id)
    place_run(run.id)
    assert script.calls == 1


def test_events_are_there_while_the_run_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[tuple[int, str]]] = []

    def look(number: int) -> None:
        if number == 4:
            eventually(lambda: len(rows(run)) == 4, "all emitted events are stored")
            seen.append(rows(run))

    install(monkeypatch, Script([5.0, 4.0, 3.0, 2.0], before_episode=look))
    place_run(run.id)
    assert seen == [[(1, "started"), *EPISODES]]


def test_the_row_shows_that_somebody_works_on_it(run: Run, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    settings.HEARTBEAT_SECONDS = 0.02
    beats = []

    def note(number: int) -> None:
        run.refresh_from_db()
        assert run.heartbeat_at is not None
        beats.append(run.heartbeat_at)
        eventually(lambda: Run.objects.get(id=run.id).heartbeat_at != beats[-1], "another heartbeat")

    install(monkeypatch, Script([5.0, 4.0, 3.0], before_episode=note))
    place_run(run.id)
    assert beats == sorted(beats)
    assert len(set(beats)) == 3


def test_a_graph_that_fits_nowhere_is_reported_as_such(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    error = api.InfeasibleError("no placement fits: 5 bytes over", where="placeto", allowed="larger devices")
    install(monkeypatch, Script([5.0, 4.0, 3.0], error=error))
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.FAILED, "placeto: no placement fits: 5 bytes over; allowed: larger devices")
    assert rows(run) == [(1, "started"), *EPISODES]


def test_a_fault_of_ours_is_a_neutral_sentence_and_the_trace_is_in_the_log(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    install(monkeypatch, Script([5.0, 4.0, 3.0], error=RuntimeError("secret of ours")))
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.FAILED
    assert "secret of ours" not in run.error
    number = run.error.rpartition("error ")[2].rstrip(".")
    assert f"error {number}" in caplog.text
    assert "secret of ours" in caplog.text
    assert rows(run) == [(1, "started"), *EPISODES], "its earlier events are kept"
    assert Answer.objects.get(run=run).step_time_us == 3.0


def test_a_cancelled_run_stops_at_its_next_episode_and_keeps_its_best(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel_at_the_third(number: int) -> None:
        if number == 3:
            assert cancelling.cancel(run)
            time.sleep(0.3)

    install(monkeypatch, Script([5.0, 3.0, 4.0, 2.0], before_episode=cancel_at_the_third))
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.CANCELLED
    assert rows(run) == [(1, "started"), (2, "episode"), (3, "episode")]
    assert run.answer.step_time_us == 3.0
    assert run.answer.report is not None


def test_a_cancelled_run_without_a_feasible_placement_is_cancelled_all_the_same(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel(number: int) -> None:
        cancelling.cancel(run)
        time.sleep(0.3)

    install(monkeypatch, Script([5.0], before_episode=cancel, error=api.InfeasibleError("nothing fits")))
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.error) == (Run.CANCELLED, "")


def test_a_run_that_is_deleted_meanwhile_leaves_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def delete_at_the_second(number: int) -> None:
        if number == 2:
            Run.objects.filter(id=run.id).delete()
            time.sleep(0.3)

    script = install(monkeypatch, Script([5.0, 3.0, 4.0], before_episode=delete_at_the_second))
    place_run(run.id)
    assert script.calls == 1
    assert not Run.objects.exists()


def test_a_run_goes_on_from_its_checkpoint(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first worker dies after episode 5, with a checkpoint of episode 4 and all events stored."""
    lives: list[int] = []

    def die_at_the_sixth(number: int) -> None:
        lives.append(number)
        if number == 6 and lives.count(6) == 1:
            eventually(lambda: len(rows(run)) == 6, "all emitted events are stored")
            raise SystemExit

    step_times_us = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0]
    install(monkeypatch, Script(step_times_us, checkpoint_every=2, before_episode=die_at_the_sixth))
    monkeypatch.setattr(attempt, "_fail", lambda *_: pytest.fail("a worker that dies says nothing"))
    with pytest.raises(SystemExit):
        place_run(run.id)
    Run.objects.filter(id=run.id).update(status=Run.QUEUED, claim=None)
    place_run(run.id)
    run.refresh_from_db()
    assert rows(run) == [(1, "started"), *[(seq, "episode") for seq in range(2, 9)], (9, "finished")]
    assert (run.status, run.attempts) == (Run.DONE, 2)
    assert lives == [1, 2, 3, 4, 5, 6, 5, 6, 7]
    assert not SavedState.objects.exists()


def lives_of(run: Run, monkeypatch: pytest.MonkeyPatch, checkpoint_every: int) -> int:
    """Kill the run's worker after each second episode until the run has ended; returns how many workers it had."""
    lives = 0
    done_in_this_life = 0

    def die_after_two(_number: int) -> None:
        nonlocal done_in_this_life
        done_in_this_life += 1
        if done_in_this_life == 3:
            raise SystemExit

    script = Script([float(20 - number) for number in range(16)], checkpoint_every, before_episode=die_after_two)
    install(monkeypatch, script)
    monkeypatch.setattr(reaper, "SECOND_LOOK_AFTER_SECONDS", 0.01)
    monkeypatch.setattr(attempt, "_fail", lambda *_: pytest.fail("a worker that dies says nothing"))
    store_at_once(monkeypatch)
    while not run.has_ended and lives < 20:
        lives, done_in_this_life = lives + 1, 0
        with suppress(SystemExit):
            place_run(run.id)
        Run.objects.filter(status=Run.RUNNING).update(heartbeat_at=None)
        reaper.reap(Run)
        run.refresh_from_db()
    return lives


def store_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every event and checkpoint is in the database before the engine goes on."""
    emit = RunStore.emit

    def emit_and_write(self: RunStore, item: api.Emitted) -> None:
        emit(self, item)
        self.write()

    monkeypatch.setattr(RunStore, "emit", emit_and_write)


def test_workers_that_die_after_some_progress_fail_no_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """More deaths than a run without progress may have: each worker leaves a later checkpoint."""
    assert lives_of(run, monkeypatch, checkpoint_every=2) == 8 > settings.MOST_ATTEMPTS
    assert (run.status, run.error, run.attempts) == (Run.DONE, "", 8)
    assert [seq for seq, _ in rows(run)] == list(range(1, 19))


def test_workers_that_die_without_progress_fail_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without any saved state cannot show progress, and may be lost more often."""
    assert lives_of(run, monkeypatch, checkpoint_every=0) == TIMES_WITHOUT_STATE * settings.MOST_ATTEMPTS
    assert run.status == Run.FAILED
    assert "15 times without any progress in between" in run.error


def test_workers_that_die_after_the_same_state_fail_the_run_sooner(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    SavedState.objects.create(job_id=run.id, seq=0, state=b"")
    assert lives_of(run, monkeypatch, checkpoint_every=0) == settings.MOST_ATTEMPTS
    assert "5 times without any progress in between" in run.error


def test_a_database_that_is_locked_for_a_while_holds_nothing_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has the write lock for two seconds in the middle of the run."""
    if connection.vendor != "sqlite":
        pytest.skip("a lock of the embedded database")
    other = sqlite3.connect(connection.settings_dict["NAME"], check_same_thread=False, isolation_level=None)

    def lock_at_the_second(number: int) -> None:
        if number == 2:
            other.execute("BEGIN IMMEDIATE")
            threading.Timer(2.0, other.execute, ["COMMIT"]).start()

    install(monkeypatch, Script([5.0, 3.0, 4.0], before_episode=lock_at_the_second))
    place_run(run.id)
    other.close()
    run.refresh_from_db()
    assert run.status == Run.DONE
    assert rows(run) == [(1, "started"), *EPISODES, (5, "finished")]


def test_a_database_that_does_not_answer_is_tried_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The heartbeat's first rounds fail; the run goes on, beats and is cancelled all the same."""
    failures = iter([OperationalError("database is locked")] * 3)
    look = Claim.cancel_requested

    def fail_at_first(claim: Claim[Run]) -> bool:
        if error := next(failures, None):
            raise error
        return look(claim)

    def cancel_at_the_second(number: int) -> None:
        if number == 2:
            cancelling.cancel(run)
            time.sleep(0.5)

    monkeypatch.setattr(Claim, "cancel_requested", fail_at_first)
    install(monkeypatch, Script([5.0, 3.0, 4.0], before_episode=cancel_at_the_second))
    place_run(run.id)
    run.refresh_from_db()
    assert run.status == Run.CANCELLED
    assert caplog.text.count("the database does not answer; trying again") == 3


def test_another_worker_with_the_claim_ends_this_ones_work(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose_it(number: int) -> None:
        if number == 2:
            Run.objects.filter(id=run.id).update(status=Run.QUEUED, claim=None)
            assert Claim.take(Run, run.id) is not None
            time.sleep(0.3)

    install(monkeypatch, Script([5.0, 3.0, 4.0], before_episode=lose_it))
    place_run(run.id)
    run.refresh_from_db()
    assert (run.status, run.attempts) == (Run.RUNNING, 2)
    assert (4, "episode") not in rows(run)
