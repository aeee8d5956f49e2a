"""How Django finds the users of sessions, and checks passwords where this installation has them."""

import uuid
from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db.models import QuerySet
from django.http import HttpRequest

from webapp.accounts.models import User
from webapp.prepared_query import PreparedQuery

_COLUMNS = [field.attname for field in User._meta.concrete_fields]


def _user(user_id: uuid.UUID) -> QuerySet[Any, tuple[Any, ...]]:
    return User.objects.filter(id=user_id, is_active=True).values_list(*_COLUMNS)


_USER = PreparedQuery(_user, user_id=uuid.UUID)


class Passwords(ModelBackend):
    """Checks passwords."""

    def get_user(self, user_id: uuid.UUID) -> User | None:
        """The user, if active."""
        row = _USER.first(user_id=user_id)
        return None if row is None else User.from_db(None, _COLUMNS, row)


class KnownUsers(Passwords):
    """Lets nobody in by a password: others check who users are."""

    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> None:  # type: ignore[override]
        """Nobody."""
