"""A worker takes jobs only where its code has the version that migrated the database."""

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.models.functions import Now

from engine import api
from webapp.jobs import intake as intake_module
from webapp.jobs import worker_hooks
from webapp.jobs.claim import Claim
from webapp.jobs.intake import Intake, IntakeStep
from webapp.runs.models import Run
from webapp.workers.models import DatabaseVersion, Worker
from webapp.workers.presence import OTHER_VERSION, Presence
from webapp.workers.version import code_version, database_version, record_version


@pytest.fixture
def presence() -> Presence:
    """A worker."""
    return Presence("its-name", ("cpu", "gpu"), "centre", 42)


@pytest.fixture
def intake(monkeypatch: pytest.MonkeyPatch) -> Intake:
    """That worker's intake."""
    found = Intake()
    monkeypatch.setattr(worker_hooks, "intake", found)
    monkeypatch.setattr(worker_hooks, "reap", lambda _: 0)
    monkeypatch.setattr(connections, "close_all", lambda: None)  # the test's own would be lost
    return found


def test_migrate_records_the_version_of_the_code() -> None:
    assert database_version() == code_version()
    assert code_version().version == api.VERSION
    DatabaseVersion.objects.all().delete()
    call_command("migrate", verbosity=0)
    assert database_version() == code_version()


def test_a_schema_half_way_is_another_version() -> None:
    for name in ("0004_worked_seconds", "0002_worked_seconds"):
        MigrationRecorder(connection).record_unapplied("jobs", name)
    record_version(connection)
    stored = database_version()
    assert stored is not None
    assert stored.version == code_version().version
    assert stored.schema != code_version().schema


def test_older_code_does_not_touch_a_newer_database() -> None:
    MigrationRecorder(connection).record_applied("jobs", "0099_of_tomorrow")
    with pytest.raises(CommandError, match=r"^a newer version has migrated this database \(jobs\.0099_of_tomorrow\): "):
        call_command("migrate", verbosity=0)
    assert database_version() == code_version()


@pytest.mark.parametrize("other", [{"version": "9.9.9"}, {"schema": "ffffffff"}])
def test_a_worker_of_another_version_claims_nothing(run: Run, other: dict[str, str]) -> None:
    DatabaseVersion.objects.update(**other)
    assert Claim.take(Run, run.id) is None
    run.refresh_from_db()
    assert (run.status, run.attempts) == (Run.QUEUED, 0)
    record_version(connection)
    assert Claim.take(Run, run.id) is not None


def test_a_database_without_a_version_gives_no_jobs(run: Run, presence: Presence) -> None:
    DatabaseVersion.objects.all().delete()
    assert Claim.take(Run, run.id) is None
    assert not presence.has_version_of_database()


def test_a_database_of_an_older_schema_is_one_line_in_the_log(
    presence: Presence, intake: Intake, caplog: pytest.LogCaptureFixture
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE workers_databaseversion RENAME TO not_yet_made")
        cursor.execute("ALTER TABLE workers_worker RENAME TO not_yet_made_either")
    for _ in range(2):
        worker_hooks.do_round(presence)
    assert not intake.is_open
    [record] = caplog.records
    assert record.getMessage() == (
        f"this worker is version {code_version()}, but the database has no version: run `manage.py migrate`. "
        "It takes nothing until both are the same."
    )
    assert record.exc_info is None


def test_a_worker_takes_nothing_until_the_versions_are_the_same(
    presence: Presence, intake: Intake, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        worker_hooks.do_round(presence)
        assert (intake.is_open, Worker.objects.get().takes_nothing_because) == (True, "")
        DatabaseVersion.objects.update(version="9.9.9")
        for _ in range(3):
            worker_hooks.do_round(presence)
        assert (intake.is_open, Worker.objects.get().takes_nothing_because) == (False, OTHER_VERSION)
        record_version(connection)
        worker_hooks.do_round(presence)
        assert (intake.is_open, Worker.objects.get().takes_nothing_because) == (True, "")
    own = code_version()
    assert [record.getMessage() for record in caplog.records] == [
        f"this worker is version {own}, but the database is of version 9.9.9 (schema {own.schema}). "
        "It takes nothing until both are the same.",
        f"this worker and the database are both version {own} now: it takes jobs again",
    ]


def test_a_worker_of_another_version_reaps_nothing(
    presence: Presence, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    reaped: list[type] = []
    monkeypatch.setattr(worker_hooks, "reap", reaped.append)
    DatabaseVersion.objects.update(version="9.9.9")
    worker_hooks.do_round(presence)
    assert reaped == []


def test_an_intake_opens_when_no_reason_is_left() -> None:
    intake = Intake("one")
    intake.close("two")
    intake.open("one")
    assert (intake.is_open, intake.closed_because) == (False, "two")
    intake.open("two")
    assert (intake.is_open, intake.closed_because) == (True, "")


def test_a_message_that_comes_while_the_intake_is_closed_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    class Message:
        requeued = 0

        def requeue(self) -> None:
            self.requeued += 1

    class Consumer:
        def create_task_handler(self) -> Callable[[Any], None]:
            return handled.append

    handled: list[Any] = []
    closed = Intake("one")
    monkeypatch.setattr(intake_module, "intake", closed)
    consumer, message = Consumer(), Message()
    IntakeStep(consumer)
    handle = consumer.create_task_handler()
    handle(message)
    assert (handled, message.requeued) == ([], 1)
    closed.open("one")
    handle(message)
    assert (handled, message.requeued) == ([message], 1)


def test_a_worker_has_a_row_while_it_lives(presence: Presence, intake: Intake) -> None:
    worker_hooks.do_round(presence)
    [worker] = Worker.objects.all()
    own = code_version()
    assert (worker.host, worker.pid, worker.queues) == ("centre", 42, "cpu,gpu")
    assert (worker.version, worker.schema) == (own.version, own.schema)
    Worker.objects.update(seen_at=Now() - timedelta(minutes=5))
    worker_hooks.do_round(presence)
    again = Worker.objects.get()
    assert again.started_at == worker.started_at
    assert again.seen_at >= worker.seen_at
    worker_hooks.leave(presence)
    assert not Worker.objects.exists()


def test_a_worker_that_vanished_is_listed_for_an_hour(presence: Presence, intake: Intake) -> None:
    for name, minutes in (("lately", 59), ("long-ago", 61)):
        Presence(name, ("cpu",), "elsewhere", 1).report("")
        Worker.objects.filter(identity=name).update(seen_at=Now() - timedelta(minutes=minutes))
    worker_hooks.do_round(presence)
    assert set(Worker.objects.values_list("identity", flat=True)) == {"lately", "its-name"}
