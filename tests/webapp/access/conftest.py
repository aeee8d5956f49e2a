"""An installation with accounts, its people, and what a project can have."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pytest_django import Settings

from tests.chaos.services import MissingServiceError, PostgreSQL
from tests.supervisor.started import ROOT
from tests.webapp.access.belongings import Belongings, belongings_of
from tests.webapp.access.people import Team, team_of
from webapp.accounts.visitor import of_user
from webapp.projects.models import Project

MARKER = "Quokka"
"""in each name of the team's rows"""


@pytest.fixture
def local(settings: Settings) -> Settings:
    """Users with passwords, as PLACETO_ACCOUNTS=local."""
    settings.ACCOUNTS = "local"
    settings.AXES_ENABLED = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return settings


@pytest.fixture
def team(local: Settings) -> Team:
    """A project with its people."""
    return team_of(Project.objects.create(name=f"{MARKER} project"), MARKER)


@pytest.fixture
def rows(team: Team, prepared_blob: bytes) -> Belongings:
    """What the team's project has, started by its owner."""
    return belongings_of(team.project, prepared_blob, MARKER, of_user(team.owner))


@pytest.fixture(autouse=True)
def drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures without the process that draws them."""
    monkeypatch.setattr("webapp.pages.comparisons.views.api.comparison_figure", lambda *_: b"figure")


@pytest.fixture(autouse=True)
def healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes without their write to the database, on a connection of its own."""
    for module in ("webapp.pages.health", "webapp.pages.status.warnings"):
        monkeypatch.setattr(f"{module}.part_faults", lambda: {"database": "", "broker": "", "disk": ""})


@pytest.fixture
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams begin in the thread that has the test's transaction."""

    async def read(look: Callable[..., Any], *arguments: Any) -> Any:
        return await sync_to_async(look, thread_sensitive=True)(*arguments)

    for module in ("webapp.pages.events", "webapp.pages.sharing.views"):
        monkeypatch.setattr(f"{module}.read", read)


@pytest.fixture(autouse=True)
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that could be calibrated, whatever else it does."""
    monkeypatch.setattr("engine.api.require_idle", lambda: None)


@pytest.fixture
def postgresql(tmp_path: Path) -> Iterator[PostgreSQL]:
    """A new PostgreSQL with this version's tables."""
    try:
        server = PostgreSQL(tmp_path)
    except MissingServiceError as error:
        pytest.skip(str(error))
    try:
        server.start()
        server.create_database()
        own = {"PLACETO_DATA": str(tmp_path / "data"), "DATABASE_URL": server.url}
        command = [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"]
        subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, check=True, timeout=120)
        yield server
    finally:
        server.remove()
