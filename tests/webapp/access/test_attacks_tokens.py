"""Tokens stay secret: no log, page, error or database has one, and what has ended opens nothing."""

import json
import logging
from datetime import timedelta
from typing import Any

import pytest
from django.core import serializers
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import Team, client_of
from webapp.accounts.models import ApiToken, AuditEntry, TokenScope, digest_of
from webapp.accounts.password_links import password_path
from webapp.logs import JSON, TEXT, logging_settings

PLACES = ("/api/v1/me", "/api/v1/projects", "/api/v1/runs/{run_id}", "/api/v1/nothing", "/api/v1/policies?limit=x")


def made(team: Team, scope: str = TokenScope.ADMIN, **columns: Any) -> str:
    """A token of the owner."""
    row, text = ApiToken.make(team.owner, "a script's", scope)
    ApiToken.objects.filter(id=row.id).update(**columns)
    return text


def lines_of(records: list[logging.LogRecord]) -> str:
    """Each record as both formatters write it, and all that it carries."""
    formatters = []
    for kind in (TEXT, JSON):
        settings = dict(logging_settings(kind, "DEBUG")["formatters"]["record"])
        factory = settings.pop("()").rpartition(".")[2]
        from webapp import logs

        formatters.append(getattr(logs, factory)(**settings))
    return "\n".join(formatter.format(record) for record in records for formatter in formatters)


def test_no_log_has_a_token_of_the_api(
    team: Team, rows: Belongings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every level, good and bad and expired ones, in answers of every class."""
    caplog.set_level(logging.DEBUG)
    good, read_only = made(team), made(team, TokenScope.READ)
    expired = made(team, expires_at=timezone.now() - timedelta(days=1))
    unknown = good[:-3] + "abc"
    tokens, statuses = (good, read_only, expired, unknown), set()
    client = Client(raise_request_exception=False)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of our own")

    for token in tokens:
        headers = {"Authorization": f"Bearer {token}"}
        for place in PLACES:
            answer = client.get(place.format(**rows.ids()), headers=headers)
            statuses.add(answer.status_code)
            assert token not in answer.content.decode()
        for body in ("{", json.dumps({"name": token})):
            answer = client.post("/api/v1/projects", body, content_type="application/json", headers=headers)
            statuses.add(answer.status_code)
    with monkeypatch.context() as patch:
        patch.setattr("webapp.projects.access.visible_to", fail)
        patch.setattr("webapp.api.operations.projects.visible_with_roles", fail)
        answer = client.get("/api/v1/projects", headers={"Authorization": f"Bearer {good}"})
    statuses.add(answer.status_code)
    assert {200, 400, 401, 403, 404, 500} <= statuses, statuses
    assert good not in answer.content.decode()
    text = lines_of(caplog.records)
    assert len(caplog.records) > 10
    assert [token for token in tokens if token in text] == []


def test_no_log_has_a_link(team: Team, rows: Belongings, caplog: pytest.LogCaptureFixture, local: Settings) -> None:
    """Neither of a run, nor the one that sets a password: both are in addresses, of refused requests too."""
    caplog.set_level(logging.DEBUG)
    password_link = password_path(team.viewer)
    secret = password_link.rstrip("/").rpartition("/")[2]
    for place in (password_link, f"{password_link}nothing", f"{password_link}?x=1"):
        for method in ("get", "delete"):
            getattr(Client(), method)(place)
    token = rows.tokens["run"]
    for place in (f"/shared/{token}/", f"/shared/{token}/nothing", f"/shared/{token}/events.json?after=x"):
        Client().get(place)
    text = lines_of(caplog.records)
    assert "/accounts/password/" in text and "/shared/" in text
    assert [each for each in (secret, token) if each in text] == []


def test_a_token_is_shown_once_and_stored_nowhere(team: Team) -> None:
    client = client_of(team.owner)
    page = client.post("/account/tokens/", {"name": "script", "scope": "read", "days": "30"})
    assert page.status_code == 201
    text = page.content.decode()
    token = text[text.index("plx_") :].partition("<")[0].partition('"')[0].strip()
    assert Client().get("/api/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert page["Cache-Control"].find("no-store") >= 0
    again = client.get("/account/").content.decode()
    assert token not in again and token[-8:] in again
    assert token not in client_of(team.operator).get("/admin/accounts/apitoken/").content.decode()
    stored = serializers.serialize("json", [*ApiToken.objects.all(), *AuditEntry.objects.all()])
    assert token not in stored and digest_of(token) in stored


def test_what_is_looked_up_is_a_digest(team: Team) -> None:
    """So the time of an answer says nothing of how near a guess was."""
    token = made(team)
    for guess in (token, token[:-1] + ("A" if token[-1] != "A" else "B"), "plx_short"):
        with CaptureQueriesContext(connection) as queries:
            Client().get("/api/v1/me", headers={"Authorization": f"Bearer {guess}"})
        said = " ".join(query["sql"] for query in queries)
        assert digest_of(guess) in said
        assert guess not in said


def asked(token: str, scheme: str = "Bearer ") -> int:
    return Client().get("/api/v1/me", headers={"Authorization": f"{scheme}{token}"}).status_code


def test_near_misses_open_nothing(team: Team) -> None:
    token = made(team)
    assert asked(token) == 200
    for guess in (token[:-1], token[1:], token + "A", token.swapcase(), token.upper(), digest_of(token), "plx_", ""):
        assert asked(guess) == 401, guess
    for scheme in ("", "bearer", "Token ", "Basic ", "Bearer\t"):
        assert asked(token, scheme) == 401, scheme
    row = ApiToken.objects.get()
    assert [asked(text) for text in (row.digest, row.ending, str(row.id), f"plx_{row.digest}")] == [401] * 4


def test_what_has_ended_opens_nothing(team: Team) -> None:
    token = made(team)
    row = ApiToken.objects.get()
    ApiToken.objects.update(expires_at=timezone.now() + timedelta(minutes=5))
    assert asked(token) == 200
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert asked(token) == 401
    ApiToken.objects.update(expires_at=None)
    assert asked(token) == 200
    type(team.owner).objects.filter(id=team.owner.id).update(is_active=False)
    assert asked(token) == 401
    type(team.owner).objects.filter(id=team.owner.id).update(is_active=True)
    assert client_of(team.owner).post(f"/account/tokens/{row.id}/revoke/").status_code == 302
    assert asked(token) == 401


def test_a_token_counts_nowhere_but_in_its_header(team: Team, rows: Belongings) -> None:
    token = made(team)
    client = Client()
    for place in ("/api/v1/me", f"/api/v1/runs/{rows.run.id}"):
        assert client.get(place, {"token": token, "access_token": token, "api_key": token}).status_code == 401
        assert client.get(place, headers={"cookie": f"token={token}; placeto_session={token}"}).status_code == 401
        assert client.get(place, headers={"X-Api-Key": token, "X-Forwarded-Authorization": token}).status_code == 401
    pages = client.get(f"/runs/{rows.run.id}/", headers={"Authorization": f"Bearer {token}"})
    assert pages.status_code == 302, "it is for the API alone"


def test_a_token_makes_no_token_and_changes_no_password(team: Team) -> None:
    """What a leaked token cannot do: stay."""
    headers = {"Authorization": f"Bearer {made(team)}"}
    for place in ("/account/tokens/", "/accounts/password/", f"/users/{team.viewer.id}/password-link/"):
        assert Client().post(place, {"name": "x", "scope": "admin"}, headers=headers).status_code in (302, 401, 403)
    assert ApiToken.objects.count() == 1


def test_the_last_use_is_noted(team: Team) -> None:
    token = made(team)
    assert ApiToken.objects.get().last_used_at is None
    asked(token)
    noted = ApiToken.objects.get().last_used_at
    assert noted is not None
    with CaptureQueriesContext(connection) as queries:
        asked(token)
    assert not [query for query in queries if query["sql"].startswith("UPDATE")], "at most once a minute"


def test_an_entry_of_the_log_names_the_token_by_its_id(team: Team) -> None:
    token = made(team)
    headers = {"Authorization": f"Bearer {token}"}
    Client().post("/api/v1/projects", json.dumps({"name": "new"}), content_type="application/json", headers=headers)
    entry = AuditEntry.objects.filter(action__contains="make_project").first()
    assert entry is not None
    assert (entry.user, entry.token_id) == (team.owner, ApiToken.objects.get().id)
