"""What is easily forgotten: whose project an upload goes to, what a link says by itself, what the log says of users."""

import base64
import uuid
from typing import Any, cast

import pytest
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.http import HttpRequest
from django.test import Client
from pytest_django import Settings

from tests.webapp.access.belongings import Belongings
from tests.webapp.access.people import PASSWORD, Team, client_of
from webapp.accounts.addresses import client_address
from webapp.accounts.models import ApiToken, AuditEntry
from webapp.accounts.visitor import acting_as, of_user
from webapp.example.opening import open_example
from webapp.projects.first_project import NAME, project_for_uploads
from webapp.projects.models import Membership, Project
from webapp.sharing.models import ShareLink, make_link


def test_an_upload_goes_into_no_project_of_somebody_else(team: Team) -> None:
    Project.objects.filter(id=team.project.id).update(name=NAME)
    for user in (team.operator, team.editor):
        with acting_as(of_user(user)):
            assert project_for_uploads()._state.adding, user
    with acting_as(of_user(team.owner)):
        assert project_for_uploads() == team.project


def test_links_and_tokens_end_by_themselves_unless_one_says_otherwise(team: Team, rows: Belongings) -> None:
    owner = client_of(team.owner)
    for given, ends in (({}, True), ({"days": "never"}, False)):
        assert owner.post(f"/runs/{rows.ids()['run_id']}/links/new", given).status_code == 201
        assert (ShareLink.objects.latest("created_at").expires_at is not None) == ends
        form = {"name": "script", "scope": "read", **given}
        assert owner.post("/account/tokens/", form).status_code == 201
        assert (ApiToken.objects.latest("created_at").expires_at is not None) == ends


def test_the_log_says_to_whom_something_was_done(team: Team) -> None:
    owner, operator = client_of(team.owner), client_of(team.operator)
    owner.post(f"/projects/{team.project.id}/members/", {"username": "stranger", "role": "editor"})
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.action, entry.kind, entry.row_id) == ("members:list", "user", team.stranger.id)
    assert (entry.project_id, entry.note) == (team.project.id, "stranger: editor")
    operator.post(
        f"/users/{team.stranger.id}/", {"user-username": "stranger", "user-is_active": "on", "user-is_operator": "on"}
    )
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.username, entry.row_id) == ("operator", team.stranger.id)
    assert entry.note.startswith("stranger: operator")


def test_a_form_that_was_refused_is_not_in_the_log(team: Team) -> None:
    viewer = client_of(team.viewer)
    new = {"new_password1": "another horse 1", "new_password2": "another horse 1"}
    assert viewer.post("/accounts/password/", {"old_password": "wrong", **new}).status_code == 200
    assert not AuditEntry.objects.filter(action="accounts:change-password").exists()
    viewer.post("/accounts/password/", {"old_password": PASSWORD, **new})
    assert AuditEntry.objects.filter(action="accounts:change-password").count() == 1


def test_the_old_password_cannot_be_guessed_without_limit(team: Team, settings: Settings) -> None:
    viewer, new = client_of(team.viewer), {"new_password1": "another horse 1", "new_password2": "another horse 1"}
    for _ in range(settings.AXES_FAILURE_LIMIT):
        viewer.post("/accounts/password/", {"old_password": "guess", **new})
    assert viewer.post("/accounts/password/", {"old_password": PASSWORD, **new}).status_code == 429
    team.viewer.refresh_from_db()
    assert team.viewer.check_password(PASSWORD)


def test_the_own_session_is_listed_after_a_change_of_the_password(team: Team) -> None:
    viewer = client_of(team.viewer)
    new = {"new_password1": "another horse 1", "new_password2": "another horse 1"}
    assert viewer.post("/accounts/password/", {"old_password": PASSWORD, **new}).status_code == 302
    assert b"this one" in viewer.get("/account/").content
    assert UserSession.objects.filter(user=team.viewer, session_key=viewer.session.session_key).exists()


def test_an_address_that_waits_fills_no_log(team: Team, settings: Settings) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT + 15):
        Client().post("/accounts/log-in/", {"username": "nobody", "password": "guess"})
    assert AuditEntry.objects.filter(action="log-in refused").count() <= settings.AXES_FAILURE_LIMIT


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("6.6.6.6, 203.0.113.9:51234", "203.0.113.9"),
        ("6.6.6.6, [2001:db8::7]:443", "2001:db8::7"),
        ("6.6.6.6, 2001:db8::7", "2001:db8::7"),
        ("6.6.6.6, unknown", "10.0.0.1"),
        ("6.6.6.6, 203.0.113.9, 10.0.0.2", "203.0.113.9"),
        ("", "10.0.0.1"),
    ],
)
def test_nobody_chooses_the_address_that_counts(settings: Settings, forwarded: str, client: str) -> None:
    settings.TRUSTED_PROXIES = ["10.0.0.0/8"]
    request = HttpRequest()
    request.META = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": forwarded}
    assert client_address(request) == client


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
def test_without_accounts_what_a_proxy_passes_on_needs_the_second_setting(settings: Settings, header: str) -> None:
    passed_on = Client(headers={header: "203.0.113.9"})
    assert passed_on.get("/projects/").status_code == 403
    settings.OPEN_TO_NETWORK = True
    assert passed_on.get("/projects/").status_code == 200


def test_who_was_removed_from_the_own_example_gets_another(team: Team) -> None:
    with acting_as(of_user(team.viewer)):
        first = open_example()
        assert open_example().id == first.id
        Membership.objects.filter(project=first.project, user=team.viewer).update(user=team.owner)
        second = open_example()
    assert second.id != first.id
    assert second.project_id != first.project_id


MODELS = {
    "run": ("runs", "Run"),
    "comparison": ("comparisons", "Comparison"),
    "graph": ("graphs", "Graph"),
    "search": ("plans", "PlanSearch"),
}


def test_what_a_link_shows_leads_nowhere_else(team: Team, rows: Belongings) -> None:
    shown = {"run": "run_id", "comparison": "comparison_id", "graph": "graph_id", "search": "search_id"}
    ids = {str(value) for value in rows.ids().values()} | {value.hex for value in rows.ids().values()}
    for kind, key in shown.items():
        model = apps.get_model(*MODELS[kind])
        page = Client().get(f"/shared/{make_link(cast('Any', model._default_manager.get(id=rows.ids()[key])))}/")
        assert page.status_code == 200
        text = page.content.decode()
        assert [each for each in ids if each in text] == [], kind
        assert "<form" not in text.replace('<form method="get"', ""), kind


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:00-23:59"])
def test_a_cursor_at_the_end_of_time_is_refused(team: Team, time: str) -> None:
    _, token = ApiToken.make(team.viewer, "script", "read")
    cursor = base64.urlsafe_b64encode(f"{time} {uuid.uuid4()}".encode()).decode()
    script = Client(headers={"Authorization": f"bearer {token}"})
    assert script.get(f"/api/v1/projects?after={cursor}").status_code == 400
