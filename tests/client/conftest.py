"""The application with and without accounts, for the tests that talk to it; and a place for logins."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections
from pytest_django import DjangoDbBlocker

from tests.supervisor.application import application
from tests.supervisor.started import Started, free_port
from webapp.accounts.models import ApiToken, TokenScope, User, digest_of
from webapp.database_address import database
from webapp.supervisor.parts import web_command

ALIAS = "application"
"""of the application's database, beside that of the tests"""


@dataclass(frozen=True)
class Server:
    """A web server of the application."""

    address: str
    data_folder: Path
    token: str | None = None


@pytest.fixture(autouse=True)
def config_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where logins are stored; nothing of the machine's own is read."""
    folder = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    for name in ("PLACETO_URL", "PLACETO_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The whole application, without accounts."""
    folder = tmp_path_factory.mktemp("application")
    port = free_port()
    with application(folder / "data", port, folder / "output") as running:
        running.wait_for_line(f"ready at http://127.0.0.1:{port}")
        yield Server(f"http://127.0.0.1:{port}", folder / "data")


@pytest.fixture(scope="session")
def guarded(server: Server, django_db_blocker: DjangoDbBlocker) -> Iterator[Server]:
    """Another web server before the same data and workers, with accounts and a token of somebody who may write."""
    port = free_port()
    environment = {
        **os.environ,
        "PLACETO_DATA": str(server.data_folder),
        "REDIS_URL": f"redis+socket://{server.data_folder}/redis/redis.sock",
        "PLACETO_ACCOUNTS": "local",
    }
    command = [sys.executable, "-m", *web_command("127.0.0.1", port)]
    started = Started(command, server.data_folder / "guarded.log", environment)
    try:
        started.wait_for_line("running on")
        with django_db_blocker.unblock():
            token = new_token(server.data_folder)
        yield Server(f"http://127.0.0.1:{port}", server.data_folder, token)
    finally:
        started.end()


def new_token(data_folder: Path) -> str:
    """A token of a new user of the application's."""
    defaults = settings.DATABASES["default"]
    connections.settings[ALIAS] = {**defaults, **database(f"sqlite:///{data_folder}/placeto.sqlite3")}
    try:
        user = User(username="ada")
        user.set_unusable_password()
        user.save(using=ALIAS)
        token = f"plx_{os.urandom(24).hex()}"
        row = ApiToken(user=user, name="tests", scope=TokenScope.WRITE, digest=digest_of(token), ending=token[-8:])
        row.save(using=ALIAS)
    finally:
        connections[ALIAS].close()
    return token
