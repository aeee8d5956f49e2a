"""The fixed cast of an installation with accounts, and the browser of each."""

import re
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.test import Client

from webapp.accounts.models import User
from webapp.projects.models import Membership, Project

PASSWORD = "a horse of another colour"


@dataclass(frozen=True, slots=True)
class Team:
    """A project with a user of each role, and two who are no members: a stranger and an operator."""

    project: Project
    viewer: User
    editor: User
    owner: User
    stranger: User
    operator: User


def user_called(name: str, **columns: object) -> User:
    """A user with a password, who is there once however often this is asked."""
    found = User.objects.filter(username=name).first()
    return found or User.objects.create_user(name, f"{name}@example.org", PASSWORD, **columns)


def member(project: Project, name: str, role: str) -> User:
    """A user with a role in the project."""
    user = user_called(name)
    Membership.objects.create(project=project, user=user, role=role)
    return user


def team_of(project: Project, marker: str = "") -> Team:
    """The cast around `project`; `marker` begins the members' names."""
    return Team(
        project=project,
        viewer=member(project, f"{marker}viewer", Membership.VIEWER),
        editor=member(project, f"{marker}editor", Membership.EDITOR),
        owner=member(project, f"{marker}owner", Membership.OWNER),
        stranger=user_called("stranger"),
        operator=user_called("operator", is_operator=True),
    )


def client_of(user: User | None, **named: Any) -> Client:
    """The browser of `user`, who has logged in on the page for it; of nobody known without one."""
    client = Client(**named)
    if user is not None:
        log_in(client, user.username)
        assert client.cookies[settings.SESSION_COOKIE_NAME].value
    return client


def log_in(client: Client, name: str, password: str = PASSWORD, **more: Any) -> Any:
    """The answer to a log-in."""
    fields = {"username": name, "password": password}
    if client.handler.enforce_csrf_checks:
        client.get("/accounts/log-in/")
        fields["csrfmiddlewaretoken"] = client.cookies[settings.CSRF_COOKIE_NAME].value
    return client.post("/accounts/log-in/", fields, **more)


def without_form_tokens(page: str) -> str:
    """The page without the tokens of its forms, which are others each time."""
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page)
