"""Whoever has not logged in sends no large body: it would be written to the disk before anybody looks."""

import pytest
from asgiref.sync import async_to_sync
from pytest_django import Settings

from tests.webapp.access.people import Team, client_of
from webapp.accounts.models import ApiToken
from webapp.pages.graphs.upload_limits import limit_of_request, upload_limit_bytes

pytestmark = pytest.mark.usefixtures("transactional_db", "log_that_is_emptied")


def limit_for(path: str, **headers: str) -> int | None:
    """The limit for a POST with these headers."""
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": sent, "query_string": b""}
    return async_to_sync(limit_of_request)(scope)


def test_only_who_may_come_in_sends_large_bodies(team: Team, settings: Settings) -> None:
    large = async_to_sync(upload_limit_bytes)("POST", "/graphs/")
    session = client_of(team.viewer).cookies[settings.SESSION_COOKIE_NAME].value
    _, token = ApiToken.make(team.viewer, "script", "read")
    page, script = "/graphs/", f"/api/v1/projects/{team.project.id}/graphs"
    assert large is not None
    assert limit_for(page) is None
    assert limit_for(page, cookie=f"{settings.SESSION_COOKIE_NAME}=guessed") is None
    assert limit_for(page, cookie=f"{settings.SESSION_COOKIE_NAME}={session}") == large
    assert limit_for(script) is None
    assert limit_for(script, cookie=f"{settings.SESSION_COOKIE_NAME}={session}") is None
    assert limit_for(script, authorization=f"Bearer {token}") == large
    settings.ACCOUNTS = "off"
    assert limit_for(page) == large
