"""Users with tokens, in tests."""

from typing import Any

from django.test import Client

from webapp.accounts.models import ApiToken, TokenScope, User
from webapp.projects.models import Membership, Project


def member(project: Project | None, name: str, role: str = "", scope: str = TokenScope.ADMIN) -> Client:
    """A client of the API with a token of a new user, who has `role` in the project; without one, a stranger."""
    user = User.objects.create_user(name)
    if project is not None and role:
        Membership.objects.create(project=project, user=user, role=role)
    return with_token(user, scope)


def with_token(user: User, scope: str = TokenScope.ADMIN, **more: Any) -> Client:
    """A client with another token of the user."""
    _, token = ApiToken.make(user, "a script", scope, **more)
    return Client(headers={"Authorization": f"Bearer {token}"})
