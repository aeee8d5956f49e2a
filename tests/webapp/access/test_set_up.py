"""The set-up link makes one operator, once; an installation keeps one; a project keeps an owner."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from tests.chaos.services import PostgreSQL
from tests.supervisor.started import ROOT
from tests.webapp.access.people import PASSWORD, Team, client_of, log_in, team_of, user_called
from webapp.accounts import set_up
from webapp.accounts.models import AuditEntry, User
from webapp.accounts.password_links import password_path
from webapp.projects.members import set_role
from webapp.projects.models import Membership, Project

FIELDS = {"username": "first", "email": "first@example.org", "password1": PASSWORD, "password2": PASSWORD}


def path() -> str:
    return f"/accounts/set-up/{set_up.token()}/"


def test_the_link_makes_an_operator_who_is_logged_in(local: Settings) -> None:
    client, address = Client(), path()
    assert client.get(address).status_code == 200
    assert client.post(address, FIELDS)["Location"] == "/"
    user = User.objects.get()
    assert (user.username, user.is_operator) == ("first", True)
    assert client.get("/users/").status_code == 200
    assert AuditEntry.objects.filter(action="set-up", user=user).exists()


def test_afterwards_no_link_works(local: Settings) -> None:
    address = path()
    Client().post(address, FIELDS)
    for again in (address, path()):
        for answer in (Client().get(again), Client().post(again, {**FIELDS, "username": "second"})):
            assert answer.status_code == 404
    assert [user.username for user in User.objects.all()] == ["first"]


def test_another_token_makes_nobody(local: Settings) -> None:
    token = set_up.token()
    for guess in (token[:-1], token + "a", token.swapcase(), "x", "%00", "é" * 43):
        assert Client().post(f"/accounts/set-up/{guess}/", FIELDS).status_code == 404
    assert not User.objects.exists()


@pytest.mark.parametrize("weak", ["short", "password123", "1234567890123", "first@example.org"])
def test_a_weak_password_is_refused_and_the_link_still_works(weak: str, local: Settings) -> None:
    address = path()
    answer = Client().post(address, {**FIELDS, "password1": weak, "password2": weak})
    assert answer.status_code == 400
    assert not User.objects.exists()
    assert Client().post(address, FIELDS).status_code == 302


def test_the_file_of_the_token_is_its_owner_s_alone(local: Settings) -> None:
    set_up.token()
    [file] = [each for each in local.DATA_FOLDER.iterdir() if each.name == set_up.FILE]
    assert file.stat().st_mode & 0o077 == 0
    Client().post(path(), FIELDS)
    assert not file.exists()


@pytest.mark.usefixtures("log_that_is_emptied")
def test_two_at_the_same_time_make_one_operator(transactional_db: None, local: Settings) -> None:
    address, together = path(), threading.Barrier(2)
    answers: list[Any] = []

    def use(name: str) -> None:
        client = Client()
        client.get(address)
        together.wait(timeout=30)
        answers.append(client.post(address, {**FIELDS, "username": name}).status_code)
        connection.close()

    threads = [threading.Thread(target=use, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(answers) == [302, 404]
    assert User.objects.filter(is_operator=True).count() == 1


def test_nobody_signs_up(team: Team) -> None:
    for place in (
        "/accounts/sign-up/",
        "/accounts/signup/",
        "/accounts/register/",
        "/users/",
        "/admin/accounts/user/add/",
    ):
        answer = Client().post(place, FIELDS, headers={"accept": "application/json"})
        assert answer.status_code in (401, 404), place
    assert not User.objects.filter(username="first").exists()


def fields_of(user: User, **changed: object) -> dict[str, object]:
    """The form of a user, in which a check box that is off is left out."""
    fields = {"username": user.username, "email": user.email, "is_active": "on", "is_operator": "on"} | changed
    return {f"user-{name}": value for name, value in fields.items() if value} | {"quota-may_measure": "on"}


@pytest.mark.parametrize("change", ["is_operator", "is_active"])
def test_the_last_operator_stays_one(change: str, team: Team) -> None:
    operator, client = team.operator, client_of(team.operator)
    answer = client.post(f"/users/{operator.id}/", fields_of(operator, **{change: ""}))
    assert answer.status_code == 400
    admin = {"username": operator.username, "email": operator.email, "is_active": "on", "is_operator": "on"}
    client.post(f"/admin/accounts/user/{operator.id}/change/", {k: v for k, v in admin.items() if k != change})
    operator.refresh_from_db()
    assert (operator.is_operator, operator.is_active) == (True, True)
    user_called("second", is_operator=True)
    assert client.post(f"/users/{operator.id}/", fields_of(operator, **{change: ""})).status_code == 302


def test_an_operator_who_is_not_active_does_not_count(team: Team) -> None:
    user_called("asleep", is_operator=True, is_active=False)
    client = client_of(team.operator)
    assert client.post(f"/users/{team.operator.id}/", fields_of(team.operator, is_operator="")).status_code == 400


@pytest.mark.usefixtures("log_that_is_emptied")
def test_two_operators_do_not_demote_each_other_at_the_same_time(transactional_db: None, local: Settings) -> None:
    users = [user_called(name, is_operator=True) for name in ("one", "two")]
    clients, together = [client_of(user) for user in users], threading.Barrier(2)

    def demote(client: Client, other: User) -> None:
        together.wait(timeout=30)
        client.post(f"/users/{other.id}/", fields_of(other, is_operator=""))
        connection.close()

    pairs = zip(clients, reversed(users), strict=True)
    threads = [threading.Thread(target=demote, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert User.objects.filter(is_operator=True, is_active=True).count() == 1


def test_the_last_owner_stays_one(team: Team) -> None:
    client, place = client_of(team.owner), f"/projects/{team.project.id}/members/"
    for role in ("viewer", "editor"):
        assert client.post(place, {"username": team.owner.username, "role": role}).status_code == 400
    assert client.post(f"{place}{team.owner.id}/remove/").status_code == 409
    assert Membership.objects.get(user=team.owner).role == Membership.OWNER
    set_role(team.project, team.editor.username, Membership.OWNER)
    assert client.post(f"{place}{team.owner.id}/remove/").status_code == 302


def test_a_link_for_a_password_works_once_and_for_its_user_alone(team: Team) -> None:
    new = "yet another horse of a colour"
    address = password_path(team.viewer)
    stolen, client = Client(), Client()
    page = stolen.get(address)["Location"]  # Django keeps the token in the session, and out of the address
    opened = client.get(address)["Location"]
    assert client.post(opened, {"new_password1": new, "new_password2": new}).status_code == 302
    assert log_in(Client(), team.viewer.username, new).status_code == 302
    again = stolen.post(page, {"new_password1": "stolen by another one", "new_password2": "stolen by another one"})
    assert again.status_code == 200
    assert "new_password1" not in Client().get(address).content.decode()
    assert log_in(Client(), team.viewer.username, "stolen by another one").status_code == 200
    owner = team_of(Project.objects.create(name="x"), "x").owner
    parts = password_path(owner).split("/")
    parts[4] = address.split("/")[4]
    mixed = "/".join(parts)
    assert "new_password1" not in Client().get(mixed).content.decode()


BOTH_AT_ONCE = """
import threading
import django
django.setup()
from django.db import connection
from webapp.accounts import set_up
from webapp.accounts.models import User
set_up.token()
together, made = threading.Barrier(8), []
def use(name):
    connection.ensure_connection()
    together.wait(timeout=60)
    made.append(set_up.make_first_operator(name, "", "a horse of another colour") is not None)
    connection.close()
threads = [threading.Thread(target=use, args=(f"user{number}",)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join(timeout=60)
print(sum(made), User.objects.count())
"""


@pytest.mark.slow
def test_eight_at_the_same_time_make_one_operator_on_postgresql(postgresql: PostgreSQL, tmp_path: Path) -> None:
    own = {"PLACETO_DATA": str(tmp_path / "data"), "DATABASE_URL": postgresql.url, "PLACETO_ACCOUNTS": "local"}
    environment = {**os.environ, **own, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
    command = [sys.executable, "-c", BOTH_AT_ONCE]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert ended.stdout.split() == ["1", "1"], ended.stderr
