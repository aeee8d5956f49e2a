"""Sessions in the database, read by a query that is written once."""

from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.db.models.functions import Now

from webapp.prepared_query import PreparedQuery


def _living(key: str) -> QuerySet[Any, tuple[Any, ...]]:
    return Session.objects.filter(session_key=key, expire_date__gt=Now()).values_list("session_data")


_LIVING = PreparedQuery(_living, key=str)


class SessionStore(db.SessionStore):
    """Django's, but for how it reads."""

    def load(self) -> dict[str, Any]:
        """What the session holds; nothing, and no key, if it has ended."""
        row = _LIVING.first(key=self.session_key) if self.session_key else None
        if row is None:
            self._session_key = None
            return {}
        held: dict[str, Any] = self.decode(row[0])
        return held
