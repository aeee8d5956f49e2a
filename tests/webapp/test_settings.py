"""Settings refuse what is invalid, in one clear line."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings
from redis import Redis

from webapp import checks, environment
from webapp.broker_address import broker_address, redis_address, socket_path
from webapp.database_address import database


@pytest.mark.parametrize("value", ["", "abc", "1.5", "9", "101", "nan"])
def test_an_integer_is_in_its_range(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("NUMBER", value)
    if not value:
        assert environment.integer("NUMBER", 50, lowest=10, highest=100) == 50
        return
    with pytest.raises(ImproperlyConfigured, match=r"^NUMBER=.* allowed: an integer from 10 to 100$"):
        environment.integer("NUMBER", 50, lowest=10, highest=100)


@pytest.mark.parametrize("value", ["abc", "0", "inf", "nan", "-1", "601"])
def test_seconds_are_in_their_range(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SECONDS", value)
    with pytest.raises(ImproperlyConfigured, match=r"^SECONDS=.* is invalid; allowed: seconds from 0\.1 to 600$"):
        environment.seconds("SECONDS", 10.0, lowest=0.1, highest=600.0)


def test_a_flag_is_one_of_the_usual_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, meaning in (("1", True), ("Yes", True), ("off", False), ("FALSE", False), ("", True)):
        monkeypatch.setenv("FLAG", value)
        assert environment.flag("FLAG", default=True) is meaning
    monkeypatch.setenv("FLAG", "maybe")
    with pytest.raises(ImproperlyConfigured, match=r"^FLAG='maybe' is invalid; allowed: one of 1, true"):
        environment.flag("FLAG", default=True)


def test_a_folder_that_cannot_be_made_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PLACETO_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(ImproperlyConfigured, match=r"^PLACETO_DATA=.*allowed: a folder that can be made and written"):
        environment.folder("PLACETO_DATA", tmp_path)


def test_the_secret_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    path = folder / "secret_key"
    first = environment.secret("SECRET_KEY_OF_THE_TEST", path)
    assert environment.secret("SECRET_KEY_OF_THE_TEST", path) == first
    assert len(first) >= 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(folder.iterdir()) == [path]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("redis://host:6379/0", "redis://host:6379/0"),
        ("rediss://host", "rediss://host"),
        ("unix:///run/redis.sock", "redis+socket:///run/redis.sock"),
        ("redis+socket:///run/redis.sock", "redis+socket:///run/redis.sock"),
    ],
)
def test_a_brokers_address(address: str, expected: str) -> None:
    assert broker_address(address) == expected


@pytest.mark.parametrize("address", ["amqp://host", "localhost:6379", "memory://", "filesystem://"])
def test_a_broker_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^REDIS_URL=.* is invalid; allowed: redis://…"):
        broker_address(address)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("redis+socket:///data/my%20own/redis.sock", {"path": "/data/my own/redis.sock"}),
        ("redis+socket:///data/redis.sock?virtual_host=2", {"path": "/data/redis.sock", "db": 2}),
        ("redis://:secret@host:6380/3", {"host": "host", "port": 6380, "db": 3, "password": "secret"}),
        ("rediss://host/0?ssl_cert_reqs=CERT_REQUIRED", {"host": "host", "ssl_cert_reqs": "required"}),
    ],
)
def test_notices_go_to_the_brokers_redis(address: str, expected: dict[str, object]) -> None:
    found = Redis.from_url(redis_address(address)).connection_pool.connection_kwargs
    assert {name: found.get(name) for name in expected} == expected


def test_the_embedded_database_waits_for_its_lock() -> None:
    options = database("sqlite:////data/placeto.sqlite3")["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE"
    assert options["timeout"] >= 20
    assert "journal_mode=WAL" in options["init_command"]
    assert database("postgres://user:word@host:5432/name")["ENGINE"] == "django.db.backends.postgresql"


@pytest.mark.parametrize("address", ["mysql://host/name", "data.sqlite3", "postgres://user:word@host:port/name"])
def test_a_database_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^DATABASE_URL"):
        database(address)


def test_checks_find_nothing_wrong_here() -> None:
    found = [checks.check_data_folder(), checks.check_socket_path(), checks.check_secret_key()]
    assert [message for messages in found for message in messages if message.is_serious()] == []
    assert checks.check_allowed_hosts() == []


def test_a_socket_path_that_would_be_cut_is_an_error(settings: Settings) -> None:
    settings.CELERY_BROKER_URL = f"redis+socket:///{'x' * 106}"
    assert checks.check_socket_path() == []
    settings.CELERY_BROKER_URL = f"redis+socket:///{'x' * 107}"
    assert [message.id for message in checks.check_socket_path()] == ["placeto.E002"]
    assert socket_path("redis+socket:///tmp/a%20b") == "/tmp/a b"


def test_a_guessable_secret_is_an_error(settings: Settings) -> None:
    for secret in ("secret", "x" * 64):
        settings.SECRET_KEY = secret
        [message] = checks.check_secret_key()
        assert message.id == "placeto.E003"
        assert message.hint


def test_any_host_is_a_warning(settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    assert [message.id for message in checks.check_allowed_hosts()] == ["placeto.W002"]


def test_a_data_folder_that_is_gone_is_an_error(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_FOLDER = tmp_path / "gone"
    assert [message.id for message in checks.check_data_folder()] == ["placeto.E001"]


@pytest.mark.slow
def test_an_odd_environment_ends_with_its_line(tmp_path: Path) -> None:
    environment_of_ours = {**os.environ, "PLACETO_DATA": str(tmp_path), "PLACETO_UPLOAD_LIMIT_BYTES": "lots"}
    ended = subprocess.run(
        [sys.executable, "manage.py", "check"], env=environment_of_ours, capture_output=True, text=True, check=False
    )
    assert ended.returncode != 0
    line = "PLACETO_UPLOAD_LIMIT_BYTES='lots' is invalid; allowed: an integer from 1024 to 2147483648"
    assert ended.stderr.strip().endswith(line)


def test_messages_are_json_and_tasks_are_acknowledged_late(settings: Settings) -> None:
    assert settings.CELERY_TASK_SERIALIZER == "json"
    assert settings.CELERY_ACCEPT_CONTENT == ["json"]
    assert settings.CELERY_TASK_ACKS_LATE
    assert settings.CELERY_TASK_REJECT_ON_WORKER_LOST
    assert settings.CELERY_WORKER_PREFETCH_MULTIPLIER == 1
    assert settings.CELERY_WORKER_MAX_TASKS_PER_CHILD == 1
    assert settings.STALE_AFTER_SECONDS == 60
