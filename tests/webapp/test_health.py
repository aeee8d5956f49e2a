"""A machine asks whether the parts answer."""

import errno
from contextlib import closing
from pathlib import Path

import pytest
from django.db import DatabaseError, OperationalError
from django.test import Client
from redis import Redis

from tests.webapp.processes import Surroundings
from webapp.celery import app
from webapp.jobs import publishing
from webapp.jobs.models import HealthMark
from webapp.pages import health

ALL_WELL = {"database": "ok", "broker": "ok", "disk": "ok"}
ADDRESSES = ("/health/", "/health/ready")


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was written yet; the broker is well, unless a test says otherwise."""
    broker = {"broker": lambda: ""}
    monkeypatch.setattr(health, "_writes", health.Writes({**health._writes._writers, **broker}))
    monkeypatch.setattr(health, "broker_fault", lambda: "")
    monkeypatch.setattr("webapp.pages.health.connection.close", lambda: None)  # the test's own


@pytest.mark.parametrize("address", ADDRESSES)
def test_it_says_ok_for_each_part(client: Client, data_folder: Path, address: str) -> None:
    response = client.get(address)
    assert response.status_code == 200
    assert response.json() == ALL_WELL
    assert "no-store" in response.headers["Cache-Control"]
    assert HealthMark.objects.count() == 1
    assert list(data_folder.iterdir()) == []


def test_a_process_that_answers_lives_whatever_it_lacks(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "connection", Away())
    response = client.get("/health/live")
    assert (response.status_code, response.json()) == (200, {"web": "ok"})


def test_a_broker_that_is_away_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "broker_fault", publishing.broker_fault)
    with monkeypatch.context() as patch:
        patch.setattr(app.conf, "broker_read_url", "redis+socket:///nowhere/redis.sock")
        response = client.get("/health/")
    assert response.status_code == 503
    assert response.json()["database"] == "ok"
    assert response.json()["broker"].startswith("OperationalError: ")


class Away:
    """A database that does not answer."""

    vendor = "sqlite"

    def cursor(self) -> None:
        raise DatabaseError("unable to open database file")

    def close(self) -> None:
        pass


def test_a_database_that_is_away_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "connection", Away())
    response = client.get("/health/")
    assert response.status_code == 503
    assert response.json() == {**ALL_WELL, "database": "DatabaseError: unable to open database file"}


def test_a_database_that_takes_no_more_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr(HealthMark, "write", refuse)
    response = client.get("/health/")
    assert response.status_code == 503
    assert response.json() == {**ALL_WELL, "database": "OperationalError: database or disk is full"}


def test_a_full_disk_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: Path, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", refuse)
        response = client.get("/health/")
    assert response.status_code == 503
    assert response.json() == {**ALL_WELL, "disk": "OSError: No space left on device"}


def test_a_redis_that_only_answers_questions_is_named(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    around.start_redis()
    address = around.environment["REDIS_URL"]
    with monkeypatch.context() as patch, closing(Redis(unix_socket_path=address.partition("://")[2])) as redis:
        patch.setattr(app.conf, "broker_read_url", address)
        assert (publishing.broker_fault(), publishing.broker_write_fault()) == ("", "")
        redis.replicaof("127.0.0.1", 1)
        assert publishing.broker_fault() == ""
        assert publishing.broker_write_fault().startswith("ReadOnlyError: ")


def test_it_writes_only_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    answers = iter(["full", ""])
    monkeypatch.setattr("webapp.pages.health.time.monotonic", lambda: now[0])
    writes = health.Writes({"disk": lambda: next(answers)})
    assert writes.faults() == {"disk": "full"}
    now[0] = health.WRITES_EVERY_SECONDS - 0.1
    assert writes.faults() == {"disk": "full"}
    now[0] = health.WRITES_EVERY_SECONDS
    assert writes.faults() == {"disk": ""}
