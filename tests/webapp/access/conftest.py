"""An installation with accounts, its people, and what a project can have."""

import pytest
from pytest_django import Settings

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
